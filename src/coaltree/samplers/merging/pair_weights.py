"""Choosing the pair that merges: weights of all pairs that can matter, and no others.

The log weight of a pair with m lineages left is, up to a constant of the step,

    log w_ij = G(ε_ij, λ) + p log λ + λ (a_i + a_j) / 2 ,   G(ε, λ) = log ∫_0^∞ v^{-d/2} exp(-ε/(2v) - λv/2) dv ,

or the same with the integral cut to v > r_ij (never more). With p = 1 - d/2, G(ε, λ) + p log λ = g(λε) is a function of
one variable, which a table gives in a few nanoseconds. It is concave and decreasing in log ε with slope between
-½(ν + 1 + √((ν-1)² + λε)) and -½(ν + √(ν² + λε)), ν = d/2 - 1 (d >= 2). So its inverse H is concave as well, and a
weight of at least e^T needs

    log ε_ij <= H(T) + λ (a_i + a_j - 2 a_max) / (2 g) - …   with g at least the steepness of G at H(T):

a few multiplications and one comparison for each entry that a short list shows. T lies 34.6 + 2 log m below the log
weight of a good pair, so that all that is left out together has a relative mass below 1e-15.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.random_streams import uniform
from ...numerics.gig import log_cut_integral
from ...numerics.special import fast_exp, log_full_integral, tabled_integral
from .particles import ALIVE, older_distances, read_row, skip_merged, slot_of

SMALLEST_EPS = 1e-280  # in proposals: a distance of 0 makes the full integral infinite, the weight corrects for it
_NEXT_TO_NOTHING = 1e-10  # an ε below this share of r is rounding
_LOG_1E15 = 34.6
_ROUNDING = 1e-10  # in log ε, by which a reach is enlarged, or the best pair might be lost where weights fall that fast
FULL, CUT = 0, 1  # which integral the weight is


class Weighed(NamedTuple):
    """What is known of all pairs' weights: their sum, both divided by e^shift, and how far a row reaches."""

    total: float
    shift: float
    reach: float  # a pair of two leaves with a larger log ε was left out
    per_a: float  # and the reach falls by this for each unit of a


@jit(allocates=False)
def _least_slope(z, d):
    """Return a lower bound of -dG/d log ε at z = √(λε)."""
    if d == 1:
        return 0.5 * z
    nu = 0.5 * d - 1.0
    return 0.5 * (nu + math.sqrt(nu * nu + z * z))


@jit(allocates=False)
def _greatest_slope(z, d):
    """Return an upper bound of -dG/d log ε at z = √(λε)."""
    if d == 1:
        return 0.5 * z
    nu = 0.5 * d - 1.0
    return 0.5 * (nu + 1.0 + math.sqrt((nu - 1.0) * (nu - 1.0) + z * z))


@jit(allocates=False)
def scaled_integral(eps, lam, model):
    """Return g(λε) = G(ε, λ) + p log λ, finite at ε = 0 too."""
    x = lam * max(eps, SMALLEST_EPS)
    if x < 1e300:
        return tabled_integral(model.table, x)
    return log_full_integral(eps, lam, model.d) + (1.0 - 0.5 * model.d) * math.log(lam)


@jit(allocates=False)
def proposal_integral(eps, r, inner, model):
    """Return g for choosing a pair.

    With leaf noise r > 0 from the start, and rows may be identical; without it a lineage may lie right on the mean of
    two others, as on a grid. There ε is taken to be at least what puts the mode of log v at r, or such pairs would
    crowd out all others. The weight corrects for whatever is used here.
    """
    if model.leaf_var > 0.0 or eps < _NEXT_TO_NOTHING * r:
        eps = max(eps, r * (inner * r + model.d - 2.0))
    return scaled_integral(eps, inner, model)


