"""Pictures of trees and posteriors, with Matplotlib.

Every function draws on the axes it is given (or makes a figure that fits) and returns the axes, so that pictures are
combined, annotated and saved as any other.

    dendrogram     one tree: support on the branches, intervals of node times, clusters in colour, small clades folded
    cloud          many trees of a posterior on top of each other
    coclustering   how sure it is that two leaves belong together
    heatmap        the data beside the tree
    ari_curves     agreement with known classes at every number of clusters
    traces         what a chain did
"""

from .cloud import cloud
from .curves import ari_curves, traces
from .dendrogram import dendrogram
from .matrices import coclustering, heatmap

__all__ = ["ari_curves", "cloud", "coclustering", "dendrogram", "heatmap", "traces"]
