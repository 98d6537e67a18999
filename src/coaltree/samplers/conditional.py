"""Where on one branch a pruned subtree rejoins: its density, a bound on its mass, a proposal close to it.

Subtree c has message (mean_c, s_c) at τ_c. The branch above x has x's upward message (mean_x, s_x) at τ_x and the
outward message (o, q) at the time τ_p of x's parent: what everything but x's subtree says. With
L = s_x + q + τ_p - τ_x,

    A = s_x + t - τ_x ,  z = A / L ,  w = 1 - z ,
    v(t) = s_c + (t - τ_c) + A w ,     ε(t) = D_x + z (D_o - D_x - D_xo) + z² D_xo ,
    l(t) = log f(t) = -K(t) - (d/2) log v - ε / (2v) ,

D_x = ‖mean_c - mean_x‖², D_o = ‖mean_c - o‖², D_xo = ‖mean_x - o‖², K the area under the lineages (`lineages`). Above
the root 1/L = 0. Since dv/dt = 2w, v grows with t.

The proposal is piecewise exponential in t: knots march away from the mode in steps of falling height, with chords
between them, shifted by the chord's mean error h (l'_a - l'_b) / 12, and tangents beyond the last. A thousandth of
it is spread over the whole branch, so that f / q is bounded whatever the march has missed.
"""

import math
from typing import NamedTuple

import numpy as np

from .._jit import jit
from ..random_streams import uniform
from .lineages import count_and_area, exact_area

_MIDDLE = 48  # the knot at the mode; room for as many on either side
_DEEPEST = 6.0  # the march stops where what lies beyond is below e^-6 of the whole
_LEAST_VAR = 1e-200
_SPREAD = 1e-3


class Branch(NamedTuple):
    """The scalars of one branch for one subtree."""

    lower: float  # τ from
    upper: float  # τ to, inf above the root
    t0: float  # t = t0 + A
    inv_length: float  # 1 / L
    e0: float  # ε = e0 + z (e1 + z e2)
    e1: float
    e2: float


class Target(NamedTuple):
    """What all branches share: s_c - τ_c, the lineages at time 0 without c's, and d / 2."""

    var_less_time: float
    m: float
    half_d: float


class Knots(NamedTuple):
    """One branch's proposal, piece by piece; a piece starts at its knot."""

    t: np.ndarray
    level: np.ndarray  # l at the knot
    slope: np.ndarray  # l' at the knot while marching, then the slope of the piece
    shift: np.ndarray  # of the piece
    mass: np.ndarray  # of the piece, relative to the height at the mode


def empty_knots():
    """Room for one branch's knots."""
    return Knots(*(np.zeros(2 * _MIDDLE + 2) for _ in range(5)))


@jit(allocates=False)
def log_density(branch, target, lin, t):
    """l(t), exactly: log f less the constant (d/2) log 2π + ½ log|Φ|."""
    A = t - branch.t0
    z = A * branch.inv_length
    v = max(target.var_less_time + t + A * (1.0 - z), _LEAST_VAR)
    eps = max(branch.e0 + z * (branch.e1 + z * branch.e2), 0.0)
    return -exact_area(lin, target.m, t) - target.half_d * math.log(v) - 0.5 * eps / v


@jit(allocates=False)
def _height(branch, target, lin, t):
    """l(t), l'(t) and l''(t), with k(t) taken as constant nearby.

    With r = ε/v and N = v' (d - r)/2 + ε'/2:  l' = -k - N/v ,  l'' = (v' N/v - N')/v .
    """
    A = t - branch.t0
    z = A * branch.inv_length
    w = 1.0 - z
    v = max(target.var_less_time + t + A * w, _LEAST_VAR)
    inv_v = 1.0 / v
    dv = 2.0 * w
    r = max(branch.e0 + z * (branch.e1 + z * branch.e2), 0.0) * inv_v
    de = (branch.e1 + 2.0 * branch.e2 * z) * branch.inv_length
    spare = target.half_d - 0.5 * r
    N = dv * spare + 0.5 * de
    dN = (
        -2.0 * branch.inv_length * spare
        - 0.5 * dv * (de - r * dv) * inv_v
        + branch.e2 * branch.inv_length * branch.inv_length
    )
    k, area = count_and_area(lin, target.m, t)
    return -area - target.half_d * math.log(v) - 0.5 * r, -k - N * inv_v, (dv * N * inv_v - dN) * inv_v


