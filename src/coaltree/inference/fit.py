"""`fit`: sample trees and covariance together, and missing values with them.

    check the settings → prepare the data → begin a run → complete it → make a posterior of its draws

Several chains take iterations (`chains.chain`): a tree given Φ, times and scale together, Φ given the tree, missing
entries given both. With `Regraft` each of these leaves p(tree, θ, missing | X) as it is, so that a chain is a Gibbs
sampler; the merge-by-merge samplers give the alternation of Henao & Lucas (2012), a greedy one its point estimate.
"""

import time
import warnings
from collections.abc import Sequence
from typing import Any, Literal

import joblib
import numpy as np

from .._runtime.memory import require_memory
from .._runtime.progress import Progress, duration
from .._runtime.random_streams import seed_of
from .._runtime.threads import single_threaded_blas
from .._runtime.typing import ArrayLike, PathLike, ProgressLike, RandomState
from .._runtime.validation import check_jobs
from ..errors import CoaltreeWarning, InputError, InterruptedWarning
from ..model.covariance import CovarianceLike, Full
from ..model.data.transform import TransformLike
from ..model.draws import Draws
from ..model.model import Model
from ..model.process.noise import Noise, NoiseLike, as_noise
from ..posterior import Posterior
from ..posterior.diagnostics import convergence
from ..posterior.diagnostics.agreement import from_info
from ..posterior.diagnostics.convergence_summary import chain_figures, warn_if_poor
from ..samplers.base import Sampler, SamplerLike
from ..samplers.regraft.regraft import Regraft
from ..tree.tree import Tree
from .chains.initial_states import starts_of_chains
from .control import auto_stop
from .control.checkpoint import Checkpoint
from .control.compile_ahead import compile_ahead
from .control.run import Run, bytes_per_draw
from .control.run_state import RunState
from .settings import MIN_DRAWS, SECONDS_SPENT, RunSettings, check_settings, with_limits

MANY_COLUMNS = 2000  # from here on the cost of a full covariance is announced
MATRICES_AT_ONCE, FACTORISATIONS_PER_ITERATION = 8, 15  # of a full covariance, roughly


