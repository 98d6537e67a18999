"""Stand-in until slice_sampling.py lands: Neal's univariate slice, step out and shrink."""

import math


def slice_sample(log_density, x0, width, rng, max_steps=50):
    level = log_density(x0) + math.log(rng.random())
    left = x0 - width * rng.random()
    right = left + width
    steps = int(rng.integers(max_steps))
    other = max_steps - 1 - steps
    while steps > 0 and log_density(left) > level:
        left -= width
        steps -= 1
    while other > 0 and log_density(right) > level:
        right += width
        other -= 1
    while True:
        x = left + (right - left) * rng.random()
        if log_density(x) > level:
            return x
        if x < x0:
            left = x
        else:
            right = x
        if right - left < 1e-14 * max(1.0, abs(x0)):
            return x0
