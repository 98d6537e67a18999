"""One chain of `fit`: a Gibbs sampler of the tree, the covariance, the noise and the missing entries.

An iteration takes several steps where rows are few, otherwise one. A step is

    whiten the rows → draw a tree → draw covariance and noise given the tree → draw the missing entries .

All of a chain's state is in its `Chain`, a value: iterations taken in one block or in ten, here or in another process,
before or after an interruption, are the same to the last bit.

Where columns are many more than rows the first iterations have a tempered likelihood: thousands of columns fix every
branch so firmly that a chain hardly ever leaves its first tree, and four chains stay at four trees. The likelihood of d
whitened columns to the power β is, up to a constant, that of β d columns whose squared distances are β times as large.
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
from .gibbs_parameters import draw_parameters

FIRST_UPDATES = 3  # of the covariance, before the first iteration
NEIGHBORS_EVERY = 10  # iterations of the warm-up
MANY_LEAVES = 20_000  # above, neighbours are searched once: a search takes as long as several iterations
MAX_COLUMNS_UNTEMPERED, MIN_COLUMNS_PER_ROW = 128, 2  # chains of so many columns agree without tempering
FIRST_COLUMNS = 16.0  # worth of the data in the first iteration
MAX_TEMPERED = 40  # iterations


class Chain(NamedTuple):
    """Where a chain stands after so many iterations: all that the next one needs."""

    state: State
    sampler: Sampler
    rng: np.random.Generator
    neighbors: np.ndarray | None = None  # the sampler's candidates for each leaf, if it keeps any
    iteration: int = 0
    n_tempered: int = 0  # first iterations, with a tempered likelihood


def begin(
    model: Model,
    sampler: Sampler,
    seed: np.random.SeedSequence,
    dispersed: bool = False,
    start: State | Merges | None = None,
    n_tempered: int = 0,
    n_threads: int | None = None,
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
    with single_threaded_blas(), at_most_threads(n_threads):
        if model.missing is not None:
            values = fill_at_random(model.filled(state.imputed), state.covariance, rng)
            state = state._replace(imputed=values[model.missing])
        if start is None:
            problem = problem_of(model, sampler, state)
            state = state._replace(tree=_first_tree(problem, sampler, rng, dispersed))
        for _ in range(0 if isinstance(start, State) else FIRST_UPDATES):
            state = draw_parameters(model, state, rng)
    return Chain(state, sampler, rng, n_tempered=n_tempered)


def _first_tree(problem: Problem | None, sampler: Sampler, rng: np.random.Generator, dispersed: bool) -> Merges:
    if problem is None:
        return NO_TREE
    if dispersed and sampler.start == "auto":
        # Chains that are to be compared should not start alike: weigh the columns at random, as in a bootstrap.
        problem = problem._replace(W=problem.W * np.sqrt(rng.standard_exponential(problem.W.shape[1])))
    return first_tree(problem, sampler.start, rng)


def advance(
    model: Model,
    chain: Chain,
    n_iterations: int,
    n_warmup: int | None = 0,
    thin: int = 1,
    n_threads: int | None = None,
) -> tuple[Chain, Draws | None]:
    """Take a chain further; return it and the draws that are kept, if any.

    Kept is every `thin`-th iteration after the warm-up, or each one where `n_warmup` is None: it may end with any.
    """
    model, sampler = _writeable(model), chain.sampler
    chain = chain._replace(  # an interruption must leave what is the caller's where it was
        state=_copied(chain.state), neighbors=_writeable(chain.neighbors), rng=copy.deepcopy(chain.rng)
    )
    kept = []
    with single_threaded_blas(), at_most_threads(n_threads):
        problem = problem_of(model, sampler, chain.state)
        if problem is not None:
            chain = chain._replace(sampler=sampler.for_chain(problem))
        for _ in range(n_iterations):
            chain, problem, info = one_iteration(model, chain, problem, n_warmup)
            if n_warmup is None or (chain.iteration > n_warmup and (chain.iteration - n_warmup) % thin == 0):
                kept.append(as_draws(model, chain.state, info, model.log_joint(chain.state, problem)))
    return chain._replace(sampler=sampler), concatenate(kept) if kept else None


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
    model: Model, chain: Chain, problem: Problem | None, n_warmup: int | None = 0
) -> tuple[Chain, Problem | None, dict[str, float]]:
    """Draw a tree, then all else given the tree, as often as the sampler says; return the means of what it reports."""
    is_warmup = _is_warmup(chain, n_warmup)
    sampler = chain.sampler.for_warmup() if is_warmup else chain.sampler
    chain = chain._replace(neighbors=_neighbors(model, sampler, chain, problem, n_warmup))
    n_steps = 1 if problem is None else sampler.steps_per_iteration(problem.n, chain.neighbors)
    reports = []
    for _ in range(n_steps):
        chain, problem, info = _one_step(model, sampler, chain, problem, n_steps, is_warmup)
        reports.append({name: value for name, value in info.items() if isinstance(value, int | float | np.number)})
    names = dict.fromkeys(name for report in reports for name in report)
    means = {name: float(np.mean([report[name] for report in reports if name in report])) for name in names}
    return chain._replace(iteration=chain.iteration + 1), problem, means


def _is_warmup(chain: Chain, n_warmup: int | None) -> bool:
    return n_warmup is None or chain.iteration < n_warmup


def _one_step(
    model: Model, sampler: Sampler, chain: Chain, problem: Problem | None, n_steps: int, is_warmup: bool
) -> tuple[Chain, Problem | None, dict[str, Any]]:
    info: dict[str, Any] = {}
    if problem is not None:
        chain, info = _draw_tree(model, sampler, chain, problem, is_warmup)
    state = draw_parameters(model, chain.state, chain.rng, repeat=n_steps == 1)
    if model.missing is not None:
        tree, values = model.over_rows(state.tree), model.filled(state.imputed)
        variances = row_variances(model.noise, state.noise)
        values = impute(*tree, values, model.missing, state.covariance, variances, chain.rng)
        state = state._replace(imputed=values[model.missing])
    if state.covariance.learnt or model.missing is not None or model.noise.settings.is_random:
        problem = problem_of(model, sampler, state)
    return chain._replace(state=state), problem, info


def _draw_tree(
    model: Model, sampler: Sampler, chain: Chain, problem: Problem, is_warmup: bool
) -> tuple[Chain, dict[str, Any]]:
    """Draw a tree given covariance and noise; under Student's noise, also move blocks of outliers with their scales."""
    neighbors, state, noise = chain.neighbors, chain.state, chain.state.noise
    at = tempered(problem, chain.iteration, chain.n_tempered) if is_warmup else problem
    children, times, info = sampler.step(at, state.tree, chain.rng, neighbors=neighbors)
    tree = children, times
    if noise.tail_scale is not None and model.replicates is None:
        tails = Tails(noise.tail_scale, model.noise.half_df, noise.level * model.noise.error2)
        tree, scale = sampler.move_outliers(problem, tree, tails, chain.rng, neighbors=neighbors)
        noise = noise._replace(tail_scale=scale)
    return chain._replace(state=state._replace(tree=tree, noise=noise)), info


