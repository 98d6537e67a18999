"""Messages to the leaves: mean and variance of each leaf's value given everything else, in a depth-first walk."""

from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from .diffusion import Variances, blend, join, messages, variance_at


class Walk(NamedTuple):
    """Messages of a tree and where the walk stands; `depth` and `path` are the merges above it."""

    children: np.ndarray  # (n-1, 2) int64
    times: np.ndarray
    mean: np.ndarray  # (2n-1, p) upward messages; those of leaves are theirs to change
    var: np.ndarray  # (2n-1,)
    # The value of c's parent given all but c's subtree, for c on the path and where the walk stands: by depth.
    outward: np.ndarray  # (height + 1, p)
    outward_var: np.ndarray  # (height + 1,)
    to_visit: np.ndarray  # (2n-1,) of bool
    stage: np.ndarray  # (2n-1,) how many children were visited
    path: np.ndarray
    depth: np.ndarray  # (1,)


def begin_walk(
    children: np.ndarray, times: np.ndarray, X: np.ndarray, leaf_var: Variances, to_visit: np.ndarray | None = None
) -> Walk:
    """A walk over all leaves of a tree with values X (n, p), or over those marked in `to_visit` (n,).

    A leaf may be changed, value and variance, when the walk stands at it; messages are renewed on the way back up, so
    that the next leaf sees the change. O(n p) for all leaves together.
    """
    up = messages(children, times, X, leaf_var)
    n, p = X.shape
    visit = np.ones(2 * n - 1, dtype=bool)
    if to_visit is not None:
        visit[:n] = to_visit
    children, times = np.ascontiguousarray(children, dtype=np.int64), np.ascontiguousarray(times, dtype=np.float64)
    height = _spread_visits(children, visit)
    outward, stage, path = np.empty((height + 1, p)), np.zeros(2 * n - 1, np.int64), np.empty(n, np.int64)
    path[0] = 2 * n - 2
    depth = np.array([int(visit[2 * n - 2])])
    return Walk(children, times, up.mean, up.var, outward, np.empty(height + 1), visit, stage, path, depth)


@jit
def _spread_visits(children: np.ndarray, visit: np.ndarray) -> int:
    """Mark the merges above leaves that are to be visited, and return the number above the deepest leaf."""
    n = len(children) + 1
    height = np.zeros(2 * n - 1, np.int64)
    for k in range(n - 1):
        i, j = children[k, 0], children[k, 1]
        height[n + k] = 1 + max(height[i], height[j])
        visit[n + k] = visit[i] or visit[j]
    return int(height[2 * n - 2])


@jit
def next_leaf(walk: Walk) -> int:
    """Go to the next leaf and return it, -1 after the last; given the rest it is N(outward[depth], `expected_var`)."""
    n = walk.times.size + 1
    while walk.depth[0] > 0:
        k = walk.path[walk.depth[0] - 1] - n
        if walk.stage[n + k] == 2:
            i, j = walk.children[k]
            s_i, s_j = variance_at(i, k, walk.times, walk.var), variance_at(j, k, walk.times, walk.var)
            _, w1, w2, walk.var[n + k] = join(s_i, s_j)
            blend(w1, walk.mean[i], w2, walk.mean[j], walk.mean[n + k])
            walk.depth[0] -= 1
            continue
        side = walk.stage[n + k]
        walk.stage[n + k] += 1
        c = walk.children[k, side]
        if not walk.to_visit[c]:
            continue
        _send_out(walk, walk.children[k, 1 - side], k)
        if c < n:
            return int(c)
        walk.path[walk.depth[0]] = c
        walk.depth[0] += 1
    return -1


@jit
def expected_var(walk: Walk) -> float:
    """The variance, given everything else, of the value under the leaf just visited."""
    n = walk.times.size + 1
    return float(walk.outward_var[walk.depth[0]] + walk.times[walk.path[walk.depth[0] - 1] - n])


@jit(inline="always")
def _send_out(walk: Walk, sibling: int, k: int) -> None:
    """The outward message of a child of merge k: from its sibling, and from above if k is not the root."""
    n, depth = walk.times.size + 1, walk.depth[0]
    s1 = variance_at(sibling, k, walk.times, walk.var)
    if depth == 1:
        walk.outward[1], walk.outward_var[1] = walk.mean[sibling], s1
        return
    parent_time = walk.times[walk.path[depth - 2] - n]
    s2 = walk.outward_var[depth - 1] + parent_time - walk.times[k]
    _, w1, w2, walk.outward_var[depth] = join(s1, s2)
    blend(w1, walk.mean[sibling], w2, walk.outward[depth - 1], walk.outward[depth])


def expected_leaves(children: np.ndarray, times: np.ndarray, X: np.ndarray, leaf_var: Variances) -> np.ndarray:
    """(n, p) expected values of the leaves themselves, of which X (n, p) are measurements with these variances.

    Given all other rows a leaf is N(m, q Φ), and with its own row at x and noise v it is expected at

        m + q / (q + v) · (x - m) .
    """
    walk = begin_walk(children, times, X, leaf_var)
    expected = np.empty_like(X, dtype=np.float64)
    _expect(walk, expected)
    return expected


@jit
def _expect(walk: Walk, expected: np.ndarray) -> None:
    i = next_leaf(walk)
    while i >= 0:
        q, depth = expected_var(walk), walk.depth[0]
        share = q / (q + walk.var[i]) if walk.var[i] > 0.0 else 1.0
        expected[i] = walk.outward[depth] + share * (walk.mean[i] - walk.outward[depth])
        i = next_leaf(walk)
