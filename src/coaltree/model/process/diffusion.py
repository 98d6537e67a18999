"""Brownian diffusion along a tree: messages, likelihood, contrasts, simulation; on whitened data, where Φ = I."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.threads import single_threaded_blas
from ...tree.tree import Tree

LOG_2PI = math.log(2.0 * math.pi)

Variances = float | np.ndarray  # one for all, or one each


@jit(inline="always")
def join(s1: float, s2: float) -> tuple[float, float, float, float]:
    """Combine two variances at a merge: return (v, w1, w2, var) with mean = w1 mean_1 + w2 mean_2."""
    v = s1 + s2
    if v == 0.0:  # two identical leaves at time 0
        return 0.0, 0.5, 0.5, 0.0
    w1 = s2 / v
    return v, w1, 1.0 - w1, s1 * w1


@jit
def blend(w1: float, x: np.ndarray, w2: float, y: np.ndarray, out: np.ndarray) -> None:
    """out = w1 x + w2 y for weights of sum 1, as the heavier of the two and a step towards the other.

    So equal coordinates stay as they are: w1 x + w2 x is not x, and where branches are short the last digit counts.
    No fastmath: which code runs may depend on where arrays lie, and must not change a bit.
    """
    if w1 < w2:
        for j in range(out.size):
            out[j] = y[j] + w1 * (x[j] - y[j])
    else:
        for j in range(out.size):
            out[j] = x[j] + w2 * (y[j] - x[j])


@jit(fastmath=True)
def squared_distance(x: np.ndarray, y: np.ndarray) -> float:
    """‖x - y‖². No store in here: sums in any order, but in the same order each time."""
    total = 0.0
    for j in range(x.size):
        total += (y[j] - x[j]) ** 2
    return total


@jit(inline="always")
def log_density_of_difference(eps: float, v: float, d: float) -> float:
    """Return log N(difference | 0, v I_d), for a squared length eps of the difference: -(d/2) log(2πv) - ε/(2v)."""
    if v == 0.0:
        return 0.0 if eps == 0.0 else -math.inf
    return -0.5 * (d * (LOG_2PI + math.log(v)) + eps / v)


@jit(inline="always")
def join_distance(w1: float, w2: float, eps_1j: float, eps_2j: float, eps_12: float) -> float:
    """Return ε_kj = w1 ε_1j + w2 ε_2j - w1 w2 ε_12 of the merged mean to a third one (Lance–Williams)."""
    return max(0.0, w1 * eps_1j + w2 * eps_2j - w1 * w2 * eps_12)


class Messages(NamedTuple):
    """Upward messages of all 2n - 1 nodes, and per merge the variance of its difference and its contrast."""

    mean: np.ndarray  # (2n - 1, p)
    var: np.ndarray  # (2n - 1,)
    v: np.ndarray  # (n - 1,)
    U: np.ndarray  # (n - 1, p) differences over √v; as they are where v = 0


@jit(inline="always")
def variance_at(c: int, k: int, times: np.ndarray, var: np.ndarray) -> float:
    """Return s̃_c = var_c + τ_k - τ_c, the variance of node c's message at the time of merge k."""
    n = times.shape[0] + 1
    return float(var[c] + times[k] - (times[c - n] if c >= n else 0.0))


@jit
def _pass_up(
    children: np.ndarray, times: np.ndarray, mean: np.ndarray, var: np.ndarray, v: np.ndarray, U: np.ndarray
) -> None:
    n = children.shape[0] + 1
    for k in range(n - 1):
        i, j = children[k, 0], children[k, 1]
        v[k], w1, w2, var[n + k] = join(variance_at(i, k, times, var), variance_at(j, k, times, var))
        scale = 1.0 / math.sqrt(v[k]) if v[k] > 0.0 else 1.0
        for f in range(U.shape[1]):
            U[k, f] = (mean[i, f] - mean[j, f]) * scale
        blend(w1, mean[i], w2, mean[j], mean[n + k])


def messages(children: np.ndarray, times: np.ndarray, W: np.ndarray, leaf_var: Variances = 0.0) -> Messages:
    """Return the upward `Messages` of whitened data W (n, p) on a tree; O(n p).

    Along a branch of length ℓ a value moves by N(0, ℓ Φ); the root is flat. Rotated data may have fewer columns p than
    the model has dimensions d. Messages go from the leaves to the root: z_c ~ N(mean_c, var_c I) for node c at its time
    τ_c, (x_i, leaf_var) for a leaf. For a merge k of nodes 1 and 2 at time τ_k

        s̃_c = var_c + τ_k - τ_c ,  v = s̃_1 + s̃_2 ,  mean_k = (s̃_2 mean_1 + s̃_1 mean_2) / v ,  var_k = s̃_1 s̃_2 / v .

    `leaf_var` is the variance of every leaf, or (n,) of each.
    """
    n, p = W.shape
    mean, var = np.empty((2 * n - 1, p)), np.empty(2 * n - 1)
    mean[:n] = W
    var[:n] = leaf_var
    up = Messages(mean, var, np.empty(n - 1), np.empty((n - 1, p)))
    _pass_up(np.ascontiguousarray(children), np.ascontiguousarray(times), *up)
    return up


