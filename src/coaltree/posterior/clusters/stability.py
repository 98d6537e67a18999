"""Stability of clusters across draws, and the probabilities of the clusters for every leaf.

Every tree is cut like the partition in question into k clusters, and into one and two more: where a tree splits one
cluster before it parts two others, these are there all the same. For stability it is cut into one fewer as well, which
has the cluster that such a tree splits too soon. With A a cluster, B those of these cuts of tree t,

    stability     J(A) = Σ_t w_t max_B |A ∩ B| / |A ∪ B|         Jaccard similarity: 1 if every draw has it
    membership    P(i in A) = Σ_t w_t [B_t(i) is A's]            for each leaf they sum to 1

For membership, k clusters of a cut are matched one to one with those in question, so that the most leaves are in
matched ones (Hungarian method), in the one cut of the tree that has the highest Σ_A |A| |A ∩ B_A| / |A ∪ B_A| (of equal
ones the coarsest). A cluster that is left over goes with the matched one that it meets first on the way up the tree, in
coarser cuts; where it meets several at once, with the one whose A shares most leaves with it. B_t(i) is leaf i's
cluster.

A cluster is *stable* if J(A) is at least 0.85 and the lower end of the 90 % interval of its similarities at least 0.75,
*dissolved* if J(A) is below 0.6, and *doubtful* otherwise. The limits are Hennig's: from 0.85 on a cluster is highly
stable, from 0.75 on valid, below 0.6 not to be trusted. Outliers, label -1, are matched with outliers, and have a
column of their own.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..._runtime.formatting import field_docs, some
from ..._runtime.jit import jit
from ..._runtime.notebook import html_table
from ..._runtime.typing import ArrayLike
from ...errors import InputError
from ...numerics.weighted import weighted_quantile
from ...tree.cuts import MinSize, check_cut
from ..io.pandas_output import in_order_of
from .partitions import cut_labels

if TYPE_CHECKING:
    from ..posterior import Posterior

STABLE, DISSOLVED = 0.85, 0.6  # limits of the mean similarity
VALID = 0.75  # limit of the lower end of its interval, where a cluster is to be stable
WORD_LEVEL = 0.9  # of that interval
_PREFERENCE = np.array([[2e-9], [1e-9], [0.0]])  # of the coarser cut, where sums are equal but for rounding
_MIN_CUTS_KEPT, _MAX_CUT_BYTES = 4, 2e8  # of all trees that are kept: neighbouring numbers look at the same ones
_MAX_PAIRS_AT_ONCE = 2**22  # of clusters: hundreds of them in thousands of trees would fill the memory
_MAX_LABELS_AT_ONCE = 1 << 22  # of trees whose leftover clusters are joined together


@field_docs(
    clusters="(k,) the labels, sorted; outliers are not among them.",
    sizes="(k,) leaves of each cluster.",
    jaccard="(k,) posterior mean of the Jaccard similarity with the most similar cluster of a tree.",
    interval="(k, 2) equal-tailed credible interval of that similarity.",
    words='One for each cluster, "stable" (mean at least 0.85, and the lower end of its 90 % interval at least 0.75), '
    '"dissolved" (mean below 0.6), or "doubtful".',
)
class ClusterStability(NamedTuple):
    """How stable each of k clusters is across the draws of a posterior."""

    clusters: np.ndarray
    sizes: np.ndarray
    jaccard: np.ndarray
    interval: np.ndarray
    words: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """The clusters as people read them: counted from 1 where the labels count from 0."""
        is_counted = self.clusters.dtype.kind in "iu" and len(self.clusters) > 0 and self.clusters[0] == 0
        return [str(label + 1 if is_counted else label) for label in self.clusters]

    def __repr__(self) -> str:
        found = zip(self.names, self.words, self.jaccard, strict=True)
        said = [f"{name} {word} ({similarity(jaccard)})" for name, word, jaccard in found]
        return f"<ClusterStability: {some(said, 8)}>"

    def _repr_html_(self) -> str:
        ends = [f"{lower_end(low)} to {high:.2f}" for low, high in self.interval]
        similar = [similarity(mean) for mean in self.jaccard]
        rows = zip(self.names, self.sizes, similar, ends, self.words, strict=True)
        return html_table(["cluster", "leaves", "similarity", "interval", "stability"], rows)


def similarity(jaccard: float) -> str:
    """A mean similarity in two digits, on its side of the limits: 0.849 is not 0.85, which would be stable."""
    return _in_two_digits(jaccard, (STABLE, DISSOLVED))


def lower_end(jaccard: float) -> str:
    """The lower end of an interval of similarities in two digits, on its side of the limit."""
    return _in_two_digits(jaccard, (VALID,))


def with_word(word: str, jaccard: float, low: float) -> str:
    """Such as "stable, 0.97" or, where only the lower end of the interval is low, "doubtful, 0.97, from 0.62"."""
    in_spite = word == "doubtful" and jaccard >= STABLE - 1e-12
    return f"{word}, {similarity(jaccard)}{f', from {lower_end(low)}' if in_spite else ''}"


def _in_two_digits(value: float, limits: tuple[float, ...]) -> str:
    rounded = round(float(value), 2)
    crosses = any(value < limit - 1e-12 and rounded >= limit for limit in limits)
    return f"{rounded - 0.01 if crosses else rounded:.2f}"


class Reference(NamedTuple):
    """The partition in question, its clusters numbered 0 … k-1."""

    clusters: np.ndarray  # (k,) their labels, sorted
    numbers: np.ndarray  # (n,) -1 for outliers

    @property
    def sizes(self) -> np.ndarray:
        """(k,) leaves of each cluster."""
        return np.bincount(self.numbers[self.numbers >= 0])


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


def read_partition(
    posterior: "Posterior", labels: ArrayLike, min_size: MinSize = "auto", outliers: bool | None = None
) -> tuple[Reference, Callable[[int], np.ndarray], bool]:
    """The given partition, what cuts all trees into a number of clusters, and whether outliers are named."""
    reference = read_labels(in_order_of(labels, posterior), posterior.n)
    outliers = bool((reference.numbers < 0).any()) if outliers is None else outliers
    return reference, cuts_of(posterior, min_size, outliers), outliers


def cuts_of(posterior: "Posterior", min_size: MinSize = "auto", outliers: bool = False) -> Callable[[int], np.ndarray]:
    """What cuts all trees into a number of clusters, labels (T, n), and keeps the last cuts."""

    @lru_cache(maxsize=max(_MIN_CUTS_KEPT, int(_MAX_CUT_BYTES / (4 * posterior.n * len(posterior)))))
    def cut_into(number: int) -> np.ndarray:
        how = check_cut(posterior.n, number, None, min_size, outliers)
        rows = posterior.whitened_rows if how.outliers else None
        return cut_labels(posterior.children, posterior.times, how, rows)

    return cut_into


def numbers_beside(n_clusters: int, n: int, fewer: int = 0) -> list[int]:
    """Into how many clusters trees of n leaves are cut, where `n_clusters` are looked for: up to `fewer` fewer."""
    if n_clusters == 1:
        return [1]
    return list(range(max(2, n_clusters - fewer), min(n_clusters + 2, n) + 1))


def membership(
    reference: Reference, cut_into: Callable[[int], np.ndarray], weights: np.ndarray, outliers: bool
) -> np.ndarray:
    """(n, k), with `outliers` (n, k + 1): the probability of each cluster, and of being an outlier, for each leaf.

    `cut_into` gives the labels (T, n) of all trees, cut into so many clusters.
    """
    n, k = len(reference.numbers), len(reference.clusters)
    cuts = [cut_into(number) for number in numbers_beside(k, n)]
    matches = [_matched(reference, labels) for labels in cuts]
    best = np.argmax([agreement for _, _, agreement in matches] + _PREFERENCE[: len(matches)], axis=0)
    probability, at_once = np.zeros((n, k + outliers)), max(1, _MAX_LABELS_AT_ONCE // n)
    for option, (labels, (stands_for, shared, _)) in enumerate(zip(cuts, matches, strict=True)):
        trees = np.flatnonzero(best == option)
        for number in range(k + option - 1, 0, -1):
            unsettled = trees[(stands_for[trees] < 0).any(axis=1)]
            for first in range(0, len(unsettled), at_once):
                some = unsettled[first : first + at_once]
                above = cut_into(number)[some] if number > 1 else np.minimum(labels[some], 0)
                stands_for[some] = _joined_above(stands_for[some], shared[some], labels[some], above)
        cluster = np.where(labels[trees] >= 0, np.take_along_axis(stands_for[trees], labels[trees], axis=1), -1)
        _add_weights(probability, cluster, weights[trees])
    normalised: np.ndarray = probability / probability.sum(axis=1, keepdims=True)
    return normalised


def _matched(reference: Reference, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Match the clusters of labels (T, n) with those in question so that most leaves are shared, then by similarity.

    Returns which one each cluster is matched with (T, clusters), -1 for none, the leaves that they share (T, k,
    clusters), and the agreement (T,) of the matched ones.
    """
    from scipy.optimize import linear_sum_assignment

    sizes = reference.sizes
    shared, theirs, similarity = _compared(reference, labels)
    gain = shared + similarity / (len(sizes) + 1)
    partner = gain.argmax(axis=2)
    stands_for = np.where(theirs > 0, -1, 0)  # trees may have fewer clusters
    agreement = np.take_along_axis(similarity, partner[:, :, None], axis=2)[:, :, 0] @ sizes
    is_best = np.count_nonzero(gain == gain.max(axis=2, keepdims=True), axis=2) == 1
    is_own = (np.diff(np.sort(partner, axis=1), axis=1) > 0).all(axis=1) & is_best.all(axis=1)
    settled = np.flatnonzero(is_own)  # where each has its best one, and no two the same
    stands_for[settled[:, None], partner[settled]] = np.arange(len(sizes))
    for t in np.flatnonzero(~is_own).tolist():
        own, others = linear_sum_assignment(gain[t], maximize=True)
        kept = theirs[t, others] > 0
        stands_for[t, others[kept]] = own[kept]
        agreement[t] = sizes[own] @ similarity[t, own, others]
    return stands_for, shared, agreement


