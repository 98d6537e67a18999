"""Principal directions of a table, of which entries may be missing, without anything of size d²."""

from collections.abc import Iterable

import numpy as np
from scipy.sparse.linalg import svds

_MIN_SINGULAR = 1e-7  # of the largest singular value: what is less is rounding
_MAX_DENSE = 500  # rows or columns up to which all singular vectors are computed
_MAX_EM_STEPS, _EM_TOLERANCE = 200, 1e-3  # of the angle that a step turns the directions by
_MIN_SEEN = 0.05  # of a direction, below which a row says nothing of it
_SEED = 20124
_MAX_RATIO_OF_RANGES = 8.0  # of columns in one unit: 90 % to 10 % quantile, and largest to median
_MIN_DISTINCT_VALUES = 5  # in half of the columns; categories and their indicators have no unit


def principal_directions(Z: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, int]:
    """(d, K) orthonormal directions of rows Z (n, d), (d,) their centre, and how many of k + 1 directions rows span.

    K is k, or one less than the rows span; the largest loading of each direction is positive. For complete rows these
    are singular vectors; else the maximum of p(X_observed | W, μ, v) under probabilistic principal components
    x = μ + W z + e, e ~ N(0, v I), by expectation and maximisation, with the directions that W spans.
    """
    missing = np.isnan(Z)
    centre = np.nanmean(Z, axis=0)
    filled = np.where(missing, 0.0, Z - centre)
    singular, V = _leading(filled, k + 1)
    rank = int(np.count_nonzero(singular > _MIN_SINGULAR * singular[0])) if singular[0] > 0.0 else 0
    k = min(k, rank - 1)
    V = V[:, : max(k, 0)]
    if k > 0 and missing.any():
        rest = max(float(np.vdot(filled, filled) - np.square(singular[:k]).sum()), 1e-6 * float(singular[0] ** 2))
        V, centre = _by_em(Z, missing, V * singular[:k] / np.sqrt(len(Z)), centre, rest / filled.size)
    largest = np.abs(V).argmax(axis=0)
    return np.ascontiguousarray(V * np.sign(V[largest, np.arange(V.shape[1])])), centre, rank


def fitted(Z: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, float]:
    """(n, K) least squares of the observed entries in directions V (d, K), and the variance of what is left."""
    seen, (d, K) = ~np.isnan(Z), V.shape
    Z = np.where(seen, Z, 0.0)
    inverse = np.linalg.pinv(_sums_of_products(V, seen.astype(float)), rcond=_MIN_SEEN, hermitian=True)
    Y = np.einsum("nij,nj->ni", inverse, Z @ V)
    squares = np.square(np.where(seen, Z - Y @ V.T, 0.0)).sum()
    return Y, float(squares) / (seen.sum() * (1.0 - K / d) * (1.0 - 1.0 / len(Z)))


def _leading(Z: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k largest singular values, and (d, k) their directions."""
    if min(Z.shape) <= max(_MAX_DENSE, k):
        _, singular, Vt = np.linalg.svd(Z, full_matrices=False)
        return singular[:k], Vt[:k].T
    start = np.random.default_rng(_SEED).standard_normal(min(Z.shape))
    _, singular, Vt = svds(Z, k=k, v0=start)
    order = np.argsort(-singular)
    return singular[order], Vt[order].T


def _by_em(
    Z: np.ndarray, missing: np.ndarray, W: np.ndarray, centre: np.ndarray, v: float
) -> tuple[np.ndarray, np.ndarray]:
    """(d, K) directions and (d,) centre of an incomplete table, from a first W (d, K) and variance v of the noise."""
    seen, (n, _), K = (~missing).astype(float), Z.shape, W.shape[1]
    V, eye = np.linalg.svd(W, full_matrices=False)[0], np.eye(W.shape[1])
    for _ in range(_MAX_EM_STEPS):
        X = np.where(missing, 0.0, Z - centre)
        A = np.linalg.inv(_sums_of_products(W, seen) + v * eye)
        mean = np.einsum("nij,nj->ni", A, X @ W)
        second = (v * A + mean[:, :, None] * mean[:, None, :]).reshape(n, -1)
        W = np.linalg.solve((seen.T @ second).reshape(-1, K, K) + 1e-12 * eye, (X.T @ mean)[:, :, None])[:, :, 0]
        rest = np.where(missing, 0.0, X - mean @ W.T)
        centre = centre + rest.sum(axis=0) / seen.sum(axis=0)
        v *= float(np.einsum("nij,nji->", _sums_of_products(W, seen), A)) / seen.sum()
        v += float(np.vdot(rest, rest)) / seen.sum()
        before, V = V, np.linalg.svd(W, full_matrices=False)[0]
        if np.square(before - V @ (V.T @ before)).sum() < _EM_TOLERANCE**2:
            break
    return V, centre


def _sums_of_products(W: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """(n, K, K) Σ w wᵀ over the columns that each row has."""
    d, K = W.shape
    return np.asarray((seen @ (W[:, :, None] * W[:, None, :]).reshape(d, -1)).reshape(-1, K, K))


def why_not_one_unit(columns: Iterable[np.ndarray]) -> str:
    """Why these columns, which vary, do not seem to share one unit, or "" if they do.

    A range leaves out the smallest and the largest cell, which may be outliers, and a column that is constant without
    them has none. Inner quantiles would not do: most pixels of an image are blank in most rows.
    """
    n_values, ranges = [], []
    for column in columns:
        cells = np.sort(column[~np.isnan(column)])
        n_values.append(1 + np.count_nonzero(np.diff(cells)))
        if len(cells) > 3 and cells[-2] > cells[1]:
            ranges.append(cells[-2] - cells[1])
    if np.median(n_values) < _MIN_DISTINCT_VALUES:
        return "columns have few distinct values"
    low, middle, high = np.quantile(ranges, [0.1, 0.5, 0.9])
    is_similar = high <= _MAX_RATIO_OF_RANGES * low and max(ranges) <= _MAX_RATIO_OF_RANGES * middle
    return "" if is_similar else "columns have different ranges, as in different units"
