"""`sample_trees`: trees when the covariance is known.

X → distinct rows → whitened rows (or squared distances) → sampler → trees over all rows → Posterior
"""

import time
import warnings
from typing import Any

import numpy as np

from .._runtime.progress import Progress
from .._runtime.random_streams import as_generator
from .._runtime.threads import at_most_threads, single_threaded_blas
from .._runtime.typing import ArrayLike, ProgressLike, RandomState
from .._runtime.validation import check_count
from ..errors import InputError, InterruptedWarning
from ..model.covariance import Covariance, CovarianceLike, Scaled, Spherical, as_covariance
from ..model.data.columns import modelled
from ..model.data.distances import DISTANCES, check_metric, read_distances
from ..model.data.duplicates import Distinct, find_distinct
from ..model.data.table import Table, read_table
from ..model.process.noise import as_noise, known_variances
from ..model.process.whitened import Problem, largest_distance, make_problem
from ..posterior import Posterior
from ..posterior.io.pandas_output import remember_index
from ..samplers import as_sampler
from ..samplers.base import Draws, Sampler, SamplerLike

# covariance, whitened rows (None where all rows are the same), distinct rows, columns in the model (None for all)
Prepared = tuple[Covariance, Problem | None, Distinct, np.ndarray | None]


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
    metric: str = "euclidean",
    d: int | None = None,
    n_threads: int | None = None,
    progress: ProgressLike = "auto",
) -> Posterior:
    """Sample trees given the data and a known covariance.

    Parameters
    ----------
    X : array-like or DataFrame (n, d); or distances, as `metric` says.
    covariance : Covariance, name or (d, d) array of the diffusion, which is not learnt; use `fit` for that. "scaled" is
        that of the columns' own variances.
    sampler : such as ``"regraft"``, ``"mgreedy"`` or ``MPost2(n_particles=100)``.
    n_samples, n_warmup : for `Regraft`, sweeps to keep and to discard; other samplers return their particles, or one
        greedy tree.
    random_state : int, numpy.random.Generator or None.
    noise : variance of measurement noise, as a multiple of Φ. With 0, identical rows merge at time 0.
    errors : (n,) known relative standard errors of the rows, by whose squares the noise is scaled (`Regraft`,
        `Insertion`).
    metric : "euclidean", "distances" if X holds Euclidean distances between rows (a square table, a triangle of it or a
        condensed vector), or "squared_distances" if it holds their squares.
    d : number of columns behind distances: the more there are, the more certain are times.
    n_threads : number of threads for the particles; it does not change the result.
    progress : bool, "auto" or function of (done, total).

    Returns
    -------
    Posterior. With `Regraft`, Ctrl-C returns the trees sampled so far, with an `InterruptedWarning`.
    """
    sampler, noise, rng = as_sampler(sampler), as_noise(noise), as_generator(random_state)
    n_samples = check_count("n_samples", n_samples)
    n_warmup = check_count("n_warmup", n_warmup, 0)
    if n_threads is not None:
        n_threads = check_count("n_threads", n_threads, 1)
    is_table = check_metric(metric, ("euclidean", *DISTANCES)) == "euclidean"
    table = read_table(X) if is_table else read_distances(X, metric)
    leaf_var = known_variances(noise, errors, len(table.values))
    if errors is not None and not sampler.takes_leaf_variances:
        raise InputError(
            f"{type(sampler).__name__} takes the same noise for all rows; errors need Regraft or Insertion."
        )
    prepare = _from_rows if is_table else _from_distances
    covariance, problem, distinct, used = prepare(table, covariance, sampler, d, leaf_var)
    began = time.perf_counter()
    if problem is None:  # all rows are the same: there is one tree, and nothing to sample
        draws = Draws(np.empty((1, 0, 2), np.int32), np.empty((1, 0)), np.zeros(1), np.zeros(1), 0.0)
    else:
        with single_threaded_blas(), at_most_threads(n_threads), Progress(progress) as bar:
            options: Any = {"n_samples": n_samples, "n_warmup": n_warmup, "n_threads": n_threads}
            draws = sampler.run(problem, rng, progress=bar.watcher("step"), **options)
    if draws.info.get("interrupted"):
        message = f"interrupted: the posterior holds {len(draws.times)} of {n_samples} trees."
        warnings.warn(InterruptedWarning(message, len(draws.times), n_samples), stacklevel=2)
    children, times = distinct.expand(draws.children, draws.times)
    info = {"sampler": repr(sampler), "n_distinct": len(distinct.first), "seconds": time.perf_counter() - began}
    post = Posterior(
        children,
        times,
        log_weights=draws.log_weights,
        log_joint=draws.log_joint,
        log_evidence=draws.log_evidence,
        labels=table.labels,
        chain=np.zeros(len(times), dtype=int) if sampler.is_chain else None,
        X=table.values if is_table else None,
        columns=table.features,
        covariance=covariance,
        noise=noise,
        errors=None if errors is None else np.asarray(errors, dtype=np.float64),
        used=used,
        info={**draws.info, **info},
    )
    remember_index(post, X)
    return post


