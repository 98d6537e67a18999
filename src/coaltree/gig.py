"""The generalized inverse Gaussian GIG(p, χ, ψ), density ∝ v^{p-1} exp(-χ/(2v) - ψv/2), whole or cut to v > r.

Scalar kernels, for use inside other kernels (χ, ψ, r >= 0):

    log_normaliser(p, chi, psi)              log ∫_0^∞ v^{p-1} exp(-χ/(2v) - ψv/2) dv
    log_cut_normaliser(p, chi, psi, r)       log ∫_r^∞ (the same) dv
    log_survival(p, chi, psi, r, r_late)     log P(v > r_late | v > r), accurate when it is near 0 and when it is huge
    log_cut_integral(eps, lam, r, d)         log_cut_normaliser(1 - d/2, eps, lam, r), the Z_C of a pair of lineages
    mode(p, chi, psi), mode_of_log(p, chi, psi)    where v, and where y = log v, is most likely (as values of v)
    draw_cut_gig(p, chi, psi, r, state)      an exact independent draw of the excess v - r given v > r

Everything rests on y = log v having the concave log density p y - (χ/2) e^{-y} - (ψ/2) e^{y}. At a distance u to the
right of v_0 = e^{y_0} it has fallen by

    φ(u) = σ u + a (e^{-u} - 1 + u) + b (e^u - 1 - u) ,  a = χ/(2v_0) , b = ψ v_0/2 , σ = b - a - p ,

and to the left by the same with a and b exchanged and σ negated. v_0 is the mode (σ = 0) or, where that is cut off,
the cut r (σ > 0): so φ is convex and increasing, quadrature reaches to where it is 28, and two tangents, at 0
and near φ = 1, are a tight hat for rejection.
"""

import math

import numpy as np

from ._jit import jit
from .random_streams import exponential, uniform
from .special import fast_exp, log_gig_normaliser_k

# --- the fall φ and its integral ----------------------------------------------------------------------------------

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_NODES, _WEIGHTS = 0.5 * (_NODES + 1.0), 0.5 * _WEIGHTS
_REACH = 28.0  # what lies beyond φ = 28 is less than e^-28 of the whole
_NARROW = 1.0
_WIDE = 6.0
_FLAT = 1e-14


@jit
def _fall(u, sigma, a, b):
    """φ(u), u >= 0, without cancellation."""
    if u > 0.5:
        rise = b * (math.expm1(u) - u) if b > 0.0 else 0.0
        return sigma * u + a * (math.expm1(-u) + u) + rise
    x = u * u
    even = x * (1 + x / 12 * (1 + x / 30 * (1 + x / 56 * (1 + x / 90 * (1 + x / 132 * (1 + x / 182)))))) / 2
    odd = u * x * (1 + x / 20 * (1 + x / 42 * (1 + x / 72 * (1 + x / 110 * (1 + x / 156 * (1 + x / 210)))))) / 6
    return u * sigma + (a + b) * even + (b - a) * odd


@jit
def _slope(u, sigma, a, b):
    """φ'(u), u >= 0."""
    rise = b * math.expm1(u) if b > 0.0 else 0.0
    return sigma - a * math.expm1(-u) + rise


@jit
def _reach(sigma, a, b, level):
    """A little more than the u where φ(u) = level; inf if φ never rises.

    Two upper bounds, from e^{-u} - 1 + u >= u²/(2 + u) <= e^u - 1 - u and from b (e^u - 1 - u) <= φ(u), are followed
    by two steps of Newton, which stay above the root of a convex function.
    """
    curvature = a + b + sigma
    if curvature == 0.0:
        return np.inf
    if sigma > 1e100:
        return level / sigma
    half = sigma - 0.5 * level
    root = math.sqrt(half * half + 2.0 * curvature * level)
    # The better conditioned of the two forms of the root.
    u = 2.0 * level / (half + root) if half > 0.0 else (root - half) / curvature
    if b > 0.0:
        q = level / b
        u = min(u, math.log1p(q + math.sqrt(2.0 * q)))
    for _ in range(2):
        slope = _slope(u, sigma, a, b)
        if slope > 0.0:
            u -= max(_fall(u, sigma, a, b) - level, 0.0) / slope
    return u


