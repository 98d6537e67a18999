"""The generalized inverse Gaussian GIG(p, χ, ψ), density ∝ v^{p-1} exp(-χ/(2v) - ψv/2), whole or cut to v > r.

Scalar kernels, for use inside other kernels (χ, ψ, r >= 0): log normalisers, log survival, and exact draws.

Everything rests on y = log v having the concave log density p y - (χ/2) e^{-y} - (ψ/2) e^{y}. At a distance u to the
right of v_0 = e^{y_0} it has fallen by

    φ(u) = σ u + a (e^{-u} - 1 + u) + b (e^u - 1 - u) ,  a = χ/(2v_0) , b = ψ v_0/2 , σ = b - a - p ,

and to the left by the same with a and b exchanged and σ negated. v_0 is the mode (σ = 0) or, where that is cut off,
the cut r (σ > 0): so φ is convex and increasing, quadrature reaches to where it is 28, and two tangents, at 0
and near φ = 1, are a tight hat for rejection.
"""

import math
from typing import NamedTuple

import numpy as np

from .._runtime.jit import jit
from .._runtime.random_streams import exponential, uniform
from .exponential import exp_in_range

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_NODES, _WEIGHTS = 0.5 * (_NODES + 1.0), 0.5 * _WEIGHTS
_MAX_FALL = 28.0  # what lies beyond φ = 28 is less than e^-28 of the whole
_MAX_WIDE = 6.0  # width of a panel: a + b is below 60 there, and nothing cancels
_MIN_SIDE, _MAX_SIDE = 5e-324, 4e307  # a and b if they are not 0: doubles, as their sum is


@jit
def _cosh_less_1(x: float) -> float:
    """Cosh u - 1 for x = u² <= 1."""
    c = x * (1 / 6402373705728000) + 1 / 20922789888000
    c = x * (x * c + 1 / 87178291200) + 1 / 479001600
    c = x * (x * c + 1 / 3628800) + 1 / 40320
    return x * (x * (x * c + 1 / 720) + 1 / 24) * x + 0.5 * x


@jit
def _sinh_less_u(u: float, x: float) -> float:
    """Sinh u - u for x = u² <= 1."""
    c = x * (1 / 355687428096000) + 1 / 1307674368000
    c = x * (x * c + 1 / 6227020800) + 1 / 39916800
    c = x * (x * c + 1 / 362880) + 1 / 5040
    return u * x * (x * (x * c + 1 / 120) + 1 / 6)


@jit
def fall_and_slope(u: float, sigma: float, a: float, b: float) -> tuple[float, float]:
    """φ(u) and φ'(u), u >= 0, without cancellation."""
    if u <= 0.5:
        x = u * u
        even = _cosh_less_1(x)
        odd = _sinh_less_u(u, x)
        return u * sigma + (a + b) * even + (b - a) * odd, sigma + (a + b) * (odd + u) + (b - a) * even
    if b > 0.0:
        grown = math.expm1(u)
        shrunk = -grown / (1.0 + grown) if u < 700.0 else -1.0
        return sigma * u + a * (shrunk + u) + b * (grown - u), sigma - a * shrunk + b * grown
    shrunk = math.expm1(-u)
    return sigma * u + a * (shrunk + u), sigma - a * shrunk


@jit
def fall(u: float, sigma: float, a: float, b: float) -> float:
    """φ(u), u >= 0."""
    return fall_and_slope(u, sigma, a, b)[0]


@jit
def _reach_of_growth(b: float, level: float) -> float:
    """A little more than the u where b (e^u - 1 - u) = level, b > 0."""
    q = level / b
    return math.log1p(q + math.sqrt(2.0 * q)) if q < 1e300 else math.log(level) - math.log(b)


@jit
def reach(sigma: float, a: float, b: float, level: float) -> float:
    """More than the u where φ(u) = level, by 40 % at most; inf if φ never rises.

    The lesser of two upper bounds, from e^u - 1 - u >= e^{-u} - 1 + u >= u²/(2 + u) and from φ(u) >= b (e^u - 1 - u).
    """
    curvature = a + b + sigma
    if curvature == 0.0:
        return np.inf
    if sigma > 1e100:
        return level / sigma
    half = sigma - 0.5 * level
    if curvature < 1e300:
        root = math.sqrt(half * half + 2.0 * curvature * level)
    else:
        root = math.sqrt(2.0 * level) * math.sqrt(curvature)
    # The better conditioned of the two forms of the root.
    u = 2.0 * level / (half + root) if half > 0.0 else (root - half) / curvature
    return min(u, _reach_of_growth(b, level)) if b > 0.0 and u > 0.5 else u


