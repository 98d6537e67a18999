"""Missing entries: drawn from their exact conditional given everything else, in one walk over the leaves."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..._runtime.formatting import shortlist
from ..._runtime.jit import jit
from ..._runtime.random_streams import make_streams, standard_normal
from ...errors import InputError
from ..covariance import Components
from ..covariance.base import Covariance, column_variances
from ..process.diffusion import Variances
from ..process.leaf_messages import Walk, begin_walk, expected_var, next_leaf


def check_observed(values: np.ndarray, labels: Sequence[str], features: Sequence[str] | None) -> None:
    """Refuse rows and columns without any observed entry."""
    for axis, names, what in ((1, labels, "row"), (0, features, "column")):
        empty = np.flatnonzero(np.isnan(values).all(axis=axis))
        if len(empty):
            listed = shortlist([repr(names[i]) if names else str(i) for i in empty.tolist()])
            raise InputError(f"{what}(s) {listed} of X have only missing values; drop them.")


def agreeing_pair(values: np.ndarray) -> tuple[int, int] | None:
    """The first row with missing entries, and a row, that are equal in every column that both have; None if none.

    They share at least two: with one the density at distance 0 can still be integrated, v^(-1/2).
    """
    missing = np.isnan(values)
    for i in np.flatnonzero(missing.any(axis=1)):
        others = np.delete(np.arange(len(values)), i)
        for f in np.flatnonzero(~missing[i]):
            others = others[missing[others, f] | (values[others, f] == values[i, f])]
            if others.size == 0:
                break
        others = others[(values[others] == values[i]).sum(axis=1) >= 2]
        if others.size > 0:
            return int(i), int(others[0])
    return None


def fill_at_random(values: np.ndarray, covariance: Covariance, rng: np.random.Generator) -> np.ndarray:
    """Draw starting values of the missing entries, row by row, not yet as leaves of a tree.

    Without correlations an entry has the mean and variance of its column. Else it is drawn given the row's observed
    entries, from N(constant, Φ): under a smooth Φ it would take hundreds of iterations to smooth rough rows.
    """
    missing = np.isnan(values)
    if isinstance(covariance, Components):
        mu, e, rows = _prepared(values, missing, covariance, np.zeros(values.shape[1]), rng)
        for j in range(len(rows.h)):
            _draw_row(rows, j, np.zeros(rows.h.shape[1]), 1.0)
        return _filled(values, missing, covariance, mu + e, rows)
    precision = precision_of(covariance, values.shape[1])
    centre = np.full(values.shape[1], np.nanmean(values))
    if len(precision) == 1 or not np.any(np.tril(precision, -1)):
        centre, precision = np.nanmean(values, axis=0), 1.0 / column_variances(values)[None]
    (stream,), values = make_streams(rng, 1), values.copy()
    for i in np.flatnonzero(missing.any(axis=1)):
        _draw_leaf(values[i], missing[i], centre, 1.0, precision, stream)
    return values


def precision_of(covariance: Covariance, d: int) -> np.ndarray:
    """Φ⁻¹ as (d, d), or its diagonal as (1, d) where Φ is diagonal."""
    if covariance.is_diagonal:
        return 1.0 / covariance.diagonal(d)[None]
    root = covariance.whitener(d).whiten(np.eye(d))
    return np.asarray(root @ root.T)


def impute(
    children: np.ndarray,
    times: np.ndarray,
    values: np.ndarray,
    missing: np.ndarray,
    covariance: Covariance,
    leaf_var: Variances,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return `values` (n, d) with the entries marked `missing` drawn anew, leaf by leaf, given the tree and Φ.

    Given everything but leaf i, let its parent's value be z ~ N(o, q Φ), the parent being at time τ. Then

        x_i | rest ~ N(o, s Φ) ,   s = q + τ + leaf_var ,

    and with P = Φ⁻¹, m the missing and o the observed coordinates of x_i,

        x_m | x_o, rest ~ N(o_m - P_mm⁻¹ P_mo (x_o - o_o), s P_mm⁻¹) .

    Under `Components` a row is x = μ + V y + e in centred and scaled columns, e ~ N(0, σ² (I - V Vᵀ)), and given the
    rest of the tree y ~ N(o, s Φ). With A = V_oᵀ V_o of the observed entries, B = I - A, and a draw of both, y* and e*,

        q = V_oᵀ (x_o - μ_o - e*_o) ,   (s Φ A + σ² B) h = σ² (y* - q) + s Φ q ,   x_m = μ_m + e*_m + V_m h ,

    the row's component is q + B h, all that the walk needs.
    """
    n, d = values.shape
    incomplete = np.asarray(missing.any(axis=1))
    if isinstance(covariance, Components):
        V, mean = covariance.loadings, covariance.standardized(values).mean(axis=0)
        mu = mean + math.sqrt(covariance.residual_variance / n) * rng.standard_normal(d)
        mu, e, rows = _prepared(values, missing, covariance, mu - V @ (V.T @ mu), rng)
        _draw_rows(begin_walk(children, times, covariance.project(values), leaf_var, incomplete), rows)
        return _filled(values, missing, covariance, mu + e, rows)
    walk = begin_walk(children, times, values, leaf_var, incomplete)
    (stream,) = make_streams(rng, 1)
    _draw_leaves(walk, missing, precision_of(covariance, d), stream)
    return walk.mean[:n].copy()


