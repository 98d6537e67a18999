"""Leave-one-out: how well the model predicts each row from all others, without fitting it again.

Z_i of a draw (`row_densities`) is p(x_i | other rows, tree without i, θ), and the draw is from p(tree, θ | X), in which
(tree without i, θ) has p(tree without i, θ | other rows) · Z_i / p(x_i | other rows). So with weights ∝ 1 / Z_i

    p(x_i | other rows) = 1 / E[1 / Z_i] = E_w[Z_i] ,      elpd = Σ_i log p(x_i | other rows) ,

the weights smoothed by ArviZ's own Pareto smoothing. Its k̂ says how heavy their tail is: above 0.7 a row is so
surprising that trees with it and without it differ too much for this.
"""

import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy.special import logsumexp

from ..._runtime.formatting import shortlist
from ..._runtime.progress import watching
from ..._runtime.typing import ProgressLike
from ..._runtime.validation import check_count, check_jobs
from ...errors import InputError, warn_of_result
from ...numerics.weighted import pick_trees
from ..diagnostics.ess import last_of_chains
from ..validation import require_densities, require_fixed_directions
from .row_densities import MAX_ROWS_ALL_BRANCHES, RowDensities, row_densities

if TYPE_CHECKING:
    from ..posterior import Posterior

_N_DRAWS, _N_DRAWS_OF_MANY_ROWS = 200, 100
_MAX_K = 0.7  # Pareto k̂ above which no number of draws helps
_last_densities: "WeakKeyDictionary[Posterior, RowDensities]" = WeakKeyDictionary()  # which take a while


@dataclass(frozen=True, repr=False)
class LeaveOneOut:
    """Leave-one-out predictive densities of the rows of a posterior, in nats and in the units of the columns."""

    elpd: float  #: Sum over the rows of the log density of each given all others.
    se: float  #: Its standard error, the rows taken as a sample of what might have been observed.
    p_loo: float  #: Effective number of parameters, that is, how much better rows are predicted that were seen.
    pointwise: np.ndarray  #: (k,) the log density of each row.
    pareto_k: np.ndarray  #: (k,) ArviZ's k̂ of each row; above `good_k` its density may be too high.
    rows: np.ndarray  #: (k,) numbers of the rows in X, all but copies of others, which have no density.
    labels: tuple[str, ...]  #: Names of these rows.
    columns: tuple[str, ...]  #: Names of the columns in the model, whose density it is.
    log_density: np.ndarray  #: (draws, k) log Z, the log density of each row given all others and a draw of the rest.

    @property
    def good_k(self) -> float:
        """Up to here a k̂ is good: min(1 - 1 / log10(draws), 0.7), as in ArviZ."""
        return min(1.0 - 1.0 / math.log10(self.n_draws), _MAX_K) if self.n_draws > 10 else 0.0

    @property
    def doubtful(self) -> tuple[str, ...]:
        """Names of the rows whose k̂ is not good."""
        return tuple(self.labels[i] for i in np.flatnonzero(~(self.pareto_k <= self.good_k)))

    @property
    def n_draws(self) -> int:
        """Number of draws behind it."""
        return len(self.log_density)

    def __repr__(self) -> str:
        n, doubtful = len(self.rows), [repr(name) for name in self.doubtful]
        k = f"is good, below {self.good_k:.2f}, in every row"
        if doubtful:
            k = f"above {self.good_k:.2f} in {len(doubtful)} row(s), which may count too much: {shortlist(doubtful)}"
        return (
            f"Leave-one-out of {n} rows, from {self.n_draws} draws\n"
            f"elpd  {self.elpd:10.2f}   standard error {self.se:.2f}; {self.elpd / n:.2f} nats a row\n"
            f"p_loo {self.p_loo:10.2f}\n"
            f"Pareto k̂ {k}"
        )


