"""Suggest a number of clusters: the one whose clusters are found best in the draws, each at a price.

For k = 2, 3, … the mean tree is cut into k clusters A. Each has a stability J(A), the posterior mean of the Jaccard
similarity with the closest clade of a drawn tree (`closest_clades`). A single row of A is a clade of every tree: J(A)
is at least 1 / |A|, one half for a pair; as the Rand index, it is adjusted for what is there by chance:

    s(A) = (J(A) - 1 / |A|) / (1 - 1 / |A|)                         (1: every draw has the clade A)

A cluster that is named is worth s(A) and costs t, so that k clusters are worth

    worth(k) = Σ_A (s(A) - t) ,      worth(1) = 1 - t ,

and the suggested number is the one that is worth most, of several the smallest, among those none of whose clusters is
dissolved (J(A) < 0.6). A stable cluster is split only where both parts are found nearly as often as it was: a group
inside a cluster that some draws share does not pay for what it takes from the rest. Numbers end where a single row
would be a cluster, and at 30. Nothing but the posterior is asked, and there is no probability of a number, since there
is no model behind one.

The worth is a mean over draws. Numbers whose worth is not lower than that of the suggested one by more than two Monte
Carlo standard errors of the difference make the range from `low` to `high`.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..._runtime.formatting import count
from ..._runtime.once import once
from ..._runtime.validation import check_count
from ...numerics.weighted import effective_sample_size
from ..diagnostics.ess import series_ess
from .closest_clades import closest_clades
from .stability import DISSOLVED

if TYPE_CHECKING:
    from ..posterior import Posterior

PRICE = 0.7  # t; `make bench ONLY=n_clusters FULL=1` compares others: lower ones split structureless tables
MAX_CLUSTERS = 30  # that are suggested
_MIN_LEAVES_PER_CLUSTER = 3  # on average
_N_ERRORS = 2.0  # standard errors of a difference that other draws may show


class ClusterSuggestion(NamedTuple):
    """A number of clusters, the range that it may be in, and the stability of every number considered."""

    n_clusters: int  #: the number suggested
    low: int  #: the smallest number that is not worth less beyond Monte Carlo error
    high: int  #: the largest such number
    #: the numbers considered (`n_clusters`), the least adjusted similarity of their clusters (`stability`), and `worth`
    candidates: np.ndarray
    reason: str  #: why, in a sentence; also ``str(suggestion)``

    def __str__(self) -> str:
        return self.reason

    def __repr__(self) -> str:
        return f"<ClusterSuggestion: {self.reason.rstrip('.')}>"

    @property
    def numbers(self) -> str:
        """Such as "3 clusters", "3 or 4 clusters", "3 to 5 clusters"."""
        if self.low == self.high:
            return count(self.n_clusters, "cluster")
        return f"{self.low} {'or' if self.high == self.low + 1 else 'to'} {self.high} clusters"


def suggest_n_clusters(posterior: "Posterior", max_clusters: int | None = None) -> ClusterSuggestion:
    """A number of clusters from 1 to `max_clusters`, by default a third of the leaves, at most 30."""
    n = posterior.n
    largest = min(n // _MIN_LEAVES_PER_CLUSTER, MAX_CLUSTERS)
    if max_clusters is not None:
        largest = check_count("max_clusters", max_clusters, 2, max(n - 1, 2))
    if largest < 2 or len(posterior) == 1:
        why = f"{n} leaves are too few to look for more" if largest < 2 else "one tree cannot tell what is stable"
        return ClusterSuggestion(1, 1, 1, _table([], []), f"1 cluster: {why}.")
    cuts: list[np.ndarray] = []
    for k in range(2, largest + 1):
        labels = np.asarray(posterior.cut(k))
        if np.bincount(labels).min() == 1:
            break
        cuts.append(labels)
    similar = list(similarities(posterior, cuts))
    worth = np.stack([np.full(len(posterior), 1.0 - PRICE), *((s - PRICE).sum(axis=1) for _, s in similar)])
    means = np.array([1.0, *((posterior.weights @ plain).min() for plain, _ in similar)])
    least = np.array([(posterior.weights @ adjusted).min() for _, adjusted in similar])
    is_allowed = means >= DISSOLVED - 1e-12
    mean = np.where(is_allowed, worth @ posterior.weights, -np.inf)
    best = int(np.argmax(mean > mean.max() - 1e-9))
    is_near = [k == best or _is_near(posterior, worth[best] - worth[k]) for k in range(len(worth))] & is_allowed
    low, high = np.flatnonzero(is_near)[[0, -1]] + 1
    suggested = ClusterSuggestion(best + 1, int(low), int(high), _table(least, (worth @ posterior.weights)[1:]), "")
    end = f"in {len(cuts) + 2} one would be a single row" if len(cuts) < largest - 1 else ""
    return suggested._replace(reason=_reason(suggested, end))


usual_suggestion = once(suggest_n_clusters)


def similarities(posterior: "Posterior", cuts: list[np.ndarray]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(T, k) similarities of the clusters of each partition with their closest clades, plain and adjusted.

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
    for partition in clusters:
        plain = np.stack([similar[at][:, j] for at, j in (place[rows.tobytes()] for rows in partition)], axis=1)
        by_chance = 1.0 / np.array([len(rows) for rows in partition])
        yield plain, (plain - by_chance) / (1.0 - by_chance)


def _is_near(posterior: "Posterior", difference: np.ndarray) -> bool:
    """Whether a positive mean difference (T,) is within its Monte Carlo error."""
    return float(posterior.weights @ difference) <= _N_ERRORS * _standard_error(posterior, difference)


def _standard_error(posterior: "Posterior", values: np.ndarray) -> float:
    """The Monte Carlo standard error of the posterior mean of values (T,)."""
    weights, ess = posterior.weights, np.nan
    if posterior.draws.is_chain and posterior.draws.has_equal_weights:
        ess = series_ess(values, posterior.draws.chain)
    if not np.isfinite(ess):
        ess = effective_sample_size(weights)
    return float(np.sqrt(weights @ np.square(values - weights @ values) / ess))


def _table(least: Iterable[float], worth: Iterable[float]) -> np.ndarray:
    numbered = [(k, *values) for k, values in enumerate(zip(least, worth, strict=True), 2)]
    return np.array(numbered, dtype=[("n_clusters", np.int64), ("stability", float), ("worth", float)])


def _reason(suggested: ClusterSuggestion, end: str) -> str:
    """Why this number, in a sentence; `end` says why there are no more, if not by number."""
    k, table = suggested.n_clusters, suggested.candidates
    least = dict(zip(table["n_clusters"].tolist(), table["stability"].tolist(), strict=True))
    if not least:
        return f"1 cluster: {end}."
    if k == 1:
        text = (
            f"its parts are not found often enough in the sampled trees (2: least adjusted similarity {least[2]:.2f})"
        )
    else:
        each = "both are" if k == 2 else "each is"
        more = f"in more, clusters are found less often ({k + 1}: {least[k + 1]:.2f})" if k + 1 in least else end
        text = f"{each} found in the sampled trees (least adjusted similarity {least[k]:.2f})"
        text += f"; {more or 'more were not tried'}"
    if suggested.low < suggested.high:
        text = f"{k} are worth most, {suggested.numbers} about as much: {text}"
        return f"{k} clusters: {text}." if k > 1 else f"1 cluster: {text}."
    return f"{suggested.numbers}: {text}."
