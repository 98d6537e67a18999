"""One chain of a fit. A round is a few steps, where rows are few, or one:

    whiten → draw a tree → draw covariance and noise given the tree (`parameters`) → draw the missing entries .

All of a chain's state is in its `Chain`, a value: rounds taken in one block or in ten, here or in another process,
before or after an interruption, are the same to the last bit.
"""

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._runtime.temp_memmap import stacked
from ..._runtime.threads import at_most_threads, single_threaded_blas
from ...model.covariance import Covariance
from ...model.data.missing import fill_at_random, impute
from ...model.data.neighbor_graph import Graph
from ...model.data.replicates import Replicates, Within, within_leaves
from ...model.process.coalescent import log_prior
from ...model.process.noise import LEVEL, NoiseDraw, NoiseModel, at_least_floor, first_draw, row_variances
from ...model.process.noise import log_prior as noise_log_prior
from ...model.process.whitened import Problem, make_problem
from ...samplers.base import Sampler, Tails
from ...samplers.starts import first_tree
from .gibbs_parameters import Known, draw_parameters
from .tempering import tempered

_WARMUP_ROUNDS_A_LIST = 10
_MANY = 20_000  # leaves above which lists are made once: a search takes as long as several rounds
_BLOCKS, _MORE_BLOCKS = 3, 8  # of odd rows that are moved together in a round; more in the warm-up, and of few rows
_FEW = 300  # leaves, which are swept several times a round: beside that blocks cost little
_FIRST_UPDATES = 3  # of the covariance, before the first round
_NUMBERS = (int, float, np.number)
_NOTHING: Mapping[str, Any] = {}  # plain: it is sent to other processes, and a read-only view cannot be pickled


class Plan(NamedTuple):
    """What all chains and rounds share."""

    sampler: Sampler
    noise: NoiseModel
    replicates: Replicates | None  # if leaves stand for several rows
    missing: np.ndarray | None  # (n, d) of bool, if any entry is
    n_warmup: int | None  # None as long as it is not known when the warm-up ends
    n_threads: int | None = None  # that a sampler may use; changes nothing in its draws
    graph: Graph | None = None  # neighbours of the leaves, where a user has given them
    thin: int = 1  # every so many-th round after the warm-up is kept
    n_tempered: int = 0  # first rounds, in which the sampler is told less than the data say
    within: Within | None = None  # what is left of rows that were put together into leaves

    def warms_up(self, round: int) -> bool:
        """Whether the round that follows so many is one of the warm-up."""
        return self.n_warmup is None or round < self.n_warmup

    def keeps(self, round: int) -> bool:
        """Whether the round of this number, from 1, is handed back; if the warm-up may end after it, each one is."""
        return self.n_warmup is None or (round > self.n_warmup and (round - self.n_warmup) % self.thin == 0)

    def n_leaves(self, values: np.ndarray) -> int:
        """Number of leaves that these rows measure."""
        return len(values) if self.replicates is None else self.replicates.n


def rows_put_together(plan: Plan, values: np.ndarray) -> tuple[Plan, np.ndarray]:
    """The same with leaves in place of their rows, where rows enter by sums alone: all observed, under normal noise."""
    if plan.replicates is None or plan.missing is not None or plan.noise.half_df > 0.0:
        return plan, values
    leaves, within = within_leaves(values, plan.noise.error2, plan.replicates)
    noise = plan.noise._replace(error2=leaves.var)
    return plan._replace(noise=noise, replicates=None, within=within), leaves.mean


class Chain(NamedTuple):
    """Where a chain stands after `round` rounds: all that the next one needs."""

    tree: tuple[np.ndarray, np.ndarray]  # children, times
    covariance: Covariance
    noise: NoiseDraw
    values: np.ndarray  # (N, d) rows, missing entries filled in
    neighbors: np.ndarray | None  # the sampler's lists of near leaves, if it has any
    rng: np.random.Generator
    round: int = 0


class Rounds(NamedTuple):
    """What is kept of some rounds of a chain, stacked: r of them."""

    children: np.ndarray  # (r, n-1, 2)
    times: np.ndarray  # (r, n-1)
    log_joint: np.ndarray  # (r,)
    theta: dict[str, np.ndarray]  # name → (r, …)
    tail_scale: np.ndarray  # (r, N) scales of Student's tails, (r, 0) for normal ones
    imputed: np.ndarray  # (r, number of missing entries)
    info: dict[str, np.ndarray]  # what the sampler said, name → (r,)


class Start(NamedTuple):
    """Where a chain is to start, as far as it is given."""

    tree: tuple[np.ndarray, np.ndarray] | None = None
    theta: Mapping[str, Any] = _NOTHING
    imputed: np.ndarray | None = None
    tail_scale: np.ndarray | None = None


