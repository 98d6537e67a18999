"""`fit`: trees and covariance together, and missing values with them.

Several chains take rounds (`chain.one_round`): a tree given Φ, times and scale together, Φ given the tree, missing
entries given both. With `Regraft` each of these leaves p(tree, θ, missing | X) as it is, so that a chain is a Gibbs
sampler; the merge-by-merge samplers give the alternation of Henao & Lucas (2012), a greedy one its point estimate.

`fit` checks what was given, plans a `Run` of several chains, completes it, and makes a `Posterior` of what was kept.
"""

import time
import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from .._runtime.formatting import some
from .._runtime.memory import require_memory
from .._runtime.progress import Progress, duration
from .._runtime.random_streams import seed_of
from .._runtime.threads import single_threaded_blas
from .._runtime.typing import ArrayLike, PathLike, ProgressLike, RandomState
from .._runtime.validation import check_choice, check_count, check_jobs
from ..errors import CoaltreeWarning, InputError, InterruptedWarning
from ..model.covariance import CovarianceLike, Full, Spherical
from ..model.covariance.base import column_variances
from ..model.data.columns import imputed_everywhere, modelled
from ..model.data.leaves import read_rows, warn_of_groups
from ..model.data.mds import require_spherical, rows_of_distances
from ..model.data.missing import check_apart, missing_entries
from ..model.data.neighbor_graph import read_graph
from ..model.data.table import Table, as_double, read_table
from ..model.process.noise import Noise, NoiseLike, as_noise, noise_model
from ..posterior import Posterior
from ..posterior.diagnostics import convergence
from ..posterior.diagnostics.stop_reason import what_to_increase
from ..posterior.io.pandas_output import remember_index
from ..samplers import as_sampler
from ..samplers.base import Sampler, SamplerLike
from ..tree.tree import Tree
from . import covariance_selection
from .chains.chain import Plan, concatenate_rounds, rows_put_together
from .chains.initial_states import starts_of_chains
from .chains.tempering import tempered_rounds
from .control.auto_stop import begin_auto, check_length, longest_warmup, summary
from .control.checkpoint import Checkpoint, fingerprint
from .control.run import Run, bytes_a_draw

