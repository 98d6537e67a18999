"""The nearest rows of each row: exactly where there are few pairs, else in the cells around it.

Cells are those of a short k-means, about 4 √n of them. A row looks into the cells whose centres are nearest, until it
has seen a share of all points, and passes over a cell that lies farther off than what it has. The points of a cell are
kept as float32 differences from its centre, so that rounding is relative to the cell and not to the whole table; the
nearest of these are ranked again in float64. Where the rows look among themselves, they then look at the neighbours of
their neighbours, which finds most of what lay beyond the cells seen.

All of it follows from the rows alone: no random numbers, and the same bits with any number of threads.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.threads import allowed_threads, single_threaded_blas
from ...model.data.neighbor_graph import Graph

_EXACT_UP_TO = 20_000**2  # pairs
_BLOCK = 1 << 22  # distances held at once
_QUERIES_A_BLOCK = 2048
_MOST_THREADS = 8
_CELLS = 4.0  # times √n
_ROWS_A_CELL = 16  # that centres are made of
_ITERATIONS = 4
_SHARE, _FEWEST = 0.06, 4096  # of the points, that a row looks at
_FRIENDS = 12  # neighbours of a row, and of these, that are asked in the end
_STREAM = 18


def nearest(queries: np.ndarray, points: np.ndarray, k: int, numbers: np.ndarray) -> np.ndarray:
    """The k nearest points of each query but the query itself, as `numbers` of points; -1 where there are fewer.

    `numbers[i]` is the row of `queries` that point i is; points that are no query have numbers beyond them.
    """
    numbers = np.asarray(numbers, dtype=np.int32)
    with single_threaded_blas():
        if len(queries) * len(points) <= _EXACT_UP_TO:
            return _nearest_exactly(queries, points, k, numbers)
        return _nearest_in_cells(queries, points, k, numbers)


def nearest_in_graph(points: np.ndarray, k: int, graph: Graph) -> np.ndarray:
    """The k nearest of each point's neighbours in a graph; -1 where there are fewer."""
    found = np.full((len(points), k), -1, np.int32)

    def work(first, last):
        _rank_neighbors(first, last, points, graph.start, graph.member, found)

    _in_blocks(work, len(points), _QUERIES_A_BLOCK)
    return found


@jit
def _rank_neighbors(first, last, points, start, member, found):
    far, who = np.empty(found.shape[1]), np.empty(found.shape[1], np.int64)
    for i in range(first, last):
        n_kept = 0
        for j in member[start[i] : start[i + 1]]:
            distance = _squared_distance(points[i], points[j])
            if n_kept < far.size or distance < far[0]:
                n_kept = push(far, who, n_kept, distance, j)
        _sort(far, who, n_kept)
        for place in range(n_kept):
            found[i, place] = who[place]


def _in_blocks(work: Callable[[int, int], object], n: int, size: int) -> None:
    """Call work(first, last) for blocks of rows; kernels and matrix products let go of the interpreter's lock."""
    bounds = range(0, n, size)
    n_threads = min(allowed_threads(), _MOST_THREADS, len(bounds)) if len(bounds) > 1 else 1
    if n_threads <= 1:
        for first in bounds:
            work(first, min(n, first + size))
        return
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(lambda first: work(first, min(n, first + size)), bounds))


# --- exactly -----------------------------------------------------------------------------------------------------


