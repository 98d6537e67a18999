"""Clusters: the cut of the mean tree, its stability, and the number of clusters."""
