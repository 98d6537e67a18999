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
    distance: np.ndarray  # (n,) squared, from each row to its fifth neighbour, or the last


def neighborhoods(W: np.ndarray, neighbors: np.ndarray) -> Neighborhoods:
    """Find seeds and their neighbours; `neighbors` are those of local candidates. Seeds have at least four of them."""
    # Where none are given there are few rows, or every branch is a candidate.
    near = _nearest_of(W, _N_NEAR + 1) if neighbors.size == 0 else neighbors[0]
    n_seeds = min(max(_N_NEAR + 1, len(W) // _ROWS_PER_SEED), _MAX_SEEDS)
    return Neighborhoods(*_find_seeds(W, near, np.int64(n_seeds)))


def _nearest_of(W: np.ndarray, k: int) -> np.ndarray:
    """(n, k) the rows nearest to each of W."""
    centred = np.ascontiguousarray(W - W.mean(axis=0))
    return nearest(centred, centred, k, np.arange(len(W)))


@jit
def _find_seeds(W: np.ndarray, near: np.ndarray, n_seeds: Int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make the fields of `Neighborhoods`; rows without that many neighbours have a distance of -1."""
    nearness = np.full(len(W), 1.0)  # the distance with its sign changed: the farthest are sorted first
    last = min(_N_NEAR, near.shape[1] - 1)  # after the warm-up there may be four neighbours
    for i in range(len(W)):
        if near[i, last] >= 0:
            nearness[i] = -squared_distance(W[i], W[near[i, last]])
    by_distance = sorted_places(nearness)
    while n_seeds > 0 and nearness[by_distance[n_seeds - 1]] > 0.0:
        n_seeds -= 1
    seeds, found = np.empty(n_seeds, np.int64), np.empty((2, n_seeds, _N_NEAR), np.int64)
    for i in range(n_seeds):
        seeds[i] = by_distance[i]
        for place in range(_N_NEAR):
            found[0, i, place] = found[1, i, place] = near[seeds[i], place]
    if n_seeds > _N_NEAR:
        _find_nearest_seeds(W, seeds, found[1])
    return seeds, found, -nearness


@jit(inline="always")
def _find_nearest_seeds(W: np.ndarray, seeds: np.ndarray, found: np.ndarray) -> None:
    """Write (m, 4) the other seeds that are nearest to each, ties in order."""
    distance = np.empty(_N_NEAR)
    for i in range(seeds.size):
        n_found = 0
        for j in range(seeds.size):
            apart = squared_distance(W[seeds[i]], W[seeds[j]])
            if j == i or (n_found == _N_NEAR and apart >= distance[_N_NEAR - 1]):
                continue
            place = min(n_found, _N_NEAR - 1)
            while place > 0 and distance[place - 1] > apart:
                distance[place], found[i, place] = distance[place - 1], found[i, place - 1]
                place -= 1
            distance[place], found[i, place] = apart, seeds[j]
            n_found = min(n_found + 1, _N_NEAR)


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