@jit(fastmath={"reassoc", "contract"})
def _narrow_panel(sigma, a, b, width):
    """∫_0^width e^{-φ(u)} du for width <= 1, with Taylor's series for cosh u - 1 and sinh u - u."""
    total = 0.0
    for i in range(24):
        u = width * _NODES[i]
        x = u * u
        even = 1.0 + x * (1 / 240.0) * (1.0 + x * (1 / 306.0))
        even = 1.0 + x * (1 / 132.0) * (1.0 + x * (1 / 182.0) * even)
        even = 1.0 + x * (1 / 56.0) * (1.0 + x * (1 / 90.0) * even)
        even = 0.5 * x * (1.0 + x * (1 / 12.0) * (1.0 + x * (1 / 30.0) * even))
        odd = 1.0 + x * (1 / 210.0) * (1.0 + x * (1 / 272.0))
        odd = 1.0 + x * (1 / 110.0) * (1.0 + x * (1 / 156.0) * odd)
        odd = 1.0 + x * (1 / 42.0) * (1.0 + x * (1 / 72.0) * odd)
        odd = (1 / 6.0) * u * x * (1.0 + x * (1 / 20.0) * odd)
        total += _WEIGHTS[i] * fast_exp(-(sigma * u + (a + b) * even + (b - a) * odd))
    return total * width


@jit(fastmath={"reassoc", "contract"})
def _wide_panel(sigma, a, b, width):
    """∫_0^width e^{-φ(u)} du for 1 < width <= 6, where a + b is below 60 and nothing cancels."""
    total = 0.0
    for i in range(24):
        u = width * _NODES[i]
        growth = fast_exp(u)
        fall = sigma * u + a * (1.0 / growth - 1.0 + u) + b * (growth - 1.0 - u)
        total += _WEIGHTS[i] * fast_exp(-fall)
    return total * width


@jit
def _fallen_integral(sigma, a, b, length):
    """∫_0^length e^{-φ(u)} du, σ, a, b >= 0; length may be inf."""
    rest = min(_reach(sigma, a, b, _REACH), length)
    if rest <= _NARROW:
        return _narrow_panel(sigma, a, b, rest)
    if rest <= _WIDE:
        return _wide_panel(sigma, a, b, rest)
    total = 0.0
    height = 1.0
    while rest > 0.0:
        if a < _FLAT and b < _FLAT:
            # No curvature to speak of until b e^u matters: one exponential, however long.
            width = min(rest, math.log(2.0 * _FLAT / b)) if b > 0.0 else rest
            x = sigma * width
            total += height * (width if x < 1e-16 else width * (-math.expm1(-x) / x))
        else:
            width = min(rest, _WIDE)
            total += height * _wide_panel(sigma, a, b, width)
        rest -= width
        if rest > 0.0:
            height *= math.exp(-_fall(width, sigma, a, b))
            sigma = _slope(width, sigma, a, b)
            a *= math.exp(-width)
            b *= math.exp(width)
    return total


# --- normalisers --------------------------------------------------------------------------------------------------


@jit
def _stationary(q, chi, psi):
    """The v > 0 where ψ v² - 2 q v = χ; 0 or inf where there is none."""
    s = math.hypot(q, math.sqrt(chi) * math.sqrt(psi))
    if q > 0.0:
        return (q + s) / psi
    if q < 0.0:
        return chi / (s - q)
    return math.sqrt(chi) / math.sqrt(psi) if chi > 0.0 else 0.0


@jit
def mode(p, chi, psi):
    """The v where v^{p-1} exp(-χ/(2v) - ψv/2) is largest; 0 if it is unbounded there."""
    return _stationary(p - 1.0, chi, psi)


@jit
def mode_of_log(p, chi, psi):
    """The v where the density of log v, v^p exp(-χ/(2v) - ψv/2), is largest."""
    return _stationary(p, chi, psi)


@jit
def _centre(p, chi, psi):
    """(v_0, a, b) at the mode of log v, where b - a = p and 4ab = χψ."""
    half = 0.5 * math.sqrt(chi) * math.sqrt(psi)
    larger = 0.5 * abs(p) + math.hypot(0.5 * p, half)
    smaller = half * (half / larger) if larger > 0.0 else 0.0
    v = _stationary(p, chi, psi)
    return (v, smaller, larger) if p >= 0.0 else (v, larger, smaller)