@jit(fastmath={"reassoc", "contract"})
def _narrow_panel(sigma: float, a: float, b: float, width: float) -> float:
    """∫_0^width e^{-φ(u)} du for width <= 1, with Taylor's series for cosh u - 1 and sinh u - u."""
    total = 0.0
    for i in range(24):
        u = width * _NODES[i]
        x = u * u
        height = sigma * u + (a + b) * _cosh_less_1(x) + (b - a) * _sinh_less_u(u, x)
        total += _WEIGHTS[i] * exp_in_range(-height)
    return total * width


@jit(fastmath={"reassoc", "contract"})
def _wide_panel(sigma: float, a: float, b: float, width: float) -> float:
    """∫_0^width e^{-φ(u)} du for 1 < width <= 6."""
    total = 0.0
    for i in range(24):
        u = width * _NODES[i]
        growth = exp_in_range(u)
        fall = sigma * u + a * (1.0 / growth - 1.0 + u) + b * (growth - 1.0 - u)
        total += _WEIGHTS[i] * exp_in_range(-fall)
    return total * width


@jit
def _fallen_integral(sigma: float, a: float, b: float, length: float) -> float:
    """∫_0^length e^{-φ(u)} du, σ, a, b >= 0; length may be inf."""
    rest = min(reach(sigma, a, b, _MAX_FALL), length)
    if rest <= 1.0:
        return _narrow_panel(sigma, a, b, rest)
    if rest <= _MAX_WIDE:
        return _wide_panel(sigma, a, b, rest)
    total = 0.0
    height = 1.0
    while rest > 0.0:
        if a < 1e-14 and b < 1e-14:
            # No curvature to speak of until b e^u matters: one exponential, however long.
            width = min(rest, math.log(2e-14 / max(b, 1e-321))) if b > 0.0 else rest
            x = (sigma if b > 0.0 else sigma + a) * width
            total += height * (width if x < 1e-16 else width * (-math.expm1(-x) / x))
        else:
            width = min(rest, _MAX_WIDE)
            total += height * _wide_panel(sigma, a, b, width)
        rest -= width
        if rest > 0.0:
            fallen, sigma = fall_and_slope(width, sigma, a, b)
            height *= math.exp(-fallen)
            a *= math.exp(-width)
            b *= math.exp(width)
    return total


@jit
def mode_of_log(p: float, chi: float, psi: float) -> float:
    """The v > 0 where the density of log v, v^p exp(-χ/(2v) - ψv/2), is largest; 0 or inf where there is none."""
    s = math.hypot(p, math.sqrt(chi) * math.sqrt(psi))
    if p > 0.0:
        return (p + s) / psi
    if p < 0.0:
        return chi / (s - p)
    return math.sqrt(chi) / math.sqrt(psi) if chi > 0.0 else 0.0


@jit
def _sides(chi: float, psi: float, v: float) -> tuple[float, float]:
    """(a, b) = (χ/(2v), ψv/2)."""
    a = min(max(0.5 * (chi / v), _MIN_SIDE), _MAX_SIDE) if chi > 0.0 else 0.0
    b = min(max(0.5 * (psi * v), _MIN_SIDE), _MAX_SIDE) if psi > 0.0 else 0.0
    return a, b


@jit
def _centre(p: float, chi: float, psi: float) -> tuple[float, float, float]:
    """(v_0, a, b) at the mode of log v, where b - a = p and 4ab = χψ."""
    half = min(0.5 * math.sqrt(chi) * math.sqrt(psi), _MAX_SIDE)
    larger = min(max(0.5 * abs(p) + math.hypot(0.5 * p, half), _MIN_SIDE), _MAX_SIDE)
    smaller = max(half * (half / larger), _MIN_SIDE) if chi > 0.0 and psi > 0.0 else 0.0
    v = mode_of_log(p, chi, psi)
    return (v, smaller, larger) if p >= 0.0 else (v, larger, smaller)


class Anchor(NamedTuple):
    """The highest point of the log density of log v on v > r, from which φ falls: the mode, or the cut."""

    v: float
    sigma: float
    a: float
    b: float
    left: float  # log v - log r: how far the cut lies below


