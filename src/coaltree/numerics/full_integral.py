"""What samplers ask for most, in a table: the integral over all merge times of a pair of lineages,

G(ε, λ) = log ∫_0^∞ v^{p-1} exp(-ε/(2v) - λv/2) dv = log [2 K_ν(√(λε)) (ε/λ)^{p/2}] ,  p = 1 - d/2 , ν = |p| .
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .._runtime.jit import jit
from .gig import log_normaliser

_CELL_BITS = 48  # of the 52 of a mantissa, what 16 cells per octave leave
_DEGREE = 7


class FullIntegralTable(NamedTuple):
    """g(x) = log ∫_0^∞ v^{p-1} exp(-x/(2v) - v/2) dv, p = 1 - d/2, as polynomials of degree 7 on cells of x.

    Each octave is cut into 16 cells, so that the cell of x is read off its bits. The error is at most
    1e-13 max(1, ν, |g|); outside its range the exact evaluation takes over.
    """

    d: float
    first: int  # the bits of the lowest x, without those inside a cell
    coefficients: np.ndarray  # (cells, 8), by rising power of the position in the cell, from -1 to 1


@jit
def tabled_integral(table: FullIntegralTable, x: float) -> float:
    """g(x) = G(x, 1); G(ε, λ) = g(λε) - p log λ with p = 1 - d/2."""
    bits = np.float64(x).view(np.int64)
    cell = (bits >> _CELL_BITS) - table.first
    if cell < 0 or cell >= table.coefficients.shape[0]:
        return log_normaliser(1.0 - 0.5 * table.d, x, 1.0, 0.0)
    inside = np.int64(((bits << (52 - _CELL_BITS)) & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000).view(np.float64)
    t = 2.0 * inside - 3.0
    c = table.coefficients
    g = c[cell, _DEGREE]
    for k in range(_DEGREE - 1, -1, -1):
        g = g * t + c[cell, k]
    return g


@lru_cache(maxsize=8)
def full_integral_table(d: int, low: float = 1e-12, high: float = 1e12) -> FullIntegralTable:
    """Tabulate g(x) for low <= x <= high (kept within 1e-100 … 1e100): 1 kB an octave."""
    ends = np.clip(np.array([low, high], dtype=float), 1e-100, 1e100)
    first, last = (int(bits) >> _CELL_BITS for bits in ends.view(np.int64))
    edges = (np.arange(first, last + 2, dtype=np.int64) << _CELL_BITS).view(np.float64)
    half = 0.5 * np.diff(edges)[:, None]
    middle = edges[:-1, None] + half
    nodes = np.cos(np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))  # Chebyshev's
    solve = np.linalg.inv(np.vander(nodes, increasing=True))  # turns values there into coefficients of powers
    integral = np.vectorize(log_normaliser, otypes=[float])
    p = 1.0 - 0.5 * d
    g = integral(p, middle, 1.0, 0.0)
    coefficients = np.einsum("ci,ki->ck", integral(p, middle + half * nodes, 1.0, 0.0) - g, solve)  # rounds little
    coefficients[:, 0] += g[:, 0]
    coefficients.flags.writeable = False
    return FullIntegralTable(float(d), first, coefficients)
