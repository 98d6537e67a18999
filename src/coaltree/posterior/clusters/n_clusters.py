"""Suggest a number of clusters: the one that fits the rows best, of those whose clusters are stable across draws.

For k = 1, 2, … the mean tree is cut into k clusters, and two things are asked of them. How well a mixture of k
components that starts from them describes the rows: the log evidence E_k (`t_mixture`). And whether each is found
in the drawn trees: the least stability J_k of the k clusters (`stability`; J_1 = 1).

Evidence alone cannot decide: rows that are no mixture of such components are fitted better and better by more and more
of them, which no two draws share, by hundreds of nats. So stability comes first. How much of it is to be asked for
is not known sharply either: the limit t has a logistic distribution around 0.75, and

    P(k) = ∫ p(t) P(k | t) dt ,     P(k | t) ∝ exp(E_k / 3) over the numbers with J_k ≥ t .

If some number describes the rows better than 1, t is not above the stability of the most stable of these, unless that
is itself so low (around 0.55) that there are no clusters. The number of highest evidence is asked for no stability in
so far as its components are the clusters of the mean tree (similarity around 0.86 and above): clusters that overlap
differ from draw to draw though their mean is right. The 3 makes up for components that are never quite alike.

That is too sure where the clusters are not stable. In so far as they are not, with a share (1 - J) / (1 - 0.6), J being
that of the most probable number, the same is asked more gently: t around 0.3, E_k / 8. The constants are from simulated
blobs; `make bench ONLY=n_clusters` shows on others how often a number is right that has some probability.

Without rows, stability alone decides: it is the largest number with J_k ≥ t.

Where no number has a probability of one half, the answer is a range: of numbers about as likely as the likeliest, if a
few have it together, or else the fewest numbers in a row, the likeliest among them.
"""

import warnings
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import softmax

from ..._runtime.formatting import field_docs, percent
from ..._runtime.notebook import html_table, paragraph
from ..._runtime.threads import single_threaded_blas
from ..._runtime.validation import check_count
from ...errors import CoaltreeWarning
from ...tree.cuts import check_cut
from .partitions import cut_labels
from .stability import WORD_LEVEL, most_similar, read_labels, stability
from .t_mixture import mixture_evidence

if TYPE_CHECKING:
    from ..posterior import Posterior

MAX_CLUSTERS = 30
MIN_PROBABILITY = 0.5  # probability of a number that is said alone
_MIN_ROWS_PER_CLUSTER = 3
_PATIENCE = 8  # numbers without a better one, after which no more are tried
_MAX_TREES = 200  # among which clusters are looked for
_MAX_ENTRIES = 200_000  # of a table; of larger ones some rows are enough
_MIN_ROWS, _MAX_ROWS = 500, 2000


class Limit(NamedTuple):
    """How much stability is asked for, with a logistic distribution, and by how much evidence is divided."""

    middle: float
    width: float
    caution: float = 1.0

    def reached(self, stability: np.ndarray | float) -> np.ndarray:
        """The probability that the limit is at or below this."""
        return np.asarray(0.5 * (1.0 + np.tanh(0.5 * (np.asarray(stability) - self.middle) / self.width)))


_STRICT, _GENTLE = Limit(0.75, 0.04, 3.0), Limit(0.3, 0.1, 8.0)
_ANY_CLUSTERS = Limit(0.55, 0.03)  # stability of the most stable number, below which there are none
_SAME_COMPONENTS = Limit(0.86, 0.02)  # similarity of clusters with the components of a mixture
_DOUBTFUL = 0.6  # stability at which only the gentle limit counts


@field_docs(
    n_clusters="The number suggested, the smallest of the range.",
    reason="Why, in a sentence; also ``str(suggestion)``.",
    probability="Of the number suggested.",
    candidates="All numbers considered, with n_clusters, probability, score and stability of each.",
    basis='What was looked at, "rows" (and trees) or "trees".',
    low="The smallest number of the range; `n_clusters`.",
    high="The largest number of the range; the same as `low` where one number has a probability of at least 50 %.",
)
class ClusterSuggestion(NamedTuple):
    """A number of clusters or a range, the reason for it in a sentence, and the probability of every number considered.

    `score` of the candidates is the log evidence, NaN without data; `stability` is that of the least stable cluster.
    """

    n_clusters: int
    reason: str
    probability: float
    candidates: np.ndarray
    basis: str
    low: int
    high: int

    def __str__(self) -> str:
        return self.reason

    def __repr__(self) -> str:
        return f"<ClusterSuggestion: {self.reason.rstrip('.')}>"

    @property
    def numbers(self) -> str:
        """Such as "3 clusters", "3 or 4 clusters", "5 to 8 clusters"."""
        if self.low == self.high:
            return f"{self.low} cluster{'s' if self.low > 1 else ''}"
        return f"{self.low} {'or' if self.high == self.low + 1 else 'to'} {self.high} clusters"

    def _repr_html_(self) -> str:
        likely = [one for one in self.candidates if one["probability"] >= 0.005 or one["n_clusters"] == self.n_clusters]
        rows = [(int(one["n_clusters"]), f"{100 * one['probability']:.0f} %") for one in likely]
        return paragraph(self.reason) + html_table(["clusters", "probability"], rows)


