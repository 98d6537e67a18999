"""Neal's univariate slice sampler: step out, then shrink (Neal 2003, figures 3 and 5).

From x, draw a level below log f(x), find an interval around x that reaches out of the slice {f > level}, and draw
uniformly from it, pulling the end in to every point that misses. The new x leaves the density f invariant.

    slice_sample(log_density, x0, width, rng)               one update, for any Python callable
    slice_cut_gig(p, chi, psi, r, excess, n_steps, state)   kernel: n_steps updates of v - r, v > r a cut GIG

The kernel is Henao & Lucas's way to draw merge times; `gig.draw_cut_gig` draws them independently, so this one serves
for comparison.
"""

import math
from collections.abc import Callable

import numpy as np

from .._runtime.jit import jit
from .._runtime.random_streams import exponential, uniform
from ..errors import InputError
from .gig import anchor, excess_at, fall, position_of, reach


def slice_sample(
    log_density: Callable[[float], float],
    x0: float,
    width: float,
    rng: np.random.Generator,
    *,
    lower: float = -math.inf,
    upper: float = math.inf,
    max_steps: int = 50,
    max_shrinks: int = 200,
) -> float:
    """Return one slice-sampling update of `x0`, which leaves exp(log_density) on (lower, upper) invariant.

    Parameters
    ----------
    log_density : callable
        float -> log density up to a constant; -inf (or NaN) means outside the support.
    x0 : float
        Where to start; its log density must be finite.
    width : float
        A guess at the slice's width: too small costs steps, too large costs shrinks, neither costs correctness.
    max_steps, max_shrinks : int
        At most max_steps + max_shrinks + 2 evaluations are made. Shrinking ends by returning x0 unchanged, which
        happens only where rounding leaves no other point of the slice.
    """
    x0, width = _as_float("x0", x0), _as_float("width", width)
    if not (math.isfinite(width) and width > 0.0):
        raise InputError(f"slice_sample needs a positive, finite width, not {width}.")
    if not lower <= x0 <= upper or not math.isfinite(x0):
        raise InputError(f"slice_sample must start inside its bounds ({lower}, {upper}), not at {x0}.")
    if max_steps < 1 or max_shrinks < 1:
        raise InputError("slice_sample needs max_steps and max_shrinks of at least 1.")
    start = log_density(x0)
    if not math.isfinite(start):
        raise InputError(f"slice_sample must start where the log density is finite, and it is {start} at {x0}.")
    level = start - rng.standard_exponential()
    left = x0 - width * rng.random()
    right = left + width
    # The budget of steps is split at random, not by need: else the update would not be reversible.
    steps_left = int(rng.integers(max_steps))
    steps_right = max_steps - 1 - steps_left
    while steps_left > 0 and left > lower and log_density(left) > level:
        left -= width
        steps_left -= 1
    while steps_right > 0 and right < upper and log_density(right) > level:
        right += width
        steps_right -= 1
    left, right = max(left, lower), min(right, upper)
    for _ in range(max_shrinks):
        x = left + (right - left) * rng.random()
        if x == x0 or log_density(x) > level:
            return x
        if x < x0:
            left = x
        else:
            right = x
    return x0


def _as_float(name, value):
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"slice_sample needs a number for {name}, not {value!r}.") from None


_MAX_STEPS = 100
_MAX_SHRINKS = 200


@jit
def _signed_fall(u, sigma, a, b):
    return fall(u, sigma, a, b) if u >= 0.0 else fall(-u, -sigma, b, a)


@jit
def _slice_step(u, sigma, a, b, left_end, width, state):
    """Return one update of u under the density ∝ e^{-φ(u)} on u > left_end."""
    level = _signed_fall(u, sigma, a, b) + exponential(state)
    left = u - width * uniform(state)
    right = left + width
    steps_left = np.int64(_MAX_STEPS * uniform(state))
    steps_right = _MAX_STEPS - 1 - steps_left
    while steps_left > 0 and left > left_end and _signed_fall(left, sigma, a, b) < level:
        left -= width
        steps_left -= 1
    while steps_right > 0 and _signed_fall(right, sigma, a, b) < level:
        right += width
        steps_right -= 1
    left = max(left, left_end)
    for _ in range(_MAX_SHRINKS):
        x = left + (right - left) * uniform(state)
        if _signed_fall(x, sigma, a, b) < level:
            return x
        if x < u:
            left = x
        else:
            right = x
    return u


@jit
def slice_cut_gig(p, chi, psi, r, excess, n_steps, state):
    """Return v - r after `n_steps` updates of log v from v = r + excess, v ∝ v^{p-1} exp(-χ/(2v) - ψv/2) on v > r.

    Successive values are correlated, and exact only as n_steps → ∞; excess = 0 starts at the mode.
    """
    at = anchor(p, chi, psi, r)
    u = position_of(at, r, excess) if excess > 0.0 else 0.0
    width = reach(at.sigma, at.a, at.b, 1.0) + (reach(0.0, at.b, at.a, 1.0) if at.left > 0.0 else 0.0)
    for _ in range(n_steps):
        u = _slice_step(u, at.sigma, at.a, at.b, -at.left, width, state)
    return excess_at(at, r, u)
