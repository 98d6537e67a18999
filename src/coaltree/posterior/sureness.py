"""How sure a partition is: of every cluster its stability, of every leaf the probabilities of the clusters.

The partitions s_t of the trees, cut like the one in question, have as many clusters. With A a cluster,

    stability     J(A) = Σ_t w_t max_B |A ∩ B| / |A ∪ B|         Jaccard similarity: 1 if it is always found again
    membership    P(i in A) = Σ_t w_t [i in A_t]                 for each leaf they sum to 1

B runs over the clusters of a tree, also of its cuts into one and two clusters more: where one tree splits A' before it
parts A from another, A is there all the same. For membership the clusters A_t of a tree are matched one to one with
those in question, so that the most leaves are in matched clusters (Hungarian method). Hennig's rule of thumb: 0.85 and
above is stable, below 0.6 is not to be trusted. Outliers, label -1, are matched with outliers, and have a column of
their own.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._runtime.aliases import ArrayLike
from ..errors import InputError
from ..numerics.weighted import weighted_quantile
from .partitions import distinct

STABLE, DISSOLVED = 0.85, 0.6


class ClusterStability(NamedTuple):
    """How well each of k clusters is found again in the trees of a posterior."""

    clusters: np.ndarray  # (k,) the labels, sorted; outliers are not among them
    sizes: np.ndarray  # (k,) leaves
    jaccard: np.ndarray  # (k,) posterior mean of the Jaccard similarity with the most similar cluster of a tree
    interval: np.ndarray  # (k, 2) equal-tailed credible interval
    words: tuple[str, ...]  # "stable" (0.85 and above), "doubtful", or "dissolved" (below 0.6)


class Reference(NamedTuple):
    """The partition in question, its clusters numbered 0 … k-1."""

    clusters: np.ndarray  # (k,) their labels, sorted
    numbers: np.ndarray  # (n,) -1 for outliers


def read_labels(labels: ArrayLike, n: int) -> Reference:
    """Labels of any kind, one for each leaf; the whole number -1 marks outliers."""
    given = np.asarray(labels)
    if given.shape != (n,):
        raise InputError(f"labels must name one cluster for each of the {n} leaves, not have shape {given.shape}.")
    try:
        clusters, numbers = np.unique(given, return_inverse=True)
    except TypeError:
        raise InputError("labels must be all numbers or all names; they cannot be sorted, or some are None.") from None
    if np.issubdtype(given.dtype, np.integer) and clusters[0] == -1:
        clusters, numbers = clusters[1:], numbers - 1
    if len(clusters) == 0:
        raise InputError("labels must name at least one cluster, but every leaf is an outlier (-1).")
    return Reference(clusters, numbers)


def membership(reference: Reference, sampled: np.ndarray, weights: np.ndarray, outliers: bool) -> np.ndarray:
    """(n, k), with `outliers` (n, k + 1): the probability of each cluster, and of being an outlier, for each leaf."""
    n, k = len(reference.numbers), len(reference.clusters)
    probability = np.zeros((n, k + outliers))
    leaves = np.arange(n)
    for row, weight, partner in _matched(reference, sampled, weights):
        to = np.append(np.argsort(partner), k)  # the last one is found by -1
        probability[leaves, to[row]] += weight
    return probability / probability.sum(axis=1, keepdims=True)


def stability(reference: Reference, cuts: Sequence[np.ndarray], weights: np.ndarray, level: float) -> ClusterStability:
    """Jaccard similarities with the most similar clusters of each tree, an interval that has probability `level`.

    `cuts` are labels (T, n) of the trees, one for each number of clusters that they were cut into.
    """
    similarity = np.max([_similarities(reference, labels).max(axis=2) for labels in cuts], axis=0)
    ends = np.array([(1 - level) / 2, (1 + level) / 2])
    interval = np.stack([weighted_quantile(values, weights, ends) for values in similarity.T])
    mean = np.minimum(weights @ similarity, 1.0)
    sizes = np.bincount(reference.numbers[reference.numbers >= 0])
    return ClusterStability(reference.clusters, sizes, mean, interval, tuple(map(in_a_word, mean)))


def in_a_word(jaccard: float) -> str:
    """What a mean Jaccard similarity says of a cluster."""
    if jaccard >= STABLE - 1e-12:
        return "stable"
    return "doubtful" if jaccard >= DISSOLVED - 1e-12 else "dissolved"


def _similarities(reference, sampled):
    """(T, k, clusters) Jaccard similarity of each cluster of the reference with each of a tree."""
    k, most = len(reference.clusters), int(sampled.max()) + 1
    in_reference = reference.numbers >= 0
    sizes = np.bincount(reference.numbers[in_reference])
    similarity = np.zeros((len(sampled), k, most))
    for t, row in enumerate(sampled):
        counts = in_reference & (row >= 0)
        shared = np.bincount(reference.numbers[counts] * most + row[counts], minlength=k * most).reshape(k, most)
        union = sizes[:, None] + np.bincount(row[row >= 0], minlength=most) - shared
        similarity[t] = shared / union
    return similarity


def _matched(reference, sampled, weights):
    """For each distinct partition: its labels, its weight, and its cluster for each one of the reference.

    Where two matchings share as many leaves, it is the one with the higher sum of similarities.
    """
    from scipy.optimize import linear_sum_assignment

    k = len(reference.clusters)
    rows, weights = distinct(sampled, weights)
    own_sizes = np.bincount(reference.numbers[reference.numbers >= 0])[:, None]
    for row, weight, jaccard in zip(rows, weights, _similarities(reference, rows), strict=True):
        if weight > 0:
            both = own_sizes + np.bincount(row[row >= 0], minlength=k)
            shared = np.rint(both * jaccard / (1 + jaccard))  # as J = S / (both - S)
            yield row, weight, linear_sum_assignment(shared + jaccard / (k + 1), maximize=True)[1]