def _from_rows(table: Table, covariance: CovarianceLike, sampler: Sampler, d: int | None, leaf_var: Any) -> Prepared:
    """Whiten the distinct rows into a `Problem`; None where all rows are the same."""
    if d is not None and d != table.values.shape[1]:
        raise InputError(f"d is {d}, but X has {table.values.shape[1]} columns; leave d out.")
    with single_threaded_blas():  # whose idle threads would spin beside ours for some 20 ms
        covariance = as_covariance(covariance, table.values.shape[1])
    distinct = find_distinct(table.values, table.labels, has_density=bool(np.all(leaf_var)))
    rows, used = table.values[distinct.first], None
    if isinstance(covariance, Scaled) and covariance.variances is None:  # it is known once the table is
        known = Scaled(amplitude=covariance.amplitude, learn=False)
        covariance, rows, used, _, _ = modelled(rows, distinct.first, table.features, known)
    if len(distinct.first) == 1:
        return covariance, None, distinct, used
    leaf_var = leaf_var[distinct.first] if np.ndim(leaf_var) else leaf_var
    return covariance, make_problem(rows, covariance, leaf_var, rotate=sampler.needs_vectors), distinct, used


def _from_distances(
    table: Table, covariance: CovarianceLike, sampler: Sampler, d: int | None, leaf_var: Any
) -> Prepared:
    """Turn squared distances (n, n) into a `Problem` over distinct rows."""
    eps = table.values
    if sampler.needs_vectors:
        raise InputError(
            f'{type(sampler).__name__} needs the rows themselves; with distances use "mpost1", "mpost2", '
            '"post_post", "smc1", "prior" or a greedy sampler.'
        )
    if d is None:
        raise InputError("a table of distances needs d, the number of columns behind the distances.")
    check_count("d", d, 1, 10**9)
    covariance = as_covariance(covariance)
    if not isinstance(covariance, Spherical):
        raise InputError("distances already include the covariance; leave it out, or give Spherical(…).")
    whitener = covariance.whitener(int(d))
    eps = (0.5 * eps + 0.5 * eps.T) / covariance.amplitude
    if not eps.max() < largest_distance(len(eps)):
        raise InputError(f"squared distances reach {eps.max():.3g}, too large to compute with; rescale them.")
    first_equal = np.argmax(eps == 0.0, axis=1)  # rows at distance 0 are equal
    distinct = find_distinct(first_equal[:, None].astype(float), table.labels, has_density=leaf_var > 0.0)
    if len(distinct.first) == 1:
        return covariance, None, distinct, None
    eps = eps[np.ix_(distinct.first, distinct.first)]
    return covariance, Problem(None, eps, int(d), whitener.log_det, leaf_var), distinct, None
