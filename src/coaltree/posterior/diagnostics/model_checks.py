"""`check`: does the model hold? Posterior predictive checks of the contrasts of drawn trees.

A statistic S is computed of every drawn tree, and of contrasts that the model draws on the same tree. If the model
holds, a draw from the posterior is as good as the truth, so that S of a draw has, over data sets, the mean μ and the
variance V of the replicates. Its mean S̄ over the draws varies less: by the law of total variance

    Var(S̄) = V - E[A] ,    A: variance of S among the draws .

A is seen once only, so that three quarters of it count. Then |S̄ - μ| / sd(S̄) is compared with |S - μ| / √V of the
replicates, the largest of them where S has several entries; p is the share of replicates that are as far off.

(The usual posterior predictive p-value compares S with its replicates draw by draw. It uses the data twice, and is near
½ whatever they are where trees can bend to hide what is wrong: nothing but gross violations would be found.)
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from ..._runtime.formatting import listed
from ..._runtime.random_streams import as_generator
from ..._runtime.threads import single_threaded_blas
from ..._runtime.typing import RandomState
from ..._runtime.validation import check_count
from ...errors import InputError
from ...model.covariance import Scaled
from ...model.covariance.base import column_variances
from ...model.data.leaves import read_rows
from ...model.data.replicates import replicates_of
from ...model.data.table import Table
from ...model.process.noise import LEVEL
from ...model.process.pivots import frame_of
from ...numerics.weighted import pick_trees
from ...tree.merges import restricted
from ..posterior import Posterior
from ..predictive.placement import covariance_of
from .check_statistics import Drawn, Scene, View, applicable
from .check_words import Sentence, what_it_means

LEVEL_OF_BLAME = 0.05  # the share of true models that is blamed for anything, at most
LEAST_LEAVES = 10
_SHARE = 0.75  # of the variance among the draws that counts
_REPLICATES = 5  # of each tree, or more of few trees
_FEWEST = 200  # replicates in all, so that p-values can be small enough
_MOST_CELLS = 12_000_000  # of contrasts in all, where this leaves enough replicates
_MOST_LEAVES = 20_000  # of more, so many drawn at random are looked at: their tree is one of the model, too


@dataclass(frozen=True)
class Check:
    """One check: what was looked at, how surprising it is under the model, what that means and what to try."""

    name: str
    p_value: float  #: Probability of a discrepancy as large as this one if the model holds.
    verdict: str  #: "fine", "doubtful" (p below 0.05) or "wrong" (p below 0.05 divided by the number of checks).
    said: str  #: What was seen, in words.
    advice: str  #: What to try; empty where all is fine.
    z: float  #: The largest standardised discrepancy, with its sign.
    draws: np.ndarray  #: (trees,) the statistic of the data on each tree, in the replicates' standard deviations.
    replicates: np.ndarray  #: (replicates,) the statistic of what the model draws, in the same unit.


# Where one of these failed in simulations, supports or intervals claimed too much (docs/calibration.md); the second two
# where tails are heavier and rows odder than the model has them, not the other way round.
_TOO_SURE = frozenset(("skewness", "correlation"))
_TOO_SURE_ABOVE = frozenset(("tails", "odd rows"))


@dataclass(frozen=True)
class ModelCheck:
    """What `Posterior.check` found: a sequence of `Check`, which prints as a table."""

    checks: tuple[Check, ...]
    figures: "Figures | None"  #: What pictures are drawn from.
    n_trees: int  #: How many trees were looked at.
    reason: str = ""  #: Why there are no checks, where there are none.

    def __len__(self) -> int:
        return len(self.checks)

    def __iter__(self) -> Iterator[Check]:
        return iter(self.checks)

    def __getitem__(self, name: "str | int") -> Check:
        if isinstance(name, int):
            return self.checks[name]
        for one in self.checks:
            if one.name == name:
                return one
        raise InputError(f"there is no check {name!r}; there are {', '.join(one.name for one in self.checks)}.")

    @property
    def wrong(self) -> tuple[Check, ...]:
        """The checks that the model does not pass, the worst first."""
        return tuple(sorted((one for one in self.checks if one.verdict == "wrong"), key=lambda one: one.p_value))

    @property
    def headline(self) -> str:
        """The result in a sentence."""
        if not self.checks:
            return f"The model cannot be checked: {self.reason}."
        if not self.wrong:
            doubtful = [one.name for one in self.checks if one.verdict == "doubtful"]
            but = f"; doubtful: {listed(doubtful)}" if doubtful else ""
            return f"None of {len(self)} checks finds the model wrong{but}."
        names = [one.name for one in self.wrong]
        sure = " Supports and intervals are likely to be too sure." if self.is_too_sure else ""
        return f"The model does not describe these data in every way: see {listed(names)}.{sure}"

    @property
    def is_too_sure(self) -> bool:
        """Whether a check fails that goes with supports, memberships and intervals that claim too much."""
        return any(one.name in _TOO_SURE or (one.name in _TOO_SURE_ABOVE and one.z > 0.0) for one in self.wrong)

    def __str__(self) -> str:
        if not self.checks:
            return self.headline
        width = max(len(one.name) for one in self.checks)
        lines = [self.headline, "", f"{'check':{width}}  p-value  verdict   what was seen"]
        for one in self.checks:
            lines.append(f"{one.name:{width}}  {spoken(one.p_value):>7}  {one.verdict:8}  {one.said}")
            if one.advice:
                lines.append(f"{'':{width}}                     → {one.advice}")
        if len(self.wrong) > 1:
            lines += [
                "",
                "Change one thing and check again: what is wrong in one way shows in others too.",
            ]
        return "\n".join(lines)

    __repr__ = __str__


def spoken(p_value: float) -> str:
    """A p-value as people write it."""
    return f"{p_value:.3f}" if p_value < 0.1 else f"{p_value:.2f}"


class Figures(NamedTuple):
    """Two pictures' worth: the size of contrasts over the age of merges, and their quantiles beside normal ones."""

    age: np.ndarray  # (bins,) of the merges
    size: np.ndarray  # (bins,) root mean square of the contrasts there
    size_band: np.ndarray  # (2, bins) 90 % of what the model draws
    normal: np.ndarray  # (q,) quantiles of |z|
    seen: np.ndarray  # (q,) of the contrasts' sizes
    seen_band: np.ndarray  # (2, q)


