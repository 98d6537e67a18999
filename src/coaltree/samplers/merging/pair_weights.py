"""Weights of pairs, of which one is drawn to merge: of all pairs that can matter, and no others.

The log weight of a pair with m lineages left is, up to a constant of the step,

    log w_ij = G(ε_ij, λ) + p log λ + λ (a_i + a_j) / 2 ,   G(ε, λ) = log ∫_0^∞ v^{-d/2} exp(-ε/(2v) - λv/2) dv ,

or the same with the integral cut to v > r_ij (never more). With p = 1 - d/2, G(ε, λ) + p log λ = g(λε) is a function of
one variable, which a table gives in a few nanoseconds. It is concave and decreasing in log ε with slope between
-½(ν + 1 + √((ν-1)² + λε)) and -½(ν + √(ν² + λε)), ν = d/2 - 1 (d >= 2). So its inverse H is concave as well, and a
weight of at least e^T needs

    log ε_ij <= H(T) + λ (a_i + a_j - 2 a_max) / (2 g) - …   with g at least the steepness of G at H(T):

a few multiplications and one comparison for each of a row's nearest entries. T lies 34.6 + 2 log m below the log weight
of a good pair, so that all that is left out together has a relative mass below 1e-15.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.random_streams import uniform
from ..._runtime.typing import Int
from ...numerics.borrow import borrow
from ...numerics.exponential import fast_exp
from ...numerics.full_integral import tabled_integral
from ...numerics.gig import log_normaliser
from .particles import ALIVE, Context, Model, last_time, nearest_alive, older_distances, read_row

_MIN_EPS = 1e-280  # in proposals: a distance of 0 makes the full integral infinite, the weight corrects for it
_EPS_ROUNDING = 1e-10  # an ε below this share of r is rounding
_LOG_1E15 = 34.6  # weights that are smaller than the largest by this factor are lost in rounding
_REACH_ROUNDING = 1e-10  # in log ε, added to a reach: the best pair must not be lost where weights fall that fast
FULL, CUT = 0, 1  # which integral the weight is


class Merge(NamedTuple):
    """One merge of one particle, and how its pairs are weighed."""

    p: Int
    m: Int  # lineages left
    lam: float  # pairs left, the coalescent's rate
    before: float  # time of the last merge
    rule: Int  # FULL or CUT
    inner: float  # the λ inside G: the rate itself, or 1 where λ is dropped


class Weighed(NamedTuple):
    """The sum of all pairs' weights, divided by e^shift, and how far a row reaches."""

    total: float
    shift: float
    reach: float  # a pair of two leaves with a larger log ε was left out
    per_a: float  # and the reach falls by this for each unit of a


@jit
def next_merge(context: Context, p: Int, step: Int, rule: Int, drop_rate: bool) -> Merge:
    """Merge `step` of particle p; with `drop_rate` λ is left out of G."""
    m = context.model.n - step
    lam = 0.5 * m * (m - 1)
    return Merge(p, m, lam, last_time(context.particles.times, p, step), rule, 1.0 if drop_rate else lam)


@jit(inline="always")
def _least_slope(z: float, d: Int) -> float:
    """Return a lower bound of -dG/d log ε at z = √(λε)."""
    if d == 1:
        return 0.5 * z
    nu = 0.5 * d - 1.0
    return 0.5 * (nu + math.sqrt(nu * nu + z * z))


@jit(inline="always")
def _greatest_slope(z: float, d: Int) -> float:
    """Return an upper bound of -dG/d log ε at z = √(λε)."""
    if d == 1:
        return 0.5 * z
    nu = 0.5 * d - 1.0
    return 0.5 * (nu + 1.0 + math.sqrt((nu - 1.0) * (nu - 1.0) + z * z))


@jit(inline="always")
def scaled_integral(eps: float, lam: float, model: Model) -> float:
    """Return g(λε) = G(ε, λ) + p log λ, finite at ε = 0 too."""
    x = lam * max(eps, _MIN_EPS)
    if x < 1e300:
        return tabled_integral(model.table, x)
    p = 1.0 - 0.5 * model.d
    return log_normaliser(p, eps, lam, 0.0) + p * math.log(lam)


