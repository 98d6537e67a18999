"""Missing entries where components carry the tree: from their exact conditional, by K × K systems.

In centred and scaled columns a row is x = μ + V y + e with e ~ N(0, σ² (I - V Vᵀ)), and given the rest of the tree
y ~ N(o, s Φ). With A = V_oᵀ V_o of the observed entries, B = I - A, and a draw of both, y* and e*, conditioned as

    q = V_oᵀ (x_o - μ_o - e*_o) ,   (s Φ A + σ² B) h = σ² (y* - q) + s Φ q ,   x_m = μ_m + e*_m + V_m h ,

the row's component is q + B h, all that the walk over the leaves needs.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ..covariance.components import Components
from ..process.diffusion import Variances
from ..process.leaf_messages import Walk, begin_walk, expected_var, next_leaf


class Rows(NamedTuple):
    """What the conditional of m incomplete rows is made of."""

    number: np.ndarray  # (n,) of each row among the incomplete ones, -1 for others
    B: np.ndarray  # (m, K, K)
    q: np.ndarray  # (m, K)
    z: np.ndarray  # (m, K) standard normal
    h: np.ndarray  # (m, K) to be drawn
    Phi: np.ndarray
    chol: np.ndarray  # of Phi
    variance: float  # σ²


def fill_at_random(values: np.ndarray, covariance: Components, rng: np.random.Generator) -> np.ndarray:
    """Draw starting values of the missing entries, row by row, not yet as leaves of a tree."""
    missing = np.isnan(values)
    mu, e, rows = _prepared(values, missing, covariance, np.zeros(values.shape[1]), rng)
    for j in range(len(rows.h)):
        _draw_row(rows, j, np.zeros(rows.h.shape[1]), 1.0)
    return _filled(values, missing, covariance, mu + e, rows)


def impute(
    children: np.ndarray,
    times: np.ndarray,
    values: np.ndarray,
    missing: np.ndarray,
    covariance: Components,
    leaf_var: Variances,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return `values` (n, d) with the entries marked `missing` drawn anew, leaf by leaf, given the tree and θ."""
    V = covariance.loadings
    residuals = covariance.standardized(values).mean(axis=0)
    mu = residuals + math.sqrt(covariance.residual_variance / len(values)) * rng.standard_normal(len(V))
    mu, e, rows = _prepared(values, missing, covariance, mu - V @ (V.T @ mu), rng)
    walk = begin_walk(children, times, covariance.project(values), leaf_var, np.asarray(missing.any(axis=1)))
    _draw_rows(walk, rows)
    return _filled(values, missing, covariance, mu + e, rows)


def _prepared(
    values: np.ndarray, missing: np.ndarray, covariance: Components, mu: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, Rows]:
    """μ (d,), e* (m, d) and all else that is known before the tree is walked over."""
    V, incomplete = covariance.loadings, np.flatnonzero(missing.any(axis=1))
    gaps, K = missing[incomplete], V.shape[1]
    e = math.sqrt(covariance.residual_variance) * rng.standard_normal(gaps.shape)
    e -= (e @ V) @ V.T
    q = np.where(gaps, 0.0, covariance.standardized(values[incomplete]) - mu - e) @ V
    number = np.full(len(values), -1)
    number[incomplete] = np.arange(len(incomplete))
    B = (gaps.astype(float) @ (V[:, :, None] * V[:, None, :]).reshape(len(V), -1)).reshape(-1, K, K)
    z, Phi = rng.standard_normal((len(incomplete), K)), covariance.matrix(K)
    rows = Rows(number, B, q, z, np.empty_like(z), Phi, np.linalg.cholesky(Phi), covariance.residual_variance)
    return mu, e, rows


def _filled(
    values: np.ndarray, missing: np.ndarray, covariance: Components, beside: np.ndarray, rows: Rows
) -> np.ndarray:
    filled = values.copy()
    drawn = covariance.columns_of(rows.h) + covariance.scale * beside
    filled[missing] = drawn[missing[missing.any(axis=1)]]
    return filled


@jit
def _draw_rows(walk: Walk, rows: Rows) -> None:
    i = next_leaf(walk)
    while i >= 0:
        j = rows.number[i]
        _draw_row(rows, j, walk.outward[walk.depth[0]], expected_var(walk) + walk.var[i])
        for k in range(rows.h.shape[1]):
            walk.mean[i, k] = rows.q[j, k]
            for f in range(rows.h.shape[1]):
                walk.mean[i, k] += rows.B[j, k, f] * rows.h[j, f]
        i = next_leaf(walk)


@jit
def _draw_row(rows: Rows, j: int, o: np.ndarray, s: float) -> None:
    """Solve (s Φ A + σ² B) h = σ² (y* - q) + s Φ q with y* = o + √s L z."""
    K = o.shape[0]
    matrix, right = np.empty((K, K)), np.empty(K)
    for a in range(K):
        right[a] = rows.variance * (o[a] - rows.q[j, a])
        for b in range(K):
            right[a] += s * rows.Phi[a, b] * rows.q[j, b]
            if b <= a:
                right[a] += rows.variance * math.sqrt(s) * rows.chol[a, b] * rows.z[j, b]
            matrix[a, b] = s * rows.Phi[a, b] + rows.variance * rows.B[j, a, b]
            for c in range(K):
                matrix[a, b] -= s * rows.Phi[a, c] * rows.B[j, c, b]
    rows.h[j] = np.linalg.solve(matrix, right)
