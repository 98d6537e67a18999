"""Plots of trees and posteriors, with Matplotlib.

A plot that needs one axes draws on those it is given (or makes a figure) and returns them, so that plots can be
combined, annotated and saved like any other.

    dendrogram     one tree: support, intervals of node times, clusters in colour, clades folded
    densitree      many trees of a posterior on top of each other
    clustermap     the data beside the tree, with seaborn
    n_clusters     how stable the clusters are at every number of clusters
    coclustering   how often two leaves are in the same cluster
    explain        which columns make each cluster
    convergence    trace plots of the chains
"""

from .clustermap import clustermap
from .coclustering import coclustering
from .convergence import convergence
from .dendrogram import dendrogram
from .densitree import densitree
from .explain import explain
from .n_clusters import n_clusters

__all__ = ["clustermap", "coclustering", "convergence", "dendrogram", "densitree", "explain", "n_clusters"]


def __dir__() -> list[str]:
    return __all__