def _joined_above(stands_for: np.ndarray, shared: np.ndarray, labels: np.ndarray, above: np.ndarray) -> np.ndarray:
    """Give clusters that are left over, -1, to a matched one in the same cluster of the coarser cuts `above`.

    Of several it is the one that shares most leaves, of equal ones the first.
    """
    (n_trees, n_clusters), k, n_above = stands_for.shape, shared.shape[1], int(above.max(initial=0)) + 1
    places = (np.arange(n_trees)[:, None] * n_clusters + labels) * n_above + above
    within = np.bincount(places[(labels >= 0) & (above >= 0)], minlength=n_trees * n_clusters * n_above)
    around = within.reshape(n_trees, n_clusters, n_above).argmax(axis=2)
    tree, left = np.nonzero(stands_for < 0)
    own = stands_for[tree]  # (left over, clusters)
    is_beside = (own >= 0) & (around[tree] == around[tree, left][:, None])
    order = np.where(is_beside, k * shared[tree[:, None], own, left[:, None]] - own, -k)
    joined = stands_for.copy()
    joined[tree, left] = np.take_along_axis(np.where(is_beside, own, -1), order.argmax(axis=1)[:, None], axis=1)[:, 0]
    return joined


def stability(
    reference: Reference, cut_into: Callable[[int], np.ndarray], weights: np.ndarray, level: float
) -> ClusterStability:
    """Jaccard similarities with the most similar clusters of each tree, an interval that has probability `level`.

    `cut_into` gives the labels (T, n) of all trees, cut into so many clusters.
    """
    numbers = numbers_beside(len(reference.clusters), len(reference.numbers), fewer=1)
    cuts = [cut_into(number) for number in numbers]
    similarity = np.max([most_similar(reference, labels) for labels in cuts], axis=0)
    ends = np.array([(1 - level) / 2, (1 + level) / 2, (1 - WORD_LEVEL) / 2])
    *interval, low = np.stack([weighted_quantile(values, weights, ends) for values in similarity.T], axis=1)
    mean = np.minimum(weights @ similarity, 1.0)
    words = tuple(map(in_a_word, mean, low))
    return ClusterStability(reference.clusters, reference.sizes, mean, np.stack(interval, axis=1), words)


