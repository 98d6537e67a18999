"""Where on one branch a pruned subtree rejoins: its density, an estimate of its mass, and a proposal close to it.

Subtree c has message (mean_c, s_c) at τ_c. The branch above x has x's upward message (mean_x, s_x) at τ_x and the
outward message (o, q) at the time τ_p of x's parent: what everything but x's subtree says. With
L = s_x + q + τ_p - τ_x,

    A = s_x + t - τ_x ,  z = A / L ,  w = 1 - z ,
    v(t) = s_c + (t - τ_c) + A w ,     ε(t) = D_x + z (D_o - D_x - D_xo) + z² D_xo ,
    l(t) = log f(t) = -K(t) - (d/2) log v - ε / (2v) ,

D_x = ‖mean_c - mean_x‖², D_o = ‖mean_c - o‖², D_xo = ‖mean_x - o‖², K the area under the lineages (`lineage_counts`).
Above the root 1/L = 0. Since dv/dt = 2w, v grows with t.

The proposal is piecewise exponential in t: knots march away from the mode, with chords between them, shifted by the
chord's mean error h (l'_a - l'_b) / 12, and tangents beyond the last. A thousandth of it is spread over the whole
branch, so that f / q is bounded whatever the march has missed.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.random_streams import uniform
from ..._runtime.typing import Int
from ...model.process.student_scales import student_density
from ...numerics.borrow import borrow
from .lineage_counts import Lineages, count_and_area, exact_area

MIDDLE = 300  # index of the knot at the mode; room for as many on either side
_MAX_DROP = 6.0  # the march stops where what lies beyond is below e^-6 of the whole
_MIN_VAR = 1e-304
_MAX_CHANGE = 2.0  # of l between Gauss's points, which are right to a few ten-thousandths then
_SPREAD = 1e-3  # weight of the part spread over the whole branch


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
    """What the density has in common on all branches."""

    var_less_time: float  # s_c - τ_c
    m: float  # lineages at time 0 without those of c
    half_d: float
    lineages: Lineages
    unit: float  # of a leaf whose noise has this variance times a scale, which is integrated out; else 0
    student: np.ndarray  # for it, `student_table`


PIECE = np.dtype(
    [
        ("t", np.float64),  # the knot where it starts
        ("level", np.float64),  # l at the knot
        ("slope", np.float64),  # l' at the knot while marching, then the slope of the piece
        ("shift", np.float64),
        ("mass", np.float64),  # relative to the height at the mode
    ]
)
PROPOSAL = np.dtype([("first", np.int64), ("end", np.int64), ("log_mass", np.float64)])  # end: the piece after the last


class Proposals(NamedTuple):
    """Proposals of several branches, one per row, each in pieces that start at their knots."""

    pieces: np.ndarray  # (rows, 2 MIDDLE + 2) PIECE
    rows: np.ndarray  # (rows,) PROPOSAL


def empty_proposals(n_rows: int) -> Proposals:
    """Allocate proposals of `n_rows` branches."""
    return Proposals(np.zeros((n_rows, 2 * MIDDLE + 2), PIECE), np.zeros(n_rows, PROPOSAL))


@jit(inline="always")
def variance_at(branch: Branch, var_less_time: float, t: float) -> float:
    """v(t)."""
    A = t - branch.t0
    return var_less_time + t + A * (1.0 - A * branch.inv_length)


@jit(inline="always")
def distance_at(branch: Branch, z: float) -> float:
    """ε at z."""
    return max(branch.e0 + z * (branch.e1 + z * branch.e2), 0.0)


@jit(inline="always")
def _as_normal(branch: Branch, target: Target, eps: float) -> tuple[float, float]:
    """s_c - τ_c with the noise that a row at squared distance ε seems to have, and how much higher its density is."""
    if target.unit == 0.0:
        return target.var_less_time, 0.0
    lower = variance_at(branch, target.var_less_time, branch.lower)
    level, v, _ = student_density(target.student, lower, target.unit, target.half_d, eps)
    return target.var_less_time + (v - lower), level + target.half_d * math.log(v) + 0.5 * eps / v


@jit
def log_density(branch: Branch, target: Target, t: float) -> float:
    """l(t), exactly: log f less the constant (d/2) log 2π + ½ log|Φ|."""
    v = max(variance_at(branch, target.var_less_time, t), _MIN_VAR)
    eps = distance_at(branch, (t - branch.t0) * branch.inv_length)
    return -exact_area(target.lineages, target.m, t) - target.half_d * math.log(v) - 0.5 * eps / v


@jit
def _height(branch: Branch, target: Target, t: float) -> tuple[float, float, float, float]:
    """l(t), v(t), v l'(t) and v² l''(t), with k(t) taken as constant nearby: none of them overflows as 1/v does.

    With r = ε/v and N = v' (d - r)/2 + ε'/2:  v l' = -k v - N ,  v² l'' = v' N - v N' . Under Student's noise v is that
    of a normal with the same slope along ε; l'' then only steers.
    """
    target, A = borrow(target), t - branch.t0
    z = A * branch.inv_length
    w = 1.0 - z
    v, eps, ratio = target.var_less_time + t + A * w, distance_at(branch, z), 1.0
    k, area = count_and_area(target.lineages, target.m, t)
    if target.unit > 0.0:
        level, v, ratio = student_density(target.student, v, target.unit, target.half_d, eps)
        r = eps / v
    else:
        v = max(v, _MIN_VAR)
        r = eps / v
        level = -target.half_d * math.log(v) - 0.5 * r
    dv = 2.0 * w
    de = (branch.e1 + 2.0 * branch.e2 * z) * branch.inv_length
    share = v * branch.inv_length
    spare = target.half_d - 0.5 * r * ratio
    N = dv * spare + 0.5 * de
    v_dN = branch.e2 * branch.inv_length * share - 2.0 * share * spare - 0.5 * dv * (de - r * dv)
    return level - area, v, -k * v - N, dv * N - v_dN


@jit(inline="always")
def _least_distance(branch: Branch) -> float:
    """The least ε on the branch."""
    if branch.inv_length == 0.0:
        return branch.e0
    z = (branch.lower - branch.t0) * branch.inv_length
    if branch.e2 > 0.0:
        z = min(max(-0.5 * branch.e1 / branch.e2, z), (branch.upper - branch.t0) * branch.inv_length)
    return distance_at(branch, z)


@jit(inline="always")
def _time_of(branch: Branch, var_less_time: float, v: float) -> float:
    """When v(t) = v, on the branch."""
    u = v - var_less_time - branch.t0
    t = branch.t0 + u / (1.0 + math.sqrt(max(1.0 - u * branch.inv_length, 0.0)))
    return min(max(t, branch.lower), branch.upper)


@jit(inline="always")
def _rough_log(x: float) -> float:
    """log x for x > 0 to within 0.06: its binary exponent, and its mantissa in a straight line between powers of 2."""
    return 0.6931471805599453 * (np.float64(x).view(np.int64) * 2.0**-52 - 1022.957)


@jit(inline="always")
def log_mass_estimate(branch: Branch, target: Target) -> float:
    """Estimate log ∫ f over the branch: log f where it seems highest, less the log of the rates at which it falls.

    ε is the least on the branch, v the best for it; or, where many lineages meet before that, the best with their rate
    k at the lower end, whichever is higher. f falls by the slope of K + (d/2) log v + ε / (2v), by its bend, and
    where the branch ends.
    """
    if not branch.upper > branch.lower:
        return -math.inf
    target = borrow(target)
    rate, v_high, dv, eps, half_d = 0.0, math.inf, 2.0, _least_distance(branch), target.half_d
    var_less_time, excess = _as_normal(branch, target, eps)
    v_low = variance_at(branch, var_less_time, branch.lower)
    if branch.inv_length > 0.0:
        rate = 1.0 / (branch.upper - branch.lower)
        v_high = variance_at(branch, var_less_time, branch.upper)
        dv = (v_high - v_low) * rate
    k, area = count_and_area(target.lineages, target.m, branch.lower)
    if half_d == 0.0:
        return -area - _rough_log(rate + k)
    v = min(max(0.5 * eps / half_d, v_low, _MIN_VAR), v_high)
    level = -area - half_d * math.log(v) - 0.5 * eps / v
    if k * (v - v_low) > dv:
        late_k, late_area = count_and_area(target.lineages, target.m, _time_of(branch, var_less_time, v))
        level += area - late_area
        early = 2.0 * eps / (2.0 * half_d + math.sqrt(4.0 * half_d * half_d + 8.0 * k * eps / dv))
        early = min(max(early, v_low), v)
        k, area = count_and_area(target.lineages, target.m, _time_of(branch, var_less_time, early))
        early_level = -area - half_d * math.log(max(early, _MIN_VAR)) - 0.5 * eps / max(early, _MIN_VAR)
        if early_level > level:
            v, level = max(early, _MIN_VAR), early_level
        else:
            k = late_k
    fall = abs(k + dv * (half_d - 0.5 * eps / v) / v) + 0.4 * math.sqrt(half_d) * dv / v
    log_mass = level - _rough_log(rate + fall)
    if half_d < 1.0 and fall > rate + k:  # one column: most of the mass is in the tail
        v += dv / (rate + k)
        log_mass = max(log_mass, -area - half_d * math.log(v) - 0.5 * eps / v - _rough_log(rate + k))
    return log_mass + excess


@jit(inline="always")
def _guess_mode(branch: Branch, target: Target) -> float:
    """Where l' = 0 if ε and k were as at the lower end and v' = 2: k v² + d v = ε, turned into a time."""
    target = borrow(target)
    eps = distance_at(branch, (branch.lower - branch.t0) * branch.inv_length)
    var_less_time, _ = _as_normal(branch, target, eps)
    k, _ = count_and_area(target.lineages, target.m, branch.lower)
    v = eps / (target.half_d + math.sqrt(target.half_d**2 + k * eps)) if eps > 0.0 else 0.0
    t = _time_of(branch, var_less_time, v)
    if t > branch.lower:
        return t
    v_low = variance_at(branch, var_less_time, branch.lower)
    return min(branch.lower + 1e-6 * min(branch.upper - branch.lower, v_low if v_low > 0.0 else 1.0), branch.upper)


@jit(inline="always")
def _mode(branch: Branch, target: Target, t: float) -> tuple[float, float, float, float, float]:
    """Climb from t to within about a twentieth of a nat of the mode; returns t and `_height` there.

    Newton steps on v² l', nearly a quadratic in t, between points on either side; never to an end where v = 0.
    """
    left, right = branch.lower, branch.upper
    level, v, slope, curvature = _height(branch, target, t)
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
        bend = 4.0 * (1.0 - (t - branch.t0) * branch.inv_length) * slope + curvature
        new = t - v * slope / bend if bend < 0.0 else (2.0 * t + v if slope > 0.0 else branch.lower)
        if new >= right:
            new = right if right == branch.upper and right < math.inf else 0.5 * (t + min(right, t + 2.0 * v))
        elif new <= left:
            new = left if left == branch.lower and left + target.var_less_time + target.unit > 0.0 else 0.5 * (t + left)
        if new == t:
            break
        t = new
        level, v, slope, curvature = _height(branch, target, t)
    return t, level, v, slope, curvature


@jit
def _march(
    branch: Branch, target: Target, knots: np.ndarray, start: tuple[float, ...], sign: float, coarse: float
) -> tuple[int, bool]:
    """Set knots from the mode to the left (sign = -1) or right (+1); returns the last and whether it is the end.

    `start` is v, v l' and v² l'' at the mode.
    """
    v, slope, curvature = start
    i = MIDDLE
    t, level = knots[i].t, knots[i].level
    summit = level
    end = branch.upper if sign > 0.0 else branch.lower
    # where v = 0 at the lower end l is not finite: knots draw near without end, and the tangent's tail covers the rest
    is_positive = target.var_less_time + target.unit + end > 0.0
    closed = sign > 0.0 or end - branch.t0 > 0.0 or is_positive or target.half_d == 0.0
    scale = v / (abs(slope) + math.sqrt(max(-curvature, 0.0)) + 1e-300)
    fall = 0.8 * coarse
    for _ in range(MIDDLE - 1):
        room = (end - t) * sign
        if room <= 0.0:
            return i, True
        a = max(-sign * slope, 0.0)
        h = 2.0 * fall * v / (a + math.sqrt(a * a + 2.0 * max(-curvature, 0.0) * fall) + 1e-12 * v)
        reached = False
        for _ in range(8):
            reached = h >= 0.9 * room
            if reached:
                reached = closed
                h = room if closed else 0.7 * room
            new = end if reached else t + sign * h
            new_level, new_v, new_slope, new_curvature = _height(branch, target, new)
            drop = level - new_level
            if drop <= 2.5 * fall + 0.5:
                break
            h *= max(0.2, min(0.7, 1.3 * fall / drop))
        if new == t:
            return i, False
        i += int(sign)
        t, level, v, slope, curvature = new, new_level, new_v, new_slope, new_curvature
        knots[i].t, knots[i].level, knots[i].slope = t, level, slope / v
        if reached:
            return i, True
        drop = summit - level
        if drop > _MAX_DROP and drop + math.log(abs(slope) * (scale / v)) > _MAX_DROP:
            return i, False
        if not closed and drop - math.log((t - end) / scale) > _MAX_DROP:
            return i, False
        fall = min(1.5 * fall, 3.0 * coarse)
    return i, False


@jit(inline="always")
def _mean_of_exp(z: float) -> float:
    """(e^z - 1) / z."""
    return 1.0 + 0.5 * z * (1.0 + z / 3.0) if abs(z) < 1e-5 else math.expm1(z) / z


@jit(inline="always")
def _lift(shift: float) -> float:
    """About e^shift, and cheaper."""
    return 1.0 + shift * (1.0 + 0.5 * shift)


@jit(inline="always")
def log_mass_of_short(branch: Branch, target: Target) -> float:
    """Log ∫ f over a branch on which v and f hardly change, by Gauss's rule of three points; NaN for other branches."""
    below, h = target.var_less_time + target.unit, branch.upper - branch.lower
    if not 0.0 < variance_at(branch, below, branch.upper) < 4.0 * variance_at(branch, below, branch.lower):
        return math.nan
    middle, aside = branch.lower + 0.5 * h, math.sqrt(0.15) * h
    a, b = _height(branch, target, middle - aside)[0], _height(branch, target, middle)[0]
    c = _height(branch, target, middle + aside)[0]
    if max(a, b, c) - min(a, b, c) > _MAX_CHANGE:
        return math.nan
    return b + math.log(h * (5.0 * math.exp(a - b) + 8.0 + 5.0 * math.exp(c - b)) / 18.0)