def log_likelihood(
    children: np.ndarray,
    times: np.ndarray,
    W: np.ndarray,
    d: int | None = None,
    log_det: float = 0.0,
    leaf_var: Variances = 0.0,
) -> float:
    """Return log p(X | tree) from whitened data W (n, p).

        log p(X | tree) = Σ_k [ -(d/2) log(2π v_k) - ½ log|Φ| - ε_k / (2 v_k) ] ,   ε_k = ‖mean_1 - mean_2‖² .

    A merge of two identical leaves at time 0 (v = 0, ε = 0) has no density; it carries no factor, and the likelihood is
    that of the distinct rows. `d` is the model's dimension (default p) and `log_det` is log|Φ|.
    """
    up = messages(children, times, W, leaf_var)
    d = W.shape[1] if d is None else d
    proper = up.v > 0.0
    if up.U[~proper].any():
        return -math.inf
    v = up.v[proper]
    return float(-0.5 * (v.size * (d * LOG_2PI + log_det) + d * np.log(v).sum() + np.vdot(up.U, up.U)))


def contrasts(children: np.ndarray, times: np.ndarray, X: np.ndarray, leaf_var: Variances = 0.0) -> np.ndarray:
    """Return the contrasts u_k = (mean_1 - mean_2) / √v_k, (n - 1, d): given the tree, independent N(0, Φ).

    `X` may be raw or whitened data. Merges of identical leaves at time 0 say nothing of Φ and are left out, so U may
    have fewer than n - 1 rows.
    """
    up = messages(children, times, X, leaf_var)
    return up.U[up.v > 0.0]


def squared_distances(W: np.ndarray) -> np.ndarray:
    """Return all squared distances between the rows of W (n, p), shape (n, n), by one matrix product.

    ‖x‖² + ‖y‖² - 2 x·y loses the distances of rows that lie far closer to each other than to the centre: entries
    below 1e-6 of the larger squared norm are computed again from differences, so that every entry is good to about
    1e-9 and the distance of identical rows is exactly 0.
    """
    W = np.ascontiguousarray(W - W.mean(axis=0))
    with single_threaded_blas():
        eps = np.asarray(W @ W.T)
    norms = eps.diagonal().copy()
    np.fill_diagonal(eps, -np.inf)
    near = 1e-6 * norms.max()
    for first in range(0, len(W), 64):  # so few rows that they stay within cache
        block, own = eps[first : first + 64], norms[first : first + 64, None]
        block *= -2.0
        block += norms + own
        for i in np.flatnonzero((block < near).any(axis=1)):
            close = np.flatnonzero(block[i] < 1e-6 * np.maximum(own[i], norms))
            block[i, close] = np.square(W[first + i] - W[close]).sum(axis=1)
    np.fill_diagonal(eps, 0.0)
    return eps


def simulate_data(
    tree: Tree,
    d: int,
    rng: np.random.Generator,
    color: Callable[[np.ndarray], np.ndarray] | None = None,
    leaf_var: Variances = 0.0,
) -> np.ndarray:
    """Draw data (n, d) by diffusion down `tree` from the value 0 at its root.

    `color` turns standard normal rows (n, d) into rows of covariance Φ; without it Φ = I.
    """
    n = tree.n
    steps = rng.standard_normal((2 * n - 1, d))
    times = np.concatenate([np.zeros(n), tree.times])
    _pass_down(tree.children, times, steps, np.broadcast_to(np.asarray(leaf_var, dtype=np.float64), n).copy())
    return steps[:n] if color is None else color(steps[:n])


@jit
def _pass_down(children: np.ndarray, times: np.ndarray, value: np.ndarray, leaf_var: np.ndarray) -> None:
    n = children.shape[0] + 1
    value[2 * n - 2] = 0.0
    for k in range(n - 2, -1, -1):
        for side in range(2):
            c = children[k, side]
            scale = math.sqrt(times[n + k] - times[c] + (leaf_var[c] if c < n else 0.0))
            for f in range(value.shape[1]):
                value[c, f] = value[n + k, f] + scale * value[c, f]
