"""`fit`: trees and covariance together, and missing values with them.

Several chains take rounds (`chain.one_round`): a tree given Φ, times and scale together, Φ given the tree, missing
entries given both. With `Regraft` each of these leaves p(tree, θ, missing | X) as it is, so that a chain is a Gibbs
sampler; the merge-by-merge samplers give the alternation of Henao & Lucas (2012), a greedy one its point estimate.

Chains run in blocks of rounds, through joblib; between blocks progress is shown and the state is written.
"""

import math
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from . import convergence
from .blas import single_threaded_blas
from .chain import Chain, Plan, Rounds, Start, advance, begin, join
from .checkpoint import Checkpoint, fingerprint
from .covariance import Spherical, as_covariance
from .covariance.base import column_variances
from .diffusion import check_leaf_noise
from .errors import CoaltreeWarning, InputError
from .memory import require_memory
from .missing import check_observed
from .posterior import Posterior
from .preparation import Distinct, Table, find_distinct, read_table
from .progress import Progress
from .samplers import as_sampler
from .samplers.smc import available_threads
from .tree import Tree

_SECONDS_A_BLOCK = 1.0  # how often progress is shown, and how much an interruption costs
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
        _check_count(name, count, least)
    _check_jobs(n_jobs)
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
        warnings.warn(
            f"interrupted: the posterior holds {run.n_kept} of {n_samples} rounds of each chain.",
            CoaltreeWarning,
            stacklevel=2,
        )
    post.info["convergence"] = convergence.figures(post)
    convergence.warn_if_bad(post.info["convergence"], post.info.get("mean_missed", 0.0))
    return post


# --- all chains -----------------------------------------------------------------------------------------------------


