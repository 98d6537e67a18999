"""Logarithms of modified Bessel functions, and the small functions that inner loops are made of.

Scalar kernels, for use inside other kernels. What samplers ask for most is

    G(ε, λ) = log ∫_0^∞ v^{p-1} exp(-ε/(2v) - λv/2) dv = log [2 K_ν(√(λε)) (ε/λ)^{p/2}] ,  p = 1 - d/2 , ν = |p| ,

exactly or from a table.

With s = √(ν² + z²), t = ν²/s², Debye's uniform expansion in logarithmic form reads

    log [2 z^ν K_ν(z)] = ½ log(2π/s) - s + ν log(ν + s) + Σ_k (-1)^k q_k(t) / s^k

where q_k is a polynomial of degree k. It needs s, not ν, to be large, so it also serves as the large-argument form.
Below s = 20 the order is small, and z^ν K_ν follows from the two lowest orders by a recurrence of positive terms.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .._runtime.jit import jit

_LOG2_E = 1.0 / math.log(2.0)
_LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")  # 33 bits: k · _LN2_HIGH is exact for every exponent k
_LN2_LOW = 1.90821492927058770002e-10
_TAYLOR = np.array([1.0 / math.factorial(k) for k in range(13, -1, -1)])


@jit
def exp_in_range(x: float) -> float:
    """e^x = 2^k e^f, |f| <= ½ log 2, by Taylor's polynomial of degree 13, for |x| <= 708 only.

    Unlike ``math.exp`` it has no call and no branch, so that LLVM vectorises loops around it; alone it is slower.
    """
    k = np.floor(x * _LOG2_E + 0.5)
    f = (x - k * _LN2_HIGH) - k * _LN2_LOW
    e = _TAYLOR[0]
    for i in range(1, _TAYLOR.size):
        e = e * f + _TAYLOR[i]
    return e * np.int64((np.int64(k) + 1023) << 52).view(np.float64)


@jit
def fast_exp(x: float) -> float:
    """e^x as `exp_in_range`, but 0 below -708 and 8.2e307 above 709."""
    return 0.0 if x < -708.0 else exp_in_range(min(max(x, -708.0), 709.0))


def _debye_polynomials(n_terms: int) -> np.ndarray:
    """Coefficients of q_1 … q_n by rising power of t, exactly, then rounded: entry [k-1, i] belongs to t^i in q_k.

    With S = Σ_k D_k(x) ν^{-k} the logarithm of Debye's series in x = ν/s, D_k(x) = x^k q_k(x²) and

        D_1' = (1 - 5x²)/8 ,  D_{k+1}' = [h D_k']' + h Σ_{0<j<k} D_j' D_{k-j}' ,  h = x²(1 - x²)/2 .

    The coefficients of x^{k-1+2i} in D_k' are A_{k,i} / 8^k with whole numbers A.
    """
    A = [[1, -5]]
    for k in range(1, n_terms):
        products = [0] * (k + 2)
        for one, other in zip(A[: k - 1], reversed(A[: k - 1]), strict=True):
            for i, a in enumerate(one):
                for j, b in enumerate(other):
                    products[i + j] += a * b
        last, summed = [0, *A[-1], 0], [0, *products]
        A.append([4 * ((k + 1 + 2 * i) * (last[i + 1] - last[i]) + summed[i + 1] - summed[i]) for i in range(k + 2)])
    q = np.zeros((n_terms, n_terms + 1))
    for k, coefficients in enumerate(A, start=1):
        q[k - 1, : k + 1] = [a / (8**k * (k + 2 * i)) for i, a in enumerate(coefficients)]
    return q


_DEBYE = _debye_polynomials(12)
# z^ν K_ν for the two lowest whole orders: power series in z²/4 up to z = 2, the trapezoidal rule for
# e^z K_ν(z) = ∫ exp(-z (cosh u - 1)) cosh νu du above. Both are exact to rounding.
_FACTORIAL = np.array([math.factorial(k) for k in range(14)], dtype=float)
_HARMONIC = np.append(0.0, np.cumsum(1.0 / np.arange(1, 14)))
_I0 = 1.0 / _FACTORIAL[:-1] ** 2
_I1 = 1.0 / (_FACTORIAL[:-1] * _FACTORIAL[1:])
_K0_REST = (_HARMONIC[:-1] - np.euler_gamma) * _I0
_K1_REST = (_HARMONIC[:-1] + _HARMONIC[1:] - 2.0 * np.euler_gamma) * _I1
_TRAPEZE_NODES = 0.15 * np.arange(24)
_TRAPEZE_COSH = np.cosh(_TRAPEZE_NODES)
_TRAPEZE_RISE = 2.0 * np.sinh(0.5 * _TRAPEZE_NODES) ** 2
_TRAPEZE_WEIGHT = 0.15 * np.where(_TRAPEZE_NODES == 0.0, 0.5, 1.0)


@jit
def _lowest_by_series(z: float) -> tuple[float, float]:
    """(K_0(z), z K_1(z)) for 0 <= z <= 2."""
    x = 0.25 * z * z
    i0 = i1 = k0 = k1 = 0.0
    for j in range(_I0.size - 1, -1, -1):
        i0 = i0 * x + _I0[j]
        i1 = i1 * x + _I1[j]
        k0 = k0 * x + _K0_REST[j]
        k1 = k1 * x + _K1_REST[j]
    log_half = math.log(max(z, 5e-324)) - math.log(2.0)
    return k0 - log_half * i0, 1.0 + x * (2.0 * log_half * i1 - k1)


@jit(fastmath={"reassoc", "contract"})
def _lowest_by_trapeze(z: float) -> tuple[float, float]:
    """(e^z K_0(z), z e^z K_1(z)) for 2 <= z <= 20."""
    k0 = 0.0
    k1 = 0.0
    for j in range(_TRAPEZE_WEIGHT.size):
        e = _TRAPEZE_WEIGHT[j] * exp_in_range(-z * _TRAPEZE_RISE[j])
        k0 += e
        k1 += e * _TRAPEZE_COSH[j]
    return k0, z * k1


@jit
def _log_scaled_k_small(nu: float, z: float) -> float:
    """Log [2 z^ν K_ν(z)] for s < 20, 2ν whole, by L_{ν+1} = z² L_{ν-1} + 2ν L_ν, L_ν = z^ν K_ν; NaN for other ν."""
    whole = math.floor(nu)
    if nu == whole:
        order = 1.0
        if z <= 2.0:
            before, here = _lowest_by_series(z)
            log_factor = 0.0
        else:
            before, here = _lowest_by_trapeze(z)
            log_factor = -z
        if nu == 0.0:
            return math.log(2.0 * before) + log_factor
    elif nu - whole == 0.5:
        order = 0.5
        # (z²)(z^{-1/2} K_{1/2}) / L_{1/2} = z, written so that z = 0 is allowed.
        before, here = 1.0, 1.0
        log_factor = 0.5 * math.log(0.5 * math.pi) - z
        if nu >= 1.5:
            here = 1.0 + z
            order = 1.5
    else:
        return np.nan
    z2 = z * z
    while order < nu:
        before, here = here, z2 * before + 2.0 * order * here
        order += 1.0
    return math.log(2.0 * here) + log_factor


@jit
def _debye_tail(t: float, s: float, n_terms: int) -> float:
    """Σ_{k=1}^{n} (-1)^k q_k(t) / s^k."""
    w = -1.0 / s
    total = 0.0
    for k in range(n_terms, 0, -1):
        q = _DEBYE[k - 1, k]
        for i in range(k - 1, -1, -1):
            q = q * t + _DEBYE[k - 1, i]
        total = (total + q) * w
    return total


@jit
def _debye_correction(nu: float, s: float) -> float:
    """The series of Debye's expansion with as many terms as s >= 20 asks for."""
    # The first term left out is below 2e-13 for every t in [0, 1].
    n_terms = 3 if s >= 1000.0 else 5 if s >= 120.0 else 8 if s >= 38.0 else 12
    return _debye_tail((nu / s) ** 2, s, n_terms)


@jit
def log_gig_normaliser_k(p: float, chi: float, psi: float) -> float:
    """Log ∫_0^∞ v^{p-1} exp(-χ/(2v) - ψv/2) dv = log [2 K_ν(√(χψ)) (χ/ψ)^{p/2}], ν = |p|, 2p whole or s >= 20.

    With ω = √(χψ) it is log [2 ω^ν K_ν(ω)] minus ν log χ for p < 0, minus ν log ψ for p > 0, so that ω → 0 is harmless.
    """
    nu = abs(p)
    z = math.sqrt(chi) * math.sqrt(psi)
    s = math.sqrt(nu * nu + z * z) if z < 1e150 else z  # without overflow
    if p == 0.0 and z == 0.0:
        return np.inf
    vanishing = chi if p < 0.0 else psi
    if s < 20.0:
        bare = _log_scaled_k_small(nu, z)
        return bare if p == 0.0 else bare - nu * math.log(vanishing)
    ratio = (nu + s) / vanishing
    log_ratio = math.log(ratio) if ratio < 1e308 else math.log(nu + s) - math.log(vanishing)
    power = 0.0 if p == 0.0 else nu * log_ratio
    return 0.5 * math.log(2.0 * math.pi / s) - s + power + _debye_correction(nu, s)


@jit
def log_full_integral(eps: float, lam: float, d: float) -> float:
    """G(ε, λ); inf at ε = 0 for d >= 2."""
    return log_gig_normaliser_k(1.0 - 0.5 * d, eps, lam)


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
        return log_full_integral(x, 1.0, table.d)
    inside = np.int64(((bits << (52 - _CELL_BITS)) & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000).view(np.float64)
    t = 2.0 * inside - 3.0
    c = table.coefficients
    g = c[cell, _DEGREE]
    for k in range(_DEGREE - 1, -1, -1):
        g = g * t + c[cell, k]
    return g


@jit
def _integrals(x: np.ndarray, d: float) -> np.ndarray:
    """g(x) of every entry."""
    values = np.empty(x.size)
    for i in range(x.size):
        values[i] = log_full_integral(x.flat[i], 1.0, d)
    return values.reshape(x.shape)


@lru_cache(maxsize=8)
def full_integral_table(d: int, low: float = 1e-12, high: float = 1e12) -> FullIntegralTable:
    """Tabulate g(x) for low <= x <= high (kept within 1e-100 … 1e100): 1 kB and 8 µs an octave."""
    ends = np.clip(np.array([low, high], dtype=float), 1e-100, 1e100)
    first, last = (int(bits) >> _CELL_BITS for bits in ends.view(np.int64))
    edges = (np.arange(first, last + 2, dtype=np.int64) << _CELL_BITS).view(np.float64)
    half = 0.5 * np.diff(edges)[:, None]
    middle = edges[:-1, None] + half
    nodes = np.cos(np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))  # Chebyshev's
    solve = np.linalg.inv(np.vander(nodes, increasing=True))  # turns values there into coefficients of powers
    g = _integrals(middle, float(d))
    coefficients = np.einsum("ci,ki->ck", _integrals(middle + half * nodes, float(d)) - g, solve)  # rounds little
    coefficients[:, 0] += g[:, 0]
    coefficients.flags.writeable = False
    return FullIntegralTable(float(d), first, coefficients)