METRICS = ("euclidean", "precomputed")
_SCALES_APART = 100.0
_MOST_CHAINS = 10**4  # beyond, a number is a slip of the pen
_MANY_COLUMNS = 2000
_MATRICES_AT_ONCE, _FACTORISATIONS_A_ROUND = 8, 15  # of a full covariance, roughly


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
    ordered: bool = False,
    inputs: ArrayLike | None = None,
    metric: Literal["euclidean", "precomputed"] = "euclidean",
    max_iterations: int | None = None,
    max_seconds: float | None = None,
    neighbors: Any = None,
) -> Posterior:
    """Sample trees and covariance parameters given data, and impute missing values.

    Parameters
    ----------
    X : array-like (n, d) or DataFrame, whose index names the leaves; NaN is missing. A table of float32 is kept, and
        saved, as float32; its draws are those of the same numbers in float64.
    covariance : a name ("auto", "scaled", "spherical", "diagonal", "full", "squared_exponential"), a (d, d) array or an
        object. "auto" is "full" where there are at least 0.75 d (d + 1) distinct rows, d being the number of columns
        that are not constant; else "spherical" where columns have similar ranges, as in one unit (pixels, expression),
        and "scaled" where they differ or have few distinct values. Which and why is in ``info["covariance_choice"]``.
        "best" fits the sensible families for a while and goes on with the one that predicts each row best from all
        others; the table is in ``info["choice"]``. It is the best density, which need not have the best clusters.
    sampler : a name or a sampler object; it draws one tree per round.
    n_samples : trees to keep from each chain, or "auto": as many as are needed. Chains then go on until R-hat is at
        most 1.02 and effective sample sizes are at least 100 (log joint, root, every parameter, topologies), or until
        `max_iterations` or `max_seconds` are spent; ``info["stopping"]`` says which. Long runs are thinned to at most
        1,000 trees of each chain.
    n_warmup : warm-up (burn-in) iterations to discard before them; "auto" ends the warm-up when the log joint has
        settled, or is 100 where `n_samples` is a number.
    n_chains : number of independent chains.
    n_jobs : number of chains to run in parallel, by joblib (see `joblib.parallel_config`). Where it is given, searches
        for neighbours take no more threads in all; otherwise up to eight. Draws are the same whatever it is.
    random_state : int, numpy Generator or None; the seed in use is in ``info["seed"]``.
    progress : True, False, "auto" (a progress bar on a terminal) or a function of (rounds done, total rounds), the
        total being a guess where the draws say when to stop.
    checkpoint : path of a file to which the state is saved regularly. If it exists, the run resumes from it, with the
        same result as without the interruption.
    noise : measurement noise of the rows: "student" (learnt, with heavy tails, so that odd rows do not bend the tree;
        the default with `Regraft`), "learn" (learnt, normal), a number (its variance as a multiple of the covariance;
        0, the default with every other sampler, for none) or a `Noise`.
    errors : (n,) known standard errors of the rows, relative to each other; the noise is scaled by their squares. Rows
        that are placed later count as having their geometric mean.
    groups : (n,) rows with the same value are replicates of one leaf, which is named after it.
    start : a `Posterior` of the same rows, whose chains are continued, or a `Tree` to start from.
    ordered : for "best": columns are points of a curve, in order, so that "squared_exponential" is tried too.
    inputs : (d,) or (d, k) for the same: where the columns were measured.
    metric : "precomputed" if X (n, n) holds squared distances between rows, as points in a Euclidean space have them.
        Rows with these distances are found by classical scaling and fitted, under a spherical covariance;
        ``info["distances"]`` says what share of the eigenvalues speaks against such points, from 1 % on with a warning.
    max_iterations : for "auto": iterations of each chain, warm-up included, after which it stops in any case; by
        default 4,000 for up to 300 leaves, and 1.2 million / n for n more, but at least 60.
    max_seconds : for "auto": seconds after which it stops. Where it stops then depends on the machine.
    neighbors : sparse matrix (n, n) of nearest neighbours, in place of a search among all rows: distances or
        connectivities as `sklearn.neighbors.kneighbors_graph` or scanpy's ``adata.obsp`` have them, of which only the
        places are read. 15 for each row are enough. It changes how fast chains mix, never what they converge to.

    Returns
    -------
    Posterior of trees with equal weights, as many of each chain. For each tree, `theta` has a draw of each learnt
    parameter and `imputed` a draw of each missing value. Convergence diagnostics are in ``info["convergence"]``.
    Ctrl-C returns the trees sampled so far, with an `InterruptedWarning`.
    """
    length = check_length(n_samples, n_warmup, max_iterations, max_seconds)
    n_chains = check_count("n_chains", n_chains, 1, _MOST_CHAINS)
    check_jobs(n_jobs)
    sampler = as_sampler(sampler)
    noise = default_noise(sampler) if noise is None else as_noise(noise)
    is_table = check_choice("metric", metric, METRICS) == "euclidean"
    table = read_table(X, allow_missing=is_table, keep_single=is_table)
    scaling = {}
    if metric == "precomputed":
        covariance = require_spherical(covariance)
        table, _, scaling["distances"] = rows_of_distances(table)
    rows = read_rows(table, noise, groups, errors)
    warn_of_groups(rows, table, noise)
    _check_sampler(sampler, noise, rows)
    graph = None if neighbors is None else _graph(neighbors, sampler, rows, len(table.values))
    # What chains work on is one float64 array: the table itself where it is one, else a copy of float32 or of its part.
    recorded = as_double(table.values if len(rows.kept) == len(table.values) else table.values[rows.kept])
    _say_cost_of_full(covariance, table.values.shape[1], length.fewest_kept, n_chains)
    models = covariance_selection.requested(covariance, sampler, start, ordered, inputs, recorded, rows, table.features)
    model = models[next(iter(models))] if models else modelled(recorded, rows.kept, table.features, covariance)
    covariance, values = model.covariance, model.values
    check_apart(values, rows.names_of_kept(), has_density=rows.has_density)
    if not models and metric == "euclidean" and "covariance_choice" not in model.info:
        _warn_of_scales(covariance, table)

    recorded = recorded if model.used is None else recorded[:, model.used]
    of_noise = noise_model(noise, recorded, None if rows.errors is None else rows.errors[rows.kept])
    del recorded  # where it is not the model's own
    plan = Plan(sampler, of_noise, rows.replicates, missing_entries(values), length.n_warmup, graph=graph)
    starts = starts_of_chains(start, rows, values, covariance, of_noise, n_chains)
    if not models:  # which are compared by rows
        plan, values = rows_put_together(plan, values)
    auto, n_samples = None, length.n_samples
    if n_samples is None:
        n_bytes = n_chains * bytes_a_draw(plan, values, covariance, len(rows.labels))
        auto = begin_auto(length, plan.n_leaves(values), n_bytes)
        n_samples = auto.most_kept
    if sampler.is_chain and start is None:  # who gives a start wants it kept
        longest = length.n_warmup or 0 if auto is None or length.n_warmup is not None else longest_warmup(auto)
        plan = plan._replace(n_tempered=tempered_rounds(plan.n_leaves(values), values.shape[1], longest))
    run = Run(plan, values, covariance, n_samples, n_chains, seed_of(random_state), starts, auto)
    run.reserve_memory(len(rows.labels))
    saved = None
    if checkpoint is not None:
        families = {name: candidate.covariance for name, candidate in models.items()}
        whatever_the_clock = length._replace(max_seconds=None)
        data = as_double(table.values), rows.labels
        settings = (*data, families or covariance, plan, whatever_the_clock, n_chains, starts)
        saved = Checkpoint(checkpoint, fingerprint(settings), seed_is_given=random_state is not None)

    began = time.perf_counter()
    if models:

        def make_posterior(run, model):
            return _posterior(run, table, rows, noise, model)

        run, model = covariance_selection.go_on_with_best(run, models, make_posterior, rows, saved, n_jobs, progress)
    if saved is not None:
        saved.restore(run)
    with single_threaded_blas(), Progress(progress, run.rounds_done) as bar:
        run.began = began
        interrupted = run.complete(n_jobs, bar, saved)
    post = _posterior(run, table, rows, noise, model)
    post.info.update(scaling)
    remember_index(post, X, groups)
    if run.choice is not None:
        post.info.update(choice=run.choice, covariance_given="best")
        if length.n_warmup is not None:
            post.info["n_warmup"] = length.n_warmup
    if graph is not None:
        post.info["neighbors_given"] = True
    post.info.update(seconds=time.perf_counter() - began, interrupted=interrupted)
    if run.auto is not None:
        post.info["stopping"] = summary(run.auto, run.plan, run.round, run.kept)
    if interrupted:
        of_all = f"of {n_samples} " if run.auto is None else ""
        message = f"interrupted: the posterior holds {run.n_kept} {of_all}trees of each chain."
        warnings.warn(InterruptedWarning(message, run.n_kept, n_samples), stacklevel=2)
    _judge(post)
    return post


