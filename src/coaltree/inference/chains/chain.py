"""One chain of `fit`: a Gibbs sampler of the tree, the covariance, the noise and the missing entries.

An iteration takes several steps where rows are few, otherwise one. A step is

    whiten the rows → draw a tree → draw covariance and noise given the tree → draw the missing entries .

All of a chain's state is in its `Chain`, a value: iterations taken in one block or in ten, here or in another process,
before or after an interruption, are the same to the last bit.
"""

import copy
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..._runtime.threads import at_most_threads, single_threaded_blas
from ...model.data.missing import fill_at_random, impute
from ...model.process.coalescent import log_prior
from ...model.process.noise import NOISE_LEVEL, at_least_floor, first_draw, row_variances
from ...model.process.noise import log_prior as noise_log_prior
from ...model.process.whitened import Problem, make_problem
from ...samplers.base import Sampler, Tails
from ...samplers.starts import first_tree
from ..settings import RunSettings
from .gibbs_parameters import draw_parameters
from .resampling import weighted
from .state import Chain, ChainData, ChainDraws, Merges, concatenate
from .tempering import tempered

FIRST_UPDATES = 3  # of the covariance, before the first iteration
NEIGHBORS_EVERY = 10  # iterations of the warm-up
MANY_LEAVES = 20_000  # above, neighbours are searched once: a search takes as long as several iterations
LEAVES_PER_BLOCK, MAX_BLOCKS = 30, 20  # blocks of outliers that are moved after a sweep: a part of what it costs


def begin(
    data: ChainData,
    settings: RunSettings,
    seed: np.random.SeedSequence,
    dispersed: bool = False,
    *,
    tree: Merges | None = None,
    theta: Mapping[str, Any] | None = None,
    imputed: np.ndarray | None = None,
    tail_scale: np.ndarray | None = None,
) -> Chain:
    """Start a chain: fill in what is missing, make a first tree, and let the covariance settle on it.

    What is given of an earlier draw (`tree`, `theta`, …) is where it starts instead.
    """
    rng, theta, data = np.random.default_rng(seed), dict(theta or {}), weighted(data)
    covariance = data.covariance.with_theta({name: value for name, value in theta.items() if name != NOISE_LEVEL})
    noise = first_draw(data.noise, rng if dispersed else None)
    if NOISE_LEVEL in theta:
        noise = noise._replace(level=at_least_floor(data.noise, float(theta[NOISE_LEVEL])))
    if tail_scale is not None and noise.tail_scale is not None:
        noise = noise._replace(tail_scale=np.array(tail_scale))
    with single_threaded_blas(), at_most_threads(settings.n_threads):
        values = fill_at_random(data.values if imputed is None else data.filled(imputed), covariance, rng)
        imputed = np.empty(0) if data.missing is None else values[data.missing]
        chain = Chain((np.empty((0, 2), np.int64), np.empty(0)), covariance, noise, imputed, None, rng)
        if tree is None:
            tree = _first_tree(problem_of(data, settings.sampler, chain), settings.sampler, rng, dispersed)
        chain = chain._replace(tree=tree)
        for _ in range(0 if theta else FIRST_UPDATES):
            chain = draw_parameters(data, chain)
    return chain


def _first_tree(problem: Problem | None, sampler: Sampler, rng: np.random.Generator, dispersed: bool) -> Merges:
    if problem is None:
        return np.empty((0, 2), np.int64), np.empty(0)
    if dispersed and sampler.start == "auto":
        # Chains that are to be compared should not start alike: weigh the columns at random, as in a bootstrap.
        problem = problem._replace(W=problem.W * np.sqrt(rng.standard_exponential(problem.W.shape[1])))
    return first_tree(problem, sampler.start, rng)