@jit
def _is_proper(p, chi, psi):
    """Whether ∫_0^∞ v^{p-1} exp(-χ/(2v) - ψv/2) dv is finite."""
    return (chi > 0.0 or p > 0.0) and (psi > 0.0 or p < 0.0)


@jit
def log_normaliser(p, chi, psi):
    """Log ∫_0^∞ v^{p-1} exp(-χ/(2v) - ψv/2) dv; inf where the integral diverges."""
    if not _is_proper(p, chi, psi):
        return np.inf
    value = log_gig_normaliser_k(p, chi, psi)
    if not math.isnan(value):
        return value
    # An order that is not a multiple of ½.
    v, a, b = _centre(p, chi, psi)
    both = _fallen_integral(0.0, b, a, np.inf) + _fallen_integral(0.0, a, b, np.inf)
    return p * math.log(v) - a - b + math.log(both)


@jit
def log_cut_normaliser(p, chi, psi, r):
    """Log ∫_r^∞ v^{p-1} exp(-χ/(2v) - ψv/2) dv; inf where the integral diverges."""
    if r <= 0.0:
        return log_normaliser(p, chi, psi)
    if psi == 0.0 and p >= 0.0:
        return np.inf
    a = 0.5 * (chi / r)
    b = 0.5 * psi * r
    if a == np.inf:
        return log_normaliser(p, chi, psi)
    if b == np.inf:
        return -np.inf
    sigma = b - a - p
    log_height = p * math.log(r) - a - b
    if sigma >= 0.0:
        return log_height + math.log(_fallen_integral(sigma, a, b, np.inf))
    # The cut is below the mode: take what lies below the cut off the whole.
    full = log_normaliser(p, chi, psi)
    if log_height - math.log(-sigma) < full - _REACH:
        return full
    below = log_height + math.log(_fallen_integral(-sigma, b, a, np.inf)) - full
    if below < -0.7:
        return full + math.log1p(-math.exp(below))
    v, a, b = _centre(p, chi, psi)
    above = _fallen_integral(0.0, b, a, math.log(v / r)) + _fallen_integral(0.0, a, b, np.inf)
    return p * math.log(v) - a - b + math.log(above)


@jit
def log_cut_integral(eps, lam, r, d):
    """Log ∫_r^∞ v^{-d/2} exp(-ε/(2v) - λv/2) dv."""
    return log_cut_normaliser(1.0 - 0.5 * d, eps, lam, r)


@jit
def _log_ratio(large, small):
    """Log(large / small), accurate when they are close; inf for small = 0."""
    if small <= 0.0:
        return np.inf
    gap = (large - small) / small
    return math.log1p(gap) if gap < 0.5 else math.log(large) - math.log(small)


@jit
def log_survival(p, chi, psi, r, r_late):
    """Log [∫_{r_late}^∞ / ∫_r^∞] of v^{p-1} exp(-χ/(2v) - ψv/2), r <= r_late.

    Either from what lies between the two cuts, or from what lies beyond the later one, whichever is less.
    """
    if r_late <= r:
        return 0.0
    sigma, a, b = -1.0, 0.0, 0.0
    if r > 0.0:
        a = 0.5 * (chi / r)
        b = 0.5 * psi * r
        sigma = b - a - p
    a_late = 0.5 * (chi / r_late)
    b_late = 0.5 * psi * r_late
    if b_late == np.inf:
        return -np.inf
    sigma_late = b_late - a_late - p
    if sigma >= 0.0:
        whole = _fallen_integral(sigma, a, b, np.inf)
        between = _fallen_integral(sigma, a, b, _log_ratio(r_late, r))
        v = r
    else:
        v, a, b = _centre(p, chi, psi)
        right = _fallen_integral(0.0, a, b, np.inf)
        left = _fallen_integral(0.0, b, a, _log_ratio(v, r))
        whole = left + right
        sigma = 0.0
        if r_late < v:
            to_late = _log_ratio(v, r_late)
            height = math.exp(-_fall(to_late, 0.0, b, a))
            between = height * _fallen_integral(max(-sigma_late, 0.0), b_late, a_late, _log_ratio(r_late, r))
            if between > 0.5 * whole:
                return math.log((_fallen_integral(0.0, b, a, to_late) + right) / whole)
            return math.log1p(-between / whole)
        between = left + _fallen_integral(0.0, a, b, _log_ratio(r_late, v))
    if between <= 0.5 * whole:
        return math.log1p(-between / whole)
    beyond = _fallen_integral(max(sigma_late, 0.0), a_late, b_late, np.inf)
    return math.log(beyond / whole) - _fall(_log_ratio(r_late, v), sigma, a, b)