def default_noise(sampler: Sampler) -> Noise:
    """Student's noise where the sampler can learn it, else none."""
    return Noise(tails="student") if sampler.learns_noise else Noise(0.0)


def _check_sampler(sampler, noise, rows):
    """Refuse what a sampler cannot do before any work is done."""
    if sampler.learns_noise:
        return
    name = type(sampler).__name__
    if noise.is_random:
        raise InputError(f'{name} needs a fixed, normal noise, such as noise=0.1; sampler="regraft" learns it.')
    if not sampler.takes_leaf_variances and (rows.errors is not None or rows.replicates is not None):
        raise InputError(f'{name} takes the same noise for all rows; use sampler="regraft" with errors or groups.')


def _graph(neighbors, sampler, rows, n_rows):
    if type(sampler).neighbors is Sampler.neighbors:
        raise InputError(f'neighbors are read by sampler="regraft" alone, not by {type(sampler).__name__}.')
    return read_graph(neighbors, rows, n_rows)


def _judge(post):
    """Diagnostics, and a warning where they are bad; where they cannot be had, no draws are lost for it."""
    try:
        post.info["convergence"] = convergence.figures(post)
    except Exception as error:
        message = f"convergence could not be judged ({type(error).__name__}: {error}); the draws are complete."
        warnings.warn(" ".join(message.split()), CoaltreeWarning, stacklevel=3)
    else:
        increase = " and ".join(what_to_increase(post.info.get("stopping")))
        convergence.warn_if_bad(post.info["convergence"], stacklevel=3, increase=increase)