@jit(allocates=False)
def log_mass_bound(branch, target, lin):
    """Bound log ∫ f over the branch from above: least ε, best v for it, least area, whole width.

    Returns the bound, and a guess of the mode: v where l' = 0 with ε and lineages as at the lower end, the
    positive root of k v² + d v = ε (v' taken as 2), turned into a time.
    """
    A_low = branch.lower - branch.t0
    z_low = A_low * branch.inv_length
    v_low = target.var_less_time + branch.lower + A_low * (1.0 - z_low)
    if branch.inv_length > 0.0:
        width = branch.upper - branch.lower
        A_high = branch.upper - branch.t0
        z_high = A_high * branch.inv_length
        v_high = target.var_less_time + branch.upper + A_high * (1.0 - z_high)
        z = z_low
        if branch.e2 > 0.0:
            z = min(max(-0.5 * branch.e1 / branch.e2, z_low), z_high)
        eps = max(branch.e0 + z * (branch.e1 + z * branch.e2), 0.0)
    else:
        width = 1.0
        v_high = math.inf
        eps = branch.e0
    k, area = count_and_area(lin, target.m, branch.lower)
    d = 2.0 * target.half_d
    v = min(max(eps / d, v_low, _LEAST_VAR), v_high) if d > 0.0 else 1.0
    log_bound = math.log(min(width, 1.0)) - area - target.half_d * math.log(v) - 0.5 * eps / v
    eps = max(branch.e0 + z_low * (branch.e1 + z_low * branch.e2), 0.0)
    v = 2.0 * eps / (d + math.sqrt(d * d + 4.0 * k * eps)) if eps > 0.0 else 0.0
    u = v - target.var_less_time - branch.t0
    t = branch.t0 + u / (1.0 + math.sqrt(max(1.0 - u * branch.inv_length, 0.0)))
    return log_bound, min(max(t, branch.lower + 1e-6 * min(width, 1.0)), branch.upper)


@jit(allocates=False)
def _mode(branch, target, lin, t):
    """Climb from t to within about a twentieth of a nat of the top; returns t, l, l', l''.

    Newton steps on v² l', which is nearly a quadratic in t, kept between the points known to lie on either side. An
    end of the branch where v = 0 is never reached: l is not finite there.
    """
    left, right = branch.lower, branch.upper
    level, slope, curvature = _height(branch, target, lin, t)
    for _ in range(40):
        if slope * slope <= -0.1 * curvature:
            break
        if slope > 0.0:
            if t >= branch.upper:
                break
            left = t
        else:
            if t <= branch.lower:
                break
            right = t
        A = t - branch.t0
        w = 1.0 - A * branch.inv_length
        v = target.var_less_time + t + A * w
        bend = 4.0 * w * slope + v * curvature
        new = t - v * slope / bend if bend < 0.0 else (2.0 * t + v if slope > 0.0 else branch.lower)
        if new >= right:
            new = right if right == branch.upper and right < math.inf else 0.5 * (t + min(right, t + 2.0 * v + 1.0))
        elif new <= left:
            new = left if left == branch.lower and left + target.var_less_time > 0.0 else 0.5 * (t + left)
        if new == t:
            break
        t = new
        level, slope, curvature = _height(branch, target, lin, t)
    return t, level, slope, curvature


@jit(allocates=False)
def _march(branch, target, lin, knots, curvature, sign, coarse):
    """Set knots from the mode to the left (sign = -1) or right (+1); returns the last and whether it is the end."""
    i = _MIDDLE
    t, level, slope = knots.t[i], knots.level[i], knots.slope[i]
    summit = level
    end = branch.upper if sign > 0.0 else branch.lower
    # where v = 0 at the lower end l is not finite: knots draw near without end, and the tangent's tail covers the rest
    closed = sign > 0.0 or end - branch.t0 > 0.0 or target.var_less_time + end > 0.0 or target.half_d == 0.0
    scale = 1.0 / (abs(slope) + math.sqrt(max(-curvature, 0.0)) + 1e-300)
    fall = 0.8 * coarse
    for _ in range(_MIDDLE - 1):
        room = (end - t) * sign
        if room <= 0.0:
            return i, True
        a = max(-sign * slope, 0.0)
        h = 2.0 * fall / (a + math.sqrt(a * a + 2.0 * max(-curvature, 0.0) * fall) + 1e-12)
        reached = False
        for _ in range(8):
            reached = h >= 0.9 * room
            if reached:
                reached = closed
                h = room if closed else 0.7 * room
            new = end if reached else t + sign * h
            new_level, new_slope, new_curvature = _height(branch, target, lin, new)
            drop = level - new_level
            if drop <= 2.5 * fall + 0.5:
                break
            h *= max(0.2, min(0.7, 1.3 * fall / drop))
        if new == t:
            return i, False
        i += np.int64(sign)
        t, level, slope, curvature = new, new_level, new_slope, new_curvature
        knots.t[i], knots.level[i], knots.slope[i] = t, level, slope
        if reached:
            return i, True
        drop = summit - level
        if drop > _DEEPEST and drop + math.log(abs(slope) * scale) > _DEEPEST:
            return i, False
        if not closed and drop - math.log((t - end) / scale) > _DEEPEST:
            return i, False
        fall = min(1.5 * fall, 3.0 * coarse)
    return i, False