def fit(
    X: ArrayLike,
    covariance: CovarianceLike = "auto",
    sampler: SamplerLike = "regraft",
    *,
    n_samples: int | Literal["auto"] = "auto",
    n_warmup: int | Literal["auto"] = "auto",
    n_chains: int = 2,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    progress: ProgressLike = "auto",
    checkpoint: PathLike | None = None,
    noise: NoiseLike | None = None,
    errors: ArrayLike | None = None,
    groups: Sequence[Any] | None = None,
    start: Posterior | Tree | None = None,
    transform: TransformLike | None = None,
    max_seconds: float | None = None,
) -> Posterior:
    """Sample trees and covariance parameters given data, and impute missing values.

    Parameters
    ----------
    X : array-like (n, d) or DataFrame, whose index names the leaves; NaN is missing.
    covariance : a name ("auto", "scaled", "spherical", "diagonal", "full", "components", "squared_exponential"),
        a (d, d) array or an object. "auto" is "full" where there are at least 0.75 d (d + 1) distinct rows for d
        columns that are not constant, and "components" where there are no more rows than columns; else "spherical"
        where columns have similar ranges, as in one unit, and "scaled" where they
        differ or have few distinct values; ``info["covariance_choice"]`` says which and why.
    sampler : a name or a sampler object; it draws one tree per iteration.
    n_samples : trees to keep from each chain, or "auto": until the chains give the same answer (R-hat at most 1.05, the
        same clusters) and there are enough effective draws (50 of scalars, 200 of topologies), or after 2,000
        iterations of each chain (2.4 million / n above 1,200 leaves, at least 60) or `max_seconds`;
        ``info["stopping"]`` says which. Long runs are thinned to 1,000 trees of each chain.
    n_warmup : warm-up (burn-in) iterations to discard; "auto" ends the warm-up when the log joint has settled, or is
        100 where `n_samples` is a number.
    n_chains : number of independent chains.
    n_jobs : number of chains to run in parallel, by joblib (see `joblib.parallel_config`). Where it is given, searches
        for neighbours take no more threads in all; otherwise up to eight. Draws are the same whatever it is.
    random_state : int, numpy Generator or None; the seed in use is in ``info["seed"]``.
    progress : True, False, "auto" (a progress bar on a terminal) or a function of (iterations done, total), the total
        being a guess where the draws say when to stop.
    checkpoint : path of a file to which the state is saved regularly. If it exists, the run resumes from it, with the
        same result as without the interruption.
    noise : measurement noise of the rows: "student" (learnt, with heavy tails, so that outliers do not bend the tree;
        the default with `Regraft`), "learn" (learnt, normal), a number (its variance as a multiple of the covariance;
        0, the default with every other sampler, for none) or a `Noise`.
    errors : (n,) known standard errors of the rows, relative to each other; the noise is scaled by their squares. Rows
        that are placed later count as having their geometric mean.
    groups : (n,) rows with the same value are replicates of one leaf, which is named after it.
    start : a `Posterior` of the same rows, whose chains are continued, or a `Tree` to start from.
    transform : scikit-learn transformer of the table, such as ``ct.Preprocessor(log=True)`` or ``StandardScaler()``. A
        copy is fitted to X and kept as `Posterior.transform`, so that new rows are given as X was; `Posterior.X` is
        what comes out. A saved posterior keeps a `Preprocessor`; new rows for any other are to be transformed by hand.
    max_seconds : for "auto": seconds after which it stops. Where it stops then depends on the machine.

    Returns
    -------
    Posterior of trees with equal weights, as many of each chain. For each tree, `theta` has a draw of each learnt
    parameter and `imputed` a draw of each missing value. Convergence diagnostics are in ``info["convergence"]``.
    Ctrl-C returns the trees sampled so far, with an `InterruptedWarning`.
    """
    began = time.perf_counter()
    check_jobs(n_jobs)
    settings = check_settings(sampler, n_samples, n_warmup, n_chains, max_seconds)
    if isinstance(settings.sampler, Regraft):  # others need few of these kernels
        compile_ahead(quiet=progress is False)
    if noise is None:  # Student's where the sampler can learn it, else none
        noise = Noise(tails="student") if settings.sampler.learns_noise else Noise(0.0)
    noise = as_noise(noise)
    _announce_cost_of_full(covariance, X, settings)
    model = Model.of(X, covariance, noise, errors=errors, groups=groups, transform=transform)
    _check_sampler(settings.sampler, model)
    run = begin_run(model, settings, start, random_state, checkpoint)
    run.to_posterior = make = maker_of_posteriors(model, run.settings)
    complete(run, n_jobs, progress)
    post = posterior_of(model, run, make)
    post.info["seconds"] = time.perf_counter() - began
    _judge(post)
    return post


def _check_sampler(sampler: Sampler, model: Model) -> None:
    """Refuse what a sampler cannot do."""
    if sampler.learns_noise:
        return
    name = type(sampler).__name__
    if model.noise.is_random:
        raise InputError(f'{name} needs a fixed, normal noise, such as noise=0.1; sampler="regraft" learns it.')
    if not sampler.takes_leaf_variances and (model.leaves.errors is not None or model.replicates is not None):
        raise InputError(f'{name} takes the same noise for all rows; use sampler="regraft" with errors or groups.')