def _nearest_exactly(queries, points, k, numbers):
    squares = np.einsum("ij,ij->i", points, points)
    found = np.full((len(queries), k), -1, np.int32)
    spare = 2 * k  # rounding in the product may swap near ties: more are kept, and ranked again by differences

    def work(first, last):
        block = queries[first:last]
        _smallest(block @ points.T, squares, spare, block, points, numbers, first, found[first:last])

    _in_blocks(work, len(queries), max(1, _BLOCK // max(1, len(points))))
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
                n_kept = push(best, where, n_kept, value, j)
                worst = best[0] if n_kept == spare else np.inf
        _rank(block[i], points, where, n_kept, best)
        for j in range(min(n_kept, found.shape[1])):
            found[i, j] = numbers[where[j]]


@jit(allocates=False)
def push(best, where, n_kept, value, j):
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


@jit(allocates=False)
def _rank(x, points, where, n_kept, best):
    """Sort `where` by the distance of its points from x, near ties as `best` has them, then by number."""
    _sort(best, where, n_kept)
    for i in range(n_kept):
        j, distance = where[i], _squared_distance(x, points[where[i]])
        at = i
        while at > 0 and best[at - 1] > distance:
            best[at], where[at] = best[at - 1], where[at - 1]
            at -= 1
        best[at], where[at] = distance, j


@jit(allocates=False)
def _sort(best, where, n_kept):
    for i in range(1, n_kept):
        value, j, at = best[i], where[i], i
        while at > 0 and (best[at - 1] > value or (best[at - 1] == value and where[at - 1] > j)):
            best[at], where[at] = best[at - 1], where[at - 1]
            at -= 1
        best[at], where[at] = value, j


@jit(allocates=False)
def _squared_distance(x, y):
    total = 0.0
    for column in range(x.size):
        total += (x[column] - y[column]) ** 2
    return total


# --- in cells ----------------------------------------------------------------------------------------------------


class Cells(NamedTuple):
    """Points sorted by cell; columns are padded with zeros to a multiple of four."""

    centres: np.ndarray  # (cells, p)
    across: np.ndarray  # (p, cells) float32: the same, column by column
    radius: np.ndarray  # (cells,) distance of the farthest point from its centre
    start: np.ndarray  # (cells + 1,) where the points of each cell begin
    member: np.ndarray  # (n,) which point stands there
    inside: np.ndarray  # (p, n) float32: differences from the centre


def _nearest_in_cells(queries, points, k, numbers):
    scale = 1.0 / max(np.abs(points).max(initial=0.0), np.abs(queries).max(initial=0.0), 1e-300)
    padding = (0, 0), (0, max(4, -(-points.shape[1] // 4) * 4) - points.shape[1])
    padded = [np.pad(rows * scale, padding) for rows in (queries, points)]
    cells = make_cells(padded[1])
    order = np.argsort(_nearest_centre(padded[0], cells.centres), kind="stable")  # kin look into the same cells
    found = np.full((len(queries), k), -1, np.int32)
    look_at = max(_FEWEST, int(_SHARE * len(points)))
    spare = k + k // 2 + 8

    def work(first, last):
        _look_around(order[first:last], *padded, cells, look_at, spare, numbers, found)

    _in_blocks(work, len(queries), _QUERIES_A_BLOCK)
    is_among_themselves = np.array_equal(numbers, np.arange(len(queries)))
    return _among_friends(order, padded[1], found) if is_among_themselves else found


def _among_friends(order, points, found):
    """The lists after a look at the neighbours of each row's neighbours."""
    better = np.empty_like(found)

    def work(first, last):
        _ask_friends(order[first:last], points, found, better)

    _in_blocks(work, len(points), _QUERIES_A_BLOCK)
    return better


@jit
def _ask_friends(rows, points, found, better):
    n, k = found.shape
    far, who = np.empty(k), np.empty(k, np.int64)
    seen = np.full(n, -1, np.int32)
    n_friends = min(k, _FRIENDS)
    for i in rows:
        seen[i] = i
        n_kept = 0
        for j in found[i]:
            if j >= 0:
                seen[j] = i
                n_kept = push(far, who, n_kept, _squared_distance(points[i], points[j]), j)
        for friend in found[i, :n_friends]:
            if friend < 0:
                continue
            for j in found[friend, :n_friends]:
                if j >= 0 and seen[j] != i:
                    seen[j] = i
                    distance = _squared_distance(points[i], points[j])
                    if n_kept < k or distance < far[0]:
                        n_kept = push(far, who, n_kept, distance, j)
        _rank(points[i], points, who, n_kept, far)
        better[i] = -1
        better[i, :n_kept] = who[:n_kept]


def make_cells(points: np.ndarray) -> Cells:
    """A few steps of k-means on a sample, then all points in the cell of the nearest centre."""
    n, p = points.shape
    n_cells = min(n, int(_CELLS * np.sqrt(n)))
    some = points[np.random.default_rng(_STREAM).permutation(n)[: _ROWS_A_CELL * n_cells]]
    centres = some[:n_cells].copy()
    for _ in range(_ITERATIONS):
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
    return Cells(centres, across, radius, start, member, np.ascontiguousarray(inside.T, dtype=np.float32))


def _nearest_centre(rows, centres):
    squares = np.einsum("ij,ij->i", centres, centres)
    cell = np.empty(len(rows), np.int64)

    def work(first, last):
        cell[first:last] = np.argmin(squares - 2.0 * (rows[first:last] @ centres.T), axis=1)

    _in_blocks(work, len(rows), max(1, _BLOCK // (4 * len(centres))))
    return cell


@jit(allocates=False)
def _squared_distances(x, columns, first, last, out):
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
def _look_around(rows, queries, points, cells, look_at, spare, numbers, found):
    n_cells, p = cells.centres.shape
    largest = np.max(cells.start[1:] - cells.start[:-1])
    far = np.empty(max(n_cells, largest), np.float32)
    n_probes = max(1, min(n_cells, np.int64(2.0 * look_at * n_cells / points.shape[0])))
    probe, probe_far = np.empty(n_probes, np.int64), np.empty(n_probes)
    best, where = np.empty(spare), np.empty(spare, np.int64)
    x = np.empty(p, np.float32)
    for i in rows:
        for c in range(p):
            x[c] = queries[i, c]
        _squared_distances(x, cells.across, 0, n_cells, far)
        n_near = 0
        for c in range(n_cells):
            if n_near < n_probes or far[c] < probe_far[0]:
                n_near = push(probe_far, probe, n_near, np.float64(far[c]), c)
        _rank(queries[i], cells.centres, probe, n_near, probe_far)
        n_kept, n_seen = 0, 0
        for near in range(n_near):
            c = probe[near]
            first, last = cells.start[c], cells.start[c + 1]
            gap = np.sqrt(probe_far[near]) - cells.radius[c]
            if n_kept == spare and gap > 0.0 and gap * gap > best[0]:
                continue
            for column in range(p):
                x[column] = queries[i, column] - cells.centres[c, column]
            _squared_distances(x, cells.inside, first, last, far)
            for j in range(last - first):
                if (n_kept < spare or far[j] < best[0]) and numbers[cells.member[first + j]] != i:
                    n_kept = push(best, where, n_kept, np.float64(far[j]), cells.member[first + j])
            n_seen += last - first
            if n_seen >= look_at and n_kept == spare:
                break
        _rank(queries[i], points, where, n_kept, best)
        for j in range(min(n_kept, found.shape[1])):
            found[i, j] = numbers[where[j]]
