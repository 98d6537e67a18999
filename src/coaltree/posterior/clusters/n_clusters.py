"""Suggest a number of clusters: the largest one whose clusters are all stable across draws.

For k = 2, 3, … the mean tree is cut into k clusters A. Each has a stability J(A), the posterior mean of the Jaccard
similarity with the closest clade of a drawn tree (`closest_clades`). A single row of A is a clade of every tree: J(A)
is at least 1 / |A|, one half for a pair; as the Rand index, it is adjusted for what is there by chance:

    S_k = min_A (J(A) - 1 / |A|) / (1 - 1 / |A|)                         (1: every draw has all k clusters)

The suggested number is the largest k with S_k ≥ t, and 1 where there is none. It ends where a single row would be a
cluster, and at 30. Nothing but the posterior is asked, and there is no probability of a number, since there is no model
behind one.

S_k is a mean over draws, with a Monte Carlo error. Where t lies within two standard errors of S_k for the suggested
number, `low` is the largest smaller one of which that is not so; where it does for the next number, `high` is that one.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..._runtime.formatting import beside_limit, count
from ..._runtime.once import once
from ..._runtime.validation import check_count
from ...numerics.weighted import effective_sample_size
from ..diagnostics.ess import series_ess
from .closest_clades import closest_clades

if TYPE_CHECKING:
    from ..posterior import Posterior

MIN_STABILITY = 0.75  # t: from there on a cluster is valid (Hennig 2007); `make bench ONLY=n_clusters` compares others
MAX_CLUSTERS = 30
_MIN_LEAVES_PER_CLUSTER = 3  # on average
_N_ERRORS = 2.0  # standard errors of S_k that other draws may differ by


class ClusterSuggestion(NamedTuple):
    """A number of clusters, the range that it may be in, and the stability of every number considered."""

    n_clusters: int  #: the number suggested
    low: int  #: the number that fewer clusters would be, where Monte Carlo error leaves that open; else the same
    high: int  #: the next larger number, where Monte Carlo error leaves that open; else the same
    #: the numbers considered (`n_clusters`), and S_k, the least adjusted similarity of their clusters (`stability`)
    candidates: np.ndarray
    reason: str  #: why, in a sentence; also ``str(suggestion)``

    def __str__(self) -> str:
        return self.reason

    def __repr__(self) -> str:
        return f"<ClusterSuggestion: {self.reason.rstrip('.')}>"

    @property
    def numbers(self) -> str:
        """Such as "3 clusters", "3 or 4 clusters"."""
        each = sorted({self.low, self.n_clusters, self.high})
        return " or ".join([*map(str, each[:-1]), count(each[-1], "cluster")])


def suggest_n_clusters(posterior: "Posterior", max_clusters: int | None = None) -> ClusterSuggestion:
    """A number of clusters from 1 to `max_clusters`, by default a third of the leaves, at most 30."""
    n = posterior.n
    largest = min(n // _MIN_LEAVES_PER_CLUSTER, MAX_CLUSTERS)
    if max_clusters is not None:
        largest = check_count("max_clusters", max_clusters, 2, max(n - 1, 2))
    if largest < 2 or len(posterior) == 1:
        why = f"{n} leaves are too few to look for more" if largest < 2 else "one tree cannot tell what is stable"
        return ClusterSuggestion(1, 1, 1, _table([]), f"1 cluster: {why}.")
    cuts: list[np.ndarray] = []
    for k in range(2, largest + 1):
        labels = np.asarray(posterior.cut(k))
        if np.bincount(labels).min() == 1:
            break
        cuts.append(labels)
    end = f"in {len(cuts) + 2} one would be a single row" if len(cuts) < largest - 1 else ""
    return _suggestion(*least_stability(posterior, cuts), end)


usual_suggestion = once(suggest_n_clusters)


def least_stability(posterior: "Posterior", cuts: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(cuts,) S_k of several partitions of the leaves, and its standard error.

    A cluster of several partitions is looked for once, with as many other clusters that are disjoint as there are.
    """
    passes: list[np.ndarray] = []
    place: dict[bytes, tuple[int, int]] = {}  # the pass of each cluster, and its number there
    clusters = [[np.flatnonzero(labels == c) for c in range(labels.max() + 1)] for labels in cuts]
    for rows in (rows for partition in clusters for rows in partition):
        if rows.tobytes() in place:
            continue
        at = next((at for at, numbers in enumerate(passes) if (numbers[rows] < 0).all()), len(passes))
        if at == len(passes):
            passes.append(np.full(posterior.n, -1))
        place[rows.tobytes()] = at, int(passes[at].max()) + 1
        passes[at][rows] = passes[at].max() + 1
    similar = [closest_clades(posterior.draws.children, numbers).similarity for numbers in passes]
    least, errors = np.empty(len(cuts)), np.empty(len(cuts))
    for k, partition in enumerate(clusters):
        by_chance = 1.0 / np.array([len(rows) for rows in partition])[:, None]
        of_each = np.stack([similar[at][:, j] for at, j in (place[rows.tobytes()] for rows in partition)])
        of_each = (of_each - by_chance) / (1.0 - by_chance)
        means = of_each @ posterior.weights
        least[k], errors[k] = means.min(), _standard_error(posterior, of_each[means.argmin()])
    return least, errors


