"""The nearest rows of each row: exactly where there are few pairs, else in the cells around it.

Cells are those of a short k-means, about 4 √n of them. The rows of a cell are compared with the points of the nearest
cells, so many that a share of all is seen, as differences from the cell's centre, which keeps the finest scale. Where
rows search among themselves, they then look at the neighbours of their neighbours. The result depends on the rows
alone: the same bits with any number of threads.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.random import Generator

from ..._runtime.threads import allowed_threads, single_threaded_blas

_MAX_EXACT_PAIRS = 20_000**2
_BLOCK = 1 << 20  # distances held at once by a thread
_SHARE_SEEN, _MIN_SEEN = 0.06, 4096  # of the points, by each row: nearly all neighbours of six normal columns


def neighbor_graphs(W: np.ndarray, n_neighbors: int, rng: Generator) -> np.ndarray:
    """(levels, n, k) int32: neighbour graphs of local candidates, nearest first; -1 where there are fewer neighbours.

    Level 0 has the nearest rows of each row; level j the nearest among a random n / 4^j rows. A subtree high in the
    tree holds all of a leaf's nearest rows; among a sample about as large as the number of lineages alive, the nearest
    ones belong to the lineages around it. Nothing depends on a tree, so that candidate sets do not depend on where a
    subtree was. Exact up to 20,000 rows; above, nearly all are found where rows have structure.
    """
    W = np.ascontiguousarray(W, dtype=np.float64)
    n = len(W)
    k = min(n_neighbors, n - 1)
    order = rng.permutation(n)
    sizes = [n]
    while sizes[-1] // 4 >= 32:
        sizes.append(sizes[-1] // 4)
    levels = np.full((len(sizes), n, k), -1, np.int32)
    centred = W - W.mean(axis=0)
    for level, size in enumerate(sizes):
        sample = np.sort(order[:size])
        levels[level] = nearest(centred, centred if size == n else centred[sample], k, sample)
    return levels


def nearest(queries: np.ndarray, points: np.ndarray, k: int, numbers: np.ndarray) -> np.ndarray:
    """(queries, k) the `numbers` of each query's nearest points, but the query itself; -1 where there are fewer.

    `numbers[i]` is the row of `queries` that point i is; points that are no query have numbers beyond them.
    """
    numbers = np.asarray(numbers, dtype=np.int32)
    best = np.empty((len(queries), k), np.int32)
    with single_threaded_blas():
        if len(queries) * len(points) > _MAX_EXACT_PAIRS:
            _search_cells(queries, points, numbers, best)
            among_themselves = np.array_equal(numbers, np.arange(len(queries)))
            return _ask_neighbors(points, best) if among_themselves else best

        def search(first: int, last: int) -> None:
            _search(queries[first:last], np.arange(first, last), points, numbers, best[first:last])

        _in_blocks(search, len(queries), max(1, _BLOCK // max(len(points), _MIN_SEEN)))
    return best


def _in_blocks(work: Callable[[int, int], object], n: int, size: int) -> None:
    """Call work(first, last) for blocks of n; NumPy releases the interpreter's lock where it takes long."""
    firsts = range(0, n, size)
    n_threads = min(allowed_threads(), len(firsts))
    if n_threads <= 1:
        for first in firsts:
            work(first, min(n, first + size))
        return
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(lambda first: work(first, min(n, first + size)), firsts))


def _search(rows: np.ndarray, own: np.ndarray, points: np.ndarray, numbers: np.ndarray, best: np.ndarray) -> None:
    """Write the nearest points of some rows, whose own numbers are no neighbours of theirs.

    Twice as many with the least |y|² - 2xy are kept, since rounding may swap near ties.
    """
    near = np.einsum("ij,ij->i", points, points) - 2.0 * (rows @ points.T)
    n_kept = min(2 * best.shape[1] + 1, len(points))
    where = np.argpartition(near, n_kept - 1, axis=1)[:, :n_kept]
    _rank(rows, own, points, numbers, where, best)