@jit
def _draw_leaves(walk: Walk, missing: np.ndarray, precision: np.ndarray, stream: np.ndarray) -> None:
    i = next_leaf(walk)
    while i >= 0:
        s = expected_var(walk) + walk.var[i]
        _draw_leaf(walk.mean[i], missing[i], walk.outward[walk.depth[0]], s, precision, stream)
        i = next_leaf(walk)


@jit
def _draw_leaf(
    x: np.ndarray, missing: np.ndarray, o: np.ndarray, s: float, precision: np.ndarray, stream: np.ndarray
) -> None:
    """x_m ~ N(o_m - P_mm⁻¹ P_mo (x_o - o_o), s P_mm⁻¹), in place."""
    if precision.shape[0] == 1:
        for f in range(len(x)):
            if missing[f]:
                x[f] = o[f] + math.sqrt(s / precision[0, f]) * standard_normal(stream)
        return
    at = np.flatnonzero(missing)
    rows = precision[at]
    own, z = rows[:, at].copy(), np.empty(len(at))
    for a in range(len(at)):
        z[a] = math.sqrt(s) * standard_normal(stream)
    x[at] = o[at] + np.linalg.solve(own, np.linalg.cholesky(own) @ z - rows @ np.where(missing, 0.0, x - o))


class _Rows(NamedTuple):
    """What the conditional of m incomplete rows is made of, where components carry the tree."""

    number: np.ndarray  # (n,) of each row among the incomplete ones, -1 for others
    B: np.ndarray  # (m, K, K)
    q: np.ndarray  # (m, K)
    z: np.ndarray  # (m, K) standard normal
    h: np.ndarray  # (m, K) to be drawn
    Phi: np.ndarray
    chol: np.ndarray  # of Phi
    variance: float  # σ²


def _prepared(
    values: np.ndarray, missing: np.ndarray, covariance: Components, mu: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, _Rows]:
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
    rows = _Rows(number, B, q, z, np.empty_like(z), Phi, np.linalg.cholesky(Phi), covariance.residual_variance)
    return mu, e, rows


def _filled(
    values: np.ndarray, missing: np.ndarray, covariance: Components, beside: np.ndarray, rows: _Rows
) -> np.ndarray:
    filled = values.copy()
    drawn = covariance.columns_of(rows.h) + covariance.scale * beside
    filled[missing] = drawn[missing[missing.any(axis=1)]]
    return filled


@jit
def _draw_rows(walk: Walk, rows: _Rows) -> None:
    i = next_leaf(walk)
    while i >= 0:
        j = rows.number[i]
        _draw_row(rows, j, walk.outward[walk.depth[0]], expected_var(walk) + walk.var[i])
        walk.mean[i] = rows.q[j] + rows.B[j] @ rows.h[j]
        i = next_leaf(walk)


@jit
def _draw_row(rows: _Rows, j: int, o: np.ndarray, s: float) -> None:
    """Solve (s Φ A + σ² B) h = σ² (y* - q) + s Φ q with y* = o + √s L z, divided by σ² as no squared unit overflows."""
    own, B, q = s / rows.variance * rows.Phi, rows.B[j], rows.q[j]
    right = o + math.sqrt(s) * (rows.chol @ rows.z[j]) - q + own @ q
    rows.h[j] = np.linalg.solve(own - own @ B + B, right)
