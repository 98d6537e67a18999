"""How sure a partition is: of every cluster its stability, of every leaf the probabilities of the clusters.

Every tree is cut like the partition in question into k clusters, and into one and two more: where a tree splits one
cluster before it parts two others, these are there all the same. With A a cluster, B those of the three cuts of tree t,

    stability     J(A) = Σ_t w_t max_B |A ∩ B| / |A ∪ B|         Jaccard similarity: 1 if it is always found again
    membership    P(i in A) = Σ_t w_t [B_t(i) is A's]            for each leaf they sum to 1

For membership, k clusters of a cut are matched one to one with those in question, so that the most leaves are in
matched ones (Hungarian method), in the one cut of the tree that has the highest Σ_A |A| |A ∩ B_A| / |A ∪ B_A| (of equal
ones the coarsest). A cluster that is left over goes with the matched one that it meets first on the way up the tree, in
coarser cuts; where it meets several at once, with the one whose A shares most leaves with it. B_t(i) is leaf i's
cluster.

Hennig's rule of thumb: 0.85 and above is stable, below 0.6 is not to be trusted. Outliers, label -1, are matched with
outliers, and have a column of their own.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._runtime.aliases import ArrayLike
from .._runtime.fielddocs import field_docs
from .._runtime.notebook import html_table
from ..errors import InputError
from ..numerics.weighted import weighted_quantile

STABLE, DISSOLVED = 0.85, 0.6
_PREFERENCE = np.array([[2e-9], [1e-9], [0.0]])  # of the coarser cut, where sums are equal but for rounding


@field_docs(
    clusters="(k,) the labels, sorted; outliers are not among them.",
    sizes="(k,) leaves of each cluster.",
    jaccard="(k,) posterior mean of the Jaccard similarity with the most similar cluster of a tree.",
    interval="(k, 2) equal-tailed credible interval of that similarity.",
    words='"stable" (0.85 and above), "doubtful", or "dissolved" (below 0.6), for each cluster.',
)
class ClusterStability(NamedTuple):
    """How well each of k clusters is found again in the trees of a posterior."""

    clusters: np.ndarray
    sizes: np.ndarray
    jaccard: np.ndarray
    interval: np.ndarray
    words: tuple[str, ...]

    def _repr_html_(self) -> str:
        ends = [f"{low:.2f} to {high:.2f}" for low, high in self.interval]
        similar = [similarity(mean) for mean in self.jaccard]
        rows = zip(self.clusters, self.sizes, similar, ends, self.words, strict=True)
        return html_table(["cluster", "leaves", "similarity", "interval", "stability"], rows)


def similarity(jaccard: float) -> str:
    """A similarity in two digits, on its side of the limits: 0.849 is not 0.85, which would be stable."""
    rounded = round(float(jaccard), 2)
    crosses = any(jaccard < limit - 1e-12 and rounded >= limit for limit in (STABLE, DISSOLVED))
    return f"{rounded - 0.01 if crosses else rounded:.2f}"


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


def numbers_beside(n_clusters: int, n: int) -> list[int]:
    """Into how many clusters trees of n leaves are cut, where `n_clusters` are looked for."""
    return [k for k in range(n_clusters, n_clusters + 3) if k <= n] if n_clusters > 1 else [1]


def membership(
    reference: Reference, cut_into: Callable[[int], np.ndarray], weights: np.ndarray, outliers: bool
) -> np.ndarray:
    """(n, k), with `outliers` (n, k + 1): the probability of each cluster, and of being an outlier, for each leaf.

    `cut_into` gives the labels (T, n) of all trees, cut into so many clusters.
    """
    n, k = len(reference.numbers), len(reference.clusters)
    probability = np.zeros((n, k + outliers))
    leaves = np.arange(n)
    options = [_matched(reference, cut_into(number)) for number in numbers_beside(k, n)]
    chosen = np.argmax(
        [[one.agreement for one in matches] for matches in options] + _PREFERENCE[: len(options)], axis=0
    )
    for t, option in enumerate(chosen):
        found, row = options[option][t], cut_into(k + int(option))[t]
        stands_for = found.stands_for
        coarser = k + int(option)
        while (stands_for < 0).any():
            coarser -= 1
            above = cut_into(coarser)[t] if coarser > 1 else np.where(row >= 0, 0, -1)
            _join_above(stands_for, found.shared, row, above)
        probability[leaves, np.append(stands_for, k)[row]] += weights[t]  # an outlier, -1, finds the last one
    return probability / probability.sum(axis=1, keepdims=True)


class _Match(NamedTuple):
    """How a cut of a tree is matched with the partition in question."""

    stands_for: np.ndarray  # (clusters,) the cluster in question that each one is matched with, or -1
    shared: np.ndarray  # (k, clusters) leaves
    agreement: float


def _matched(reference, labels):
    """A `_Match` for each row of labels (T, n). Of matchings that share as many leaves, it is the most similar one."""
    from scipy.optimize import linear_sum_assignment

    sizes = np.bincount(reference.numbers[reference.numbers >= 0])
    found = []
    for row, similarity in zip(labels, _similarities(reference, labels), strict=True):
        both = sizes[:, None] + np.bincount(row[row >= 0], minlength=similarity.shape[1])
        shared = np.rint(both * similarity / (1 + similarity))  # as J = S / (both - S)
        own, partner = linear_sum_assignment(shared + similarity / (len(sizes) + 1), maximize=True)
        stands_for = np.full(similarity.shape[1], -1)
        stands_for[partner] = own
        stands_for[np.bincount(row[row >= 0], minlength=len(stands_for)) == 0] = 0  # trees with fewer clusters
        found.append(_Match(stands_for, shared, float(sizes @ similarity[own, partner])))
    return found


def _join_above(stands_for, shared, row, above):
    """Give clusters that are left over, -1, to a matched one in the same cluster of a coarser cut `above`."""
    inside = row >= 0
    within = np.zeros((len(stands_for), int(above.max()) + 1))
    np.add.at(within, (row[inside & (above >= 0)], above[inside & (above >= 0)]), 1)
    around = within.argmax(axis=1)
    matched = stands_for >= 0
    for b in np.flatnonzero(~matched):
        company = np.unique(stands_for[matched & (around == around[b])])
        if len(company):
            stands_for[b] = company[np.argmax(shared[company, b])]


def stability(
    reference: Reference, cut_into: Callable[[int], np.ndarray], weights: np.ndarray, level: float
) -> ClusterStability:
    """Jaccard similarities with the most similar clusters of each tree, an interval that has probability `level`.

    `cut_into` gives the labels (T, n) of all trees, cut into so many clusters.
    """
    cuts = [cut_into(number) for number in numbers_beside(len(reference.clusters), len(reference.numbers))]
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