def _posterior(run, table, rows, noise, model):
    every = concatenate_rounds([block for blocks in run.kept for block in blocks])
    children, times = rows.distinct.expand(every.children, every.times)
    info = {
        "seed": run.seed,
        "sampler": repr(run.plan.sampler),
        "n_warmup": run.plan.n_warmup,
        **model.info,
        "estimate": run.estimate,
        **{f"mean_{name}": float(np.nanmean(said)) for name, said in every.info.items() if not np.isnan(said).all()},
    }
    return Posterior(
        children,
        times,
        log_joint=every.log_joint,
        labels=rows.labels,
        theta=every.theta,
        chain=np.repeat(np.arange(run.n_chains), run.n_kept),
        X=table.values,
        columns=table.features,
        imputed=imputed_everywhere(every.imputed, table.values, model.used) if np.isnan(table.values).any() else None,
        used=model.used,
        fitted=model.values[rows.places] if model.is_spread else None,
        covariance=run.covariance,
        noise=noise,
        errors=rows.errors,
        groups=rows.leaf,
        row_labels=table.labels,
        tail_scale=every.tail_scale[:, rows.places] if run.plan.noise.half_df > 0.0 else None,
        info=info,
    )


def _say_cost_of_full(covariance, d, n_samples, n_chains):
    """Refuse or announce what a full covariance of many columns takes, before the first of its large matrices."""
    if d < _MANY_COLUMNS or not (isinstance(covariance, Full) or covariance == "full"):
        return
    what = f"a full covariance of {d:,} columns with {n_chains} chains of {n_samples} trees"
    instead = 'use covariance="diagonal", fewer columns or fewer trees'
    require_memory((2 * n_samples + _MATRICES_AT_ONCE) * n_chains * 8 * d * d, what, instead)
    with single_threaded_blas():
        small = 0.1 + np.eye(_MANY_COLUMNS // 4)
        began = time.perf_counter()
        np.linalg.cholesky(small)
        seconds = _FACTORISATIONS_A_ROUND * (time.perf_counter() - began) * (d / len(small)) ** 3
    warnings.warn(f"{what} takes some {duration(seconds)} a round; {instead}.", CoaltreeWarning, stacklevel=3)


def _warn_of_scales(covariance, table: Table):
    """Under one variance for all columns, those of small scale have hardly any effect."""
    if not isinstance(covariance, Spherical):
        return
    sd = np.sqrt(column_variances(as_double(table.values)))
    varies = np.nanmax(table.values, axis=0) > np.nanmin(table.values, axis=0)
    if not varies.any() or sd[varies].max() <= _SCALES_APART * sd[varies].min():
        return
    names: Any = table.features or range(len(sd))
    order = np.flatnonzero(varies)[np.argsort(sd[varies])]
    large = [repr(names[j]) for j in order[::-1] if sd[j] > _SCALES_APART * sd[order[0]]]
    small = [repr(names[j]) for j in order if sd[j] * _SCALES_APART < sd[order[-1]]]
    warnings.warn(
        f"columns differ in scale by more than a factor of {_SCALES_APART:.0f}: {some(large)} vary most, {some(small)} "
        'least, with hardly any effect under a spherical covariance; use covariance="scaled", or scale the columns.',
        CoaltreeWarning,
        stacklevel=3,
    )
