"""The answer that every output gives: one partition, how stable its clusters are, and whose cluster is uncertain.

The estimator, the command line, figures and the report page all take it from here, so that they agree.
"""

import warnings
from typing import NamedTuple

import numpy as np

from ..errors import ClusterSizeWarning
from . import sureness
from .clusters import beside
from .posterior import Posterior

LEVEL = 0.9  # of the intervals of stability


class ClusterAnswer(NamedTuple):
    """The partition into k clusters that agrees best with all trees, and how sure it is."""

    labels: np.ndarray  # (n,) 0 … k-1, as `Posterior.cut` gives them
    membership: np.ndarray  # (n, k) as `Posterior.membership`
    stability: sureness.ClusterStability  # as `Posterior.stability`

    @property
    def n_clusters(self) -> int:
        return len(self.stability.clusters)

    @property
    def probability(self) -> np.ndarray:
        """(n,) the probability of each leaf's own cluster."""
        return self.membership[np.arange(len(self.labels)), self.labels]


def answer_for(posterior: Posterior, n_clusters: int, *, quietly: bool = False) -> ClusterAnswer:
    """Cut the posterior into so many clusters; `quietly` without a warning where they had to be small."""
    with warnings.catch_warnings():
        if quietly:
            warnings.simplefilter("ignore", ClusterSizeWarning)
        labels = posterior.cut(n_clusters, output="numpy")
        reference, cut_into, _ = beside(posterior, labels)
    return ClusterAnswer(
        labels,
        sureness.membership(reference, cut_into, posterior.weights, False),
        sureness.stability(reference, cut_into, posterior.weights, LEVEL),
    )


def leaves_are(posterior: Posterior) -> str:
    """What the leaves are to a reader: the rows of the table, unless several rows make one leaf."""
    return "rows" if posterior.groups is None else "leaves"


def in_a_line(answer: ClusterAnswer, leaves: str = "rows", most: int = 12) -> str:
    """Such as "2 clusters: 61 rows (stable, 0.97), 49 rows (doubtful, 0.70)", in order of the clusters' numbers."""
    if answer.n_clusters == 1:
        return f"1 cluster: all {len(answer.labels)} {leaves}"
    found = answer.stability
    said = [
        f"{size} {leaves if size > 1 else leaves_one(leaves)} ({word}, {sureness.similarity(jaccard)})"
        for size, word, jaccard in zip(found.sizes[:most], found.words, found.jaccard, strict=False)
    ]
    rest = f", and {answer.n_clusters - most} more" if answer.n_clusters > most else ""
    return f"{answer.n_clusters} clusters: {', '.join(said)}{rest}"


def leaves_one(leaves: str) -> str:
    """The singular of what `leaves_are` says."""
    return {"rows": "row", "leaves": "leaf"}[leaves]