class Run:
    """The chains of a fit, and what they have given so far."""

    def __init__(self, plan, values, covariance, n_samples, n_chains, seed, starts):
        self.plan, self.values, self.covariance = plan, values, covariance
        self.n_samples, self.n_chains, self.seed, self.starts = n_samples, n_chains, seed, starts
        self.chains: list[Chain] = []
        self.kept: list[list[Rounds]] = [[] for _ in range(n_chains)]
        self.estimate: dict[str, float] = {}

    @property
    def rounds_per_chain(self):
        return self.plan.n_warmup + self.n_samples

    @property
    def total_rounds(self):
        return self.n_chains * self.rounds_per_chain

    @property
    def rounds_done(self):
        return sum(chain.round for chain in self.chains)

    @property
    def n_kept(self):
        """Rounds kept of each chain."""
        return sum(len(block.times) for block in self.kept[0])

    def bytes_needed(self, shape):
        """Memory for the draws, twice while they are put together, for the work of the chains, and for a first tree."""
        n, d = shape
        per_draw = 16 * (n - 1) + 8 * sum(np.size(value) for value in self.covariance.theta.values())
        per_draw += 8 * (0 if self.plan.missing is None else int(self.plan.missing.sum()))
        return 2 * self.n_chains * self.n_samples * per_draw + 4 * self.n_chains * 8 * n * d + 8 * min(n, 20_000) ** 2

    def complete(self, n_jobs, bar, checkpoint, bytes_needed):
        """Run all rounds that are left; return whether it was interrupted."""
        at_once = min(self.n_chains, effective_n_jobs(n_jobs))
        if at_once > 1:  # chains that run side by side share the processors
            self.plan = self.plan._replace(n_threads=max(1, available_threads() // at_once))
        with Parallel(n_jobs=n_jobs) as parallel:
            try:
                if not self.chains:
                    self._begin(parallel)
                left = self.rounds_per_chain - self.chains[0].round
                if left > 0:
                    seconds = self._seconds_a_round()
                    self.estimate = {"seconds": seconds * left * self.n_chains / at_once, "n_bytes": bytes_needed}
                    bar.announce(f"fit: {self.n_chains} chain(s) of {self.rounds_per_chain} rounds", **self.estimate)
                while left > 0:
                    block = int(min(max(1, _SECONDS_A_BLOCK / seconds), left))
                    began = time.perf_counter()
                    results = parallel(delayed(advance)(self.plan, chain, block) for chain in self.chains)
                    seconds = (time.perf_counter() - began) / block
                    # Both at once, after all chains are done: an interruption cannot leave one ahead of the others.
                    self.chains, self.kept = (
                        [chain for chain, _ in results],
                        [[*kept, rounds] for kept, (_, rounds) in zip(self.kept, results, strict=True)],
                    )
                    left -= block
                    bar.show(self.rounds_done)
                    if checkpoint is not None:
                        checkpoint.save(self, finished=left == 0)
            except KeyboardInterrupt:
                if checkpoint is not None and self.chains:
                    checkpoint.save(self, finished=True)
                if self.n_kept == 0:
                    raise
                return True
        return False

    def _begin(self, parallel):
        seeds = np.random.SeedSequence(self.seed).spawn(self.n_chains)
        self.chains = parallel(
            delayed(begin)(self.plan, self.values, self.covariance, start, seed, dispersed=number > 0)
            for number, (start, seed) in enumerate(zip(self.starts, seeds, strict=True))
        )

    def _seconds_a_round(self):
        """Time a round whose outcome is thrown away; a slow one again, since it may have been compiling."""
        seconds = math.inf
        for _ in range(2):
            began = time.perf_counter()
            advance(self.plan, self.chains[0], 1)
            seconds = min(seconds, max(time.perf_counter() - began, 1e-6))
            if seconds < 0.005:
                break
        return seconds


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
    if table.features is not None:
        info["columns"] = table.features
    return Posterior(
        children,
        times,
        log_joint=every.log_joint,
        labels=table.labels,
        theta=every.theta,
        chain=np.repeat(np.arange(run.n_chains), [len(one.times) for one in rounds]),
        X=table.values,
        imputed=every.imputed if run.plan.missing is not None else None,
        covariance=run.covariance,
        leaf_noise=run.plan.leaf_noise,
        info=info,
    )


# --- what the user gives --------------------------------------------------------------------------------------------


def _check_count(name, count, least):
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < least:
        raise InputError(f"{name} must be a whole number from {least} up, not {count!r}.")


def _check_jobs(n_jobs):
    whole = isinstance(n_jobs, (int, np.integer)) and not isinstance(n_jobs, bool)
    if n_jobs is not None and (not whole or n_jobs == 0):
        raise InputError(f"n_jobs must be a whole number other than 0 (-1: every processor) or None, not {n_jobs!r}.")


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
    """Under one variance for all columns those of small scale cannot be heard."""
    if not isinstance(covariance, Spherical):
        return
    sd = np.sqrt(column_variances(table.values))
    varies = np.nanmax(table.values, axis=0) > np.nanmin(table.values, axis=0)
    if not varies.any() or sd[varies].max() <= _SCALES_APART * sd[varies].min():
        return
    names: Any = table.features or range(len(sd))
    order = np.flatnonzero(varies)[np.argsort(sd[varies])]
    large = [names[j] for j in order[::-1] if sd[j] > _SCALES_APART * sd[order[0]]]
    small = [names[j] for j in order if sd[j] * _SCALES_APART < sd[order[-1]]]
    warnings.warn(
        f"columns differ in scale by more than a factor {_SCALES_APART:.0f}: {_some(large)} vary most, {_some(small)} "
        'least, and hardly count under a spherical covariance; use covariance="diagonal", or scale the columns.',
        CoaltreeWarning,
        stacklevel=3,
    )


def _some(names, most=5):
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _starts(start, table: Table, distinct: Distinct, covariance, n_chains):
    """A `Start` for each chain, from a posterior's last draws or a tree."""
    if start is None:
        return [Start()] * n_chains
    if not isinstance(start, (Posterior, Tree)):
        raise InputError(f"start must be a Posterior or a Tree, not {type(start).__name__}.")
    if start.labels != table.labels:
        raise InputError("start must have the same rows as X, by name and in order; its labels differ.")
    if isinstance(start, Tree):
        return [Start(_restricted(start.children, start.times, distinct.first))] * n_chains
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
        tree = _restricted(start._children[t].astype(np.int64), start._times[t], distinct.first)
        theta = {name: draws[t] if draws.ndim > 1 else float(draws[t]) for name, draws in start.theta.items()}
        imputed = None
        if missing.any() and start.imputed is not None and start.imputed.shape[1] == missing.sum():
            imputed = start.imputed[t]
        starts.append(Start(tree, theta, imputed))
    return starts


def _restricted(children, times, kept):
    """The tree over the leaves `kept` alone, renumbered 0 … g-1 in their order."""
    n, g = len(times) + 1, len(kept)
    if g == n:
        return children, times
    node = np.full(2 * n - 1, -1, dtype=np.int64)
    node[kept] = np.arange(g)
    merges: list[int] = []
    pairs = []
    for k, (a, b) in enumerate(children):
        if node[a] >= 0 and node[b] >= 0:
            pairs.append((node[a], node[b]))
            merges.append(k)
            node[n + k] = g + len(pairs) - 1
        else:
            node[n + k] = max(node[a], node[b])
    return np.array(pairs, dtype=np.int64).reshape(-1, 2), times[merges]
