"""How many clusters? The number of clouds that describes the rows best, of those that are found again in the trees.

Where a posterior holds its data, the rows are described as k clouds with heavy tails and one shape, in the metric of
the fitted covariance, for k = 1, 2, …; the fits start from the clusters that trees of the posterior are cut into. The
evidence for k (`cloud_mixture`) becomes a probability,

    P(k) ∝ exp(log evidence(k) / 3) ,

but a number counts only if its clusters are found again from tree to tree (`sureness`): the least stable of them with
a mean Jaccard similarity of 0.75, or of 0.6 where no number beside 1 reaches that and is better described than 1.
Clusters that differ in shape are described better and better by more and more clouds, which no two trees share. The
number that describes the rows best counts also if the partition that agrees best with all trees has its clouds as
clusters, with similarities of 0.85: thousands of rows in few columns make trees that differ, each wrong elsewhere.
The 3 makes up for clouds that are never quite alike, and for the search among partitions. Where clusters overlap, that
is too sure: in so far as the least stable of the suggested ones is not found again, J < 1, a share (1 - J) / (1 - 0.75)
of P goes by exp(log evidence(k) / 10) of all numbers. The 10 is from simulated blobs; `make bench ONLY=n_clusters`
shows on others how often a number is right that has some probability.

Without data, the gaps between true splits are compared with those of the coalescent (`split_gaps`): P(k) ∝ exp(2 z_k),
with z_1 = 2, the distance in standard deviations from which on a gap counts.
"""

import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._runtime.checks import check_count
from .._runtime.fielddocs import field_docs
from .._runtime.notebook import html_table, paragraph
from ..errors import CoaltreeWarning
from ..tree.merges import check_cut
from .cloud_mixture import describe
from .given import noise_levels
from .partitions import cut_labels
from .split_gaps import gap_scores, least_size
from .sureness import DISSOLVED, STABLE, most_similar, read_labels

if TYPE_CHECKING:
    from .posterior import Posterior

_MOST_CLUSTERS = 30
_ROWS_PER_CLUSTER = 3  # fewer are no cloud
_PATIENCE = 8  # numbers without a better one, after which no more are tried
_ENOUGH_TREES = 200  # among which clusters are looked for again
_STARTS = 4  # trees whose clusters the descriptions start from
_LARGEST_TABLE = 200_000  # entries; of larger ones some rows are enough
_FEWEST_ROWS, _ENOUGH_ROWS = 500, 2000
_CAUTION, _MORE_CAUTION = 3.0, 10.0  # the second where clusters are not found again in every tree
_NOTABLE = 2.0  # standard deviations of a gap
_FOUND_AGAIN = (0.75, DISSOLVED)  # least stability of a number's clusters; the second where none has the first
_BEST, _FEW, _STEP = 4, 12, 1.15  # the best described are looked at, all up to 12, of larger ones those in steps
_IMPROBABLE = 0.01  # beside the best number: not looked at more closely
_CLOSE = 0.7  # below this probability another number is nearly as good


@field_docs(
    n_clusters="The number suggested.",
    reason="Why, in a sentence; also ``str(suggestion)``.",
    probability="Of the number suggested.",
    candidates="All numbers considered, with n_clusters, probability and score of each.",
    basis='What was looked at, "rows" or "gaps".',
)
class ClusterSuggestion(NamedTuple):
    """A number of clusters, the reason for it in a sentence, and the probability of every number considered.

    `candidates` has a row for each number from 1 on, with the fields ``n_clusters``, ``probability`` and ``score`` (the
    log evidence, or the distance of a gap from those of random trees); `basis` is "rows", or "gaps" where the posterior
    holds no data.
    """

    n_clusters: int
    reason: str
    probability: float
    candidates: np.ndarray
    basis: str

    def __str__(self) -> str:
        return self.reason

    def _repr_html_(self) -> str:
        likely = [one for one in self.candidates if one["probability"] >= 0.005 or one["n_clusters"] == self.n_clusters]
        rows = [(int(one["n_clusters"]), f"{100 * one['probability']:.0f} %") for one in likely]
        return paragraph(self.reason) + html_table(["clusters", "probability"], rows)