def suggest_n_clusters(posterior: "Posterior", max_clusters: int | None = None) -> ClusterSuggestion:
    """A number of clusters from 1 to `max_clusters`, by default a third of the leaves, at most 30."""
    return suggest_from_rows(posterior, posterior.whitened_rows, max_clusters)


def suggest_from_rows(
    posterior: "Posterior", rows: np.ndarray | None, max_clusters: int | None = None
) -> ClusterSuggestion:
    """The same of trees whose leaves have these rows (n, p), where they are known."""
    n = posterior.n
    basis = "trees" if rows is None else "rows"
    largest = min(n // _MIN_ROWS_PER_CLUSTER, MAX_CLUSTERS)
    if max_clusters is not None:
        largest = check_count("max_clusters", max_clusters, 2, n - 1)
    if largest < 2 or (rows is None and len(posterior) == 1):
        few = f"{n} leaves are too few to look for more"
        why = few if largest < 2 else "one tree without its data cannot tell more"
        return _suggestion(np.ones(1), np.zeros(1), np.ones(1), basis, why)
    tree = posterior.mean_tree()
    with warnings.catch_warnings():  # that clusters are smaller than usual is nothing to tell here
        warnings.simplefilter("ignore", CoaltreeWarning)
        cuts = [tree.cut(k) for k in range(1, largest + 1)]
    if rows is None:
        least = least_stability(posterior, cuts)
        return _suggestion(_by_stability(least), np.full(largest, np.nan), least, basis)
    with single_threaded_blas():  # the products are too small to share
        evidence, similarity = evidence_by_number(rows, cuts)
    least = least_stability(posterior, cuts[: len(evidence)])
    return _suggestion(probabilities(evidence, least, similarity), evidence, least, basis)


def evidence_by_number(rows: np.ndarray, cuts: list[np.ndarray]) -> tuple[np.ndarray, float]:
    """Log evidence of 1, 2, … components for rows (n, p), starting from the clusters, until a while after the best.

    And the least similarity of the clusters with the components at the best number.
    """
    some = _some_rows(*rows.shape)
    evidence: list[float] = []
    similarity, by_shape = 0.0, None
    for labels in cuts:
        clusters = np.unique(labels[some], return_inverse=True)[1]
        by_shape, components = mixture_evidence(rows[some], clusters, by_shape)
        evidence.append(float(np.logaddexp.reduce(by_shape, axis=None)))
        if evidence[-1] == max(evidence):
            found = np.unique(components, return_inverse=True)[1].astype(np.int32)
            similarity = float(most_similar(read_labels(clusters, len(clusters)), found[None]).min())
        if len(evidence) - 1 - int(np.argmax(evidence)) >= _PATIENCE:
            break
    return np.array(evidence), similarity


def least_stability(posterior: "Posterior", cuts: list[np.ndarray]) -> np.ndarray:
    """The stability of the least stable cluster of each partition, into 1, 2, … clusters."""
    children, times, weights, n = posterior.children, posterior.times, posterior.weights, posterior.n
    if posterior.has_equal_weights and len(weights) > _MAX_TREES:
        some = np.linspace(0, len(weights) - 1, _MAX_TREES).astype(int)
        children, times, weights = children[some], times[some], np.full(_MAX_TREES, 1 / _MAX_TREES)

    @lru_cache(maxsize=4)  # neighbouring numbers look at the same cuts
    def cut_into(number: int) -> np.ndarray:
        return cut_labels(children, times, check_cut(n, number))

    by_number = [stability(read_labels(cut, n), cut_into, weights, WORD_LEVEL).jaccard.min() for cut in cuts[1:]]
    return np.array([1.0, *by_number])


def probabilities(evidence: np.ndarray, stability: np.ndarray, similarity: float) -> np.ndarray:
    """P(k) for k = 1, 2, …; `similarity` is that of the clusters with the components at the best number."""
    best = int(np.argmax(evidence))
    waived = stability.copy()
    waived[best] = 1.0
    share = float(_SAME_COMPONENTS.reached(similarity)) if best > 0 else 0.0
    strict = (1 - share) * _strictly(evidence, stability) + share * _strictly(evidence, waived)
    doubt = min((1.0 - stability[np.argmax(strict)]) / (1.0 - _DOUBTFUL), 1.0)
    return np.asarray((1.0 - doubt) * strict + doubt * _over_limits(evidence, stability, _GENTLE))


def _strictly(evidence: np.ndarray, stability: np.ndarray) -> np.ndarray:
    """P(k) where the limit is not above the most stable of the numbers that describe the rows better than 1."""
    better = np.flatnonzero(evidence > evidence[0])
    if len(better) == 0:
        return np.asarray(softmax(evidence / _STRICT.caution))
    highest = stability[better].max()
    any_clusters = float(_ANY_CLUSTERS.reached(highest))
    found = any_clusters * _over_limits(evidence, stability, _STRICT, highest)
    found[0] += 1.0 - any_clusters
    return found


def _over_limits(evidence: np.ndarray, stability: np.ndarray, limit: Limit, highest: float = np.inf) -> np.ndarray:
    """∫ p(t) P(k | t) dt over limits t up to `highest`; one cluster always has enough stability."""
    held = np.where(np.arange(len(evidence)) == 0, np.inf, stability)
    steps = np.unique(held[held <= highest])
    reached = limit.reached(steps)
    found = np.zeros(len(evidence))
    for least, share in zip(steps, np.diff(reached, prepend=0.0) / reached[-1], strict=True):
        found += share * softmax(np.where(held >= least, evidence / limit.caution, -np.inf))
    return found


def _by_stability(stability: np.ndarray) -> np.ndarray:
    """P(k) without rows: the largest number that has enough stability."""
    held = np.where(np.arange(len(stability)) == 0, np.inf, stability)
    from_here_on = np.maximum.accumulate(held[::-1])[::-1]  # the most stable of this number and all larger ones
    above = np.append(_STRICT.reached(from_here_on[1:]), 0.0)
    return np.asarray(np.append(1.0, above[:-1]) - above)


def _some_rows(n: int, p: int) -> np.ndarray:
    """Numbers of the rows that are looked at: all, or always the same part of them."""
    enough = max(_MIN_ROWS, min(_MAX_ROWS, _MAX_ENTRIES // p))
    return np.arange(n) if n <= enough else np.sort(np.random.default_rng(0).choice(n, enough, replace=False))


def most_probable_range(probability: np.ndarray) -> tuple[int, int]:
    """The smallest and the largest of the likeliest numbers that have at least half of the probability together.

    They need not follow each other if all are at least half as likely as the best: of 3 and 7, about as likely, 7 would
    otherwise come and go with the seed. Where that is not enough they are the fewest in a row, the best among them.
    """
    in_order = np.argsort(-probability, kind="stable")
    best, n_needed = int(in_order[0]), int(np.argmax(np.cumsum(probability[in_order]) >= MIN_PROBABILITY)) + 1
    needed = in_order[:n_needed]
    if probability[needed].min() >= 0.5 * probability[best]:
        return int(needed.min()) + 1, int(needed.max()) + 1
    for width in range(2, len(probability) + 1):
        starts = np.arange(max(0, best - width + 1), min(best, len(probability) - width) + 1)
        together = np.array([probability[low : low + width].sum() for low in starts])
        if together.max() >= MIN_PROBABILITY:
            break
    low = int(starts[np.argmax(together)]) + 1
    return low, low + width - 1


def _suggestion(
    probability: np.ndarray, evidence: np.ndarray, stability: np.ndarray, basis: str, only_one: str = ""
) -> ClusterSuggestion:
    low, high = most_probable_range(probability)
    fields = [("n_clusters", np.int64), ("probability", float), ("score", float), ("stability", float)]
    table = np.empty(len(probability), dtype=fields)
    table["n_clusters"] = np.arange(1, len(probability) + 1)
    table["probability"], table["score"], table["stability"] = probability, evidence, stability
    found = ClusterSuggestion(low, "", float(probability[low - 1]), table, basis, low, high)
    return found._replace(reason=f"{found.numbers}: {only_one}." if only_one else _reason(found))


def _reason(found: ClusterSuggestion) -> str:
    """Why this number, in a sentence."""
    k, table = found.n_clusters, found.candidates
    sure = f"probability {percent(float(table['probability'][found.low - 1 : found.high].sum()))}"
    if found.high > found.low:
        return f"{found.numbers} ({sure} together): the data do not tell which. The clusters shown are those of {k}."
    if found.basis == "trees":
        return f"{found.numbers}: no larger number is stable across draws ({sure})."
    best = int(np.argmax(table["score"])) + 1
    if best != k:
        others = "larger" if best > k else "smaller"
        return f"{found.numbers}: {others} partitions fit better but are less stable ({sure})."
    if k == 1:
        return f"1 cluster: the rows look like a single group ({sure})."
    if k == len(table):
        return f"{k} clusters, the most that were tried: each further one fits the rows better ({sure})."
    return f"{k} clusters: they fit the rows better than any other number from 1 to {len(table)} ({sure})."