def _rank(
    rows: np.ndarray, own: np.ndarray, points: np.ndarray, numbers: np.ndarray, where: np.ndarray, best: np.ndarray
) -> None:
    """Write the nearest of the points that are named for each row, equally near ones in order; -1 names none."""
    distance = np.square(points[where] - rows[:, None]).sum(axis=2)
    distance[(where < 0) | (numbers[where] == own[:, None])] = np.inf
    order = np.lexsort((where, distance), axis=1)[:, : best.shape[1]]
    is_there = np.take_along_axis(distance, order, axis=1) < np.inf
    best[:] = -1
    best[:, : order.shape[1]] = np.where(is_there, numbers[np.take_along_axis(where, order, axis=1)], -1)


def _search_cells(queries: np.ndarray, points: np.ndarray, numbers: np.ndarray, best: np.ndarray) -> None:
    """Write the nearest of about `n_seen` points of each row, in the cells around its own."""
    n_cells = min(len(points), int(4.0 * np.sqrt(len(points))))
    n_seen = max(_MIN_SEEN, int(_SHARE_SEEN * len(points)))
    centres = _centres(points, n_cells)
    members, asking = _by_cell(points, centres), _by_cell(queries, centres)
    sizes = np.array([len(member) for member in members])

    def search(first: int, last: int) -> None:
        for c in range(first, last):
            cells = np.argsort(np.square(centres - centres[c]).sum(axis=1), kind="stable")
            seen = np.concatenate([members[i] for i in cells[: 1 + np.searchsorted(np.cumsum(sizes[cells]), n_seen)]])
            inside, size = points[seen] - centres[c], max(1, _BLOCK // len(seen))
            for own in (asking[c][i : i + size] for i in range(0, len(asking[c]), size)):
                part = np.empty((len(own), best.shape[1]), np.int32)
                _search(queries[own] - centres[c], own, inside, numbers[seen], part)
                best[own] = part

    _in_blocks(search, n_cells, 16)


def _centres(points: np.ndarray, n_cells: int) -> np.ndarray:
    """The means of cells by four steps of k-means on a sample of sixteen rows for each."""
    sample = points[np.random.default_rng(0).permutation(len(points))[: 16 * n_cells]]
    centres = sample[:n_cells].copy()
    for _ in range(4):
        for centre, member in zip(centres, _by_cell(sample, centres), strict=True):
            if len(member):
                centre[:] = sample[member].mean(axis=0)
    return centres


def _by_cell(rows: np.ndarray, centres: np.ndarray) -> list[np.ndarray]:
    """The numbers of the rows that are nearest to each centre."""
    squares, cell = np.einsum("ij,ij->i", centres, centres), np.empty(len(rows), np.int64)

    def search(first: int, last: int) -> None:
        cell[first:last] = np.argmin(squares - 2.0 * (rows[first:last] @ centres.T), axis=1)

    _in_blocks(search, len(rows), max(1, _BLOCK // len(centres)))
    return np.split(np.argsort(cell, kind="stable"), np.cumsum(np.bincount(cell, minlength=len(centres)))[:-1])


def _ask_neighbors(points: np.ndarray, near: np.ndarray) -> np.ndarray:
    """The nearest of the neighbours of each row and of the twelve nearest of its twelve nearest."""
    n, k = near.shape
    n_asked, numbers, better = min(k, 12), np.arange(n, dtype=np.int32), np.empty_like(near)

    def ask(first: int, last: int) -> None:
        asked = near[first:last, :n_asked]
        theirs = np.where(asked[:, :, None] >= 0, near[asked, :n_asked], -1).reshape(last - first, -1)
        where = np.sort(np.concatenate([near[first:last], theirs], axis=1), axis=1)
        where[:, 1:][where[:, 1:] == where[:, :-1]] = -1
        _rank(points[first:last], numbers[first:last], points, numbers, where, better[first:last])

    _in_blocks(ask, n, max(1, _BLOCK // (n_asked * n_asked * max(1, points.shape[1]))))
    return better
