"""Missing entries: drawn from their exact conditional given the tree, Φ and everything else.

Given everything but leaf i, let its parent's value be z ~ N(o, q Φ), the parent being at time τ. Then

    x_i | rest ~ N(o, s Φ) ,   s = q + τ + leaf_var ,

and with P = Φ⁻¹, m the missing and o the observed coordinates of x_i,

    x_m | x_o, rest ~ N(o_m - P_mm⁻¹ P_mo (x_o - o_o), s P_mm⁻¹) .

One walk over the leaves (`leaf_messages`) draws them all: O(n d) beside the draws.
"""

import math
from collections.abc import Sequence

import numpy as np

from ..._runtime.formatting import shortlist
from ..._runtime.jit import jit
from ..._runtime.random_streams import make_streams, standard_normal
from ...errors import InputError
from ..covariance import Components
from ..covariance.base import Covariance, column_variances
from ..process.diffusion import Variances
from ..process.leaf_messages import Walk, begin_walk, expected_var, next_leaf
from . import missing_components


def check_observed(values: np.ndarray, labels: Sequence[str], features: Sequence[str] | None) -> None:
    """Refuse rows and columns without any observed entry."""
    seen = ~np.isnan(values)
    for axis, names, what in ((1, labels, "row"), (0, features, "column")):
        empty = np.flatnonzero(~seen.any(axis=axis))
        if len(empty):
            listed = shortlist([repr(names[i]) if names else str(i) for i in empty.tolist()])
            which, has, it = (what, "has", "it") if len(empty) == 1 else (f"{what}s", "have", "them")
            raise InputError(f"{which} {listed} of X {has} only missing values; drop {it}.")


def agreeing_pair(values: np.ndarray) -> tuple[int, int] | None:
    """The first row with missing entries, and a row, that are equal in every column that both have; None if none."""
    incomplete = np.isnan(values).any(axis=1)
    if not incomplete.any():
        return None
    i, j = _agreeing_pair(values, incomplete)
    return None if i < 0 else (int(i), int(j))


def missing_entries(values: np.ndarray) -> np.ndarray | None:
    """(n, d) of bool, True where an entry is missing; None where none is."""
    missing = np.isnan(values)
    return missing if missing.any() else None


@jit
def _agreeing_pair(values: np.ndarray, incomplete: np.ndarray) -> tuple[int, int]:
    """The first row with missing entries, and a row, that share at least two observed columns and all their values.

    With one shared column the density at distance 0 can still be integrated: v^(-1/2).
    """
    n, d = values.shape
    for i in range(n):
        if not incomplete[i]:
            continue
        for j in range(n):
            if j == i or (incomplete[j] and j < i):
                continue
            shared = 0
            for f in range(d):
                if values[i, f] == values[j, f]:
                    shared += 1
                elif not (math.isnan(values[i, f]) or math.isnan(values[j, f])):
                    shared = -1
                    break
            if shared >= 2:
                return i, j
    return -1, -1


def fill_at_random(values: np.ndarray, covariance: Covariance, rng: np.random.Generator) -> np.ndarray:
    """Draw starting values of the missing entries, row by row, not yet as leaves of a tree.

    Without correlations an entry has the mean and variance of its column. Else it is drawn given the row's observed
    entries, from N(constant, Φ): under a smooth Φ it would take hundreds of iterations to smooth rough rows.
    """
    missing = np.isnan(values)
    if not missing.any():
        return values
    if isinstance(covariance, Components):
        return missing_components.fill_at_random(values, covariance, rng)
    precision = precision_of(covariance, values.shape[1])
    if len(precision) == 1 or not np.any(np.tril(precision, -1)):
        guesses = np.nanmean(values, axis=0) + np.sqrt(column_variances(values)) * rng.standard_normal(values.shape)
        return np.where(missing, guesses, values)
    (stream,) = make_streams(rng, 1)
    values, constant = values.copy(), np.full(values.shape[1], np.nanmean(values))
    for i in np.flatnonzero(missing.any(axis=1)):
        _draw_leaf(values[i], missing[i], constant, 1.0, precision, stream)
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
    """Return `values` (n, d) with the entries marked `missing` drawn anew, leaf by leaf, given the tree and Φ."""
    if isinstance(covariance, Components):
        return missing_components.impute(children, times, values, missing, covariance, leaf_var, rng)
    walk = begin_walk(children, times, values, leaf_var, np.asarray(missing.any(axis=1)))
    n, d = values.shape
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
    """x_m ~ N(o_m - P_mm⁻¹ P_mo (x_o - o_o), s P_mm⁻¹), in place; by the Cholesky factor L of P_mm."""
    d = x.shape[0]
    if precision.shape[0] == 1:
        for f in range(d):
            if missing[f]:
                x[f] = o[f] + math.sqrt(s / precision[0, f]) * standard_normal(stream)
        return
    at = np.flatnonzero(missing)
    m = at.shape[0]
    L = np.empty((m, m))
    y = np.empty(m)  # solves L y = -P_mo (x_o - o_o), and then takes on √s z, so that one back substitution does both
    for a in range(m):
        for b in range(a + 1):
            total = precision[at[a], at[b]]
            for c in range(b):
                total -= L[a, c] * L[b, c]
            L[a, b] = math.sqrt(total) if a == b else total / L[b, b]
        pull = 0.0
        for f in range(d):
            if not missing[f]:
                pull -= precision[at[a], f] * (x[f] - o[f])
        for c in range(a):
            pull -= L[a, c] * y[c]
        y[a] = pull / L[a, a]
    for a in range(m):
        y[a] += math.sqrt(s) * standard_normal(stream)
    for a in range(m - 1, -1, -1):
        for c in range(a + 1, m):
            y[a] -= L[c, a] * y[c]
        y[a] /= L[a, a]
        x[at[a]] = o[at[a]] + y[a]
