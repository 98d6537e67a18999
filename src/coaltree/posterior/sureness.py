"""How sure a partition is: of every cluster its stability, of every leaf the probabilities of the clusters.

Every tree is cut like the partition in question into k clusters, and into one and two more: where a tree splits one
cluster before it parts two others, these are there all the same. With A a cluster, B those of the three cuts of tree t,

    stability     J(A) = Σ_t w_t max_B |A ∩ B| / |A ∪ B|         Jaccard similarity: 1 if it is always found again
    membership    P(i in A) = Σ_t w_t [A is most of B_t(i)]      for each leaf they sum to 1

B_t(i) is leaf i's cluster in the one cut of tree t that has the highest Σ_A |A| max_B |A ∩ B| / |A ∪ B| (of equal ones
the coarsest): it stands for the A that it shares most leaves with, of equal ones the most similar. Hennig's rule of
thumb: 0.85 and above is stable, below 0.6 is not to be trusted. Outliers, label -1, stand for themselves, and have a
column of their own.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._runtime.aliases import ArrayLike
from ..errors import InputError
from ..numerics.weighted import weighted_quantile

STABLE, DISSOLVED = 0.85, 0.6
_EQUAL = 1e-9  # sums that differ less are the same


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


def membership(reference: Reference, cuts: Sequence[np.ndarray], weights: np.ndarray, outliers: bool) -> np.ndarray:
    """(n, k), with `outliers` (n, k + 1): the probability of each cluster, and of being an outlier, for each leaf.

    `cuts` are labels (T, n) of the trees, one for each number of clusters that they were cut into, fewest first.
    """
    n, k = len(reference.numbers), len(reference.clusters)
    probability = np.zeros((n, k + outliers))
    leaves = np.arange(n)
    sizes = np.bincount(reference.numbers[reference.numbers >= 0])
    found = [_similarities(reference, labels) for labels in cuts]
    agreement = np.stack([similarity.max(axis=2) @ sizes for similarity in found])
    chosen = np.argmax(agreement >= agreement.max(axis=0) - _EQUAL, axis=0)
    for t, cut in enumerate(chosen):
        row, similarity = cuts[cut][t], found[cut][t]
        both = sizes[:, None] + np.bincount(row[row >= 0], minlength=similarity.shape[1])
        shared = np.rint(both * similarity / (1 + similarity))  # as J = S / (both - S)
        stands_for = np.argmax(shared + 0.5 * similarity, axis=0)
        if outliers:
            stands_for[shared.max(axis=0) == 0] = k
        probability[leaves, np.append(stands_for, k)[row]] += weights[t]  # an outlier, -1, finds the last one
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