@jit(allocates=False)
def _reach(eps_near, log_weight, target, lam, model):
    """Return (log ε, slope bound) beyond which g(λε) < target, given that g = log_weight > target at eps_near.

    g falls at least as fast as z = √(λε) grows and, being concave in log ε, at least as fast as its tangent: both give
    a point right of the root. From there Newton's method approaches without ever crossing it: every iterate is valid.
    """
    d = model.d
    root_lam = math.sqrt(lam)
    z = root_lam * math.sqrt(max(eps_near, SMALLEST_EPS))
    fall = log_weight - target
    x = 2.0 * math.log((z + fall) / root_lam)
    slope = _least_slope(z, d)
    if slope > 0.0:
        x = min(x, math.log(max(eps_near, SMALLEST_EPS)) + fall / slope)
    if x > 640.0:
        return math.inf, 1.0
    for _ in range(4):
        value = scaled_integral(math.exp(x), lam, model)
        step = (target - value) / _greatest_slope(root_lam * math.exp(0.5 * x), d)
        x -= step
        if step < 0.05:
            break
    x += _ROUNDING
    return x, _greatest_slope(root_lam * math.exp(0.5 * x), d)


@jit(allocates=False)
def _pair_weight(rule, eps, a_sum, before, inner, lam, model):
    """Return log w of a pair with a_i + a_j = a_sum when the last merge was at `before`."""
    r = max(0.0, 2.0 * before + a_sum)
    if rule == CUT:
        return log_cut_integral(eps, lam, r, model.d) + (1.0 - 0.5 * model.d) * math.log(lam) + 0.5 * lam * a_sum
    return proposal_integral(eps, r, inner, model) + 0.5 * lam * a_sum


@jit(allocates=False)
def _less_than_exp(x):
    """Return a lower bound of e^x, x >= 0, that is quick to find."""
    return 1.0 + x * (1.0 + x * (0.5 + x * (1 / 6 + x * (1 / 24))))


@jit(allocates=False)
def _good_pair(pool, particles, p, m, lam, top, slope, buffer):
    """Return (ε, a_i + a_j) of a pair that is likely to have nearly the greatest weight, from the heads of lists."""
    alive, a, least = particles.alive[p], particles.a[p], particles.least[p]
    half = 0.5 * lam
    best, best_eps, best_a = -math.inf, -1.0, 0.0  # the score is half · a_sum - slope · log ε
    eps_to_win = math.inf  # what two leaves would need
    for q in range(1, m):
        node = alive[q]
        behind = half * (top - a[node]) / slope  # e^-x <= 1 / (1 + x) spares the exponential
        if least[node] * (1.0 + behind) >= eps_to_win:
            continue
        slot = slot_of(particles, p, node)
        head = skip_merged(pool, particles, p, node, slot)
        if head < pool.near_eps.shape[1]:
            a_sum = a[node] + a[pool.near_node[slot, head]]
            score = half * a_sum - slope * math.log(max(pool.near_eps[slot, head], SMALLEST_EPS))
            if score > best:
                best, best_eps, best_a = score, pool.near_eps[slot, head], a_sum
                eps_to_win = math.exp(min(705.0, (2.0 * half * top - best) / slope))
    if best_eps < 0.0:  # every list has run out: the nearest entry of the youngest row will do
        node = alive[m - 1]
        count = read_row(pool, particles, p, node, buffer)
        k = np.argmin(buffer[:count])
        best_eps, best_a = buffer[k], a[node] + a[alive[k]]
    return best_eps, best_a