def in_a_word(jaccard: float, low: float) -> str:
    """What the mean Jaccard similarity of a cluster, and the lower end of its 90 % interval, say of it."""
    if jaccard >= STABLE - 1e-12 and low >= VALID - 1e-12:
        return "stable"
    return "doubtful" if jaccard >= DISSOLVED - 1e-12 else "dissolved"


def most_similar(reference: Reference, labels: np.ndarray) -> np.ndarray:
    """(T, k) the Jaccard similarity of each cluster with the most similar one of labels (T, n)."""
    at_once = max(1, _MAX_PAIRS_AT_ONCE // (len(reference.clusters) * (int(labels.max()) + 1)))
    parts = (labels[t : t + at_once] for t in range(0, len(labels), at_once))
    return np.concatenate([_compared(reference, part)[2].max(axis=2) for part in parts])


def _compared(reference: Reference, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Leaves (T, k, clusters) that clusters of labels (T, n) share with those of the reference, sizes, similarities."""
    shape = len(labels), len(reference.clusters), int(labels.max()) + 1
    shared, theirs = np.zeros(shape, np.int32), np.zeros(shape[::2], np.int64)
    _count_shared(shared, theirs, reference.numbers, labels)
    return shared, theirs, shared / (reference.sizes[:, None] + theirs[:, None] - shared)


@jit
def _add_weights(probability: np.ndarray, cluster: np.ndarray, weights: np.ndarray) -> None:
    """What np.add.at does, in a tenth of its time; outliers, -1, are in the last column."""
    for t in range(len(cluster)):
        for i in range(len(probability)):
            probability[i, cluster[t, i]] += weights[t]


@jit
def _count_shared(shared: np.ndarray, theirs: np.ndarray, numbers: np.ndarray, labels: np.ndarray) -> None:
    for t in range(len(labels)):
        for i in range(len(numbers)):
            c = labels[t, i]
            if c >= 0:
                theirs[t, c] += 1
                if numbers[i] >= 0:
                    shared[t, numbers[i], c] += 1