def begin(
    plan: Plan,
    values: np.ndarray,
    covariance: Covariance,
    start: Start,
    seed: np.random.SeedSequence,
    dispersed: bool = False,
) -> Chain:
    """Start a chain: fill in what is missing, make a first tree, and let the covariance settle on it."""
    rng = np.random.default_rng(seed)
    if start.imputed is not None:
        values = values.copy()
        values[plan.missing] = start.imputed
    covariance = covariance.with_theta({name: value for name, value in start.theta.items() if name != LEVEL})
    noise = _first_noise(plan.noise, start, rng if dispersed else None)
    with single_threaded_blas(), at_most_threads(plan.n_threads):
        values = fill_at_random(values, covariance, rng)
        problem = _problem(plan, values, covariance, noise)
        children, times = start.tree or _first_tree(plan, problem, rng, dispersed)
        if not start.theta:
            known = Known(values, children, plan.noise, plan.replicates, plan.within)
            for _ in range(_FIRST_UPDATES):
                times, covariance, noise = draw_parameters(known, times, covariance, noise, rng)
        return Chain((children, times), covariance, noise, values, None, rng)


def with_neighbors_of_many(plan: Plan, chains: list[Chain]) -> list[Chain]:
    """The chains with lists for all rounds, the warm-up's included, where there are many leaves: a search for all.

    The longer lists, if those of the warm-up differ; from where the first chain begins.
    """
    first = chains[0]
    if plan.n_leaves(first.values) <= _MANY:
        return chains
    sampler = plan.sampler.for_warmup() if plan.warms_up(first.round) else plan.sampler
    with single_threaded_blas(), at_most_threads(plan.n_threads):
        lists = sampler.neighbors(_problem(plan, first.values, first.covariance, first.noise), first.rng)
    return [chain._replace(neighbors=lists) for chain in chains]


def _first_noise(model, start, rng):
    noise = first_draw(model, rng)
    if LEVEL in start.theta:
        noise = noise._replace(level=at_least_floor(model, float(start.theta[LEVEL])))
    if start.tail_scale is not None and noise.tail_scale is not None:
        noise = noise._replace(tail_scale=np.array(start.tail_scale))
    return noise


def _first_tree(plan, problem, rng, dispersed):
    if problem is None:
        return np.empty((0, 2), dtype=np.int64), np.empty(0)
    start = plan.sampler.start
    if dispersed and start == "auto":
        # Chains that are to be compared should not start alike: weigh the columns at random, as in a bootstrap.
        problem = problem._replace(W=problem.W * np.sqrt(rng.standard_exponential(problem.W.shape[1])))
    return first_tree(problem, start, rng)


def advance(plan: Plan, chain: Chain, n_rounds: int) -> tuple[Chain, list[Rounds]]:
    """Take a chain `n_rounds` further; return it and the rounds that `plan` keeps, in one block or none."""
    # Another process is handed read-only arrays, for which every kernel would be compiled again; and an interruption
    # must leave what is the caller's where it was. Rows, lists and all of the plan are never changed in place.
    plan = plan._replace(
        missing=_writeable(plan.missing),
        noise=plan.noise._replace(error2=_writeable(plan.noise.error2)),
        replicates=None if plan.replicates is None else Replicates(*map(_writeable, plan.replicates)),
        graph=None if plan.graph is None else Graph(*map(_writeable, plan.graph)),
        within=None if plan.within is None else plan.within._replace(rows=_writeable(plan.within.rows)),
    )
    chain = chain._replace(
        tree=(np.array(chain.tree[0]), np.array(chain.tree[1])),
        noise=chain.noise._replace(tail_scale=_copied(chain.noise.tail_scale)),
        values=_writeable(chain.values),
        neighbors=_writeable(chain.neighbors),
        rng=copy.deepcopy(chain.rng),
    )
    kept = []
    with single_threaded_blas(), at_most_threads(plan.n_threads):
        problem = _problem(plan, chain.values, chain.covariance, chain.noise)
        for _ in range(n_rounds):
            chain, problem, info = one_round(plan, chain, problem)
            if plan.keeps(chain.round):
                kept.append(_record(plan, chain, problem, info))
    return chain, [concatenate_rounds(kept)] if kept else []


def _copied(array):
    return None if array is None else np.array(array)


def _writeable(array):
    """The same array, unless it is read-only or lies in a file."""
    return array if array is None or (type(array) is np.ndarray and array.flags.writeable) else np.array(array)


def one_round(plan: Plan, chain: Chain, problem: Problem | None) -> tuple[Chain, Problem | None, dict[str, float]]:
    """A few times, as the sampler says: a tree given covariance and noise, these and missing entries given the tree."""
    round = chain.round
    plan = plan._replace(sampler=plan.sampler.for_warmup() if plan.warms_up(round) else plan.sampler)
    chain = chain._replace(neighbors=_neighbors(plan, chain, problem))
    n_steps = 1 if problem is None else plan.sampler.steps_a_round(problem.n, chain.neighbors)
    said = []
    for _ in range(n_steps):
        chain, problem, info = _one_step(plan, chain, problem, n_steps)
        said.append({name: value for name, value in info.items() if isinstance(value, _NUMBERS)})
    return chain._replace(round=round + 1), problem, _mean_of(said)


