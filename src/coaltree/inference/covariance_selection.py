"""``covariance="best"``: short fits of the sensible families, of which leave-one-out decides.

Every candidate sees the same columns with the same values (what one of them cannot take is left out or spread for all),
the same rows are predicted from all others, and the family with the highest sum of log densities goes on: its short
chains are its warm-up. A short fit is a share of the whole, some rows stand for all and a few draws for many, so that
the choice costs less than the fit itself. It depends on data, settings and seed alone.
"""

import math
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from .._runtime.progress import Progress
from .._runtime.threads import single_threaded_blas
from .._runtime.typing import ProgressLike
from ..errors import CoaltreeWarning, InputError
from ..model.covariance import Covariance, SquaredExponential, as_covariance
from ..model.data.columns import Modelled, constant_columns, modelled
from ..model.data.leaves import Rows
from ..model.process.noise import LEVEL
from ..posterior import Posterior
from ..posterior.predictive.loo import draws_for, from_densities
from ..posterior.predictive.row_densities import row_densities
from ..samplers import Regraft
from ..samplers.base import Sampler
from .chains.chain import Chain, Plan, Start
from .compare import Comparison, compared
from .control.checkpoint import Checkpoint
from .control.run import Run

_SHARE, _FEWEST, _MOST = 8, 30, 60  # a short fit has an eighth of the rounds, but so many at least and at most
_SMALL = 500  # rows; the more there are beyond, the fewer rounds
_KEPT = 0.4  # share of a short fit's rounds that leave-one-out is asked of
_DRAWS, _ROWS = 40, 150
_MOST_COLUMNS = 128  # of a full covariance
_STREAM = 15


class Chosen(NamedTuple):
    """What `info["choice"]` keeps, and where the chains of the family that goes on stand."""

    table: dict[str, Any]
    starts: list[Start]


def is_best(covariance: Any) -> bool:
    """Whether the family is to be chosen by leave-one-out."""
    return isinstance(covariance, str) and covariance == "best"


def requested(
    covariance: Any,
    sampler: Sampler,
    start: Any,
    ordered: bool,
    inputs: Any,
    values: np.ndarray,
    rows: Rows,
    names: Any,
) -> dict[str, Modelled]:
    """The candidates for the distinct rows (n, d) of a fit, none where its covariance is named."""
    if not is_best(covariance):
        if ordered or inputs is not None:
            raise InputError(
                'ordered and inputs add a candidate to covariance="best"; otherwise give SquaredExponential(inputs=…).'
            )
        return {}
    if not isinstance(sampler, Regraft):
        raise InputError('covariance="best" compares exact draws, which sampler="regraft" gives; name a covariance.')
    if isinstance(start, Posterior):
        raise InputError('covariance="best" begins anew; to continue a posterior, name its covariance.')
    if len(rows.distinct.first) < 3:
        raise InputError('covariance="best" needs at least three rows that differ; name a covariance.')
    return models_of(candidates(values, ordered, inputs), values, rows.kept, names)


def go_on_with_best(
    run: Run,
    models: Mapping[str, Modelled],
    make_posterior: Callable[[Run, Modelled], Posterior],
    rows: Rows,
    saved: Checkpoint | None,
    n_jobs: int | None,
    progress: ProgressLike,
) -> tuple[Run, Modelled]:
    """The run of the chosen family in place of `run`; a checkpoint remembers which it was."""
    table, starts = None if saved is None else saved.choice(run, models), run.starts
    if table is None:
        chosen = choose(run, models, make_posterior, rows, n_jobs=n_jobs, progress=progress)
        table, starts = chosen.table, chosen.starts
    model = models[table["covariance"]]
    short, _ = rounds_of(run.rounds_per_chain, len(rows.distinct.first))
    given = run.plan.n_warmup
    # Its chains go on where the short ones ended, which is not to be forgotten in tempered rounds.
    plan = run.plan._replace(n_warmup=None if given is None else max(0, given - short), n_tempered=0)
    best = Run(plan, model.values, model.covariance, run.n_samples, run.n_chains, run.seed, starts, run.auto)
    best.reserve_memory(len(rows.labels))
    best.choice = table
    return best, model


def candidates(values: np.ndarray, ordered: bool, inputs: Any) -> dict[str, Covariance]:
    """Families that make sense for distinct rows (n, d): a full matrix needs twice as many rows as varying columns."""
    n, d = values.shape
    varying = int((~constant_columns(values)).sum())
    found = [*("scaled", "spherical", "diagonal"), *(["full"] if 1 < varying <= min(n / 2, _MOST_COLUMNS) else [])]
    families = {name: as_covariance(name, d) for name in found}
    if ordered or inputs is not None:
        smooth = SquaredExponential(inputs=np.arange(float(d)) if inputs is None else inputs)
        smooth.check(d)
        families["squared_exponential"] = smooth
    return families