@jit
def trace(branch: Branch, target: Target, proposals: Proposals, row: Int, coarse: float) -> float:
    """Write the proposal on one branch into a row of `proposals`; returns the log of its mass."""
    proposals = borrow(proposals)
    pieces, made = proposals.pieces[row], proposals.rows[row]
    t, level, v, slope, curvature = _mode(branch, target, _guess_mode(branch, target))
    pieces[MIDDLE].t, pieces[MIDDLE].level, pieces[MIDDLE].slope = t, level, slope / v
    start = (v, slope, curvature)
    first, at_lower = _march(branch, target, pieces, start, -1.0, coarse)
    last, at_upper = _march(branch, target, pieces, start, 1.0, coarse)
    for i in range(first, last + 1):  # should the climb have ended below the top, nothing may overflow
        level = max(level, pieces[i].level)
    total = 0.0
    low_slope = max(pieces[first].slope, 0.0)
    height = math.exp(pieces[first].level - level)
    low_height = height
    for i in range(first, last):
        piece, following = pieces[i], pieces[i + 1]
        h = following.t - piece.t
        rise = following.level - piece.level
        shift = min(max(h * (piece.slope - following.slope) / 12.0, -0.5), 0.5)
        next_height = math.exp(following.level - level)
        mean = (next_height - height) / rise if abs(rise) > 1e-5 else 0.5 * (height + next_height)
        piece.slope = rise / h
        piece.shift = shift
        piece.mass = h * mean * _lift(shift)
        total += piece.mass
        height = next_height
    # tangents lie above a concave l; clipped so that a tail falls, and an endless one has a finite mass
    if not at_upper:
        piece = pieces[last]
        piece.slope = min(piece.slope, -1e-3 if branch.upper == math.inf else 0.0)
        piece.shift = 0.0
        if branch.upper == math.inf:
            piece.mass = -height / piece.slope
        else:
            h = branch.upper - piece.t
            piece.mass = height * h * _mean_of_exp(piece.slope * h)
        total += piece.mass
        last += 1
        pieces[last].t = branch.upper
    if not at_lower:
        h = pieces[first].t - branch.lower
        first -= 1
        piece = pieces[first]
        piece.level = pieces[first + 1].level - low_slope * h
        piece.t, piece.slope, piece.shift = branch.lower, low_slope, 0.0
        piece.mass = low_height * h * _mean_of_exp(-low_slope * h)
        total += piece.mass
    log_mass = level + math.log(total) if first < last else -math.inf
    made.first, made.end, made.log_mass = first, last, log_mass
    return log_mass


