"""The nearest rows of each row: exactly where there are few pairs, else in the cells around it.

Cells are those of a short k-means, about 4 √n of them. A row searches the cells with the nearest centres until it has
seen a share of all points. Points are kept as float32 differences from the centre of their cell, and the nearest of
them ranked again in float64. Where rows search among themselves, they then look at the neighbours of their neighbours.
The result depends on the rows alone: the same bits with any number of threads.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from ..._runtime.jit import jit
from ..._runtime.threads import allowed_threads, single_threaded_blas
from ..._runtime.typing import Int

_MAX_EXACT_PAIRS = 20_000**2
_BLOCK = 1 << 22  # distances held at once
_QUERIES_PER_BLOCK = 2048
_MAX_THREADS = 8
_CELLS_PER_ROOT_N = 4.0
_ROWS_PER_CELL = 16  # from which centres are computed
_N_KMEANS = 4  # iterations
_SHARE_SEEN, _MIN_SEEN = 0.06, 4096  # of the points, by each row
_MAX_NEIGHBORS_ASKED = 12  # for their own neighbours
_STREAM = 18
_MIN_LEVEL = 32  # rows of the smallest level


def neighbor_graphs(W: np.ndarray, n_neighbors: int, rng: Generator) -> np.ndarray:
    """(levels, n, k) int32: neighbour graphs of local candidates, nearest first; -1 where there are fewer neighbours.

    Level 0 has the nearest rows of each row; level j the nearest among a random n / 4^j
    rows. A subtree high in the tree holds all of a leaf's nearest rows; among a sample about as large as the number of
    lineages alive, the nearest ones belong to the lineages around it. Nothing depends on a tree, so that candidate sets
    do not depend on where a subtree was. Exact up to 20,000 rows; above, more than 95 of 100 are found.
    """
    W = np.ascontiguousarray(W, dtype=np.float64)
    n = len(W)
    k = min(n_neighbors, n - 1)
    order = rng.permutation(n)
    sizes = [n]
    while sizes[-1] // 4 >= _MIN_LEVEL:
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
    with single_threaded_blas():
        if len(queries) * len(points) <= _MAX_EXACT_PAIRS:
            return _nearest_exactly(queries, points, k, numbers)
        return _nearest_in_cells(queries, points, k, numbers)


def _in_blocks(work: Callable[..., object], n: int, size: int, *args: Any) -> None:
    """Call work(first, last, *args) for blocks of rows; kernels and matrix products release the interpreter's lock."""
    blocks = [(first, min(n, first + size), *args) for first in range(0, n, size)]
    n_threads = min(allowed_threads(), _MAX_THREADS, len(blocks)) if len(blocks) > 1 else 1
    if n_threads <= 1:
        for block in blocks:
            work(*block)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(lambda block: work(*block), blocks))