@jit(inline="always")
def proposal_integral(eps: float, r: float, inner: float, model: Model) -> float:
    """Return g for drawing a pair, with ε at least what puts the mode of log v at r where lineages may coincide.

    With leaf noise rows may be identical; without it a lineage may lie on the mean of two others, as on a grid. Such
    pairs would crowd out all others. The weight corrects for whatever is used here.
    """
    if model.leaf_var > 0.0 or eps < _EPS_ROUNDING * r:
        eps = max(eps, r * (inner * r + model.d - 2.0))
    return scaled_integral(eps, inner, model)


@jit
def _reach(eps_near: float, log_weight: float, target: float, lam: float, model: Model) -> tuple[float, float]:
    """Return (log ε, slope bound) beyond which g(λε) < target, given that g = log_weight > target at eps_near.

    g falls at least as fast as z = √(λε) grows and, being concave in log ε, at least as fast as its tangent: both give
    a point right of the root, from which Newton's method approaches without ever crossing it.
    """
    d = model.d
    root_lam = math.sqrt(lam)
    z = root_lam * math.sqrt(max(eps_near, _MIN_EPS))
    fall = log_weight - target
    x = 2.0 * math.log((z + fall) / root_lam)
    slope = _least_slope(z, d)
    if slope > 0.0:
        x = min(x, math.log(max(eps_near, _MIN_EPS)) + fall / slope)
    if x > 640.0:
        return math.inf, 1.0
    for _ in range(4):
        value = scaled_integral(math.exp(x), lam, model)
        step = (target - value) / _greatest_slope(root_lam * math.exp(0.5 * x), d)
        x -= step
        if step < 0.05:
            break
    x += _REACH_ROUNDING
    return x, _greatest_slope(root_lam * math.exp(0.5 * x), d)


@jit(inline="always")
def _pair_weight(now: Merge, model: Model, eps: float, a_sum: float) -> float:
    """Return log w of a pair with a_i + a_j = a_sum."""
    r = max(0.0, 2.0 * now.before + a_sum)
    if now.rule == CUT:
        p = 1.0 - 0.5 * model.d
        return log_normaliser(p, eps, now.lam, r) + p * math.log(now.lam) + 0.5 * now.lam * a_sum
    return proposal_integral(eps, r, now.inner, model) + 0.5 * now.lam * a_sum


@jit(inline="always")
def _less_than_exp(x: float) -> float:
    """Return a lower bound of e^x, x >= 0, that is quick to compute."""
    return 1.0 + x * (1.0 + x * (0.5 + x * (1 / 6 + x * (1 / 24))))


@jit(inline="always")
def _exp_or_inf(x: float) -> float:
    return math.exp(x) if x < 705.0 else math.inf


@jit
def _good_pair(context: Context, now: Merge, buffer: np.ndarray) -> tuple[float, float]:
    """Return (ε, a_i + a_j) of a pair with nearly the greatest weight, from the nearest entry of each row."""
    context = borrow(context)
    pool, particles, p = context.pool, context.particles, now.p
    alive, a, least = particles.alive[p], particles.a[p], particles.least[p]
    top, slope, half = context.model.leaf_var, particles.slope[p], 0.5 * now.lam
    best, best_eps, best_a = -math.inf, -1.0, 0.0  # the score is half · a_sum - slope · log ε
    eps_to_win = math.inf  # what two leaves would need
    for q in range(1, now.m):
        node = alive[q]
        behind = half * (top - a[node]) / slope  # e^-x <= 1 / (1 + x) spares the exponential
        if least[node] * (1.0 + behind) >= eps_to_win:
            continue
        slot, head = nearest_alive(context, p, node)
        if head < pool.near_eps.shape[1]:
            a_sum = a[node] + a[pool.near_node[slot, head]]
            score = half * a_sum - slope * math.log(max(pool.near_eps[slot, head], _MIN_EPS))
            if score > best:
                best, best_eps, best_a = score, pool.near_eps[slot, head], a_sum
                eps_to_win = math.exp(min(705.0, (2.0 * half * top - best) / slope))
    if best_eps < 0.0:  # no nearest entry is left: the smallest one of the youngest row will do
        node = alive[now.m - 1]
        count = read_row(context, p, node, buffer)
        k = np.argmin(buffer[:count])
        best_eps, best_a = buffer[k], a[node] + a[alive[k]]
    return best_eps, best_a


