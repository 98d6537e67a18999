"""A Brownian path that can be asked for any time, and gives the same answer each time it is asked.

Its values at the edges of bins are drawn first. Within a bin the path is a bridge, halved again and again: where an
interval of length h is split, its middle lies half way between the ends plus √h/2 times a normal number that is made
from the name of the interval, so that nothing need be remembered. Below 2⁻¹² of a bin it is a straight line.
"""

import math

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.random_streams import standard_normal

_HALVINGS = 12
_TO_UNIT = 1.0 / 9007199254740992.0


@jit
def draw_edges(edges, path, stream):
    """Fill `path` with a Brownian path at the ascending times `edges`, 0 at the first of them."""
    path[0] = 0.0
    for i in range(1, edges.size):
        path[i] = path[i - 1] + math.sqrt(edges[i] - edges[i - 1]) * standard_normal(stream)


@jit(inline="always", allocates=False)
def _mixed(x):
    """64 bits that look random for every x: the finaliser of splitmix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@jit(allocates=False)
def _named_normal(key, name):
    """A standard normal number that belongs to a name, by Box and Muller."""
    one = _mixed(key + name * np.uint64(0x9E3779B97F4A7C15))
    two = _mixed(one ^ key)
    u = (np.float64(one >> np.uint64(11)) + 0.5) * _TO_UNIT
    v = (np.float64(two >> np.uint64(11)) + 0.5) * _TO_UNIT
    return math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * v)


@jit(allocates=False)
def between(low, high, at_low, at_high, name, key, t):
    """The path at t between `low` and `high`, where it is `at_low` and `at_high`; `name` is that of the interval."""
    name = np.uint64(name) << np.uint64(_HALVINGS + 1) | np.uint64(1)
    for _ in range(_HALVINGS):
        middle, h = 0.5 * (low + high), high - low
        at_middle = 0.5 * (at_low + at_high) + 0.5 * math.sqrt(h) * _named_normal(key, name)
        if t < middle:
            high, at_high, name = middle, at_middle, name << np.uint64(1)
        else:
            low, at_low, name = middle, at_middle, name << np.uint64(1) | np.uint64(1)
    return at_low + (at_high - at_low) * ((t - low) / (high - low))
