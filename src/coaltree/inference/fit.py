"""`fit`: trees and covariance together, and missing values with them.

Several chains take rounds (`chain.one_round`): a tree given Φ, times and scale together, Φ given the tree, missing
entries given both. With `Regraft` each of these leaves p(tree, θ, missing | X) as it is, so that a chain is a Gibbs
sampler; the merge-by-merge samplers give the alternation of Henao & Lucas (2012), a greedy one its point estimate.

Chains run in blocks of rounds, through joblib; between blocks progress is shown and the state is written.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .._runtime.blas import single_threaded_blas
from .._runtime.checks import check_count, check_jobs
from .._runtime.memory import require_memory
from .._runtime.progress import Progress
from .._runtime.text import some
from ..errors import CoaltreeWarning, InputError, InterruptedWarning
from ..model.covariance import Spherical, as_covariance
from ..model.covariance.base import column_variances
from ..model.diffusion import check_leaf_noise
from ..model.duplicates import Distinct, find_distinct
from ..model.missing import check_observed
from ..model.table import Table, read_table
from ..posterior import Posterior, convergence
from ..samplers import as_sampler
from ..tree import Tree
from ..tree.merges import restricted
from .chain import Plan, Start, join
from .checkpoint import Checkpoint, fingerprint
from .run import Run

_SCALES_APART = 100.0


def fit(
    X,
    covariance: Any = "spherical",
    sampler: Any = "regraft",
    *,
    n_samples: int = 500,
    n_warmup: int = 100,
    n_chains: int = 2,
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: bool | str | Callable[[int, int], None] = "auto",
    checkpoint: Any = None,
    leaf_noise: float = 0.0,
    start: Any = None,
) -> Posterior:
    """Draw trees and covariance parameters given data, and impute what is missing.

    Parameters
    ----------
    X : array-like (n, d) or DataFrame, whose index names the leaves; NaN is missing.
    covariance : a name ("spherical", "diagonal", "full", "squared_exponential"), a (d, d) array or an object.
    sampler : a name or a sampler object; draws one tree a round.
    n_samples, n_warmup : rounds that are kept, and rounds before them that are not, in every chain.
    n_chains : independent chains.
    n_jobs : how many of them at once, through joblib (`joblib.parallel_config` chooses where). The result is the same.
    random_state : int, numpy Generator or None; the seed in use is in ``info["seed"]``.
    progress : True, False, "auto" (a bar on a terminal) or a function of (rounds done, rounds in all).
    checkpoint : path of a file to which the state is written now and then. If it exists, the run goes on from there,
        and ends as if it had never been interrupted.
    leaf_noise : variance at the leaves, as a multiple of the covariance.
    start : a `Posterior` of the same rows, whose chains are continued, or a `Tree`.

    Returns
    -------
    Posterior of n_chains · n_samples trees with equal weights, `theta` with a draw of each learnt parameter a tree,
    `imputed` with a draw of each missing entry a tree, and convergence figures in ``info["convergence"]``. Ctrl-C
    returns the rounds that are done.
    """
    for name, count, least in (("n_samples", n_samples, 1), ("n_warmup", n_warmup, 0), ("n_chains", n_chains, 1)):
        check_count(name, count, least)
    check_jobs(n_jobs)
    leaf_noise = check_leaf_noise(leaf_noise)
    table = read_table(X, allow_missing=True)
    check_observed(table.values, table.labels, table.features, leaf_noise)
    distinct = find_distinct(table.values, table.labels, leaf_noise)
    values = table.values[distinct.first]
    covariance = as_covariance(covariance, values.shape[1]).adapt(values)
    _warn_of_scales(covariance, table)

    missing = np.isnan(values)
    plan = Plan(as_sampler(sampler), leaf_noise, missing if missing.any() else None, n_warmup)
    seed = _seed_of(random_state)
    starts = _starts(start, table, distinct, covariance, n_chains)
    run = Run(plan, values, covariance, n_samples, n_chains, seed, starts)
    bytes_needed = run.bytes_needed(table.values.shape)
    require_memory(bytes_needed, f"{n_chains} chains of {n_samples} trees", "lower n_samples, or thin several runs")
    if checkpoint is not None:
        settings = (table.values, table.labels, covariance, plan, n_samples, n_chains, run.starts)
        checkpoint = Checkpoint(checkpoint, fingerprint(settings), random_state is not None)
        checkpoint.restore(run)

    began = time.perf_counter()
    with single_threaded_blas(), Progress(progress, run.total_rounds, run.rounds_done) as bar:
        interrupted = run.complete(n_jobs, bar, checkpoint, bytes_needed)
    post = _posterior(run, table, distinct)
    post.info |= {"seconds": time.perf_counter() - began, "interrupted": interrupted}
    if interrupted:
        message = f"interrupted: the posterior holds {run.n_kept} of {n_samples} trees of each chain."
        warnings.warn(InterruptedWarning(message, run.n_kept, n_samples), stacklevel=2)
    post.info["convergence"] = convergence.figures(post)
    convergence.warn_if_bad(post.info["convergence"], post.info.get("mean_missed", 0.0))
    return post


def _posterior(run, table, distinct):
    rounds = [join(blocks) for blocks in run.kept]
    every = join(rounds)
    children, times = distinct.expand(every.children, every.times)
    info = {
        "seed": run.seed,
        "sampler": repr(run.plan.sampler),
        "n_warmup": run.plan.n_warmup,
        "estimate": run.estimate,
        **{f"mean_{name}": float(np.nanmean(said)) for name, said in every.info.items() if not np.isnan(said).all()},
    }
    return Posterior(
        children,
        times,
        log_joint=every.log_joint,
        labels=table.labels,
        theta=every.theta,
        chain=np.repeat(np.arange(run.n_chains), [len(one.times) for one in rounds]),
        X=table.values,
        columns=table.features,
        imputed=every.imputed if run.plan.missing is not None else None,
        covariance=run.covariance,
        leaf_noise=run.plan.leaf_noise,
        info=info,
    )


# --- what the user gives --------------------------------------------------------------------------------------------


def _seed_of(random_state):
    """One number from which all chains are seeded: fit(…, random_state=seed) repeats the run."""
    if random_state is None:
        return np.random.SeedSequence().entropy
    if isinstance(random_state, np.random.Generator):
        return int.from_bytes(random_state.bytes(16), "little")
    is_seed = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool)
    if not is_seed or random_state < 0:
        raise InputError(
            f"random_state must be a non-negative int, a numpy.random.Generator or None, not {random_state!r}."
        )
    return int(random_state)


def _warn_of_scales(covariance, table: Table):
    """Under one variance for all columns, those of small scale have hardly any effect."""
    if not isinstance(covariance, Spherical):
        return
    sd = np.sqrt(column_variances(table.values))
    varies = np.nanmax(table.values, axis=0) > np.nanmin(table.values, axis=0)
    if not varies.any() or sd[varies].max() <= _SCALES_APART * sd[varies].min():
        return
    names: Any = table.features or range(len(sd))
    order = np.flatnonzero(varies)[np.argsort(sd[varies])]
    large = [repr(names[j]) for j in order[::-1] if sd[j] > _SCALES_APART * sd[order[0]]]
    small = [repr(names[j]) for j in order if sd[j] * _SCALES_APART < sd[order[-1]]]
    warnings.warn(
        f"columns differ in scale by more than a factor of {_SCALES_APART:.0f}: {some(large)} vary most, {some(small)} "
        'least, with hardly any effect under a spherical covariance; use covariance="diagonal", or scale the columns.',
        CoaltreeWarning,
        stacklevel=3,
    )


def _starts(start, table: Table, distinct: Distinct, covariance, n_chains):
    """A `Start` for each chain, from a posterior's last draws or a tree."""
    if start is None:
        return [Start()] * n_chains
    if not isinstance(start, (Posterior, Tree)):
        raise InputError(f"start must be a Posterior or a Tree, not {type(start).__name__}.")
    if start.labels != table.labels:
        raise InputError("start must have the same rows as X, by name and in order; its labels differ.")
    if isinstance(start, Tree):
        return [Start(restricted(start.children, start.times, distinct.first))] * n_chains
    if set(start.theta) != set(covariance.learnt):
        names = ", ".join(start.theta) or "no parameters"
        raise InputError(
            f"start has draws of {names}, but the covariance learns {', '.join(covariance.learnt) or 'none'}."
        )
    last = [np.flatnonzero(start.chain == c)[-1] for c in np.unique(start.chain)]
    missing = np.isnan(table.values[distinct.first])
    starts = []
    for c in range(n_chains):
        t = last[c % len(last)]
        tree = restricted(start.children[t].astype(np.int64), start.times[t], distinct.first)
        theta = {name: draws[t] if draws.ndim > 1 else float(draws[t]) for name, draws in start.theta.items()}
        imputed = None
        if missing.any() and start.imputed is not None and start.imputed.shape[1] == missing.sum():
            imputed = start.imputed[t]
        starts.append(Start(tree, theta, imputed))
    return starts