def advance(
    data: ChainData, settings: RunSettings, chain: Chain, n_iterations: int, n_warmup: int | None = 0, thin: int = 1
) -> tuple[Chain, ChainDraws | None]:
    """Take a chain further; return it and the draws that are kept, if any.

    Kept is every `thin`-th iteration after the warm-up, or each one where `n_warmup` is None: it may end with any.
    """
    data, scales = weighted(_writeable(data)), chain.noise.tail_scale
    chain = chain._replace(  # an interruption must leave what is the caller's where it was
        tree=(np.array(chain.tree[0]), np.array(chain.tree[1])),
        noise=chain.noise._replace(tail_scale=None if scales is None else np.array(scales)),
        neighbors=_writeable(chain.neighbors),
        rng=copy.deepcopy(chain.rng),
    )
    kept = []
    with single_threaded_blas(), at_most_threads(settings.n_threads):
        problem = problem_of(data, settings.sampler, chain)
        if problem is not None:
            settings = settings._replace(sampler=settings.sampler.for_chain(problem))
        for _ in range(n_iterations):
            chain, problem, info = one_iteration(data, settings, chain, problem, n_warmup)
            if n_warmup is None or (chain.iteration > n_warmup and (chain.iteration - n_warmup) % thin == 0):
                kept.append(_record(data, chain, problem, info))
    return chain, concatenate(kept) if kept else None


def _writeable(part: Any) -> Any:
    """Copy arrays that are read-only or in a file, as in other processes: kernels would be compiled again for them."""
    if isinstance(part, tuple):
        return type(part)(*map(_writeable, part))
    is_other = isinstance(part, np.ndarray) and not (type(part) is np.ndarray and part.flags.writeable)
    return np.array(part) if is_other else part


def one_iteration(
    data: ChainData, settings: RunSettings, chain: Chain, problem: Problem | None, n_warmup: int | None = 0
) -> tuple[Chain, Problem | None, dict[str, float]]:
    """Draw a tree, then all else given the tree, as often as the sampler says; return the means of what it reports."""
    is_warmup = _is_warmup(chain, n_warmup)
    if is_warmup:
        settings = settings._replace(sampler=settings.sampler.for_warmup())
    chain = chain._replace(neighbors=_neighbors(data, settings.sampler, chain, problem, n_warmup))
    n_steps = 1 if problem is None else settings.sampler.steps_per_iteration(problem.n, chain.neighbors)
    reports = []
    for _ in range(n_steps):
        chain, problem, info = _one_step(data, settings, chain, problem, n_steps, is_warmup)
        reports.append({name: value for name, value in info.items() if isinstance(value, int | float | np.number)})
    names = dict.fromkeys(name for report in reports for name in report)
    means = {name: float(np.mean([report[name] for report in reports if name in report])) for name in names}
    return chain._replace(iteration=chain.iteration + 1), problem, means


def _is_warmup(chain: Chain, n_warmup: int | None) -> bool:
    return n_warmup is None or chain.iteration < n_warmup


def _one_step(
    data: ChainData, settings: RunSettings, chain: Chain, problem: Problem | None, n_steps: int, is_warmup: bool
) -> tuple[Chain, Problem | None, dict[str, Any]]:
    info: dict[str, Any] = {}
    if problem is not None:
        chain, info = _draw_tree(data, settings, chain, problem, is_warmup)
    chain = draw_parameters(data, chain, repeat=n_steps == 1)
    if data.missing is not None:
        tree, values = data.over_rows(chain.tree), data.filled(chain.imputed)
        variances = row_variances(data.noise, chain.noise)
        values = impute(*tree, values, data.missing, chain.covariance, variances, chain.rng)
        chain = chain._replace(imputed=values[data.missing])
    if chain.covariance.learnt or data.missing is not None or data.noise.is_random:
        problem = problem_of(data, settings.sampler, chain)
    return chain, problem, info


