"""Stability of clusters across draws, the probabilities of the clusters for every leaf, and co-clustering.

With C_t(A) the clade of tree t that is closest to cluster A, and J_t(A) its similarity (`closest_clades`),

    stability     J(A) = Σ_t w_t J_t(A)                       1 if every draw has the cluster as a clade
    membership    P(i in A) = Σ_t w_t [i in C_t(A)]           divided by their sum over A where that exceeds 1
    co-clustering P(i, j) = Σ_t w_t [i and j in one C_t(A)]

What the probabilities of a leaf lack of 1 is that of being in none of the clusters.

The limits of what is stable are Hennig's: from J(A) = 0.85 on a cluster is highly stable, from 0.75 on valid, below 0.6
not to be trusted. Outliers, label -1, are no cluster.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..._runtime.formatting import shortlist
from ..._runtime.memory import require_memory
from ..._runtime.typing import ArrayLike
from ..._runtime.validation import as_labels, is_whole
from ...errors import InputError
from ...numerics.weighted import weighted_quantile
from ..io.pandas_output import in_order_of
from .closest_clades import closest_clades, times_inside, times_together

if TYPE_CHECKING:
    from ..posterior import Posterior

STABLE, DISSOLVED = 0.85, 0.6  # limits of the mean similarity
VALID = 0.75  # limit of the lower end of its interval, where a cluster is to be stable
WORD_LEVEL = 0.9  # of that interval
NONE = "none"  # what a leaf is in that is in no cluster, in tables


class ClusterStability(NamedTuple):
    """How stable each of k clusters is across the draws of a posterior."""

    clusters: np.ndarray  #: (k,) the labels, sorted; outliers are not among them
    sizes: np.ndarray  #: (k,) leaves of each cluster
    jaccard: np.ndarray  #: (k,) posterior mean of the Jaccard similarity with the closest clade of a tree
    interval: np.ndarray  #: (k, 2) equal-tailed credible interval of that similarity
    #: a word for each cluster, which is "stable" (mean at least 0.85, and the lower end of its 90 % interval at least
    #: 0.75), "dissolved" (mean below 0.6), or "doubtful"
    words: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """The clusters as people read them: counted from 1 where the labels count from 0."""
        is_counted = self.clusters.dtype.kind in "iu" and len(self.clusters) > 0 and self.clusters[0] == 0
        return [str(label + 1 if is_counted else label) for label in self.clusters]

    def __repr__(self) -> str:
        each = zip(self.names, self.words, self.jaccard, strict=True)
        shown = [f"{name} {word} ({similarity(jaccard)})" for name, word, jaccard in each]
        return f"<ClusterStability: {shortlist(shown, 8)}>"


def similarity(jaccard: float) -> str:
    """A similarity in two digits, on its side of the limits: 0.849 is not 0.85, which would be stable."""
    rounded = round(float(jaccard), 2)
    crosses = any(jaccard < limit - 1e-12 and rounded >= limit for limit in (STABLE, VALID, DISSOLVED))
    return f"{rounded - 0.01 if crosses else rounded:.2f}"


class Partition(NamedTuple):
    """Clusters in question, numbered 0 … k-1."""

    clusters: np.ndarray  # (k,) their labels, sorted
    numbers: np.ndarray  # (n,) -1 for outliers


def read_labels(labels: ArrayLike, posterior: "Posterior") -> Partition:
    """Labels of any kind, one for each leaf; the whole number -1 marks outliers."""
    clusters, numbers = as_labels("labels", in_order_of(labels, posterior), posterior.n)
    if np.issubdtype(clusters.dtype, np.integer) and clusters[0] == -1:
        clusters, numbers = clusters[1:], numbers - 1
    if len(clusters) == 0:
        raise InputError("labels must name at least one cluster, but every leaf is an outlier (-1).")
    return Partition(clusters, numbers)


def stability_and_membership(
    posterior: "Posterior", partition: Partition, level: float
) -> tuple[ClusterStability, np.ndarray]:
    """Stability with intervals that have probability `level`, and membership (n, k)."""
    weights = posterior.weights
    similar, nodes, _ = closest_clades(posterior.draws.children, partition.numbers)
    ends = np.array([(1 - level) / 2, (1 + level) / 2, (1 - WORD_LEVEL) / 2])
    *interval, low = np.stack([weighted_quantile(values, weights, ends) for values in similar.T], axis=1)
    mean = np.minimum(weights @ similar, 1.0)
    is_stable = (mean >= STABLE - 1e-12) & (low >= VALID - 1e-12)
    words = np.where(is_stable, "stable", np.where(mean < DISSOLVED - 1e-12, "dissolved", "doubtful")).tolist()
    sizes = np.bincount(partition.numbers[partition.numbers >= 0])
    stability = ClusterStability(partition.clusters, sizes, mean, np.stack(interval, axis=1), tuple(words))
    inside = times_inside(posterior.draws.children, nodes, weights)
    return stability, inside / np.maximum(inside.sum(axis=1, keepdims=True), 1.0)


def coclustering(posterior: "Posterior", clusters: ArrayLike) -> np.ndarray:
    """(n, n) share of draws in which two leaves are under one C_t(A), for labels or for a number of clusters."""
    n = posterior.n
    labels = posterior.cut(int(np.asarray(clusters))) if is_whole(clusters) else clusters
    numbers = read_labels(labels, posterior).numbers
    require_memory(8 * n * n, f"The co-clustering matrix of {n} leaves", "cut() and membership() need none")
    nodes = closest_clades(posterior.draws.children, numbers).nodes
    return times_together(posterior.draws.children, nodes, posterior.weights, np.arange(n))