@jit(allocates=False)
def weigh_rows(rule, model, pool, particles, p, step, inner, prune, row_sum, buffer):
    """Sum the weights of each row's pairs into row_sum[q], q < m, all divided by e^shift; return what is `Weighed`.

    `inner` is the λ inside G: the rate itself, or 1 where λ is dropped. Without `prune` every pair is evaluated.
    """
    d = model.d
    m = model.n - step
    lam = 0.5 * m * (m - 1)
    top = model.leaf_var
    alive, a, death, least = particles.alive[p], particles.a[p], particles.death[p], particles.least[p]
    before = particles.times[p, step - 1] if step > 0 else 0.0

    eps, a_sum = _good_pair(pool, particles, p, m, lam, top, particles.slope[p], buffer)
    particles.slope[p] = max(_least_slope(math.sqrt(inner) * math.sqrt(eps), d), 1e-3)
    shift = _pair_weight(rule, eps, a_sum, before, inner, lam, model)

    while True:
        reach, per_a = math.inf, 0.0
        if prune:
            target = shift - _LOG_1E15 - 2.0 * math.log(m) - lam * top
            reach, steepness = _reach(eps, scaled_integral(eps, inner, model), target, inner, model)
            per_a = 0.5 * lam / steepness
        eps_reach = math.exp(reach) if reach < 705.0 else math.inf
        total, highest = 0.0, -math.inf
        row_sum[0] = 0.0
        for q in range(1, m):
            node = alive[q]
            row_sum[q] = 0.0
            behind = per_a * (top - a[node])
            if least[node] * (1.0 + behind) > eps_reach:
                continue
            row_reach = reach - behind
            row_eps_reach = math.exp(row_reach) if row_reach < 705.0 else math.inf
            sum_of_row = 0.0
            if particles.floor[p, node] <= row_eps_reach:
                count = read_row(pool, particles, p, node, buffer)
                for k in range(count):
                    if buffer[k] <= row_eps_reach:
                        log_w = _pair_weight(rule, buffer[k], a[node] + a[alive[k]], before, inner, lam, model)
                        highest = max(highest, log_w)
                        sum_of_row += fast_exp(log_w - shift)
            else:
                slot = slot_of(particles, p, node)
                for k in range(skip_merged(pool, particles, p, node, slot), pool.near_eps.shape[1]):
                    near = pool.near_eps[slot, k]
                    if near > row_eps_reach or near == math.inf:
                        break
                    other = pool.near_node[slot, k]
                    if death[other] == ALIVE and near * _less_than_exp(per_a * (top - a[other])) <= row_eps_reach:
                        log_w = _pair_weight(rule, near, a[node] + a[other], before, inner, lam, model)
                        highest = max(highest, log_w)
                        sum_of_row += fast_exp(log_w - shift)
            row_sum[q] = sum_of_row
            total += sum_of_row
        if highest <= shift + 300.0:
            return Weighed(total, shift, reach, per_a)
        shift = highest  # the pair taken for good was far from it: start again from the best one seen


@jit(allocates=False)
def draw_pair(rule, model, pool, particles, p, step, inner, row_sum, weighed, buffer, state):
    """Draw a pair with probability proportional to its weight; return its positions older < younger and its ε."""
    m = model.n - step
    lam = 0.5 * m * (m - 1)
    alive, a = particles.alive[p], particles.a[p]
    before = particles.times[p, step - 1] if step > 0 else 0.0
    left = uniform(state) * weighed.total
    younger = 1
    for q in range(1, m):
        if row_sum[q] > 0.0:
            younger = q
            if left < row_sum[q]:
                break
            left -= row_sum[q]
    node = alive[younger]
    count = older_distances(pool, particles, p, node, buffer)
    row_reach = weighed.reach - weighed.per_a * (model.leaf_var - a[node])
    eps_reach = math.exp(row_reach) if row_reach < 705.0 else math.inf
    older, best = 0, -math.inf
    for k in range(count):
        if buffer[k] > eps_reach:
            continue
        log_w = _pair_weight(rule, buffer[k], a[node] + a[alive[k]], before, inner, lam, model)
        left -= fast_exp(log_w - weighed.shift)
        if left < 0.0:
            return k, younger, buffer[k]
        if log_w > best:  # rounding may leave a little over: then the row's best pair takes it
            best, older = log_w, k
    return older, younger, buffer[older]
