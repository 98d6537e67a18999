"""Clusters of the mean tree, how stable they are, and whose cluster is uncertain.

The estimator, the command line, figures and the report page all take them from here, so that they agree.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..._runtime.formatting import shortlist
from . import stability

if TYPE_CHECKING:
    from ..posterior import Posterior

LEVEL = 0.9  # of the intervals of stability


class ClusterAnswer(NamedTuple):
    """The mean tree cut into k clusters, and how well the draws agree with them."""

    labels: np.ndarray  # (n,) 0 … k-1, as `Posterior.cut` gives them
    membership: np.ndarray  # (n, k) as `Posterior.membership`
    stability: stability.ClusterStability  # as `Posterior.stability`
    in_no_clade: np.ndarray  # (n,) bool, the leaves in none of the clades of the cut, which joined the nearest cluster

    @property
    def n_clusters(self) -> int:
        return len(self.stability.clusters)

    @property
    def probability(self) -> np.ndarray:
        """(n,) the probability of each leaf's own cluster."""
        return np.asarray(self.membership[np.arange(len(self.labels)), self.labels])

    @property
    def none(self) -> np.ndarray:
        """(n,) the probability of being in none of the clusters."""
        return np.asarray(np.maximum(1.0 - self.membership.sum(axis=1), 0.0))

    @property
    def most_probable(self) -> np.ndarray:
        """(n,) the most probable cluster of each leaf; its own, where no other is more probable."""
        best = self.membership.argmax(axis=1)
        is_more = self.membership.max(axis=1) > self.probability + 1e-9
        return np.where(is_more, best, self.labels)

    @property
    def is_elsewhere(self) -> np.ndarray:
        """(n,) bool, whether another cluster is more probable than the leaf's own."""
        return np.asarray(self.most_probable != self.labels)


def answer_for(posterior: "Posterior", n_clusters: int) -> ClusterAnswer:
    """Cut the mean tree into so many clusters, and ask the draws about them."""
    labels = np.asarray(posterior.cut(n_clusters))
    partition = stability.read_labels(labels, posterior)
    stable, membership = stability.stability_and_membership(posterior, partition, LEVEL)
    in_no_clade = np.asarray(posterior.cut(n_clusters, outliers=True)) == -1
    return ClusterAnswer(labels, membership, stable, in_no_clade)


def leaves_are(posterior: "Posterior") -> str:
    """What the leaves are to a reader: the rows of the table, unless several rows make one leaf."""
    return "rows" if posterior.model.leaves.groups is None else "leaves"


def leaves_one(leaves: str) -> str:
    """The singular of what `leaves_are` says."""
    return {"rows": "row", "leaves": "leaf"}[leaves]


def clusters_in_words(answer: ClusterAnswer, leaves: str = "rows") -> str:
    """Such as "2 clusters: 61 rows (stable, 0.97), 49 rows (doubtful, 0.70)", in order of the clusters' numbers.

    A cluster whose mean similarity alone would be stable also has the lower end of its 90 % interval.
    """
    if answer.n_clusters == 1:
        return f"1 cluster: all {len(answer.labels)} {leaves}"
    of = answer.stability
    clusters = []
    for size, jaccard, (low, _), word in zip(of.sizes, of.jaccard, of.interval, of.words, strict=True):
        in_spite = word == "doubtful" and jaccard >= stability.STABLE - 1e-12
        mean = stability.similarity(jaccard) + (f", from {stability.similarity(low)}" if in_spite else "")
        clusters.append(f"{size} {leaves if size > 1 else leaves_one(leaves)} ({word}, {mean})")
    return f"{answer.n_clusters} clusters: {shortlist(clusters, 12)}"


def uncertain_in_words(answer: ClusterAnswer, names: Sequence[str], leaves: str = "rows", most: int = 4) -> str | None:
    """Such as "1 row is more probable in another cluster: a (35 % in its own, 1; 65 % in cluster 2)"; None of none."""
    own, best, share = answer.labels, answer.most_probable, answer.probability
    elsewhere = np.flatnonzero(answer.is_elsewhere)
    if not len(elsewhere):
        return None
    worst = elsewhere[np.argsort(share[elsewhere], kind="stable")][:most].tolist()
    each = [
        f"{names[i]} ({100 * share[i]:.0f} % in its own, {own[i] + 1}; "
        f"{100 * answer.membership[i, best[i]]:.0f} % in cluster {best[i] + 1})"
        for i in worst
    ]
    what = f"1 {leaves_one(leaves)} is" if len(elsewhere) == 1 else f"{len(elsewhere):,} {leaves} are"
    rest = f", and {len(elsewhere) - most:,} more" if len(elsewhere) > most else ""
    return f"{what} more probable in another cluster: {', '.join(each)}{rest}"
