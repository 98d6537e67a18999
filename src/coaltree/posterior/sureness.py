"""How sure a partition is: of every cluster its stability, of every leaf the probabilities of the clusters.

The partitions s_t of the trees, cut like the one in question, have as many clusters. In each tree they are matched one
to one so that the most leaves are in matched clusters (Hungarian method). With A a cluster and A_t its match,

    stability     J(A) = Σ_t w_t |A ∩ A_t| / |A ∪ A_t|           Jaccard similarity: 1 if it is always the same
    membership    P(i in A) = Σ_t w_t [i in A_t]                 for each leaf they sum to 1

Hennig's rule of thumb: 0.85 and above is stable, below 0.6 is not to be trusted. Outliers, label -1, are matched with
outliers, and have a column of their own.
"""

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
    jaccard: np.ndarray  # (k,) posterior mean of the Jaccard similarity with the matching cluster
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
    for row, weight, partner, _ in _matched(reference, sampled, weights):
        to = np.append(np.argsort(partner), k)  # the last one is found by -1
        probability[leaves, to[row]] += weight
    return probability / probability.sum(axis=1, keepdims=True)


def stability(reference: Reference, sampled: np.ndarray, weights: np.ndarray, level: float) -> ClusterStability:
    """Jaccard similarities of the clusters with their matches, with an interval that has probability `level`."""
    matched = list(_matched(reference, sampled, weights))
    of_row, similarity = np.array([m[1] for m in matched]), np.array([m[3] for m in matched])
    ends = np.array([(1 - level) / 2, (1 + level) / 2])
    interval = np.stack([weighted_quantile(values, of_row, ends) for values in similarity.T])
    mean = of_row @ similarity / of_row.sum()
    sizes = np.bincount(reference.numbers[reference.numbers >= 0])
    return ClusterStability(reference.clusters, sizes, mean, interval, tuple(map(in_a_word, mean)))


def in_a_word(jaccard: float) -> str:
    """What a mean Jaccard similarity says of a cluster."""
    if jaccard >= STABLE - 1e-12:
        return "stable"
    return "doubtful" if jaccard >= DISSOLVED - 1e-12 else "dissolved"


def _matched(reference, sampled, weights):
    """For each distinct partition: its labels, its weight, its cluster for each one of the reference, their similarity.

    Where two matchings share as many leaves, it is the one with the higher sum of similarities.
    """
    from scipy.optimize import linear_sum_assignment

    k = len(reference.clusters)
    in_reference = reference.numbers >= 0
    sizes = np.bincount(reference.numbers[in_reference])
    for row, weight in zip(*distinct(sampled, weights), strict=True):
        if weight > 0:
            counts = in_reference & (row >= 0)
            shared = np.bincount(reference.numbers[counts] * k + row[counts], minlength=k * k).reshape(k, k)
            jaccard = shared / (sizes[:, None] + np.bincount(row[row >= 0], minlength=k) - shared)
            own, partner = linear_sum_assignment(shared + jaccard / (k + 1), maximize=True)
            yield row, weight, partner, jaccard[own, partner]
