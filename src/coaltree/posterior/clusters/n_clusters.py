"""Suggest a number of clusters: the largest one whose clusters are all found in the drawn trees.

A drawn tree *has* a cluster of several if its closest clade has more leaves in common with it than not, and no more
than half of any other of the clusters (`closest_clades`). For k = 2, 3, … the mean tree is cut into k clusters, and

    S_k = min_A Σ_t w_t J_t(A) [tree t has A]

is the least stability among them, where the similarity with a clade that is not the cluster's own counts as 0. The
suggested number is the largest k with S_k of at least 0.75, from where on Hennig calls a cluster valid; 1 where there
is none. Numbers end where a single row would be a cluster, and at 30. Nothing but the posterior is asked, and there is
no probability of a number, since there is no model behind one.

S_k is a mean over draws. Where that of the suggested number, or of the next one, is within two Monte Carlo standard
errors of the limit, the range from `low` to `high` has its neighbour, too.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..._runtime.formatting import beside_limit, count
from ..._runtime.once import once
from ..._runtime.validation import check_count
from ..diagnostics.ess import series_ess
from .closest_clades import closest_clades
from .stability import VALID

if TYPE_CHECKING:
    from ..posterior import Posterior

MAX_CLUSTERS = 30  # that are suggested
_MIN_LEAVES_PER_CLUSTER = 3  # on average
_N_ERRORS = 2.0  # standard errors that other draws may differ by


class ClusterSuggestion(NamedTuple):
    """A number of clusters, the range that it may be in, and the stability of every number considered."""

    n_clusters: int  #: the number suggested
    low: int  #: the smallest number that other draws might suggest
    high: int  #: the largest such number
    #: the numbers considered (`n_clusters`), and the least stability of their clusters (`stability`), which counts
    #: draws without a cluster as 0
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
        return ClusterSuggestion(1, 1, 1, _table([]), f"1 cluster: {why}.")
    least, errors, end = [], [], "more were not tried"
    for k in range(2, largest + 1):
        labels = np.asarray(posterior.cut(k))
        if np.bincount(labels).min() == 1:
            end = f"in {k} one would be a single row"
            break
        closest = closest_clades(posterior.draws.children, labels)
        similar = closest.similarity * closest.is_had
        stability = posterior.weights @ similar
        least.append(float(stability.min()))
        errors.append(_standard_error(posterior, similar[:, stability.argmin()]))
    k = _largest(least)
    is_near = np.abs(np.array(least) - VALID) <= _N_ERRORS * np.array(errors)
    low = _largest(least[: k - 2]) if k > 1 and is_near[k - 2] else k
    high = k + 1 if k - 1 < len(least) and is_near[k - 1] else k
    suggested = ClusterSuggestion(k, low, high, _table(least), "")
    return suggested._replace(reason=_reason(suggested, end))


usual_suggestion = once(suggest_n_clusters)


def _largest(least: list[float]) -> int:
    """The largest of the numbers 2, 3, … with a least stability from the limit on; 1 where there is none."""
    return max((k for k, stability in enumerate(least, 2) if stability >= VALID - 1e-9), default=1)


def _standard_error(posterior: "Posterior", values: np.ndarray) -> float:
    """The Monte Carlo standard error of the posterior mean of values (T,)."""
    variance = posterior.weights @ np.square(values - posterior.weights @ values)
    return float(np.sqrt(variance / series_ess(values, posterior.draws)))


def _table(least: Iterable[float]) -> np.ndarray:
    return np.array([*enumerate(least, 2)], dtype=[("n_clusters", np.int64), ("stability", float)])


def _reason(suggested: ClusterSuggestion, end: str) -> str:
    """Why this number, in a sentence; `end` says why no larger ones were tried."""
    k = suggested.n_clusters
    least = {int(number): beside_limit(stability, VALID, 2) for number, stability in suggested.candidates}
    if not least:
        return f"1 cluster: {end}."
    if k == 1:
        text = f"of 2, one is not found in enough of the sampled trees (least similarity {least[2]})"
    else:
        more = f"{k + 1} would not be ({least[k + 1]})" if k + 1 in least else end
        text = f"{'both are' if k == 2 else 'each is'} found in the sampled trees (least similarity {least[k]}); {more}"
    if suggested.low < suggested.high:
        text += f"; other draws might suggest {suggested.numbers}"
    return f"{count(k, 'cluster')}: {text}."