def models_of(
    families: Mapping[str, Covariance], values: np.ndarray, rows: np.ndarray, names: Any
) -> dict[str, Modelled]:
    """Each family adapted to the same columns and values; what is left out is warned of once."""
    avoid = frozenset[str]().union(*(family.cannot_take for family in families.values()))
    found: dict[str, Modelled] = {}
    for name, family in families.items():
        with warnings.catch_warnings():
            if found:
                warnings.simplefilter("ignore", CoaltreeWarning)
            found[name] = modelled(values, rows, names, family, avoid)
    return found


def choose(
    whole: Run,
    models: Mapping[str, Modelled],
    make_posterior: Callable[[Run, Modelled], Posterior],
    rows: Rows,
    *,
    n_jobs: int | None,
    progress: ProgressLike,
) -> Chosen:
    """Fit each candidate for a while and compare them; one that cannot be fitted is left aside."""
    began = time.perf_counter()
    short, n_kept = rounds_of(whole.rounds_per_chain, len(rows.distinct.first))
    n_warmup = short - n_kept
    plan = whole.plan._replace(n_warmup=n_warmup, n_tempered=min(whole.plan.n_tempered, n_warmup // 2))
    rng = np.random.default_rng([_STREAM, whole.seed])
    among = np.sort(rng.permutation(rows.kept)[:_ROWS])
    left_out, runs, failed = {}, {}, {}
    with Progress(False if callable(progress) else progress) as bar:
        watch = bar.watcher("candidate") or (lambda done, total: None)
        watch(0, len(models))
        for number, (name, model) in enumerate(models.items()):
            seed = _seed_of_candidate(whole.seed, number)
            run = Run(plan, model.values, model.covariance, n_kept, whole.n_chains, seed, whole.starts)
            run.reserve_memory(len(rows.labels))
            try:
                left_out[name], runs[name] = _left_out(run, model, make_posterior, among, n_jobs), run
            except InputError as error:  # a chain that leaves all sense, a matrix that cannot be inverted
                failed[name] = str(error)
            watch(number + 1, len(models))
    if not runs:
        raise InputError(f"no covariance could be fitted: {next(iter(failed.values()))}")
    found = compared(tuple(left_out), list(left_out.values()))
    winner = found.names[0]
    table = _table(found, len(among), next(iter(left_out.values())).n_draws, failed)
    table["seconds"] = time.perf_counter() - began
    return Chosen(table, [_start_at(plan, chain) for chain in runs[winner].chains])


def rounds_of(n_rounds: int, n: int) -> tuple[int, int]:
    """Rounds of each chain of a short fit, and how many of them are kept; fewer for many rows."""
    most = max(_FEWEST, round(_MOST * min(1.0, (_SMALL / n) ** (1 / 3))))
    short = min(max(math.ceil(n_rounds / _SHARE), _FEWEST), most)
    return short, math.ceil(_KEPT * short)


def _left_out(run, model, make_posterior, among, n_jobs):
    with single_threaded_blas():
        if run.complete(n_jobs, Progress(False), None):
            raise KeyboardInterrupt
    post = make_posterior(run, model)
    densities = row_densities(post, draws_for(post, _DRAWS)[0], among=among, n_jobs=n_jobs)
    if not np.isfinite(densities.log_density).all():
        raise InputError("rows have no finite density under it.")
    return from_densities(post, densities, np.zeros(len(densities.draws)))


def _seed_of_candidate(seed, number):
    high, low = map(int, np.random.SeedSequence([seed, number + 1]).generate_state(2, np.uint32))
    return (high << 32) | low


def _start_at(plan: Plan, chain: Chain) -> Start:
    """Where a chain stands, for another to go on from there."""
    theta = dict(chain.covariance.theta)
    if plan.noise.level is None:
        theta[LEVEL] = chain.noise.level
    imputed = None if plan.missing is None else chain.values[plan.missing]
    return Start(chain.tree, theta, imputed, chain.noise.tail_scale)


def _table(found: Comparison, n_rows, n_draws, failed):
    table = {
        "covariance": found.names[0],
        "names": list(found.names),
        "elpd": [float(value) for value in found.log_density],
        "difference": [float(value) for value in found.difference],
        "standard_error": [float(value) for value in found.standard_error],
        "weight": [float(value) for value in found.weights],
        "n_rows": int(n_rows),
        "n_draws": int(n_draws),
    }
    return table | ({"failed": failed} if failed else {})