@jit(inline="always")
def _weigh_row(
    context: Context, now: Merge, node: Int, eps_reach: float, per_a: float, shift: float, buffer: np.ndarray
) -> tuple[float, float]:
    """Sum the weights of one row's pairs, divided by e^shift; return the sum and the largest log weight."""
    model, pool, particles, p = context.model, context.pool, context.particles, now.p
    alive, a, death = particles.alive[p], particles.a[p], particles.death[p]
    total, highest = 0.0, -math.inf
    if particles.floor[p, node] <= eps_reach:
        count = read_row(context, p, node, buffer)
        for k in range(count):
            if buffer[k] <= eps_reach:
                log_w = _pair_weight(now, model, buffer[k], a[node] + a[alive[k]])
                highest = max(highest, log_w)
                total += fast_exp(log_w - shift)
        return total, highest
    slot, head = nearest_alive(context, p, node)
    for k in range(head, pool.near_eps.shape[1]):
        near = pool.near_eps[slot, k]
        if near > eps_reach or near == math.inf:
            break
        other = pool.near_node[slot, k]
        if death[other] == ALIVE and near * _less_than_exp(per_a * (model.leaf_var - a[other])) <= eps_reach:
            log_w = _pair_weight(now, model, near, a[node] + a[other])
            highest = max(highest, log_w)
            total += fast_exp(log_w - shift)
    return total, highest


@jit
def weigh_rows(context: Context, now: Merge, prune: bool, row_sum: np.ndarray, buffer: np.ndarray) -> Weighed:
    """Sum the weights of each row's pairs into row_sum[q], q < m; without `prune` every pair is evaluated."""
    context = borrow(context)
    model, particles, p = context.model, context.particles, now.p
    alive, a, least, top = particles.alive[p], particles.a[p], particles.least[p], model.leaf_var
    eps, a_sum = _good_pair(context, now, buffer)
    particles.slope[p] = max(_least_slope(math.sqrt(now.inner) * math.sqrt(eps), model.d), 1e-3)
    shift = _pair_weight(now, model, eps, a_sum)
    while True:
        reach, per_a = math.inf, 0.0
        if prune:
            target = shift - _LOG_1E15 - 2.0 * math.log(now.m) - now.lam * top
            reach, steepness = _reach(eps, scaled_integral(eps, now.inner, model), target, now.inner, model)
            per_a = 0.5 * now.lam / steepness
        eps_reach = _exp_or_inf(reach)
        total, highest = 0.0, -math.inf
        row_sum[0] = 0.0
        for q in range(1, now.m):
            node = alive[q]
            row_sum[q] = 0.0
            behind = per_a * (top - a[node])
            if least[node] * (1.0 + behind) > eps_reach:  # not where `behind` is NaN, of tiny distances
                continue
            row_reach = _exp_or_inf(reach - behind)
            row_sum[q], row_highest = _weigh_row(context, now, node, row_reach, per_a, shift, buffer)
            total += row_sum[q]
            highest = max(highest, row_highest)
        if highest <= shift + 300.0:
            return Weighed(total, shift, reach, per_a)
        shift = highest  # the pair taken for good was far from it: start again from the best one seen


@jit
def draw_pair(
    context: Context, now: Merge, row_sum: np.ndarray, weighed: Weighed, buffer: np.ndarray, state: np.ndarray
) -> tuple[int, int, float]:
    """Draw a pair with probability proportional to its weight; return its positions older < younger and its ε."""
    context = borrow(context)
    model, alive, a = context.model, context.particles.alive[now.p], context.particles.a[now.p]
    left = uniform(state) * weighed.total
    younger = 1
    for q in range(1, now.m):
        if row_sum[q] > 0.0:
            younger = q
            if left < row_sum[q]:
                break
            left -= row_sum[q]
    node = alive[younger]
    count = older_distances(context, now.p, node, buffer)
    eps_reach = _exp_or_inf(weighed.reach - weighed.per_a * (model.leaf_var - a[node]))
    older, best = 0, -math.inf
    for k in range(count):
        if buffer[k] > eps_reach:
            continue
        log_w = _pair_weight(now, model, buffer[k], a[node] + a[alive[k]])
        left -= fast_exp(log_w - weighed.shift)
        if left < 0.0:
            return k, younger, buffer[k]
        if log_w > best:  # rounding may leave a little over: then the row's best pair takes it
            best, older = log_w, k
    return older, younger, buffer[older]
