"""``covariance="best"``: short fits of the families that suit the table, of which leave-one-out selects one.

Every candidate sees the same columns with the same values, the same rows are predicted from all others, and the family
with the highest sum of log densities is fitted: its short chains are its warm-up. A short fit is a share of the whole,
some rows stand for all and a few draws for many, so that selection costs less than the fit itself. It depends on data,
settings and seed alone.
"""

import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._runtime.progress import Progress
from .._runtime.threads import single_threaded_blas
from .._runtime.typing import ProgressLike
from ..errors import InputError
from ..posterior import Posterior
from ..posterior.predictive.loo import LeaveOneOut, draws_for, from_densities
from ..posterior.predictive.row_densities import row_densities
from ..samplers import Regraft
from .chains.initial_states import Start, start_at
from .compare import Comparison, compared
from .control.run import Run
from .fit_data import FitData, to_posterior
from .settings import DEFAULT_CHAINS, RunSettings

SHORT_SHARE, MIN_ITERATIONS, MAX_ITERATIONS = 8, 30, 60  # a short fit has an eighth of the iterations
SMALL_TABLE = 500  # rows; the more there are beyond, the fewer iterations
KEPT_SHARE = 0.4  # of a short fit's iterations, for leave-one-out
N_DRAWS, MAX_ROWS = 40, 150  # for leave-one-out
_STREAM = 15


def check_best(data: FitData, settings: RunSettings, start: Any) -> None:
    """Refuse what the selection cannot do."""
    if not isinstance(settings.sampler, Regraft):
        raise InputError('covariance="best" compares exact draws, which sampler="regraft" gives; name a covariance.')
    if isinstance(start, Posterior):
        raise InputError('covariance="best" begins anew; to continue a posterior, name its covariance.')
    if len(data.rows.distinct.first) < 3:
        raise InputError('covariance="best" needs at least three rows that differ; name a covariance.')


def run_of_best(data: FitData, run: Run, n_jobs: int | None, progress: ProgressLike) -> tuple[FitData, Run]:
    """The data and the run of the selected family; a checkpoint remembers which it was."""
    table, starts = None, run.starts
    if run.checkpoint is not None:
        table = run.checkpoint.selection(run.state.seed, data.candidates)
    if table is None:
        table, starts = select(data, run, n_jobs, progress)
        starts = starts if run.settings.resample is None else run.starts  # resamples begin with their own columns
    data = data.with_model(data.candidates[table["covariance"]])
    n_short, settings = 0, run.settings
    if settings.resample is None:
        n_short, _ = short_iterations(settings.max_iterations, len(data.rows.distinct.first))
        # Its chains continue where the short ones ended, which is not to be forgotten in tempered iterations.
        settings = settings._replace(n_tempered=0)
    best = Run(data.chains, settings, run.state.seed, starts, run.checkpoint, n_warmup_done=n_short)
    best.require_memory(len(data.rows.labels))
    best.state, best.began = best.state._replace(selection=table), run.began
    return data, best


def select(data: FitData, whole: Run, n_jobs: int | None, progress: ProgressLike) -> tuple[dict[str, Any], list[Start]]:
    """Fit each candidate for a while and compare them; one that cannot be fitted is left aside.

    Returns what ``info["choice"]`` keeps, and where the chains of the selected family stand.
    """
    began, seed = time.perf_counter(), whole.state.seed
    n_short, n_kept = short_iterations(whole.settings.max_iterations, len(data.rows.distinct.first))
    n_warmup = n_short - n_kept
    settings = whole.settings._replace(
        n_samples=n_kept,
        n_warmup=n_warmup,
        max_iterations=n_short,
        max_draws=n_kept,
        max_seconds=None,
        n_tempered=min(whole.settings.n_tempered, n_warmup // 2),
    )
    starts = whole.starts
    if settings.resample is not None:  # the families are compared by the table as it is
        settings, starts = settings._replace(resample=None, n_chains=DEFAULT_CHAINS), starts[:DEFAULT_CHAINS]
    among = np.sort(np.random.default_rng([_STREAM, seed]).permutation(data.rows.kept)[:MAX_ROWS])
    left_out, runs, failed = {}, {}, {}
    with Progress(False if callable(progress) else progress, unit="candidate") as bar:
        for number, (name, model) in enumerate(data.candidates.items()):
            bar.show(number, len(data.candidates))
            candidate = data.with_model(model)
            high, low = map(int, np.random.SeedSequence([seed, number + 1]).generate_state(2, np.uint32))
            run = Run(candidate.chains, settings, (high << 32) | low, starts)
            run.require_memory(len(data.rows.labels))
            try:
                left_out[name], runs[name] = _leave_one_out(candidate, run, among, n_jobs), run
            except InputError as error:  # a chain that diverges, a matrix that cannot be inverted
                failed[name] = str(error)
        bar.show(len(data.candidates), len(data.candidates))
    if not runs:
        raise InputError(f"no covariance could be fitted: {next(iter(failed.values()))}")
    found = compared(tuple(left_out), list(left_out.values()))
    best = runs[found.names[0]]
    table = _table(found, len(among), next(iter(left_out.values())).n_draws, failed)
    table["seconds"] = time.perf_counter() - began
    return table, [start_at(best.data, chain) for chain in best.state.chains]


def short_iterations(n_iterations: int, n: int) -> tuple[int, int]:
    """Iterations of each chain of a short fit of n rows, and how many of them are kept."""
    most = max(MIN_ITERATIONS, round(MAX_ITERATIONS * min(1.0, (SMALL_TABLE / n) ** (1 / 3))))
    short = min(max(math.ceil(n_iterations / SHORT_SHARE), MIN_ITERATIONS), most)
    return short, math.ceil(KEPT_SHARE * short)


def _leave_one_out(data: FitData, run: Run, among: np.ndarray, n_jobs: int | None) -> LeaveOneOut:
    with single_threaded_blas():
        run.complete(n_jobs, Progress(False))
    if run.is_interrupted:
        raise KeyboardInterrupt
    post = to_posterior(data, run.state.all_draws, {}, chain=run.state.chain_of_draws)
    densities = row_densities(post, draws_for(post, N_DRAWS)[0], among=among, n_jobs=n_jobs)
    if not np.isfinite(densities.log_density).all():
        raise InputError("rows have no finite density under it.")
    return from_densities(post, densities, np.zeros(len(densities.draws)))


def _table(found: Comparison, n_rows: int, n_draws: int, failed: Mapping[str, str]) -> dict[str, Any]:
    table: dict[str, Any] = {
        "covariance": found.names[0],
        "names": list(found.names),
        "elpd": found.log_density.tolist(),
        "difference": found.difference.tolist(),
        "standard_error": found.standard_error.tolist(),
        "weight": found.weights.tolist(),
        "n_rows": int(n_rows),
        "n_draws": int(n_draws),
        "n_unreliable": found.n_doubtful.tolist(),
    }
    return table | ({"failed": dict(failed)} if failed else {})