def loo(posterior: "Posterior", n_draws: int | None, n_jobs: int | None, progress: ProgressLike) -> LeaveOneOut:
    """Leave-one-out of a posterior; `Posterior.loo` explains the parameters."""
    require_densities(posterior, "leave-one-out")
    require_fixed_directions(posterior)
    n_draws = check_n_draws(posterior, n_draws)
    if posterior.draws.has_equal_weights:  # spread evenly over the chains
        draws = thinned(last_of_chains(posterior.draws.chain), n_draws).ravel()
        weights = np.full(len(draws), 1.0 / len(draws))
    else:
        draws, weights = pick_trees(posterior.weights, n_draws)
    densities = cached_densities(posterior, draws, n_jobs, progress)
    log_z, log_weights = densities.log_density.T, np.log(weights / weights.sum())
    smoothed, pareto_k = _smoothed(log_weights - log_z, min(posterior.ess / len(posterior), 1.0))
    pointwise = logsumexp(smoothed + log_z, axis=1)
    result = LeaveOneOut(
        elpd=float(pointwise.sum()),
        se=math.sqrt(len(pointwise)) * float(pointwise.std(ddof=1)),
        p_loo=float((logsumexp(log_weights + log_z, axis=1) - pointwise).sum()),
        pointwise=pointwise,
        pareto_k=pareto_k,
        rows=densities.rows,
        labels=tuple(posterior.model.table.labels[i] for i in densities.rows),
        columns=posterior.model.used_columns,
        log_density=densities.log_density,
    )
    n_influential = int(np.sum(result.pareto_k > _MAX_K))
    if n_influential and np.isfinite(result.pareto_k).any():
        warn_of_result(
            f"leave-one-out: Pareto k̂ > {_MAX_K} for {n_influential} of {len(result.rows)} rows, so influential that "
            "trees with and without them differ; they may count too much. Compare models that disagree about them by "
            "held-out rows.",
            stacklevel=4,
        )
    return result


def check_n_draws(posterior: "Posterior", n_draws: int | None) -> int:
    """The number of draws, by default fewer for many rows, of which a draw takes longer."""
    default = _N_DRAWS if posterior.n <= MAX_ROWS_ALL_BRANCHES else _N_DRAWS_OF_MANY_ROWS
    return check_count("n_draws", default if n_draws is None else n_draws)


def thinned(index: np.ndarray, n_draws: int) -> np.ndarray:
    """Every k-th of the draws (chains, draws) of each chain, so that about n_draws are left, one a chain at least."""
    step = max(1, math.ceil(index.size / n_draws))
    return index[:, ::-1][:, ::step][:, ::-1]


def cached_densities(
    posterior: "Posterior", draws: np.ndarray, n_jobs: int | None, progress: ProgressLike
) -> RowDensities:
    """The densities of these draws; the last ones of each posterior are remembered."""
    check_jobs(n_jobs)
    last = _last_densities.get(posterior)
    if last is not None and np.array_equal(last.draws, draws):
        return last
    with watching(progress, "draw") as watch:
        densities = row_densities(posterior, draws, n_jobs=n_jobs, watch=watch)
    _last_densities[posterior] = densities
    return densities


def _smoothed(log_ratios: np.ndarray, r_eff: float) -> tuple[np.ndarray, np.ndarray]:
    """Log weights (k, s) with smoothed tails that sum to 1, and ArviZ's k̂ (k,): NaN where there are too few draws."""
    if sys.flags.optimize > 1:
        raise InputError("leave-one-out needs ArviZ, which does not run without docstrings; leave python's -OO out.")
    from arviz_stats.base import array_stats

    smooth: Any = array_stats.psislw
    pareto_k = np.full(len(log_ratios), np.nan)
    for i, ratios in enumerate(log_ratios):
        try:
            log_ratios[i], pareto_k[i] = smooth(-ratios, r_eff=r_eff)  # it takes log likelihoods
        except (ValueError, IndexError):  # fewer than 5 draws in the tail, or all the same there
            continue
    return log_ratios - logsumexp(log_ratios, axis=1, keepdims=True), pareto_k