# --- draws --------------------------------------------------------------------------------------------------------


@jit
def _flat_share(rate, length):
    """∫_0^length e^{-rate u} du."""
    x = rate * length
    return length if x < 1e-14 else -math.expm1(-x) / rate


@jit
def _draw_exponential_below(rate, length, state):
    """Draw u from the density ∝ e^{-rate u} on (0, length)."""
    x = rate * length
    u = uniform(state)
    return u * length if x < 1e-14 else -math.log1p(u * math.expm1(-x)) / rate


@jit
def _draw_fall(sigma, a, b, left, state, tries):
    """Draw the signed distance u from the centre, density ∝ e^{-φ}, u > -left; `tries` counts proposals.

    `left` is 0 where the centre is the cut; else σ = 0 and there is a second, mirrored half down to -left.
    """
    tangent = _reach(sigma, a, b, 1.0)
    slope = _slope(tangent, sigma, a, b)
    # The tangents at 0 and at `tangent` meet at `meet`.
    gain = slope - sigma
    meet = tangent - (_fall(tangent, 0.0, a, b) / gain if gain > 0.0 else 0.0)
    near = _flat_share(sigma, meet)
    far = math.exp(-sigma * meet) / slope
    left_near = left_far = left_meet = left_slope = 0.0
    if left > 0.0:
        left_tangent = _reach(0.0, b, a, 1.0)
        left_slope = _slope(left_tangent, 0.0, b, a)
        left_meet = min(left, left_tangent - _fall(left_tangent, 0.0, b, a) / left_slope)
        left_near = left_meet
        left_far = _flat_share(left_slope, left - left_meet)
    while True:
        tries[0] += 1
        x = uniform(state) * (near + far + left_near + left_far)
        if x < near + far:
            if x < near:
                u = _draw_exponential_below(sigma, meet, state)
                hat = sigma * u
            else:
                beyond = exponential(state)
                u = meet + beyond / slope
                hat = sigma * meet + beyond
            if exponential(state) >= _fall(u, sigma, a, b) - hat:
                return u
        else:
            if x < near + far + left_near:
                u = left_meet * uniform(state)
                hat = 0.0
            else:
                beyond = _draw_exponential_below(left_slope, left - left_meet, state)
                u = left_meet + beyond
                hat = left_slope * beyond
            if exponential(state) >= _fall(u, 0.0, b, a) - hat:
                return -u


@jit
def _draw_cut_gig(p, chi, psi, r, state, tries):
    sigma, a, b = -1.0, 0.0, 0.0
    if r > 0.0:
        a = 0.5 * (chi / r)
        b = 0.5 * psi * r
        if b == np.inf:
            return 0.0
        sigma = b - a - p
    if psi == 0.0 and p >= 0.0:
        return np.inf
    if sigma >= 0.0:
        u = _draw_fall(sigma, a, b, 0.0, state, tries)
        return r * math.expm1(u) if u < 700.0 else r * math.exp(0.5 * u) * math.exp(0.5 * u)
    if not _is_proper(p, chi, psi):
        return 0.0
    v, a, b = _centre(p, chi, psi)
    left = _log_ratio(v, r)
    u = _draw_fall(0.0, a, b, left, state, tries)
    if u + left < 0.5:
        return r * math.expm1(max(u + left, 0.0))
    return max(v * math.exp(u) - r, 0.0)


@jit
def draw_cut_gig(p, chi, psi, r, state):
    """Draw v ∝ v^{p-1} exp(-χ/(2v) - ψv/2) on v > r, exactly, and return the excess v - r >= 0 to full precision.

    Where no such distribution exists, returns the end that holds all the mass: 0 or inf.
    """
    tries = np.zeros(1, np.int64)
    return _draw_cut_gig(p, chi, psi, r, state, tries)