def suggest_n_clusters(posterior: "Posterior", max_clusters: int | None = None) -> ClusterSuggestion:
    """A number of clusters from 1 to `max_clusters`, by default a third of the leaves, at most 30."""
    n = posterior.n
    rows = posterior._whitened_rows
    basis = "gaps" if rows is None else "rows"
    if max_clusters is not None:
        largest = check_count("max_clusters", max_clusters, 2, n - 1)
    elif rows is None:
        largest = n // (_ROWS_PER_CLUSTER * least_size(n))
    else:
        largest = min(n // _ROWS_PER_CLUSTER, _MOST_CLUSTERS)
    if largest < 2:
        reason = f"1 cluster: {n} leaves are too few to look for more."
        return ClusterSuggestion(1, reason, 1.0, _candidates(np.zeros(1), np.ones(1)), basis)
    if rows is None:
        scores = gap_scores(posterior.children, posterior.times, posterior.weights, _noise_level(posterior), largest)
        scores = np.append(_NOTABLE, scores)
        probability = _normalised(2.0 * scores)
        best = int(np.argmax(probability)) + 1
    else:
        scores, clouds = evidence_by_number(posterior, rows, largest)
        counts, stability = numbers_found_again(posterior, scores, clouds)
        best = int(np.argmax(np.where(counts, scores, -np.inf))) + 1
        probability = _probability(scores, counts, stability.get(best, 1.0))
    reason = _reason(best, probability, basis, described_best=int(np.argmax(scores)) + 1)
    return ClusterSuggestion(best, reason, float(probability[best - 1]), _candidates(scores, probability), basis)


def evidence_by_number(posterior: "Posterior", rows: np.ndarray, largest: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Log evidence of 1, 2, … clouds, up to `largest` or until a while after the best, for rows (n, p).

    And for each number the cloud of the rows that were looked at (`_some_rows`).
    """
    n = len(rows)
    draws = np.searchsorted(np.cumsum(posterior.weights), (np.arange(_STARTS) + 0.5) / _STARTS)
    draws = np.unique(np.minimum(draws, len(posterior) - 1))
    some = _some_rows(n, rows.shape[1])
    table = rows[some]
    scores: list[float] = []
    clouds = []
    for k in range(1, largest + 1):
        how = check_cut(n, k, None, "auto", False)
        labels = cut_labels(posterior.children[draws], posterior.times[draws], how)
        starts = [np.unique(start, return_inverse=True)[1] for start in np.unique(labels[:, some], axis=0)]
        evidence, of_rows = describe(table, starts)
        scores.append(float(np.logaddexp.reduce(evidence, axis=None)))
        clouds.append(of_rows)
        if k - 1 - int(np.argmax(scores)) >= _PATIENCE:
            break
    return np.array(scores), clouds


def _probability(scores, counts, stability):
    """P(k), where the least stable cluster of the suggested number has this mean similarity."""
    doubt = min(max((1.0 - stability) / (1.0 - _FOUND_AGAIN[0]), 0.0), 1.0)
    of_those_found = _normalised(np.where(counts, scores / _CAUTION, -np.inf))
    return (1.0 - doubt) * of_those_found + doubt * _normalised(scores / _MORE_CAUTION)


def numbers_found_again(
    posterior: "Posterior", scores: np.ndarray, clouds: list[np.ndarray]
) -> tuple[np.ndarray, dict[int, float]]:
    """(len(scores),) whether a number of clusters, from 1 on, counts: its clusters are found again in the trees.

    And of those that were looked at, how stable the least stable cluster is.

    The best described are looked at first; numbers that are far less probable than one that counts, or worse described
    than 1, count unseen: they are not suggested.
    """
    better = np.flatnonzero(scores > scores[0]) + 1
    steps = (_FEW * _STEP ** np.arange(1, 12)).astype(int)
    by_score = better[np.argsort(-scores[better - 1], kind="stable")]
    looked_at = [k for place, k in enumerate(by_score) if place < _BEST or k <= _FEW or k in steps]
    worst: dict[int, float] = {}
    agrees = {}
    if posterior.has_equal_weights:
        posterior = posterior[np.unique(np.linspace(0, len(posterior) - 1, _ENOUGH_TREES).astype(int))]
    for least in _FOUND_AGAIN:
        counts = scores <= scores[0]
        bar = -np.inf
        for k in looked_at:
            if scores[k - 1] > bar and k not in worst:
                worst[k], agrees[k] = _look_at(posterior, k, clouds[k - 1])
            is_best = k == by_score[0]
            counts[k - 1] = scores[k - 1] <= bar or worst[k] >= least or (is_best and agrees[k])
            if counts[k - 1] and bar == -np.inf:
                bar = scores[k - 1] + _CAUTION * np.log(_IMPROBABLE)
        if bar > -np.inf:
            break
    return counts, worst


def _look_at(posterior, n_clusters, clouds):
    """The stability of the least stable of so many clusters; and whether they are the given clouds of some rows."""
    with warnings.catch_warnings():  # that clusters are smaller than asked for is nothing to tell here
        warnings.simplefilter("ignore", CoaltreeWarning)
        labels = posterior.cut(n_clusters, output="numpy")
    stability = float(posterior.stability(labels).jaccard.min())
    some = labels[_some_rows(len(labels), posterior._whitened_rows.shape[1])]
    described = read_labels(clouds, len(some))
    is_all = len(described.clusters) == n_clusters  # a cloud may have become empty
    return stability, is_all and bool(most_similar(described, some[None]).min() >= STABLE)


def _noise_level(posterior):
    if posterior.noise.is_learnt:
        return float(posterior.weights @ noise_levels(posterior.theta))
    return posterior.noise.level


def _some_rows(n, p):
    """Numbers of the rows that are looked at: all, or always the same part of them."""
    enough = max(_FEWEST_ROWS, min(_ENOUGH_ROWS, _LARGEST_TABLE // p))
    return np.arange(n) if n <= enough else np.sort(np.random.default_rng(0).choice(n, enough, replace=False))


def _normalised(log_weights):
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum()


def _candidates(scores, probability):
    table = np.empty(len(scores), dtype=[("n_clusters", np.int64), ("probability", float), ("score", float)])
    table["n_clusters"] = np.arange(1, len(scores) + 1)
    table["probability"], table["score"] = probability, scores
    return table


def _reason(best, probability, basis, described_best):
    """One sentence for a stranger, and a second one where the number is in doubt."""
    second = int(np.argmax(np.where(np.arange(len(probability)) == best - 1, -1.0, probability))) + 1
    most = len(probability)
    if described_best != best:
        return _limited(best, "more" if described_best > best else "fewer")
    sure = f"probability {_percent(probability[best - 1])}, next {second} with {_percent(probability[second - 1])}"
    if basis == "gaps" and best == 1:
        text = f"1 cluster: no split of the trees stands out from those of random trees ({sure})."
    elif basis == "gaps":
        text = f"{best} clusters: after them the trees stay unsplit for longer than random trees do ({sure})."
    elif best == 1:
        text = f"1 cluster: the rows look like a single group, and 2 to {most} describe them no better ({sure})."
    elif best == most:
        text = (
            f"{best} clusters, the most that were tried: each further one describes the rows better, so that there may "
            f"be no number of distinct groups ({sure})."
        )
    else:
        text = f"{best} clusters: they describe the rows better than any other number from 1 to {most} ({sure})."
    return text if probability[best - 1] >= _CLOSE else f"{text} It is a close call."


def _limited(best, others):
    """Where "more" or "fewer" clusters describe the rows better, but are not found again."""
    if best == 1:
        return "1 cluster: groups can be drawn in these rows, but no two trees agree on them."
    return (
        f"{best} clusters: they are found again from tree to tree; {others} would describe the rows better still, but "
        "not all of them are found again."
    )


def _percent(probability):
    if probability > 0.99:
        return "over 99 %"
    return "under 1 %" if probability < 0.01 else f"{100 * probability:.0f} %"
