"""Which odd rows are tried together: blocks for `odd_rows`, drawn from the data and chance alone.

Seeds are drawn from the twentieth of the rows whose neighbours are the farthest, the oddest most often, and the others
are neighbours of the seed, among all rows or among the seeds: an odd row may resemble another that has nearer
neighbours. Pairs are tried the most; larger blocks are seldom put back at once. The row with the nearest neighbours
mostly comes first, and finds the place; those that are farther off find theirs by it.

Nothing here looks at the tree or at the scales: a block is as likely before a move as after it, and drops out of its
acceptance.
"""

from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.random_streams import integer_below, uniform
from ...model.process.diffusion import squared_distance
from ...numerics.sorting import sorted_places, take
from .nearest import nearest

_NEAR = 4  # rows that may be moved with a seed
_SIZE_BELOW = (0.15, 0.65, 0.85, 1.0)  # cumulative probability of 1, 2, … rows in a block
_MOST = len(_SIZE_BELOW)
_ANY_ORDER = 0.25  # probability that a block is not in the order of its rows' oddness
_SHARE_OF_SEEDS, _MOST_SEEDS = 20, 250
_MOST_WITHOUT_LISTS = 5000  # rows whose neighbours are looked for in every round


class Neighborhoods(NamedTuple):
    """Which rows blocks are made of: seeds, the oddest first, and the rows nearest to each, nearest first."""

    seeds: np.ndarray  # (m,)
    near: np.ndarray  # (2, m, 4) among all rows, and among the seeds
    oddness: np.ndarray  # (n,) squared distance from each row to its fifth neighbour


def neighborhoods(W: np.ndarray, lists: np.ndarray) -> Neighborhoods:
    """The seeds and their neighbours; `lists` are those of local candidates. Rows with fewer than five are no seeds."""
    n = len(W)
    if lists.size == 0:  # as they are for few rows, or where every branch is looked at
        lists = _nearest_of(W, _NEAR + 1)[None]
    near = lists[0, :, : _NEAR + 1].astype(np.int64)
    distance = _distances_to(W, near[:, -1])
    n_seeds = min(max(_NEAR + 1, n // _SHARE_OF_SEEDS), _MOST_SEEDS)
    seeds = np.argsort(-distance, kind="stable")[:n_seeds]
    seeds = seeds[distance[seeds] >= 0.0]
    among_all = near[seeds, :_NEAR]
    among_seeds = seeds[_nearest_of(W[seeds], _NEAR)] if len(seeds) > _NEAR else among_all
    return Neighborhoods(seeds, np.stack([among_all, among_seeds]), distance)


@jit
def _distances_to(W, others):
    """(n,) squared distance from each row to another one, -1 where there is none."""
    distance = np.full(len(W), -1.0)
    for i in range(len(W)):
        if others[i] >= 0:
            distance[i] = squared_distance(W[i], W[others[i]])
    return distance


def _nearest_of(W, k):
    """(n, k) the rows nearest to each of W."""
    centred = np.ascontiguousarray(W - W.mean(axis=0))
    return nearest(centred, centred, k, np.arange(len(W)))


def can_move(n: int, lists: np.ndarray) -> bool:
    """Whether there are rows enough, and neighbours enough in the lists of local candidates, if there are any."""
    if lists.size == 0:
        return _NEAR + _MOST <= n <= _MOST_WITHOUT_LISTS
    return n >= _NEAR + _MOST and lists.shape[2] > _NEAR


@jit
def draw_block(around, state):
    """A seed and up to three of its neighbours, the nearest or any of them; the least odd first, or in any order."""
    u = uniform(state)
    place = int(u * u * around.seeds.size)
    others = around.near[integer_below(state, 2), place].copy()
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
    return take(block, sorted_places(take(around.oddness, block)))


@jit(allocates=False)
def _shuffle(values, k, state):
    """Bring k of the values, drawn at random, to the front."""
    for j in range(k):
        swap = j + integer_below(state, values.size - j)
        values[j], values[swap] = values[swap], values[j]