def problem_of(model: Model, sampler: Sampler, state: State) -> Problem | None:
    """The rows whitened for the sampler; None where one leaf leaves no tree to draw."""
    return None if model.n == 1 else model.problem(state, rotate=sampler.needs_vectors)


def share_neighbors(model: Model, chains: list[Chain], n_warmup: int | None = 0) -> list[Chain]:
    """Search the neighbours of many leaves once, from where the first chain begins, for all chains and iterations.

    The sampler of the warm-up keeps more of them.
    """
    first = chains[0]
    if model.n <= MANY_LEAVES:
        return chains
    sampler = first.sampler.for_warmup() if _is_warmup(first, n_warmup) else first.sampler
    with single_threaded_blas():
        problem = problem_of(model, first.sampler, first.state)
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


def as_draws(model: Model, state: State, info: dict[str, float], log_joint: float) -> Draws:
    """A state as one draw."""
    theta = state.covariance.theta | ({NOISE_LEVEL: state.noise.level} if model.noise.level is None else {})
    scales = state.noise.tail_scale
    return Draws(
        state.tree[0][None].astype(np.int32),
        state.tree[1][None],
        np.zeros(1),
        np.array([log_joint]),
        info={name: np.array([value]) for name, value in info.items()},
        theta={name: np.array([value]) for name, value in theta.items()},
        tail_scale=None if scales is None else scales[None],
        imputed=None if model.missing is None else state.imputed[None],
    )


def tempered_iterations(n: int, d: int, max_warmup: int) -> int:
    """Number of tempered iterations for n rows of d columns: at most half of the warm-up."""
    if d <= MAX_COLUMNS_UNTEMPERED or d < MIN_COLUMNS_PER_ROW * n:
        return 0
    return min(MAX_TEMPERED, max_warmup // 2)


def tempered(problem: Problem, iteration: int, n_tempered: int) -> Problem:
    """The problem as iteration 0, 1, … sees it: each adds the same percentage of columns, until all count."""
    if iteration >= n_tempered or problem.d <= FIRST_COLUMNS:
        return problem
    d = int(FIRST_COLUMNS * (problem.d / FIRST_COLUMNS) ** (iteration / n_tempered))
    return problem._replace(W=problem.W * math.sqrt(d / problem.d), d=d)