def _nearest_exactly(queries: np.ndarray, points: np.ndarray, k: int, numbers: np.ndarray) -> np.ndarray:
    squares = np.einsum("ij,ij->i", points, points)
    found = np.full((len(queries), k), -1, np.int32)

    def work(first: int, last: int) -> None:
        block = queries[first:last]
        _smallest(block @ points.T, squares, block, points, numbers, first, found[first:last])

    _in_blocks(work, len(queries), max(1, _BLOCK // max(1, len(points))))
    return found


@jit
def _smallest(
    products: np.ndarray,
    squares: np.ndarray,
    block: np.ndarray,
    points: np.ndarray,
    numbers: np.ndarray,
    start: Int,
    found: np.ndarray,
) -> None:
    """Keep twice as many least |y|² - 2xy of each row, since rounding may swap near ties, and rank them by |x - y|²."""
    spare = 2 * found.shape[1]
    best, where = np.empty(spare), np.empty(spare, np.int64)
    for i in range(block.shape[0]):
        row = products[i]
        n_kept = np.int64(0)
        worst = np.inf
        for j in range(row.size):
            value = squares[j] - 2.0 * row[j]
            if value < worst and numbers[j] != start + i:
                n_kept = push(best, where, n_kept, value, j)
                worst = best[0] if n_kept == spare else np.inf
        _rank(block[i], points, where, n_kept, best)
        for j in range(min(n_kept, found.shape[1])):
            found[i, j] = numbers[where[j]]


@jit
def push(best: np.ndarray, where: np.ndarray, n_kept: Int, value: float, j: Int) -> Int:
    """Add to a heap whose first value is its largest, which is replaced once the heap is full."""
    if n_kept < best.size:
        at = n_kept
        while at > 0 and best[(at - 1) >> 1] < value:
            best[at], where[at] = best[(at - 1) >> 1], where[(at - 1) >> 1]
            at = (at - 1) >> 1
        best[at], where[at] = value, j
        return n_kept + 1
    at = 0
    while True:
        below = 2 * at + 1
        if below >= n_kept:
            break
        if below + 1 < n_kept and best[below + 1] > best[below]:
            below += 1
        if best[below] <= value:
            break
        best[at], where[at] = best[below], where[below]
        at = below
    best[at], where[at] = value, j
    return n_kept


@jit
def _rank(x: np.ndarray, points: np.ndarray, where: np.ndarray, n_kept: Int, best: np.ndarray) -> None:
    """Sort `where` by the distance of its points from x, near ties as `best` has them, then by number."""
    _sort(best, where, n_kept)
    for i in range(n_kept):
        j, distance = where[i], _squared_distance(x, points[where[i]])
        at = i
        while at > 0 and best[at - 1] > distance:
            best[at], where[at] = best[at - 1], where[at - 1]
            at -= 1
        best[at], where[at] = distance, j


@jit
def _sort(best: np.ndarray, where: np.ndarray, n_kept: Int) -> None:
    for i in range(1, n_kept):
        value, j, at = best[i], where[i], i
        while at > 0 and (best[at - 1] > value or (best[at - 1] == value and where[at - 1] > j)):
            best[at], where[at] = best[at - 1], where[at - 1]
            at -= 1
        best[at], where[at] = value, j


@jit
def _squared_distance(x: np.ndarray, y: np.ndarray) -> float:
    total = 0.0
    for column in range(x.size):
        total += (x[column] - y[column]) ** 2
    return total


class Cells(NamedTuple):
    """Points sorted by cell; columns are padded with zeros to a multiple of four."""

    points: np.ndarray  # (n, p)
    numbers: np.ndarray  # (n,)
    centres: np.ndarray  # (cells, p)
    across: np.ndarray  # (p, cells) float32: the same, column by column
    radius: np.ndarray  # (cells,) distance of the farthest point from its centre
    start: np.ndarray  # (cells + 1,) where the points of each cell begin
    member: np.ndarray  # (n,) which point stands there
    inside: np.ndarray  # (p, n) float32: differences from the centre


def _nearest_in_cells(queries: np.ndarray, points: np.ndarray, k: int, numbers: np.ndarray) -> np.ndarray:
    scale = 1.0 / max(np.abs(points).max(initial=0.0), np.abs(queries).max(initial=0.0), 1e-300)
    padding = (0, 0), (0, max(4, -(-points.shape[1] // 4) * 4) - points.shape[1])
    queries, points = (np.pad(rows * scale, padding) for rows in (queries, points))
    cells = _make_cells(points, numbers)
    order = np.argsort(_nearest_centre(queries, cells.centres), kind="stable")  # for the cache
    found = np.full((len(queries), k), -1, np.int32)
    look_at = max(_MIN_SEEN, int(_SHARE_SEEN * len(points)))
    _in_blocks(_search_cells, len(queries), _QUERIES_PER_BLOCK, order, queries, cells, look_at, found)
    is_among_themselves = np.array_equal(numbers, np.arange(len(queries)))
    return _among_neighbors(order, points, found) if is_among_themselves else found


def _among_neighbors(order: np.ndarray, points: np.ndarray, found: np.ndarray) -> np.ndarray:
    """The nearest of what was found and of the neighbours of each row's neighbours."""
    better = np.empty_like(found)
    _in_blocks(_ask_neighbors, len(points), _QUERIES_PER_BLOCK, order, points, found, better)
    return better


@jit
def _ask_neighbors(
    first: Int, last: Int, order: np.ndarray, points: np.ndarray, found: np.ndarray, better: np.ndarray
) -> None:
    n, k = found.shape
    far, who = np.empty(k), np.empty(k, np.int64)
    seen = np.full(n, -1, np.int32)
    n_asked = min(k, _MAX_NEIGHBORS_ASKED)
    for i in order[first:last]:
        seen[i] = i
        n_kept = np.int64(0)
        for j in found[i]:
            if j >= 0:
                seen[j] = i
                n_kept = push(far, who, n_kept, _squared_distance(points[i], points[j]), j)
        for neighbor in found[i, :n_asked]:
            if neighbor < 0:
                continue
            for j in found[neighbor, :n_asked]:
                if j < 0 or seen[j] == i:
                    continue
                seen[j] = i
                distance = _squared_distance(points[i], points[j])
                if n_kept < k or distance < far[0]:
                    n_kept = push(far, who, n_kept, distance, j)
        _rank(points[i], points, who, n_kept, far)
        better[i] = -1
        better[i, :n_kept] = who[:n_kept]


def _make_cells(points: np.ndarray, numbers: np.ndarray) -> Cells:
    """Find cells by k-means on a sample; each point is in the cell of the nearest centre."""
    n, p = points.shape
    n_cells = min(n, int(_CELLS_PER_ROOT_N * np.sqrt(n)))
    some = points[np.random.default_rng(_STREAM).permutation(n)[: _ROWS_PER_CELL * n_cells]]
    centres = some[:n_cells].copy()
    for _ in range(_N_KMEANS):
        cell = _nearest_centre(some, centres)
        size = np.bincount(cell, minlength=n_cells)
        sums = np.stack([np.bincount(cell, some[:, j], n_cells) for j in range(p)], axis=1)
        centres = np.where(size[:, None] > 0, sums / np.maximum(size, 1)[:, None], centres)
    cell = _nearest_centre(points, centres)
    member = np.argsort(cell, kind="stable")
    start = np.searchsorted(cell[member], np.arange(n_cells + 1))
    inside = points[member] - centres[cell[member]]
    radius = np.zeros(n_cells)
    np.maximum.at(radius, cell[member], np.sqrt(np.einsum("ij,ij->i", inside, inside)))
    across = np.ascontiguousarray(centres.T, dtype=np.float32)
    inside = np.ascontiguousarray(inside.T, dtype=np.float32)
    return Cells(points, numbers, centres, across, radius, start, member, inside)


def _nearest_centre(rows: np.ndarray, centres: np.ndarray) -> np.ndarray:
    squares = np.einsum("ij,ij->i", centres, centres)
    cell = np.empty(len(rows), np.int64)

    def work(first: int, last: int) -> None:
        cell[first:last] = np.argmin(squares - 2.0 * (rows[first:last] @ centres.T), axis=1)

    _in_blocks(work, len(rows), max(1, _BLOCK // (4 * len(centres))))
    return cell


@jit
def _squared_distances(x: np.ndarray, columns: np.ndarray, first: Int, last: Int, out: np.ndarray) -> None:
    """out[j] = |x - columns[:, first + j]|², four columns at a time."""
    for j in range(last - first):
        out[j] = np.float32(0.0)
    for c in range(0, x.size, 4):
        a, b, u, v = x[c], x[c + 1], x[c + 2], x[c + 3]
        one, two, three, four = (
            columns[c, first:last], columns[c + 1, first:last], columns[c + 2, first:last], columns[c + 3, first:last],
        )  # fmt: skip
        for j in range(last - first):
            out[j] += (one[j] - a) ** 2 + (two[j] - b) ** 2 + (three[j] - u) ** 2 + (four[j] - v) ** 2


@jit
def _search_cells(
    first: Int, last: Int, order: np.ndarray, queries: np.ndarray, cells: Cells, look_at: Int, found: np.ndarray
) -> None:
    """Write the nearest of about `look_at` points of each row, in the cells around it."""
    n_cells, p = cells.centres.shape
    spare = found.shape[1] + found.shape[1] // 2 + 8
    largest = np.max(cells.start[1:] - cells.start[:-1])
    far = np.empty(max(n_cells, largest), np.float32)
    n_probes = max(1, min(n_cells, np.int64(2.0 * look_at * n_cells / cells.points.shape[0])))
    probe, probe_far = np.empty(n_probes, np.int64), np.empty(n_probes)
    best, where = np.empty(spare), np.empty(spare, np.int64)
    x = np.empty(p, np.float32)
    for i in order[first:last]:
        for c in range(p):
            x[c] = queries[i, c]
        _squared_distances(x, cells.across, 0, n_cells, far)
        n_near = np.int64(0)
        for c in range(n_cells):
            if n_near < n_probes or far[c] < probe_far[0]:
                n_near = push(probe_far, probe, n_near, np.float64(far[c]), c)
        _rank(queries[i], cells.centres, probe, n_near, probe_far)
        n_kept, n_seen = np.int64(0), 0
        for near in range(n_near):
            c = probe[near]
            start, stop = cells.start[c], cells.start[c + 1]
            gap = np.sqrt(probe_far[near]) - cells.radius[c]
            if n_kept == spare and gap > 0.0 and gap * gap > best[0]:
                continue
            for column in range(p):
                x[column] = queries[i, column] - cells.centres[c, column]
            _squared_distances(x, cells.inside, start, stop, far)
            for j in range(stop - start):
                if (n_kept < spare or far[j] < best[0]) and cells.numbers[cells.member[start + j]] != i:
                    n_kept = push(best, where, n_kept, np.float64(far[j]), cells.member[start + j])
            n_seen += stop - start
            if n_seen >= look_at and n_kept == spare:
                break
        _rank(queries[i], cells.points, where, n_kept, best)
        for j in range(min(n_kept, found.shape[1])):
            found[i, j] = cells.numbers[where[j]]
