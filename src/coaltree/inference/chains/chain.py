"""One chain of `fit`: a Gibbs sampler of the tree, the covariance, the noise and the missing entries.

An iteration takes several steps where rows are few, otherwise one. A step is

    whiten the rows → draw a tree → draw covariance and noise given the tree → draw the missing entries .

All of a chain's state is in its `Chain`, a value: iterations taken in one block or in ten, here or in another process,
before or after an interruption, are the same to the last bit.
"""

import copy
import math
from typing import Any, NamedTuple

import numpy as np

from ..._runtime.threads import at_most_threads, single_threaded_blas
from ...model.data.missing import fill_at_random, impute
from ...model.draws import NO_TREE, Draws, Merges, State, concatenate
from ...model.model import Model
from ...model.process.noise import NOISE_LEVEL, first_draw, row_variances
from ...model.process.whitened import Problem
from ...samplers.base import Sampler, Tails
from ...samplers.starts import first_tree
from ..settings import RunSettings
from .gibbs_parameters import draw_parameters
from .tempering import tempered

FIRST_UPDATES = 3  # of the covariance, before the first iteration
NEIGHBORS_EVERY = 10  # iterations of the warm-up
MANY_LEAVES = 20_000  # above, neighbours are searched once: a search takes as long as several iterations
LEAVES_PER_BLOCK, MAX_BLOCKS = 30, 20  # blocks of outliers that are moved after a sweep: a part of what it costs


class Chain(NamedTuple):
    """Where a chain stands after so many iterations: all that the next one needs."""

    state: State
    neighbors: np.ndarray | None  # the sampler's candidates for each leaf, if it keeps any
    rng: np.random.Generator
    iteration: int = 0


def begin(
    model: Model,
    settings: RunSettings,
    seed: np.random.SeedSequence,
    dispersed: bool = False,
    start: State | Merges | None = None,
) -> Chain:
    """Start a chain: fill in what is missing, make a first tree, and let the covariance settle on it.

    Where a state is given, an earlier draw, it starts there; where a tree is given, with that one.
    """
    rng = np.random.default_rng(seed)
    if isinstance(start, State):
        state = start
    else:
        noise = first_draw(model.noise, rng if dispersed else None)
        state = State(start or NO_TREE, model.covariance, noise, np.full(model.n_missing, np.nan))
    with single_threaded_blas(), at_most_threads(settings.n_threads):
        if model.missing is not None:
            values = fill_at_random(model.filled(state.imputed), state.covariance, rng)
            state = state._replace(imputed=values[model.missing])
        if start is None:
            problem = problem_of(model, settings.sampler, state)
            state = state._replace(tree=_first_tree(problem, settings.sampler, rng, dispersed))
        for _ in range(0 if isinstance(start, State) else FIRST_UPDATES):
            state = draw_parameters(model, state, rng)
    return Chain(state, None, rng)


def _first_tree(problem: Problem | None, sampler: Sampler, rng: np.random.Generator, dispersed: bool) -> Merges:
    if problem is None:
        return NO_TREE
    if dispersed and sampler.start == "auto":
        # Chains that are to be compared should not start alike: weigh the columns at random, as in a bootstrap.
        problem = problem._replace(W=problem.W * np.sqrt(rng.standard_exponential(problem.W.shape[1])))
    return first_tree(problem, sampler.start, rng)


def advance(
    model: Model, settings: RunSettings, chain: Chain, n_iterations: int, n_warmup: int | None = 0, thin: int = 1
) -> tuple[Chain, Draws | None]:
    """Take a chain further; return it and the draws that are kept, if any.

    Kept is every `thin`-th iteration after the warm-up, or each one where `n_warmup` is None: it may end with any.
    """
    model = _writeable(model)
    chain = chain._replace(  # an interruption must leave what is the caller's where it was
        state=_copied(chain.state), neighbors=_writeable(chain.neighbors), rng=copy.deepcopy(chain.rng)
    )
    kept = []
    with single_threaded_blas(), at_most_threads(settings.n_threads):
        problem = problem_of(model, settings.sampler, chain.state)
        if problem is not None:
            settings = settings._replace(sampler=settings.sampler.for_chain(problem))
        for _ in range(n_iterations):
            chain, problem, info = one_iteration(model, settings, chain, problem, n_warmup)
            if n_warmup is None or (chain.iteration > n_warmup and (chain.iteration - n_warmup) % thin == 0):
                kept.append(_record(model, chain.state, problem, info))
    return chain, concatenate(kept) if kept else None


def _copied(state: State) -> State:
    scales = state.noise.tail_scale
    noise = state.noise._replace(tail_scale=None if scales is None else np.array(scales))
    return state._replace(tree=(np.array(state.tree[0]), np.array(state.tree[1])), noise=noise)


def _writeable(part: Any) -> Any:
    """Copy arrays that are read-only or in a file, as in other processes: kernels would be compiled again for them."""
    if isinstance(part, tuple):
        return type(part)(*map(_writeable, part))
    is_other = isinstance(part, np.ndarray) and not (type(part) is np.ndarray and part.flags.writeable)
    return np.array(part) if is_other else part


