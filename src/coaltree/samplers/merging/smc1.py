"""SMC1 (Görür & Teh 2009): every pair draws a merge time, and the earliest merges.

A pair C that exists since time t_C draws its merge time once, from q_C(t) ∝ e^{-(t - t_C)} N(difference | 0, v(t) Φ),
v(t) = 2(t - t_C) + r_C, r_C = 2 t_C + a_i + a_j; the pair with the earliest time merges. Under the prior every pair
has a clock of rate 1, so the weight settles when a pair leaves the race at τ:

    the merged pair:   ζ_C = ∫ e^{-(t - t_C)} N(difference | 0, v(t) Φ) dt
    a pair that lost one of its lineages:   e^{-(τ - t_C)} / Q_C(T > τ) .

Every particle holds all its pairs' distances and times, 16 n² bytes.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.memory import require_memory
from ..._runtime.typing import Int
from ...model.process.diffusion import LOG_2PI, join, join_distance, log_density_of_difference
from ...model.process.whitened import Problem
from ...numerics.gig import draw_cut_gig, log_normaliser, log_survival
from ..base import require_apart
from .particles import last_time
from .row_pool import leaf_distances
from .smc import SMC, Population


class Racers(NamedTuple):
    """M races. A merged node takes the lane of its first child; pair (x, y), x > y, is entry [x, y]."""

    d: int
    log_det: float
    eps: np.ndarray  # (M, n, n)
    clock: np.ndarray  # (M, n, n) each pair's merge time
    node: np.ndarray  # (M, n) which node runs in a lane, -1 for none
    a: np.ndarray  # (M, n) its s - τ
    born: np.ndarray  # (M, n) and the time it was made
    first: np.ndarray  # (M, n) the earliest clock in a lane's row
    rival: np.ndarray  # (M, n) and with whom
    children: np.ndarray
    times: np.ndarray
    log_joint: np.ndarray
    streams: np.ndarray
    log_factor: np.ndarray


@jit
def _start_and_r(racers: Racers, p: Int, x: Int, y: Int) -> tuple[float, float]:
    """t_C and r_C of the pair (x, y)."""
    start = max(racers.born[p, x], racers.born[p, y])
    return start, max(0.0, 2.0 * start + racers.a[p, x] + racers.a[p, y])


@jit
def _set_clock(racers: Racers, p: Int, x: Int, y: Int) -> None:
    """Draw the time at which the pair (x, y) would merge; it enters the race now."""
    start, r = _start_and_r(racers, p, x, y)
    wait = draw_cut_gig(1.0 - 0.5 * racers.d, racers.eps[p, x, y], 1.0, r, racers.streams[p])
    racers.clock[p, x, y] = start + 0.5 * wait


@jit
def _find_first(racers: Racers, p: Int, x: Int) -> None:
    racers.first[p, x] = math.inf
    racers.rival[p, x] = -1
    for y in range(x):
        if racers.node[p, y] >= 0 and racers.clock[p, x, y] < racers.first[p, x]:
            racers.first[p, x] = racers.clock[p, x, y]
            racers.rival[p, x] = y


@jit
def _log_lost(racers: Racers, p: Int, x: Int, y: Int, time: float) -> float:
    """Return log [ e^{-(τ - t_C)} / Q_C(T > τ) ] of a pair that leaves the race at `time` without merging."""
    start, r = _start_and_r(racers, p, x, y)
    wait = time - start
    order, eps, v = 1.0 - 0.5 * racers.d, racers.eps[p, x, y], r + 2.0 * wait
    # Most lost pairs lie far below the mode of log v, where Q = 1 to 1e-17.
    mode = order + math.sqrt(order * order + eps) if order >= 0.0 else eps / (math.sqrt(order * order + eps) - order)
    if 0.0 < v < mode and order * math.log(mode / v) + 0.5 * eps * (1.0 / v - 1.0 / mode) - 0.5 * (mode - v) > 45.0:
        return -wait
    return -wait - log_survival(order, eps, 1.0, r, v)


@jit
def _merge_earliest(racers: Racers, p: Int, step: Int) -> None:
    """Let the earliest pair of particle p merge, and its rivals leave the race."""
    n, d = racers.node.shape[1], racers.d
    m = n - step
    if step == 0:
        for x in range(n):
            for y in range(x):
                _set_clock(racers, p, x, y)
            _find_first(racers, p, x)
    node, a, born, eps = racers.node[p], racers.a[p], racers.born[p], racers.eps[p]
    j = -1
    for x in range(n):
        if node[x] >= 0 and (j < 0 or racers.first[p, x] < racers.first[p, j]) and racers.rival[p, x] >= 0:
            j = x
    i = racers.rival[p, j]
    time = racers.clock[p, j, i]
    eps_ij = eps[j, i]

    _, r = _start_and_r(racers, p, i, j)
    log_factor = 0.5 * r + log_normaliser(1.0 - 0.5 * d, eps_ij, 1.0, r) - math.log(2.0)
    log_factor -= 0.5 * (d * LOG_2PI + racers.log_det)
    v, w_i, w_j, var = join(a[i] + time, a[j] + time)
    for z in range(n):
        if node[z] < 0 or z == i or z == j:
            continue
        zi, iz = max(z, i), min(z, i)
        zj, jz = max(z, j), min(z, j)
        log_factor += _log_lost(racers, p, zi, iz, time) + _log_lost(racers, p, zj, jz, time)
        eps[zi, iz] = join_distance(w_i, w_j, eps[zi, iz], eps[zj, jz], eps_ij)
    racers.log_factor[p] = log_factor

    before = last_time(racers.times, p, step)
    racers.log_joint[p] += (
        -0.5 * m * (m - 1) * (time - before) + log_density_of_difference(eps_ij, v, d) - 0.5 * racers.log_det
    )
    racers.children[p, step, 0] = node[i]
    racers.children[p, step, 1] = node[j]
    racers.times[p, step] = time

    node[i], node[j] = n + step, -1
    a[i], born[i] = var - time, time
    for z in range(n):
        if node[z] >= 0 and z != i:
            _set_clock(racers, p, max(z, i), min(z, i))
    _find_first(racers, p, i)
    for z in range(i + 1, n):
        if node[z] < 0:
            continue
        if racers.rival[p, z] == i or racers.rival[p, z] == j:
            _find_first(racers, p, z)
        elif racers.clock[p, z, i] < racers.first[p, z]:
            racers.first[p, z] = racers.clock[p, z, i]
            racers.rival[p, z] = i


@jit
def _grow(racers: Racers, first: Int, last: Int, step: Int) -> None:
    """Make merge `step` of particles first … last-1."""
    for p in range(first, last):
        _merge_earliest(racers, p, step)


class _Race(Population):
    """The races of one run."""

    def __init__(self, problem: Problem, streams: np.ndarray) -> None:
        n, M, d, leaf_var = problem.n, len(streams), problem.d, problem.one_leaf_var()
        need = f"a race of {M} particles over {n} rows, 16 n² bytes for each,"
        require_memory(8 * n * n + 16 * M * n * n, need, "use fewer particles or rows, or MPost1")
        eps = leaf_distances(problem)
        require_apart(eps[np.tril_indices(n, -1)].min() > 0.0 or leaf_var > 0.0)
        self._racers = Racers(
            d,
            problem.log_det,
            eps=np.repeat(eps[None], M, axis=0),
            clock=np.zeros((M, n, n)),
            node=np.tile(np.arange(n, dtype=np.int32), (M, 1)),
            a=np.full((M, n), leaf_var),
            born=np.zeros((M, n)),
            first=np.zeros((M, n)),
            rival=np.zeros((M, n), np.int32),
            children=np.zeros((M, n - 1, 2), np.int32),
            times=np.zeros((M, n - 1)),
            log_joint=np.zeros(M),
            streams=streams,
            log_factor=np.zeros(M),
        )
        self.log_factor = self._racers.log_factor
        self.worth_a_thread = max(1, 512 // n)  # about 0.2 ms

    def grow(self, first: int, last: int, step: int) -> None:
        _grow(self._racers, first, last, step)

    def resample(self, ancestors: np.ndarray, step: int) -> None:
        for p in np.flatnonzero(ancestors != np.arange(ancestors.size)):
            for kept in self._racers[2:-2]:  # streams stay with their places
                kept[p] = kept[ancestors[p]]

    def result(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._racers.children, self._racers.times, self._racers.log_joint.copy()


@dataclass(frozen=True)
class SMC1(SMC):
    """Every pair draws its merge time once; the earliest pair merges (Görür & Teh 2009).

    Examples
    --------
    >>> X, _ = ct.simulate(12, 3, random_state=0)
    >>> len(ct.sample_trees(X, sampler=ct.SMC1(n_particles=50), random_state=0, progress=False))
    50
    """

    def population(self, problem: Problem, streams: np.ndarray) -> Population:
        return _Race(problem, streams)