@jit
def _log_ratio(large: float, small: float) -> float:
    """Log(large / small), accurate when they are close; inf for small = 0."""
    if small <= 0.0:
        return np.inf
    gap = (large - small) / small
    return math.log1p(gap) if gap < 0.5 else math.log(large) - math.log(small)


@jit
def anchor(p: float, chi: float, psi: float, r: float) -> Anchor:
    """Find the `Anchor`, given that the distribution exists."""
    if r > 0.0:
        a, b = _sides(chi, psi, r)
        if b - a - p >= 0.0:
            return Anchor(r, b - a - p, a, b, 0.0)
    v, a, b = _centre(p, chi, psi)
    # The computed mode may lie below a cut that is the mode but for rounding, or be no double any more.
    v = min(max(v, r, 5e-324), 1.7976931348623157e308)
    return Anchor(v, 0.0, a, b, _log_ratio(v, r))


@jit
def excess_at(at: Anchor, r: float, u: float) -> float:
    """The excess v - r at distance u from the anchor, to full precision also where it is far below r."""
    above_cut = u + at.left
    if above_cut < 0.5:
        return r * math.expm1(max(above_cut, 0.0))
    # In two steps, lest e^u overflow before a tiny v brings it back.
    half = math.exp(0.5 * u)
    return min(max(at.v * half * half - r, 0.0), 1.7976931348623157e308)


@jit
def _masses(at: Anchor) -> tuple[float, float]:
    """∫ e^{-φ} to the left and to the right of the anchor."""
    left = _fallen_integral(0.0, at.b, at.a, at.left) if at.left > 0.0 else 0.0
    return left, _fallen_integral(at.sigma, at.a, at.b, np.inf)


@jit
def log_normaliser(p: float, chi: float, psi: float, r: float) -> float:
    """Log ∫_r^∞ v^{p-1} exp(-χ/(2v) - ψv/2) dv; inf where the integral diverges."""
    if (psi == 0.0 and p >= 0.0) or (r <= 0.0 and chi == 0.0 and p <= 0.0):
        return np.inf
    if 0.5 * (psi * r) == np.inf:
        return -np.inf
    at = anchor(p, chi, psi, r)
    left, right = _masses(at)
    return p * math.log(at.v) - at.a - at.b + math.log(left + right)


@jit
def log_survival(p: float, chi: float, psi: float, r: float, r_late: float) -> float:
    """Log [∫_{r_late}^∞ / ∫_r^∞] of v^{p-1} exp(-χ/(2v) - ψv/2), r <= r_late.

    Either from what lies between the two cuts, or from what lies beyond the later one, whichever is less. Where no such
    distribution exists, 0 if all the mass is at infinity, -inf if it is at 0.
    """
    if r_late <= r or (psi == 0.0 and p >= 0.0):
        return 0.0
    if r <= 0.0 and chi == 0.0 and p <= 0.0:
        return -np.inf
    if 0.5 * (psi * r_late) == np.inf:
        return -np.inf
    a_late, b_late = _sides(chi, psi, r_late)
    at = anchor(p, chi, psi, r)
    left, right = _masses(at)
    whole = left + right
    if r_late < at.v:
        between = _fallen_integral(max(p + a_late - b_late, 0.0), b_late, a_late, _log_ratio(r_late, r))
        between *= math.exp(-fall(_log_ratio(at.v, r_late), 0.0, at.b, at.a))
    else:
        between = left + _fallen_integral(at.sigma, at.a, at.b, _log_ratio(r_late, at.v))
    if between <= 0.5 * whole:
        return math.log1p(-between / whole)
    late = anchor(p, chi, psi, r_late)
    left, right = _masses(late)
    return math.log((left + right) / whole) - fall(_log_ratio(late.v, at.v), at.sigma, at.a, at.b)


@jit
def _exponential_mass(rate: float, length: float) -> float:
    """∫_0^length e^{-rate u} du."""
    x = rate * length
    return length if x < 1e-14 else -math.expm1(-x) / rate


@jit
def _exponential_below(rate: float, length: float, state: np.ndarray) -> float:
    """Draw u from the density ∝ e^{-rate u} on (0, length)."""
    x = rate * length
    u = uniform(state)
    return u * length if x < 1e-14 else -math.log1p(u * math.expm1(-x)) / rate


