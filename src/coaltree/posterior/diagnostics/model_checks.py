"""Check the model with posterior predictive statistics of the contrasts of drawn trees.

A statistic S (`check_statistics`) is computed of every drawn tree, and of contrasts that the model draws on the same
tree. If the model holds, a draw from the posterior is as good as the truth, so that S of a draw has, over data sets,
the mean μ and the variance V of the replicates. Its mean S̄ over the draws varies less: by the law of total variance

    Var(S̄) = V - E[A] ,    A: variance of S among the draws .

A is seen once only, so that three quarters of it count. Then |S̄ - μ| / sd(S̄) is compared with |S - μ| / √V of the
replicates, the largest of them where S has several entries; p is the share of replicates that are as far off.

(The usual posterior predictive p-value compares S with its replicates draw by draw. It uses the data twice, and is near
½ whatever they are where trees can bend to hide what is wrong: nothing but gross violations would be found.)
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..._runtime.once import once
from ..._runtime.random_streams import as_generator
from ..._runtime.threads import single_threaded_blas
from ..._runtime.typing import RandomState
from ..._runtime.validation import check_count
from ...errors import InputError
from ...model.covariance import Scaled
from ...model.covariance.base import column_variances
from ...model.model import Model
from ...model.process.coalescent import lateness, simulate_merges
from ...model.process.diffusion import Messages, messages, simulate_data
from ...model.process.noise import row_variances
from ...numerics.weighted import pick_trees
from ...tree.merges import layout
from ...tree.rooted import default_labels
from ...tree.tree import unchecked_tree
from ..validation import require_model
from . import check_statistics as statistics
from .check_sentences import as_option, explain
from .check_statistics import LARGE, View

if TYPE_CHECKING:
    from ..posterior import Posterior

FALSE_ALARM_RATE = 0.05  # the share of true models in which any check fails, at most
MIN_LEAVES = 10  # of fewer, nothing is checked
_REPLICATES_PER_TREE = 5
_MIN_REPLICATES = 200  # in all, so that p-values can be small enough
_MAX_CELLS = 12_000_000  # of contrasts in all, where this leaves enough replicates


@dataclass(frozen=True)
class Check:
    """One check: how surprising what was seen is under the model, how large it is, and what to try."""

    name: str
    p_value: float  #: Probability of a discrepancy as large as this one if the model holds.
    verdict: str  #: "fine", "doubtful" (p below 0.05) or "wrong" (p below 0.05 divided by the number of checks).
    sentence: str  #: What was seen.
    option: str  #: An argument of `coaltree.fit` to try, such as 'noise="student"'; empty where there is none.
    size: float  #: How large what was seen is, whatever the number of rows.

    @property
    def excess(self) -> float:
        """The size as a multiple of the one from which on supports are too high; 0 where all is fine."""
        return self.size / LARGE[self.name] if self.verdict != "fine" else 0.0


@dataclass(frozen=True)
class ModelCheck:
    """What `Posterior.check` returns: a sequence of `Check`, which prints as a table."""

    checks: tuple[Check, ...]
    n_trees: int  #: How many trees were looked at.
    reason: str = ""  #: Why there are no checks, where there are none.

    def __len__(self) -> int:
        return len(self.checks)

    def __iter__(self) -> Iterator[Check]:
        return iter(self.checks)

    def __getitem__(self, name: str | int) -> Check:
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
    def concern(self) -> Check | None:
        """The check from which supports suffer most, of those with something to try; None where they do not.

        Skewness counts twice: skewed columns have heavy tails and outliers for that reason alone.
        """
        large = [one for one in self.checks if one.excess >= 1.0 and one.option]
        return max(large, key=lambda one: one.excess * (1 + (one.name == "skewness")), default=None)

    @property
    def headline(self) -> str:
        """The result in a sentence."""
        if not self.checks:
            return f"The model cannot be checked: {self.reason}."
        concern = self.concern
        if concern is not None:
            return f"Supports are likely to be 0.1 or more too high: {concern.sentence}."
        if not self.wrong:
            doubtful = [one.name for one in self.checks if one.verdict == "doubtful"]
            but = f"; doubtful: {', '.join(doubtful)}" if doubtful else ""
            return f"None of {len(self)} checks finds the model wrong{but}."
        names = " and ".join(one.name for one in self.wrong)
        if any(one.excess >= 1.0 for one in self.checks):
            return f"The data differ from the model in {names}: supports may be too high, which no setting changes."
        return f"The data differ from the model in {names}, too little to matter to supports."

    def to_text(self, *, options: bool = False) -> str:
        """A table, with what to try as arguments of Python or as options of the command line."""
        if not self.checks:
            return self.headline
        width = max(len(one.name) for one in self.checks)
        lines = [self.headline, "", f"{'check':{width}}  p-value  size   what was seen"]
        for one in self.checks:
            tries = "" if not one.option else f" → try {as_option(one.option) if options else one.option}"
            lines.append(f"{one.name:{width}}  {format_p(one.p_value):>7}  {one.size:<5.2f}  {one.sentence}{tries}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.to_text()


def format_p(p_value: float) -> str:
    """A p-value as people write it."""
    return f"{p_value:.3f}" if p_value < 0.1 else f"{p_value:.2f}"


def check(posterior: "Posterior", *, n_trees: int = 100, random_state: RandomState = 0) -> ModelCheck:
    """Check the model; `Posterior.check` explains the parameters."""
    check_count("n_trees", n_trees, 1)
    require_model(posterior, "check")
    model = posterior.model
    if model.n < MIN_LEAVES:
        return ModelCheck((), 0, f"there are {model.n} different rows, and it takes {MIN_LEAVES}")
    cells = len(model.values) * len(model.coordinate_names)
    n_replicates = max(_MIN_REPLICATES, min(_REPLICATES_PER_TREE * n_trees, _MAX_CELLS // cells))
    draws, weights = pick_trees(posterior.weights, min(n_trees, n_replicates // _REPLICATES_PER_TREE))
    with single_threaded_blas():
        return _compare(posterior, draws, weights, n_replicates, as_generator(random_state))


usual_check = once(check)


def check_or_reason(posterior: "Posterior") -> ModelCheck:
    """The usual checks of a posterior, or none and the reason where it cannot be checked."""
    try:
        return posterior.check()
    except InputError as error:
        reason = str(error).rstrip(".")
        return ModelCheck((), 0, reason[:1].lower() + reason[1:])


def _compare(
    posterior: "Posterior", draws: np.ndarray, weights: np.ndarray, n_replicates: int, rng: np.random.Generator
) -> ModelCheck:
    """Compute all statistics of the data and of replicates on the same trees, and judge the differences."""
    assert posterior.model.covariance is not None
    d = len(posterior.model.coordinate_names)
    names = statistics.applicable(posterior.model.covariance, d)
    of_data: dict[str, list[np.ndarray]] = {name: [] for name in names}
    of_model: dict[str, list[np.ndarray]] = {name: [] for name in names}
    for draw in draws.tolist():
        views = _views(posterior, draw, math.ceil(n_replicates / len(weights)), rng)
        for i, view in enumerate(views):
            values = of_model if i else of_data
            for name, statistic in names.items():
                values[name].append(statistic(view))
    if len(of_data["tails"]) < len(draws):
        return ModelCheck((), 0, "a tree joins different rows at time 0")
    checks = []
    for name in names:
        result = statistics.compare_with_replicates(np.array(of_data[name]), np.array(of_model[name]), weights)
        p_value = result.p_value
        is_wrong, is_fine = p_value < FALSE_ALARM_RATE / len(names), p_value >= FALSE_ALARM_RATE
        verdict = "wrong" if is_wrong else "fine" if is_fine else "doubtful"
        size = statistics.size_of(name, result, d)
        if name == "tails" and size >= LARGE[name] and result.z[result.worst] < 0.0:
            result = result._replace(worst=0)  # heavy on average: not the entry that is lighter
        sentence, option = explain(name, posterior, result, is_fine=is_fine)
        checks.append(Check(name, p_value, verdict, sentence, option, size))
    return ModelCheck(tuple(checks), len(weights))


def _takes_variances(model: Model) -> bool:
    """Whether the covariance has the columns' variances from these rows."""
    covariance = model.covariance
    if not isinstance(covariance, Scaled) or covariance.variances is None or model.n == 1:
        return False
    return np.allclose(covariance.variances, column_variances(model.values), rtol=0.01)