@jit(inline="always", allocates=False)
def _mean_of_exp(z):
    """(e^z - 1) / z."""
    return 1.0 + 0.5 * z * (1.0 + z / 3.0) if abs(z) < 1e-5 else math.expm1(z) / z


@jit(allocates=False)
def trace(branch, target, lin, t, knots, coarse):
    """Build the proposal on one branch from a guess t of its mode; returns (log of its mass, first piece, end)."""
    t, level, slope, curvature = _mode(branch, target, lin, t)
    knots.t[_MIDDLE], knots.level[_MIDDLE], knots.slope[_MIDDLE] = t, level, slope
    first, at_lower = _march(branch, target, lin, knots, curvature, -1.0, coarse)
    last, at_upper = _march(branch, target, lin, knots, curvature, 1.0, coarse)
    total = 0.0
    low_slope = max(knots.slope[first], 0.0)
    height = math.exp(knots.level[first] - level)
    low_height = height
    for i in range(first, last):
        h = knots.t[i + 1] - knots.t[i]
        rise = knots.level[i + 1] - knots.level[i]
        shift = min(max(h * (knots.slope[i] - knots.slope[i + 1]) / 12.0, -0.5), 0.5)
        next_height = math.exp(knots.level[i + 1] - level)
        mean = (next_height - height) / rise if abs(rise) > 1e-5 else 0.5 * (height + next_height)
        knots.slope[i] = rise / h
        knots.shift[i] = shift
        knots.mass[i] = h * mean * math.exp(shift)
        total += knots.mass[i]
        height = next_height
    # tangents lie above a concave l; clipped so that a tail falls, and an endless one has a finite mass
    if not at_upper:
        knots.slope[last] = min(knots.slope[last], -1e-3 if branch.upper == math.inf else 0.0)
        knots.shift[last] = 0.0
        if branch.upper == math.inf:
            knots.mass[last] = -height / knots.slope[last]
        else:
            h = branch.upper - knots.t[last]
            knots.mass[last] = height * h * _mean_of_exp(knots.slope[last] * h)
        total += knots.mass[last]
        last += 1
        knots.t[last] = branch.upper
    if not at_lower:
        h = knots.t[first] - branch.lower
        knots.level[first - 1] = knots.level[first] - low_slope * h
        first -= 1
        knots.t[first], knots.slope[first], knots.shift[first] = branch.lower, low_slope, 0.0
        knots.mass[first] = low_height * h * _mean_of_exp(-low_slope * h)
        total += knots.mass[first]
    if first == last:  # a branch of no length between floating-point numbers
        return -math.inf, first, last
    return level + math.log(total), first, last


@jit(inline="always", allocates=False)
def _log_spread(branch, t):
    """Log density of the part spread over the whole branch: uniform, or exponential with mean 2 above the root."""
    if branch.upper == math.inf:
        return -0.5 * (t - branch.lower) - math.log(2.0)
    return -math.log(branch.upper - branch.lower)


@jit(allocates=False)
def log_proposal(branch, knots, log_mass, first, end, t):
    """Log of the proposal's density at t, in the units of f."""
    i = first
    while i < end - 1 and t > knots.t[i + 1]:
        i += 1
    log_q = knots.level[i] + knots.slope[i] * (t - knots.t[i]) + knots.shift[i]
    log_spread = log_mass + _log_spread(branch, t)
    high = max(log_q, log_spread)
    return high + math.log((1.0 - _SPREAD) * math.exp(log_q - high) + _SPREAD * math.exp(log_spread - high))


@jit(allocates=False)
def draw_time(branch, knots, first, end, state):
    """Draw a time from the proposal."""
    if uniform(state) < _SPREAD:
        if branch.upper == math.inf:
            return branch.lower - 2.0 * math.log(uniform(state))
        return branch.lower + uniform(state) * (branch.upper - branch.lower)
    total = 0.0
    for i in range(first, end):
        total += knots.mass[i]
    rest = uniform(state) * total
    i = first
    while i < end - 1 and rest > knots.mass[i]:
        rest -= knots.mass[i]
        i += 1
    r = uniform(state)
    h = knots.t[i + 1] - knots.t[i]
    slope = knots.slope[i]
    if h == math.inf:
        return knots.t[i] + math.log(r) / slope
    if abs(slope * h) < 1e-8:
        return knots.t[i] + r * h
    if slope > 0.0:  # measured from the end where most of the mass is, so that nothing overflows
        return knots.t[i + 1] + math.log1p((1.0 - r) * math.expm1(-slope * h)) / slope
    return knots.t[i] + math.log1p(r * math.expm1(slope * h)) / slope