def check(posterior: Posterior, *, n_trees: int = 100, random_state: RandomState = 0) -> ModelCheck:
    """Check the model; `Posterior.check` explains the parameters."""
    check_count("n_trees", n_trees, 1)
    if posterior.X is None or posterior.covariance is None:
        raise InputError("this posterior does not include its data or covariance, which check needs.")
    if posterior.noise.is_learnt and LEVEL not in posterior.theta:
        raise InputError("this posterior has no draws of its noise level, which check needs; fit() keeps them.")
    rows = _rows_in_use(posterior)
    d = len(posterior.model_columns)
    statistics = applicable(posterior.covariance, d)
    if len(rows.leaves) < LEAST_LEAVES:
        return ModelCheck((), None, 0, f"there are {len(rows.leaves)} different rows, and it takes {LEAST_LEAVES}")
    n_replicates = max(_FEWEST, min(_REPLICATES * n_trees, _MOST_CELLS // (len(rows.rows) * d)))
    chosen, weights = pick_trees(posterior.weights, min(n_trees, n_replicates // _REPLICATES))
    return _checked(posterior, rows, statistics, chosen, weights, n_replicates, as_generator(random_state))


def _checked(posterior, rows, statistics, chosen, weights, n_replicates, rng):
    seen: dict[str, list[np.ndarray]] = {name: [] for name in statistics}
    made: dict[str, list[np.ndarray]] = {name: [] for name in statistics}
    pictures = _Pictures()
    with single_threaded_blas():
        for tree in chosen:
            drawn = _drawn(posterior, int(tree), rows)
            if not np.all(drawn.frame.v > 0.0):
                return ModelCheck((), None, 0, "a tree joins different rows at time 0")
            scene = Scene(drawn)
            for i in range(1 + math.ceil(n_replicates / len(chosen))):
                view = scene.replicated(rng) if i else scene.seen()
                pictures.add(view, is_made=i > 0)
                for name, statistic in statistics.items():
                    (made if i else seen)[name].append(statistic.compute(view))
            pictures.add_ages(drawn.frame.times)
    found = []
    for name in statistics:
        result = judged(np.array(seen[name]), np.array(made[name]), weights)
        verdict = _verdict(result.p_value, len(statistics))
        said, advice = what_it_means(name, Sentence(posterior, verdict, result.worst, result.z, result.seen))
        z = float(result.z[result.worst])
        found.append(Check(name, result.p_value, verdict, said, advice, z, result.draws, result.replicates))
    return ModelCheck(tuple(found), pictures.figures(weights), len(chosen))


class _Rows(NamedTuple):
    """Leaves and rows that are no copies of others."""

    leaves: np.ndarray
    rows: np.ndarray
    groups: np.ndarray | None  # (rows,) leaf of each, numbered in the order of `leaves`
    scales_itself: bool


def _rows_in_use(posterior):
    names = None if posterior.groups is None else [posterior.labels[i] for i in posterior.groups]
    table = Table(posterior.X, posterior.row_labels, posterior.columns)
    found = read_rows(table, posterior.noise, names, posterior.errors, quiet=True)
    leaves, rows = np.sort(found.distinct.first), found.kept
    covariance = posterior.covariance
    itself = False
    if isinstance(covariance, Scaled) and len(leaves) > 1:
        own = column_variances(posterior.model_values()[rows])
        itself = covariance.variances is not None and np.allclose(covariance.variances, own, rtol=0.01)
    if len(leaves) > _MOST_LEAVES:
        leaves = np.sort(np.random.default_rng(0).choice(leaves, _MOST_LEAVES, replace=False))
    if posterior.groups is None:
        return _Rows(leaves, leaves, None, itself)
    number = np.full(posterior.n, -1)
    number[leaves] = np.arange(len(leaves))
    rows = rows[number[posterior.groups[rows]] >= 0]
    return _Rows(leaves, rows, number[posterior.groups[rows]], itself)


def _drawn(posterior, tree, rows):
    children, times = restricted(np.array(posterior.children[tree]), np.array(posterior.times[tree]), rows.leaves)
    over_rows = (children, times) if rows.groups is None else replicates_of(rows.groups).expand(children, times)
    scales = posterior.tail_scale
    return Drawn(
        frame_of(*over_rows, posterior.row_variances(tree)[rows.rows]),
        children,
        covariance_of(posterior, tree),
        rows.scales_itself,
        posterior.model_values(tree)[rows.rows],
        None if scales is None else scales[tree][rows.rows],
        0.5 * posterior.noise.df,
    )


class Result(NamedTuple):
    """How far a statistic is from what the model expects."""

    p_value: float
    worst: int  # which entry
    z: np.ndarray  # of all entries
    seen: np.ndarray  # mean over the draws less that of the replicates, of all entries
    draws: np.ndarray
    replicates: np.ndarray


def judged(seen: np.ndarray, made: np.ndarray, weights: np.ndarray) -> Result:
    """S (trees, entries) of the data and (replicates, entries) of the model to p-value and the rest."""
    mean, made_mean, variance = weights @ seen, made.mean(axis=0), made.var(axis=0)
    among = weights @ np.square(seen - mean)
    unit = np.sqrt(np.where(variance > 0.0, variance, 1.0))
    sd = unit * np.sqrt(1.0 - _SHARE * np.minimum(among / np.square(unit), 1.0))
    z = (mean - made_mean) / sd
    worst = int(np.argmax(np.abs(z)))
    replicates = (made - made_mean) / unit
    as_far = np.count_nonzero(np.abs(replicates).max(axis=1) >= abs(z[worst]) - 1e-9)
    return Result(
        (1 + as_far) / (1 + len(made)),
        worst,
        z,
        mean - made_mean,
        (seen[:, worst] - made_mean[worst]) / unit[worst],
        replicates[:, worst],
    )


def _verdict(p_value, n_checks):
    if p_value < LEVEL_OF_BLAME / n_checks:
        return "wrong"
    return "doubtful" if p_value < LEVEL_OF_BLAME else "fine"


_BINS = 12
_MOST_SORTED = 20_000
_BAND = np.array([0.05, 0.95])
_QUANTILES = np.array([math.erf(z / math.sqrt(2.0)) for z in np.linspace(0.1, 3.0, 25)])  # of |z|, evenly spaced


class _Pictures:
    """Gathers what the two pictures show, tree by tree."""

    def __init__(self) -> None:
        self._ages: list[np.ndarray] = []
        self._sizes: tuple[list[np.ndarray], list[np.ndarray]] = [], []  # of the data, and of what the model draws
        self._quantiles: tuple[list[np.ndarray], list[np.ndarray]] = [], []

    def add(self, view: View, *, is_made: bool) -> None:
        squares = np.square(view.E).mean(axis=1)
        few = view.C.ravel()[:: 1 + view.C.size // _MOST_SORTED]
        self._sizes[is_made].append(np.sqrt(_means_of_parts(squares)))
        self._quantiles[is_made].append(_quantiles(np.abs(few)))

    def add_ages(self, times: np.ndarray) -> None:
        youngest = times[times > 0.0].min(initial=1.0)  # rows of one leaf are merged at time 0
        log_age = np.log(np.maximum(times, youngest))
        self._ages.append(_means_of_parts(log_age))

    def figures(self, weights: np.ndarray) -> Figures:
        (sizes, made_sizes), (quantiles, made_quantiles) = self._sizes, self._quantiles
        return Figures(
            np.exp(weights @ np.array(self._ages)),
            weights @ np.array(sizes),
            np.quantile(made_sizes, _BAND, axis=0),
            np.mean(made_quantiles, axis=0),
            weights @ np.array(quantiles),
            np.quantile(made_quantiles, _BAND, axis=0),
        )


def _means_of_parts(values):
    """Of merges from young to old, in a few parts."""
    ends = _ends_of_parts(len(values))
    return np.add.reduceat(values, ends[:-1]) / np.diff(ends)


@cache
def _ends_of_parts(n_merges):
    return np.linspace(0, n_merges, min(_BINS, n_merges) + 1).astype(int)


def _quantiles(values):
    """np.quantile(values, _QUANTILES) in a tenth of its time: it is asked for hundreds of times."""
    ordered, at = np.sort(values), _QUANTILES * (len(values) - 1)
    low = at.astype(int)
    return ordered[low] + (at - low) * (ordered[np.minimum(low + 1, len(values) - 1)] - ordered[low])
