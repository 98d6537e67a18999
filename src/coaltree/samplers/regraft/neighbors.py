"""Nearest leaves, at several densities: the lists from which local regrafting takes its candidates.

Level 0 lists for each row its nearest rows; level j its nearest among a random n / 4^j of them. A subtree high in
the tree holds all of a leaf's nearest rows; among a sample about as large as the number of lineages alive, the
nearest ones belong to the lineages around it.

Lists are made from the whitened data and chance alone, never from a tree, so that candidate sets stay independent of
where a subtree was.
"""

import warnings

import numpy as np

from ..._runtime.blas import single_threaded_blas
from ..._runtime.jit import jit
from ...errors import CoaltreeWarning

_SMALLEST_LEVEL = 32
_EXACT_UP_TO = 20_000
_BLOCK = 1 << 22  # distances held at once


def neighbor_lists(W: np.ndarray, n_neighbors: int, rng: np.random.Generator) -> np.ndarray:
    """Lists (levels, n, n_neighbors) int32 of nearest rows, nearest first; -1 where there are fewer.

    Exact up to 20,000 rows; above, by faiss if it is installed, else exact and slow.
    """
    W = np.ascontiguousarray(W, dtype=np.float64)
    n = len(W)
    k = min(n_neighbors, n - 1)
    order = rng.permutation(n)
    sizes = [n]
    while sizes[-1] // 4 >= _SMALLEST_LEVEL:
        sizes.append(sizes[-1] // 4)
    lists = np.full((len(sizes), n, k), -1, np.int32)
    with single_threaded_blas():
        centred = W - W.mean(axis=0)
        for level, size in enumerate(sizes):
            sample = np.sort(order[:size])
            lists[level] = nearest(centred, centred[sample], k, sample)
    return lists


def nearest(queries: np.ndarray, points: np.ndarray, k: int, numbers: np.ndarray) -> np.ndarray:
    """The k nearest points of each query but the query itself, as `numbers` of points; -1 where there are fewer.

    `numbers[i]` is the row of `queries` that point i is; points that are no query have numbers beyond them.
    """
    if len(points) > _EXACT_UP_TO:
        try:
            import faiss
        except ImportError:
            warnings.warn(
                f"Neighbours of {len(queries)} rows are searched exactly, which is slow; installing faiss-cpu"
                " (pip install 'coaltree[faiss]') makes it quick.",
                CoaltreeWarning,
                stacklevel=3,
            )
        else:
            return _nearest_by_faiss(faiss, queries, points, k, numbers)
    return _nearest_exactly(queries, points, k, numbers)


def _nearest_exactly(queries, points, k, numbers):
    squares = np.einsum("ij,ij->i", points, points)
    found = np.full((len(queries), k), -1, np.int32)
    numbers = np.asarray(numbers, dtype=np.int32)
    spare = 2 * k  # rounding in the product may swap near ties: more are kept, and ranked again by differences
    rows = max(1, _BLOCK // len(points))
    for start in range(0, len(queries), rows):
        block = queries[start : start + rows]
        products = block @ points.T
        _smallest(products, squares, spare, block, points, numbers, start, found[start : start + rows])
    return found


@jit
def _smallest(products, squares, spare, block, points, numbers, start, found):
    """Keep the `spare` least |y|² - 2xy of each row, rank them by |x - y|², and write the first."""
    best = np.empty(spare)
    where = np.empty(spare, np.int64)
    for i in range(block.shape[0]):
        row = products[i]
        n_kept = 0
        worst = np.inf
        for j in range(row.size):
            value = squares[j] - 2.0 * row[j]
            if value < worst and numbers[j] != start + i:
                n_kept = _insert(best, where, n_kept, value, j)
                worst = best[spare - 1] if n_kept == spare else np.inf
        _rank(block[i], points, where, n_kept, best)
        for j in range(min(n_kept, found.shape[1])):
            found[i, j] = numbers[where[j]]


@jit
def _insert(best, where, n_kept, value, j):
    if n_kept < best.size:
        n_kept += 1
    at = n_kept - 1
    while at > 0 and best[at - 1] > value:
        best[at], where[at] = best[at - 1], where[at - 1]
        at -= 1
    best[at], where[at] = value, j
    return n_kept


@jit
def _rank(x, points, where, n_kept, best):
    """Sort `where` by the distance of its points from x."""
    for i in range(n_kept):
        j = where[i]
        total = 0.0
        for column in range(x.size):
            total += (x[column] - points[j, column]) ** 2
        _insert(best[: i + 1], where[: i + 1], i, total, j)


def _nearest_by_faiss(faiss, queries, points, k, numbers):
    """Inverted lists over float32 vectors, then the 4k nearest ranked again in float64.

    float32 loses the finest scale (distances of 1e-5 beside coordinates of order 1), hence the second ranking. Rows are
    scaled, since squares of values that are small or large in all would be lost in it altogether.
    """
    scale = 1.0 / max(np.abs(points).max(initial=0.0), np.abs(queries).max(initial=0.0), 1e-300)
    p = max(points.shape[1], 1)
    n_lists = int(np.sqrt(len(points)))
    index = faiss.index_factory(p, f"IVF{n_lists},Flat")
    index.nprobe = max(8, n_lists // 24)
    single = np.ascontiguousarray(points * scale, dtype=np.float32)
    index.train(single[:: max(1, len(points) // (64 * n_lists))])
    index.add(single)
    _, where = index.search(np.ascontiguousarray(queries * scale, dtype=np.float32), min(4 * k, len(points)))
    found = np.full((len(queries), k), -1, np.int32)
    _rank_found(queries, points, where, np.asarray(numbers, dtype=np.int32), found)
    return found


@jit
def _rank_found(queries, points, where, numbers, found):
    best = np.empty(where.shape[1])
    kept = np.empty(where.shape[1], np.int64)
    for i in range(queries.shape[0]):
        n_kept = 0
        for j in where[i]:
            if j >= 0 and numbers[j] != i:
                kept[n_kept] = j
                n_kept += 1
        _rank(queries[i], points, kept, n_kept, best)
        for j in range(min(n_kept, found.shape[1])):
            found[i, j] = numbers[kept[j]]
