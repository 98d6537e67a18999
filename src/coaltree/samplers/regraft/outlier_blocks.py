"""Which outliers are moved together: blocks for `outlier_moves`, drawn from the data and chance alone.

Seeds are drawn from the twentieth of the rows whose neighbours are the farthest, the farthest most often; the others
are neighbours of the seed, among all rows or among the seeds: an outlier may resemble another that has nearer
neighbours. The row with the nearest neighbours mostly comes first, and finds the place; the others find theirs by it.
Nothing here depends on the tree or the scales, so that a block drops out of the acceptance of its move.
"""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from .nearest import nearest

_N_NEAR = 4  # rows that may be moved with a seed
_SIZE_BELOW = (0.15, 0.65, 0.85, 1.0)  # cumulative probability of 1, 2, … rows in a block
_ROWS_PER_SEED, _MAX_SEEDS = 20, 250  # the rows farthest from their neighbours
_MIN_ROWS = _N_NEAR + len(_SIZE_BELOW)
_MAX_ROWS_TO_SEARCH = 5000  # whose neighbours are searched in every iteration, where none are given


class Neighborhoods(NamedTuple):
    """Rows that blocks are made of: seeds, the farthest from others first, and the rows nearest to each."""

    seeds: np.ndarray  # (m,)
    near: np.ndarray  # (2, m, 4) among all rows, and among the seeds; nearest first
    distance: np.ndarray  # (n,) squared, from each row to its fifth neighbour, or the last; -1 without that many


def neighborhoods(W: np.ndarray, neighbors: np.ndarray) -> Neighborhoods:
    """Find seeds and their neighbours; `neighbors` are those of local candidates. Seeds have at least four of them."""
    # Where none are given there are few rows, or every branch is a candidate.
    near = _nearest_of(W, _N_NEAR + 1) if neighbors.size == 0 else neighbors[0]
    fifth = near[:, min(_N_NEAR, near.shape[1] - 1)]
    distance = np.where(fifth >= 0, np.square(W - W[fifth]).sum(axis=1), -1.0)
    n_seeds = min(max(_N_NEAR + 1, len(W) // _ROWS_PER_SEED), _MAX_SEEDS, int(np.count_nonzero(fifth >= 0)))
    seeds = np.argsort(-distance, kind="stable")[:n_seeds]
    among_all = near[seeds, :_N_NEAR]
    among_seeds = seeds[_nearest_of(W[seeds], _N_NEAR)] if n_seeds > _N_NEAR else among_all
    return Neighborhoods(seeds, np.array([among_all, among_seeds], np.int64), distance)


def _nearest_of(W: np.ndarray, k: int) -> np.ndarray:
    """(n, k) the rows nearest to each of W."""
    centred = np.ascontiguousarray(W - W.mean(axis=0))
    return nearest(centred, centred, k, np.arange(len(W)))


def can_move(n: int, neighbors: np.ndarray) -> bool:
    """Whether there are enough rows, and enough neighbours of each where local candidates have any."""
    if neighbors.size == 0:
        return _MIN_ROWS <= n <= _MAX_ROWS_TO_SEARCH
    return n >= _MIN_ROWS and neighbors.shape[2] > _N_NEAR


def draw_block(around: Neighborhoods, rng: Generator) -> np.ndarray:
    """Draw a seed and up to three of its neighbours, the nearest or any; the least far first, or in any order."""
    place = int(rng.random() ** 2 * len(around.seeds))
    others = around.near[rng.integers(2), place]
    if rng.random() < 0.5:
        others = rng.permutation(others)
    block = np.append(around.seeds[place], others[: np.searchsorted(_SIZE_BELOW, rng.random())])
    if rng.random() < 0.25:
        return rng.permutation(block)
    return block[np.argsort(around.distance[block], kind="stable")]