class _Hat(NamedTuple):
    """Two or three tangents of φ on one side of the anchor, at 0, near φ = 1 and where needed; they meet at m_1, m_2.

    -log of the hat rises with slope σ up to m_1, `middle` up to m_2 (if m_1 < m_2) and `slope` beyond.
    """

    m_1: float
    m_2: float
    middle: float
    slope: float
    near: float  # the three masses under it
    between: float
    far: float


@jit
def _hat(sigma: float, a: float, b: float, length: float) -> _Hat:
    tangent = reach(sigma, a, b, 1.0)
    # No tangent where e^u is no double any more.
    cliff = min(_reach_of_growth(b, 1.0), 709.0) if tangent > 0.5 and b > 0.0 else np.inf
    if cliff < np.inf:
        # Where e^u sets in φ may fall off a cliff after a long gentle slope: each needs a tangent of its own.
        tangent = min(tangent, 0.5 * cliff)
    height, gain = fall_and_slope(tangent, 0.0, a, b)
    m_1 = m_2 = tangent - (height / gain if gain > 0.0 else 0.0)
    middle = slope = sigma + gain
    if cliff < np.inf:
        cliff_height, cliff_gain = fall_and_slope(cliff, 0.0, a, b)
        m_2 = (cliff * cliff_gain - cliff_height - tangent * gain + height) / (cliff_gain - gain)
        slope = sigma + cliff_gain
    m_1 = min(m_1, length)
    m_2 = min(m_2, length)
    near = _exponential_mass(sigma, m_1)
    between = math.exp(-sigma * m_1) * _exponential_mass(middle, m_2 - m_1) if m_2 > m_1 else 0.0
    far = math.exp(-sigma * m_1 - middle * (m_2 - m_1)) * _exponential_mass(slope, length - m_2)
    return _Hat(m_1, m_2, middle, slope, near, between, far)


@jit
def _length(b: float, length: float) -> float:
    """How far draws may go: also no further than e^-700 where no tangent can follow b e^u."""
    return min(length, _reach_of_growth(b, 700.0)) if 0.0 < b < 1e-300 else length


@jit
def _propose(hat: _Hat, sigma: float, length: float, x: float, state: np.ndarray) -> tuple[float, float]:
    """Draw u under the hat, x uniform on its mass to tell the piece; return u and how far the hat has fallen there."""
    if x < hat.near:
        u = _exponential_below(sigma, hat.m_1, state)
        return u, sigma * u
    fallen = sigma * hat.m_1
    if x < hat.near + hat.between:
        u = _exponential_below(hat.middle, hat.m_2 - hat.m_1, state)
        return hat.m_1 + u, fallen + hat.middle * u
    u = _exponential_below(hat.slope, length - hat.m_2, state)
    return hat.m_2 + u, fallen + hat.middle * (hat.m_2 - hat.m_1) + hat.slope * u


@jit
def draw_from_anchor(at: Anchor, state: np.ndarray) -> tuple[float, int]:
    """Draw u, the distance of log v from the anchor; return it and the number of proposals made."""
    length = _length(at.b, np.inf)
    right = _hat(at.sigma, at.a, at.b, length)
    right_mass = right.near + right.between + right.far
    left_length = _length(at.a, at.left)
    left = _hat(0.0, at.b, at.a, left_length) if at.left > 0.0 else _Hat(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    mass = right_mass + left.near + left.between + left.far
    tries = 0
    while True:
        tries += 1
        x = mass * uniform(state)
        if x < right_mass:
            u, hat = _propose(right, at.sigma, length, x, state)
            if exponential(state) >= fall(u, at.sigma, at.a, at.b) - hat:
                return u, tries
        else:
            u, hat = _propose(left, 0.0, left_length, x - right_mass, state)
            if exponential(state) >= fall(u, 0.0, at.b, at.a) - hat:
                return -u, tries


@jit
def draw_cut_gig(p: float, chi: float, psi: float, r: float, state: np.ndarray) -> float:
    """Draw v ∝ v^{p-1} exp(-χ/(2v) - ψv/2) on v > r, exactly, and return the excess v - r >= 0 to full precision.

    Where no such distribution exists, returns the end that holds all the mass: 0 or inf.
    """
    if psi == 0.0 and p >= 0.0:
        return np.inf
    if (r <= 0.0 and chi == 0.0 and p <= 0.0) or psi * r == np.inf:
        return 0.0
    at = anchor(p, chi, psi, r)
    u, _ = draw_from_anchor(at, state)
    return excess_at(at, r, u)