def one_iteration(
    model: Model, settings: RunSettings, chain: Chain, problem: Problem | None, n_warmup: int | None = 0
) -> tuple[Chain, Problem | None, dict[str, float]]:
    """Draw a tree, then all else given the tree, as often as the sampler says; return the means of what it reports."""
    is_warmup = _is_warmup(chain, n_warmup)
    if is_warmup:
        settings = settings._replace(sampler=settings.sampler.for_warmup())
    chain = chain._replace(neighbors=_neighbors(model, settings.sampler, chain, problem, n_warmup))
    n_steps = 1 if problem is None else settings.sampler.steps_per_iteration(problem.n, chain.neighbors)
    reports = []
    for _ in range(n_steps):
        chain, problem, info = _one_step(model, settings, chain, problem, n_steps, is_warmup)
        reports.append({name: value for name, value in info.items() if isinstance(value, int | float | np.number)})
    names = dict.fromkeys(name for report in reports for name in report)
    means = {name: float(np.mean([report[name] for report in reports if name in report])) for name in names}
    return chain._replace(iteration=chain.iteration + 1), problem, means


def _is_warmup(chain: Chain, n_warmup: int | None) -> bool:
    return n_warmup is None or chain.iteration < n_warmup


def _one_step(
    model: Model, settings: RunSettings, chain: Chain, problem: Problem | None, n_steps: int, is_warmup: bool
) -> tuple[Chain, Problem | None, dict[str, Any]]:
    info: dict[str, Any] = {}
    if problem is not None:
        chain, info = _draw_tree(model, settings, chain, problem, is_warmup)
    state = draw_parameters(model, chain.state, chain.rng, repeat=n_steps == 1)
    if model.missing is not None:
        tree, values = model.over_rows(state.tree), model.filled(state.imputed)
        variances = row_variances(model.noise, state.noise)
        values = impute(*tree, values, model.missing, state.covariance, variances, chain.rng)
        state = state._replace(imputed=values[model.missing])
    if state.covariance.learnt or model.missing is not None or model.noise.is_random:
        problem = problem_of(model, settings.sampler, state)
    return chain._replace(state=state), problem, info


def _draw_tree(
    model: Model, settings: RunSettings, chain: Chain, problem: Problem, is_warmup: bool
) -> tuple[Chain, dict[str, Any]]:
    """Draw a tree given covariance and noise; under Student's noise, also move blocks of outliers with their scales."""
    sampler, neighbors, state, noise = settings.sampler, chain.neighbors, chain.state, chain.state.noise
    at = tempered(problem, chain.iteration, settings.n_tempered) if is_warmup else problem
    children, times, info = sampler.step(at, state.tree, chain.rng, neighbors=neighbors, n_threads=settings.n_threads)
    tree = children, times
    if noise.tail_scale is not None and model.replicates is None:
        n_blocks = min(math.ceil(problem.n / LEAVES_PER_BLOCK), MAX_BLOCKS)
        tails = Tails(noise.tail_scale, model.noise.half_df, noise.level * model.noise.error2)
        tree, scale = sampler.move_outliers(problem, tree, tails, chain.rng, neighbors=neighbors, n_blocks=n_blocks)
        noise = noise._replace(tail_scale=scale)
    return chain._replace(state=state._replace(tree=tree, noise=noise)), info


def problem_of(model: Model, sampler: Sampler, state: State) -> Problem | None:
    """The rows whitened for the sampler; None where one leaf leaves no tree to draw."""
    return None if model.n == 1 else model.problem(state, rotate=sampler.needs_vectors)


def share_neighbors(model: Model, settings: RunSettings, chains: list[Chain], n_warmup: int | None = 0) -> list[Chain]:
    """Search the neighbours of many leaves once, from where the first chain begins, for all chains and iterations.

    The sampler of the warm-up keeps more of them.
    """
    first = chains[0]
    if model.n <= MANY_LEAVES:
        return chains
    sampler = settings.sampler.for_warmup() if _is_warmup(first, n_warmup) else settings.sampler
    with single_threaded_blas(), at_most_threads(settings.n_threads):
        problem = problem_of(model, settings.sampler, first.state)
        assert problem is not None
        neighbors = sampler.neighbors(problem, first.rng)
    return [chain._replace(neighbors=neighbors) for chain in chains]


def _neighbors(
    model: Model, sampler: Sampler, chain: Chain, problem: Problem | None, n_warmup: int | None
) -> np.ndarray | None:
    """The sampler's neighbours: renewed now and then in the warm-up and at its end, and never after it.

    From then on they are constants; had they followed the chain's past, it would no longer be exact.
    """
    if problem is None or (chain.neighbors is not None and problem.n > MANY_LEAVES):
        return chain.neighbors
    is_changing = chain.state.covariance.learnt or model.missing is not None
    is_stale = is_changing and _is_warmup(chain, n_warmup) and chain.iteration % NEIGHBORS_EVERY == 0
    if chain.neighbors is None or is_stale or chain.iteration == n_warmup:
        return sampler.neighbors(problem, chain.rng)
    return chain.neighbors


def _record(model: Model, state: State, problem: Problem | None, info: dict[str, float]) -> Draws:
    """One iteration to keep."""
    theta = state.covariance.theta | ({NOISE_LEVEL: state.noise.level} if model.noise.level is None else {})
    scales = state.noise.tail_scale
    return Draws(
        state.tree[0][None].astype(np.int32),
        state.tree[1][None],
        np.zeros(1),
        np.array([model.log_joint(state, problem)]),
        info={name: np.array([value]) for name, value in info.items()},
        theta={name: np.array([value]) for name, value in theta.items()},
        tail_scale=None if scales is None else scales[None],
        imputed=None if model.missing is None else state.imputed[None],
    )