def _one_step(plan, chain, problem, n_steps):
    """One of so many steps of a round."""
    _, covariance, noise, values, neighbors, rng, round = chain
    children, times, info = _draw_tree(plan, problem, chain.tree, neighbors, rng, round)
    if noise.tail_scale is not None and plan.replicates is None and problem is not None:
        n_blocks = math.ceil(_blocks_a_round(plan, problem.n, round) / n_steps)
        (children, times), noise = _move_odd_rows(plan, problem, (children, times), noise, neighbors, rng, n_blocks)
    known = Known(values, children, plan.noise, plan.replicates, plan.within)
    times, covariance, noise = draw_parameters(known, times, covariance, noise, rng, repeat=n_steps == 1)
    if plan.missing is not None:
        values = impute(
            *known.over_rows(times), values, plan.missing, covariance, row_variances(plan.noise, noise), rng
        )
    if covariance.learnt or plan.missing is not None or plan.noise.is_random:
        problem = _problem(plan, values, covariance, noise)
    return Chain((children, times), covariance, noise, values, neighbors, rng, round), problem, info


def _mean_of(said):
    """The mean of each number that a sampler has said, over the steps of a round in which it did."""
    names = dict.fromkeys(name for step in said for name in step)
    return {name: float(np.mean([step[name] for step in said if name in step])) for name in names}


def _problem(plan, values, covariance, noise):
    if plan.n_leaves(values) == 1:  # there is no tree to draw
        return None
    variances = row_variances(plan.noise, noise)
    rotate = plan.sampler.needs_vectors
    problem = make_problem(values, covariance, variances, replicates=plan.replicates, rotate=rotate)
    problem = problem._replace(graph=plan.graph)
    if plan.within is None:
        return problem
    return problem._replace(log_replicates=plan.within.log_density(covariance.whitener(values.shape[1]), noise.level))


def _neighbors(plan, chain, problem):
    """The sampler's lists, if it has any: renewed now and then in the warm-up, at its end, and never again after it.

    From then on they are constants; had they followed the chain's past, it would no longer be exact. Those of many
    leaves are made when the chains begin.
    """
    if problem is None:
        return None
    if chain.neighbors is not None and problem.n > _MANY:
        return chain.neighbors
    changing = chain.covariance.learnt or plan.missing is not None
    stale = changing and plan.warms_up(chain.round) and chain.round % _WARMUP_ROUNDS_A_LIST == 0
    if chain.neighbors is None or stale or chain.round == plan.n_warmup:
        return plan.sampler.neighbors(problem, chain.rng)
    return chain.neighbors


def _draw_tree(plan, problem, tree, neighbors, rng, round):
    if problem is None:
        return np.empty((0, 2), dtype=np.int64), np.empty(0), {}
    if plan.warms_up(round):
        problem = tempered(problem, round, plan.n_tempered)
    return plan.sampler.step(problem, tree, rng, neighbors=neighbors, n_threads=plan.n_threads)


def _blocks_a_round(plan, n, round):
    if n > _MANY:  # a block costs O(n), and of many rows it moves few
        return 1
    return _MORE_BLOCKS if plan.warms_up(round) or n <= _FEW else _BLOCKS


def _move_odd_rows(plan, problem, tree, noise, neighbors, rng, n_blocks):
    tails = Tails(noise.tail_scale, plan.noise.half_df, noise.level * plan.noise.error2)
    tree, scale = plan.sampler.move_odd_rows(problem, tree, tails, rng, neighbors=neighbors, n_blocks=n_blocks)
    return tree, noise._replace(tail_scale=scale)


def _record(plan, chain, problem, info):
    """One round to keep."""
    children, times = chain.tree
    log_joint = log_prior(times) + chain.covariance.log_prior() + noise_log_prior(plan.noise, chain.noise)
    if problem is not None:
        log_joint += problem.log_likelihood(children, times)
    imputed = chain.values[plan.missing] if plan.missing is not None else np.empty(0)
    theta = {name: np.array([value]) for name, value in chain.covariance.theta.items()}
    if plan.noise.level is None:
        theta[LEVEL] = np.array([chain.noise.level])
    tails = np.empty(0) if chain.noise.tail_scale is None else chain.noise.tail_scale
    info = {name: np.array([value]) for name, value in info.items()}
    return Rounds(
        children[None].astype(np.int32), times[None], np.array([log_joint]), theta, tails[None], imputed[None], info
    )


def concatenate_rounds(blocks: Sequence[Rounds]) -> Rounds:
    """One block of rounds from blocks of one chain, or of all chains."""
    children, times, log_joint, theta, tail_scale, imputed, info = zip(*blocks, strict=True)
    return Rounds(
        stacked(children),
        stacked(times),
        np.concatenate(log_joint),
        _concatenate_by_name(theta),
        stacked(tail_scale),
        np.concatenate(imputed),
        _concatenate_by_name(info),
    )


def _concatenate_by_name(parts):
    shared = [name for name in parts[0] if all(name in part for part in parts)]
    return {name: np.concatenate([part[name] for part in parts]) for name in shared}