@jit(inline="always")
def log_proposal(branch: Branch, proposals: Proposals, row: Int, t: float) -> float:
    """Log of the proposal's density at t, in the units of f."""
    proposals = borrow(proposals)
    pieces, made = proposals.pieces[row], proposals.rows[row]
    i = made.first
    while i < made.end - 1 and t > pieces[i + 1].t:
        i += 1
    log_q = pieces[i].level + pieces[i].slope * (t - pieces[i].t) + math.log(_lift(pieces[i].shift))
    if branch.upper == math.inf:  # the part spread over the branch is exponential with mean 2, or uniform
        log_spread = made.log_mass + (-0.5 * (t - branch.lower) - math.log(2.0))
    else:
        log_spread = made.log_mass + -math.log(branch.upper - branch.lower)
    high = max(log_q, log_spread)
    return high + math.log((1.0 - _SPREAD) * math.exp(log_q - high) + _SPREAD * math.exp(log_spread - high))


@jit
def draw_time(branch: Branch, proposals: Proposals, row: Int, state: np.ndarray) -> float:
    """Draw a time from the proposal."""
    if uniform(state) < _SPREAD:
        if branch.upper == math.inf:
            return branch.lower - 2.0 * math.log(uniform(state))
        return branch.lower + uniform(state) * (branch.upper - branch.lower)
    proposals = borrow(proposals)
    pieces, first, end = proposals.pieces[row], proposals.rows[row].first, proposals.rows[row].end
    total = 0.0
    for i in range(first, end):
        total += pieces[i].mass
    rest = uniform(state) * total
    i = first
    while i < end - 1 and rest > pieces[i].mass:
        rest -= pieces[i].mass
        i += 1
    r = uniform(state)
    start, slope, h = pieces[i].t, pieces[i].slope, pieces[i + 1].t - pieces[i].t
    if h == math.inf:
        return start + math.log(r) / slope
    if abs(slope * h) < 1e-8:
        return start + r * h
    if slope > 0.0:  # measured from the end where most of the mass is, so that nothing overflows
        return pieces[i + 1].t + math.log1p((1.0 - r) * math.expm1(-slope * h)) / slope
    return start + math.log1p(r * math.expm1(slope * h)) / slope