def _draw_tree(
    data: ChainData, settings: RunSettings, chain: Chain, problem: Problem, is_warmup: bool
) -> tuple[Chain, dict[str, Any]]:
    """Draw a tree given covariance and noise; under Student's noise, also move blocks of outliers with their scales."""
    sampler, neighbors, noise = settings.sampler, chain.neighbors, chain.noise
    at = tempered(problem, chain.iteration, settings.n_tempered) if is_warmup else problem
    children, times, info = sampler.step(at, chain.tree, chain.rng, neighbors=neighbors, n_threads=settings.n_threads)
    tree = children, times
    if noise.tail_scale is not None and data.replicates is None:
        n_blocks = min(math.ceil(problem.n / LEAVES_PER_BLOCK), MAX_BLOCKS)
        tails = Tails(noise.tail_scale, data.noise.half_df, noise.level * data.noise.error2)
        tree, scale = sampler.move_outliers(problem, tree, tails, chain.rng, neighbors=neighbors, n_blocks=n_blocks)
        noise = noise._replace(tail_scale=scale)
    return chain._replace(tree=tree, noise=noise), info


def problem_of(data: ChainData, sampler: Sampler, chain: Chain) -> Problem | None:
    """Whiten the rows for the sampler; None where one leaf leaves no tree to draw."""
    if data.n == 1:
        return None
    problem = make_problem(
        data.filled(chain.imputed),
        chain.covariance,
        row_variances(data.noise, chain.noise),
        replicates=data.replicates,
        rotate=sampler.needs_vectors,
    )
    if data.within is not None:
        whitener = chain.covariance.whitener(data.values.shape[1])
        problem = problem._replace(log_replicates=data.within.log_density(whitener, chain.noise.level))
    return problem


def share_neighbors(
    data: ChainData, settings: RunSettings, chains: list[Chain], n_warmup: int | None = 0
) -> list[Chain]:
    """Search the neighbours of many leaves once, from where the first chain begins, for all chains and iterations.

    The sampler of the warm-up keeps more of them.
    """
    first = chains[0]
    if data.n <= MANY_LEAVES:
        return chains
    data = weighted(data)
    sampler = settings.sampler.for_warmup() if _is_warmup(first, n_warmup) else settings.sampler
    with single_threaded_blas(), at_most_threads(settings.n_threads):
        problem = problem_of(data, settings.sampler, first)
        assert problem is not None
        neighbors = sampler.neighbors(problem, first.rng)
    return [chain._replace(neighbors=neighbors) for chain in chains]


def _neighbors(
    data: ChainData, sampler: Sampler, chain: Chain, problem: Problem | None, n_warmup: int | None
) -> np.ndarray | None:
    """The sampler's neighbours: renewed now and then in the warm-up and at its end, and never after it.

    From then on they are constants; had they followed the chain's past, it would no longer be exact.
    """
    if problem is None or (chain.neighbors is not None and problem.n > MANY_LEAVES):
        return chain.neighbors
    is_changing = chain.covariance.learnt or data.missing is not None
    is_stale = is_changing and _is_warmup(chain, n_warmup) and chain.iteration % NEIGHBORS_EVERY == 0
    if chain.neighbors is None or is_stale or chain.iteration == n_warmup:
        return sampler.neighbors(problem, chain.rng)
    return chain.neighbors


def _record(data: ChainData, chain: Chain, problem: Problem | None, info: dict[str, float]) -> ChainDraws:
    """One iteration to keep."""
    children, times = chain.tree
    log_joint = log_prior(times) + chain.covariance.log_prior() + noise_log_prior(data.noise, chain.noise)
    if problem is not None:
        log_joint += problem.log_likelihood(children, times)
    theta = chain.covariance.theta | ({NOISE_LEVEL: chain.noise.level} if data.noise.level is None else {})
    tails = np.empty(0) if chain.noise.tail_scale is None else chain.noise.tail_scale
    return ChainDraws(
        children[None].astype(np.int32),
        times[None],
        np.array([log_joint]),
        {name: np.array([value]) for name, value in theta.items()},
        tails[None],
        chain.imputed[None],
        {name: np.array([value]) for name, value in info.items()},
    )