def _announce_cost_of_full(covariance: CovarianceLike, X: Any, settings: RunSettings) -> None:
    """Refuse or announce what a full covariance of many columns takes, before the first of its large matrices."""
    is_full = isinstance(covariance, Full) or (isinstance(covariance, str) and covariance == "full")
    d = np.shape(X)[1] if is_full and np.ndim(X) == 2 else 0
    if d < MANY_COLUMNS:
        return
    n_chains, n_draws = settings.n_chains, settings.n_samples or MIN_DRAWS
    what = f"a full covariance of {d:,} columns with {n_chains} chains of {n_draws} trees"
    instead = 'use covariance="diagonal", fewer columns or fewer trees'
    require_memory((2 * n_draws + MATRICES_AT_ONCE) * n_chains * 8 * d * d, what, instead)
    with single_threaded_blas():
        small = 0.1 + np.eye(MANY_COLUMNS // 4)
        began = time.perf_counter()
        np.linalg.cholesky(small)
        seconds = FACTORISATIONS_PER_ITERATION * (time.perf_counter() - began) * (d / len(small)) ** 3
    message = f"{what} takes some {duration(seconds)} per iteration; {instead}."
    warnings.warn(message, CoaltreeWarning, stacklevel=3)


def begin_run(
    model: Model, settings: RunSettings, start: Any, random_state: RandomState, checkpoint: PathLike | None
) -> Run:
    """A run that has not taken any iteration yet, if there is memory for it."""
    starts = starts_of_chains(start, model, settings.n_chains)
    of_chains = model.of_chains()
    n, (_, d) = len(model.leaves.labels), of_chains.values.shape
    n_bytes = settings.n_chains * bytes_per_draw(of_chains, n)
    settings = with_limits(settings, of_chains.n, d, n_bytes, is_given_start=start is not None)
    saved = None
    if checkpoint is not None:
        fingerprint = joblib.hash(
            (*model._replace(index=None), starts, settings._replace(max_seconds=None))
        )  # of the run that may resume
        saved = Checkpoint(checkpoint, fingerprint, seed_is_given=random_state is not None)
    run = Run(of_chains, settings, seed_of(random_state), starts, saved)
    run.require_memory(n)
    return run


def complete(run: Run, n_jobs: int | None, progress: ProgressLike) -> None:
    """Take a run to its end, from its checkpoint where there is one; warn where it was interrupted."""
    if run.checkpoint is not None:
        run.state = run.checkpoint.restore(run.model, run.settings, run.state)
    with single_threaded_blas(), Progress(progress) as bar:
        run.complete(n_jobs, bar)
    if run.is_interrupted:
        n_draws, n_samples = run.state.n_draws, run.settings.n_samples
        of_all = "" if n_samples is None else f"of {n_samples} "
        message = f"interrupted: the posterior holds {n_draws} {of_all}trees of each chain."
        warnings.warn(InterruptedWarning(message, n_draws, run.settings.max_draws), stacklevel=3)


def maker_of_posteriors(model: Model, settings: RunSettings) -> auto_stop.ToPosterior:
    """Makes the posterior of the draws so far, and keeps the last: what was found out about it is not asked again."""
    last: dict[tuple[int | None, int, int], Posterior] = {}

    def make(state: RunState) -> Posterior:
        number = (state.n_warmup, state.thin, state.n_draws)
        if number not in last:
            last.clear()  # before the next one takes as much memory
            last[number] = to_posterior(model, state.all_draws._replace(series=state.chain_of_draws))
        return last[number]

    return make


def to_posterior(model: Model, draws: Draws) -> Posterior:
    """The posterior of draws over the distinct rows of a table."""
    reported = {name: np.nanmean(value) for name, value in draws.info.items() if not np.isnan(value).all()}
    info: dict[str, Any] = {f"mean_{name}": float(value) for name, value in reported.items()}
    return Posterior(model, model.expand(draws), info)


def posterior_of(model: Model, run: Run, make: auto_stop.ToPosterior) -> Posterior:
    """The posterior of what a run has kept, and how it came about in `info`."""
    settings, state = run.settings, run.state
    post = make(state)
    post.info.update(
        seed=state.seed,
        sampler=repr(settings.sampler),
        n_warmup=state.n_warmup if settings.n_warmup is None else settings.n_warmup,
        **model.info,
        interrupted=run.is_interrupted,
    )
    if settings.is_auto:
        with single_threaded_blas():
            post.info["stopping"] = auto_stop.summary(settings, state, make)
    return post


def _judge(post: Posterior) -> None:
    """Diagnostics, and a warning where they are bad; where they cannot be had, no draws are lost for it."""
    try:
        with single_threaded_blas():
            post.info["convergence"] = convergence.figures(post)
    except Exception as error:
        message = f"convergence could not be judged ({type(error).__name__}: {error}); the draws are complete."
        warnings.warn(" ".join(message.split()), CoaltreeWarning, stacklevel=3)
    else:
        stopping = post.info.get("stopping")
        is_timed = stopping is not None and stopping["reason"] == SECONDS_SPENT
        increase = ("max_seconds",) if is_timed else ("n_warmup", "n_samples")
        warn_if_poor(chain_figures(post.info["convergence"], from_info(stopping)), increase, stacklevel=3)
