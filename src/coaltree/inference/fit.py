"""`fit`: sample trees and covariance together, and missing values with them.

    check the settings → Model.of(X, …) → Run(model, …) → run.complete() → run.posterior

Several chains take iterations (`chains.chain`): a tree given Φ, times and scale together, Φ given the tree, missing
entries given both. With `Regraft` each of these leaves p(tree, θ, missing | X) as it is, so that a chain is a Gibbs
sampler; the merge-by-merge samplers give the alternation of Henao & Lucas (2012), a greedy one its point estimate.
"""

import time
from collections.abc import Sequence
from typing import Any, Literal

from .._runtime.typing import ArrayLike, PathLike, ProgressLike, RandomState
from .._runtime.validation import check_jobs
from ..errors import InputError, InterruptedWarning, warn_of_result
from ..model.covariance import CovarianceLike
from ..model.data.transform import TransformLike
from ..model.model import Model
from ..model.process.noise import Noise, NoiseLike, as_noise
from ..posterior import Posterior
from ..posterior.diagnostics.convergence import warn_if_poor
from ..samplers.base import Sampler, SamplerLike
from ..samplers.regraft.regraft import Regraft
from ..tree.tree import Tree
from .control.compile_ahead import compile_ahead
from .control.run import Run
from .settings import SECONDS_SPENT, check_settings


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
        same clusters) and there are enough effective draws (50; 25 of covariance and noise), or after 2,000 iterations
        of each chain (2.4 million / n above 1,200 leaves, at least 60) or `max_seconds`; ``info["stopping"]`` says
        which. Long runs are thinned to 1,000 trees of each chain.
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

    Examples
    --------
    >>> X, _ = ct.simulate(12, 3, random_state=0)
    >>> post = ct.fit(X, n_samples=20, n_warmup=20, random_state=0, progress=False)
    >>> len(post)
    40
    >>> post.cut(3).shape
    (12,)
    """
    began = time.perf_counter()
    check_jobs(n_jobs)
    settings = check_settings(sampler, n_samples, n_warmup, n_chains, max_seconds)
    sampler = settings["sampler"]
    if isinstance(sampler, Regraft):  # others need few of these kernels
        compile_ahead(quiet=progress is False)
    if noise is None:  # Student's where the sampler can learn it, else none
        noise = Noise(tails="student") if sampler.learns_noise else Noise(0.0)
    model = Model.of(X, covariance, as_noise(noise), errors=errors, groups=groups, transform=transform)
    _check_sampler(sampler, model)
    run = Run(model, **settings, start=start, random_state=random_state, checkpoint=checkpoint)
    run.complete(n_jobs, progress)
    run.posterior.info["seconds"] = time.perf_counter() - began
    _warn_of_run(run)
    return run.posterior


def _check_sampler(sampler: Sampler, model: Model) -> None:
    """Refuse what a sampler cannot do."""
    if sampler.learns_noise:
        return
    name = type(sampler).__name__
    if model.noise.settings.is_random:
        raise InputError(f'{name} needs a fixed, normal noise, such as noise=0.1; sampler="regraft" learns it.')
    if not sampler.takes_leaf_variances and (model.leaves.errors is not None or model.replicates is not None):
        raise InputError(f'{name} takes the same noise for all rows; use sampler="regraft" with errors or groups.')


def _warn_of_run(run: Run) -> None:
    """Warn of an interruption, or of poor convergence."""
    info, n_draws = run.posterior.info, run.n_draws
    if not info["interrupted"]:
        increase = ("max_seconds",) if run.reason == SECONDS_SPENT else ("n_warmup", "n_samples")
        return warn_if_poor(run.figures, increase, stacklevel=3)
    of_all = "" if run.n_samples is None else f"of {run.n_samples} "
    message = f"interrupted: the posterior holds {n_draws} {of_all}trees of each chain."
    return warn_of_result(InterruptedWarning(message, n_draws, run.max_draws), stacklevel=3)
