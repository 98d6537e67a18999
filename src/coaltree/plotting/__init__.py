"""Plots of trees and posteriors, with Matplotlib.

Every function draws on the axes it is given (or makes a figure) and returns the axes, so that plots can be combined,
annotated and saved like any other.

    dendrogram     one tree: support, intervals of node times, clusters in colour, clades folded
    cloud          many trees of a posterior on top of each other (a densitree)
    coclustering   how often two leaves are in the same cluster
    clustermap     the data beside the tree, with seaborn
    ari_curves     agreement with known classes at every number of clusters
    traces         trace plots of the chains
    comparison     how well several models predict the rows
    explain        which columns make each cluster
    checks         whether the model holds
"""

from .clustermap import clustermap
from .dendrogram import dendrogram
from .densitree import cloud
from .diagnostics import ari_curves, checks, comparison, traces
from .matrices import coclustering, explain

__all__ = [
    "ari_curves", "checks", "cloud", "clustermap", "coclustering", "comparison",
    "dendrogram", "explain", "traces",
]  # fmt: skip