def _views(posterior: "Posterior", draw: int, n_replicates: int, rng: np.random.Generator) -> Iterator[View]:
    """The view of the data on one drawn tree, and of data that the model makes on it; none if a contrast has no size.

    A covariance that has its columns' variances from the data takes them from those that are drawn, at the same total.
    """
    model = posterior.model
    state = model.state_of(posterior.draws, draw)
    covariance, leaf_var, tail_scale = state.covariance, row_variances(model.noise, state.noise), state.noise.tail_scale
    X = model.coordinates(state.imputed)
    whitener, sd = covariance.whitener(X.shape[1]), np.sqrt(covariance.diagonal(X.shape[1]))
    tree = unchecked_tree(*model.over_rows(state.tree), default_labels(len(X)))
    sizes = layout(tree.children).size[tree.children]
    side, learns_spread = np.sign(sizes[:, 1] - sizes[:, 0]), statistics.learns_spread(covariance)
    takes_variances = _takes_variances(model)

    def view(values: Messages, children: np.ndarray, log_scales: np.ndarray | None) -> View:
        E, level, late = whitener.whiten(values.U * sd), values.mean[tree.n :], float(lateness(children).mean())
        return View(E, values.U, level, side, late, log_scales, learns_spread)

    values = messages(tree.children, tree.times, X / sd, leaf_var)
    if not np.all(values.v > 0.0):
        return
    log_scales = None if tail_scale is None else np.log(tail_scale)
    yield view(values, state.tree[0], log_scales)
    for _ in range(n_replicates):
        X = simulate_data(tree, len(sd), rng, whitener.color, leaf_var) / sd
        values = messages(tree.children, tree.times, X, leaf_var)
        if takes_variances:
            U = values.U / X.std(axis=0)
            c = math.sqrt(np.square(values.U).sum() / np.square(U).sum())
            values = values._replace(U=c * U, mean=c / X.std(axis=0) * values.mean)
        if tail_scale is not None:
            half_df = 0.5 * model.noise.settings.df
            log_scales = np.log(half_df / rng.standard_gamma(half_df, len(tail_scale)))
        yield view(values, simulate_merges(len(state.tree[0]) + 1, rng), log_scales)
