"""Which outliers are moved together: blocks for `outlier_moves`, drawn from the data and chance alone.

Seeds are drawn from the twentieth of the rows whose neighbours are the farthest, the farthest most often; the others
are neighbours of the seed, among all rows or among the seeds: an outlier may resemble another that has nearer
neighbours. The row with the nearest neighbours mostly comes first, and finds the place; the others find theirs by it.
Nothing here depends on the tree or the scales, so that a block drops out of the acceptance of its move.
"""

from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.random_streams import integer_below, uniform
from ..._runtime.typing import Int
from ...model.process.diffusion import squared_distance
from ...numerics.sorting import sorted_places, take
from .nearest import nearest

_N_NEAR = 4  # rows that may be moved with a seed
_SIZE_BELOW = (0.15, 0.65, 0.85, 1.0)  # cumulative probability of 1, 2, … rows in a block
_ANY_ORDER = 0.25  # probability that a block is in any order
_ROWS_PER_SEED, _MAX_SEEDS = 20, 250
_MIN_ROWS = _N_NEAR + len(_SIZE_BELOW)
_MAX_ROWS_TO_SEARCH = 5000  # whose neighbours are searched in every iteration, where none are given


class Neighborhoods(NamedTuple):
    """Rows that blocks are made of: seeds, the farthest from others first, and the rows nearest to each."""

    seeds: np.ndarray  # (m,)
    near: np.ndarray  # (2, m, 4) among all rows, and among the seeds; nearest first
    distance: np.ndarray  # (n,) squared, from each row to its fifth neighbour


def neighborhoods(W: np.ndarray, neighbors: np.ndarray) -> Neighborhoods:
    """Find seeds and their neighbours; `neighbors` are those of local candidates. Seeds have at least five of them."""
    n = len(W)
    if neighbors.size == 0:  # few rows, or every branch is a candidate
        neighbors = _nearest_of(W, _N_NEAR + 1)[None]
    near = neighbors[0, :, : _N_NEAR + 1].astype(np.int64)
    distance = _distances_to(W, near[:, -1])
    n_seeds = min(max(_N_NEAR + 1, n // _ROWS_PER_SEED), _MAX_SEEDS)
    seeds = np.argsort(-distance, kind="stable")[:n_seeds]
    seeds = seeds[distance[seeds] >= 0.0]
    among_all = near[seeds, :_N_NEAR]
    among_seeds = seeds[_nearest_of(W[seeds], _N_NEAR)] if len(seeds) > _N_NEAR else among_all
    return Neighborhoods(seeds, np.stack([among_all, among_seeds]), distance)


@jit
def _distances_to(W: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(n,) squared distance from each row to another one, -1 where there is none."""
    distance = np.full(len(W), -1.0)
    for i in range(len(W)):
        if others[i] >= 0:
            distance[i] = squared_distance(W[i], W[others[i]])
    return distance


def _nearest_of(W: np.ndarray, k: int) -> np.ndarray:
    """(n, k) the rows nearest to each of W."""
    centred = np.ascontiguousarray(W - W.mean(axis=0))
    return nearest(centred, centred, k, np.arange(len(W)))


def can_move(n: int, neighbors: np.ndarray) -> bool:
    """Whether there are enough rows, and enough neighbours of each where local candidates have any."""
    if neighbors.size == 0:
        return _MIN_ROWS <= n <= _MAX_ROWS_TO_SEARCH
    return n >= _MIN_ROWS and neighbors.shape[2] > _N_NEAR


@jit
def draw_block(around: Neighborhoods, state: np.ndarray) -> np.ndarray:
    """Draw a seed and up to three of its neighbours, the nearest or any; the least far first, or in any order."""
    u = uniform(state)
    place = int(u * u * around.seeds.size)
    others = around.near[integer_below(state, np.int64(2)), place].copy()
    k, u = 1, uniform(state)
    while u > _SIZE_BELOW[k - 1]:
        k += 1
    if uniform(state) < 0.5:
        _shuffle(others, k - 1, state)
    block = np.empty(k, np.int64)
    block[0] = around.seeds[place]
    for j in range(1, k):
        block[j] = others[j - 1]
    if uniform(state) < _ANY_ORDER:
        _shuffle(block, k, state)
        return block
    return take(block, sorted_places(take(around.distance, block)))


@jit
def _shuffle(values: np.ndarray, k: Int, state: np.ndarray) -> None:
    """Bring k of the values, drawn at random, to the front."""
    for j in range(k):
        swap = j + integer_below(state, values.size - j)
        values[j], values[swap] = values[swap], values[j]
