"""Neal's univariate slice sampler: step out, then shrink (Neal 2003, figures 3 and 5).

From x, draw a level below log f(x), find an interval around x that reaches out of the slice {f > level}, and draw
uniformly from it, pulling the end in to every point that misses. The new x leaves the density f invariant.
"""

import math
from collections.abc import Callable

import numpy as np

from ..errors import InputError


def slice_sample(
    log_density: Callable[[float], float],
    x0: float,
    width: float,
    rng: np.random.Generator,
    *,
    max_steps: int = 50,
    max_shrinks: int = 200,
) -> float:
    """Return one slice-sampling update of `x0`, which leaves exp(log_density) invariant.

    log_density : float -> log density up to a constant, finite at x0; -inf (or NaN) means outside the support.
    width : a guess at the slice's width: too small costs steps, too large costs shrinks, neither costs correctness.
    max_steps, max_shrinks : at most max_steps + max_shrinks + 2 evaluations are made. Shrinking ends by returning x0
        unchanged, which happens only where rounding leaves no other point of the slice.
    """
    start = log_density(x0)
    if not math.isfinite(start):
        raise InputError(f"slice_sample must start where the log density is finite, and it is {start} at {x0}.")
    level = start - rng.standard_exponential()
    left = x0 - width * rng.random()
    right = left + width
    # The budget of steps is split at random, not by need: else the update would not be reversible.
    steps_left = int(rng.integers(max_steps))
    steps_right = max_steps - 1 - steps_left
    while steps_left > 0 and log_density(left) > level:
        left -= width
        steps_left -= 1
    while steps_right > 0 and log_density(right) > level:
        right += width
        steps_right -= 1
    for _ in range(max_shrinks):
        x = left + (right - left) * rng.random()
        if x == x0 or log_density(x) > level:
            return x
        if x < x0:
            left = x
        else:
            right = x
    return x0
