"""By how much supports are expected to be off where a check finds something.

Each check that bears on supports has a size, which is 0 where the model holds, whatever the number of rows:

    correlation   mean square correlation of the contrasts of two columns, less that of the replicates
    skewness      mean over the columns of |correlation between level and size of contrasts|, less what chance makes
    tails         log of Geary's ratio, the mean over the columns, less that of a normal distribution
    outliers      log of how late single leaves join, on average, less that of the coalescent

and an effect, a curve over the size: what supports of one half and more say, less the share of them that are true, on
simulated tables (`benchmarks/bench_effects.py`, which prints the numbers below). Beyond the largest size measured the
effect is only known to be at least that of the end of the curve. What the other checks find left supports as they were
there, or moved them either way.
"""

import math

import numpy as np

from .check_advice import Result

LIMIT = 0.1  # of an effect that is worth a warning
AT_REST = 0.04  # on tables from the model, with the short chains of the benchmark
#: Sizes at which effects were measured, and the effects there; straight between them.
CURVES = {
    "correlation": ((0.0, 0.1, 0.28), (AT_REST, 0.18, 0.55)),
    "skewness": ((0.0, 0.45), (AT_REST, 0.19)),
    "tails": ((0.0, 0.1, 0.5, 1.0), (AT_REST, 0.16, 0.29, 0.53)),
    "outliers": ((0.0, 0.4), (AT_REST, 0.57)),
}
_MEAN_ABS = math.sqrt(2.0 / math.pi)  # E|z| of a standard normal z


def size_of(name: str, result: Result, d: int, *, has_scales: bool) -> float:
    """The size of what a check found in d columns; `has_scales` where the noise has Student's tails."""
    excess = result.excess
    if name == "correlation":
        expected = float(result.expected[-1])
        found = (expected + float(excess[-1])) ** 2 - expected**2
    elif name == "skewness":
        found = float(np.abs(excess[:d]).mean() - _MEAN_ABS * result.sd[:d].mean())
    elif name == "tails":
        found = float(excess[1 if has_scales else 0])
    else:
        found = float(excess[0]) if name in CURVES else 0.0
    return max(found, 0.0)


def effect_of(name: str, size: float) -> float:
    """By how much supports are expected to be too high, at least; 0 where there is nothing that bears on them."""
    return float(np.interp(size, *CURVES[name])) if size > 0.0 else 0.0


def at_effect(name: str, result: Result, effect: float, *, has_scales: bool) -> Result:
    """The result, its worst entry being the one that an effect to warn of is about.

    A column or the noise may have tails that are lighter, and farther off, than those of all columns are heavier.
    """
    if name != "tails" or effect <= LIMIT or result.z[result.worst] > 0.0:
        return result
    return result._replace(worst=1 if has_scales else 0)


def is_beyond(name: str, size: float) -> bool:
    """Whether nothing as large was measured."""
    return name in CURVES and size > CURVES[name][0][-1]
