"""`sample_trees`: trees when the covariance is known.

X → distinct rows → whitened rows → sampler → trees over all rows → Posterior
"""

import time
from typing import Any

import numpy as np

from .._runtime.progress import watching
from .._runtime.random_streams import as_generator
from .._runtime.threads import at_most_threads, single_threaded_blas
from .._runtime.typing import ArrayLike, ProgressLike, RandomState
from .._runtime.validation import check_count
from ..errors import InputError, InterruptedWarning, warn_of_result
from ..model.covariance import CovarianceLike
from ..model.draws import NO_TREE, Draws, State
from ..model.model import Model
from ..model.process.noise import as_noise, first_draw
from ..posterior import Posterior
from ..samplers import as_sampler
from ..samplers.base import SamplerLike


def sample_trees(
    X: ArrayLike,
    covariance: CovarianceLike = "spherical",
    sampler: SamplerLike = "regraft",
    *,
    n_samples: int = 100,
    n_warmup: int = 10,
    random_state: RandomState = None,
    noise: float = 0.0,
    errors: ArrayLike | None = None,
    n_threads: int | None = None,
    progress: ProgressLike = "auto",
) -> Posterior:
    """Sample trees given the data and a known covariance.

    Parameters
    ----------
    X : array-like or DataFrame (n, d).
    covariance : Covariance, name or (d, d) array of the diffusion, which is not learnt; use `fit` for that. "scaled" is
        that of the columns' own variances.
    sampler : such as ``"regraft"``, ``"mgreedy"`` or ``MPost2(n_particles=100)``.
    n_samples, n_warmup : for `Regraft`, sweeps to keep and to discard; other samplers return their particles, or one
        greedy tree.
    random_state : int, numpy.random.Generator or None.
    noise : variance of measurement noise, as a multiple of Φ. With 0, identical rows merge at time 0.
    errors : (n,) known relative standard errors of the rows, by whose squares the noise is scaled (`Regraft`,
        `Insertion`).
    n_threads : number of threads for the particles; it does not change the result.
    progress : bool, "auto" or function of (done, total).

    Returns
    -------
    Posterior. With `Regraft`, Ctrl-C returns the trees sampled so far, with an `InterruptedWarning`.

    Examples
    --------
    >>> X, _ = ct.simulate(12, 3, random_state=0)
    >>> len(ct.sample_trees(X, n_samples=50, random_state=0, progress=False))
    50
    >>> ct.sample_trees(X, sampler=ct.MPost2(n_particles=100), random_state=0).log_evidence < 0.0
    True
    """
    sampler, noise, rng = as_sampler(sampler), as_noise(noise), as_generator(random_state)
    n_samples = check_count("n_samples", n_samples)
    n_warmup = check_count("n_warmup", n_warmup, 0)
    if n_threads is not None:
        n_threads = check_count("n_threads", n_threads, 1)
    if errors is not None and not sampler.takes_leaf_variances:
        raise InputError(
            f"{type(sampler).__name__} takes the same noise for all rows; errors need Regraft or Insertion."
        )
    if noise.is_random:
        raise InputError("here the noise must be a number; fit() learns it.")
    model = Model.of(X, covariance, noise, errors=errors, is_known=True)
    began = time.perf_counter()
    if model.n == 1:  # all rows are the same: there is one tree, and nothing to sample
        draws = Draws(np.empty((1, 0, 2), np.int32), np.empty((1, 0)), np.zeros(1), np.zeros(1), 0.0)
    else:
        state = State(NO_TREE, model.covariance, first_draw(model.noise), np.empty(0))
        problem = model.problem(state, rotate=sampler.needs_vectors)
        with single_threaded_blas(), at_most_threads(n_threads), watching(progress, "step") as watch:
            options: Any = {"n_samples": n_samples, "n_warmup": n_warmup, "n_threads": n_threads}
            draws = sampler.run(problem, rng, progress=watch, **options)
    if draws.info.get("interrupted"):
        message = f"interrupted: the posterior holds {len(draws.times)} of {n_samples} trees."
        warn_of_result(InterruptedWarning(message, len(draws.times), n_samples), stacklevel=2)
    info = {"sampler": repr(sampler), "n_distinct": model.n, "seconds": time.perf_counter() - began}
    chain = np.zeros(len(draws.times), dtype=int) if sampler.is_chain else None
    return Posterior(model, model.expand(draws._replace(series=chain)), {**draws.info, **info, **model.info})