def _standard_error(posterior: "Posterior", values: np.ndarray) -> float:
    """The Monte Carlo standard error of the posterior mean of values (T,)."""
    weights, ess = posterior.weights, np.nan
    if posterior.draws.is_chain and posterior.draws.has_equal_weights:
        ess = series_ess(values, posterior.draws.chain)
    if not np.isfinite(ess):
        ess = effective_sample_size(weights)
    return float(np.sqrt(weights @ np.square(values - weights @ values) / ess))


def _suggestion(least: np.ndarray, errors: np.ndarray, end: str) -> ClusterSuggestion:
    """The suggestion from S_2, S_3, … and their standard errors; `end` says why there are no more, if not by number."""

    def largest(is_enough: np.ndarray) -> int:
        return int(np.max(np.flatnonzero(is_enough) + 2, initial=1))

    limit, margin = MIN_STABILITY - 1e-12, _N_ERRORS * errors
    k = largest(least >= limit)
    low = largest((least - margin >= limit)[: k - 1])
    high = k + int((least + margin >= limit)[k - 1 : k].any())
    suggested = ClusterSuggestion(k, low, high, _table(least), "")
    return suggested._replace(reason=_reason(suggested, end))


def _table(least: np.ndarray | list[float]) -> np.ndarray:
    table = np.empty(len(least), dtype=[("n_clusters", np.int64), ("stability", float)])
    table["n_clusters"], table["stability"] = np.arange(2, len(least) + 2), least
    return table


def _reason(suggested: ClusterSuggestion, end: str) -> str:
    """Why this number, in a sentence."""
    k, table = suggested.n_clusters, suggested.candidates

    def least(number: int) -> str:
        return beside_limit(float(table["stability"][number - 2]), MIN_STABILITY, 2)

    if len(table) == 0:
        return f"1 cluster: {end}."
    if k == 1:
        of_two = f"all found in the sampled trees (2: least adjusted similarity {least(2)})"
        text = f"no larger number has clusters that are {of_two}"
    else:
        each = "both are" if k == 2 else "each is"
        is_last = k == len(table) + 1
        beyond = (end or "more were not tried") if is_last else f"{k + 1} would not be ({least(k + 1)})"
        text = f"{each} found in the sampled trees (least adjusted similarity {least(k)}); {beyond}"
    if suggested.low < suggested.high:
        others = [f"{number} ({least(number)})" if number > 1 else "1" for number in (suggested.low, suggested.high)]
        maybe = " or ".join(other for other in others if other.split()[0] != str(k))
        return f"{suggested.numbers}. {k}: {text}. With other draws it might be {maybe}."
    return f"{suggested.numbers}: {text}."
