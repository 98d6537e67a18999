"""Lineage counts: how many lineages are alive at time u, and the area under that count, while nodes come and go.

With N(u) the number of nodes at times <= u and S(u) the sum of those times, a forest of `m` leaves has

    k(u) = m - N(u) ,      K(u) = ∫_0^u k = m u - u N(u) + S(u) .

Times fall into bins of equal width in the bits of a float64. Bins are grouped by 64, groups by 64 again; each level
keeps running (count, sum) pairs within its group, so a query is three look-ups and a change at most 3 · 64 additions.
The nodes of one bin are a linked list, read only where the exact answer is needed.
"""

from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.typing import Int
from ...numerics.borrow import borrow

_GROUP_BITS = 6  # 64 bins to a group, 64 groups to a block
_GROUP = 1 << _GROUP_BITS


SUM = np.dtype([("count", np.float64), ("time", np.float64)])
LINK = np.dtype([("time", np.float64), ("following", np.int32), ("preceding", np.int32)])


class Lineages(NamedTuple):
    """Node times in bins; `shift` and `base` turn the bits of a time into its bin."""

    sums: np.ndarray  # SUM of the bins before each bin in its group, of groups in their block, of all blocks before
    links: np.ndarray  # LINK of each node in the list of its bin, then of each bin, where its list starts; -1 for none
    n_bins: int
    shift: int
    base: int


def empty_lineages(n: int) -> Lineages:
    """Allocate bins for the inner nodes of a tree with n leaves; the busiest bin holds about 8."""
    doublings = int(np.ceil(np.log2(max(n, 2))))
    mantissa_bits = max(6, doublings - 6)
    lowest, highest = -(2 * doublings + 16), 8  # log2 of times, from far below 2/n² to far above 1
    shift = 52 - mantissa_bits
    base = int(np.float64(2.0**lowest).view(np.int64)) >> shift
    n_needed = ((highest - lowest) << mantissa_bits) + 1
    n_blocks = (((n_needed >> _GROUP_BITS) + 1) >> _GROUP_BITS) + 1
    n_groups = n_blocks << _GROUP_BITS
    n_bins = n_groups << _GROUP_BITS
    links = np.zeros(2 * n - 1 + n_bins, LINK)
    links["following"] = links["preceding"] = -1
    return Lineages(np.zeros(n_bins + n_groups + n_blocks, SUM), links, n_bins, shift, base)


@jit(inline="always")
def _bin_of(lin: Lineages, t: float) -> int:
    b = (np.float64(t).view(np.int64) >> lin.shift) - lin.base
    return min(max(int(b), 0), lin.n_bins - 1)


@jit(inline="always")
def _places(lin: Lineages, b: Int) -> tuple[Int, Int, Int]:
    """Where the sums of a bin, its group and its block are."""
    group = lin.n_bins + (b >> _GROUP_BITS)
    block = lin.n_bins + (lin.n_bins >> _GROUP_BITS) + (b >> (2 * _GROUP_BITS))
    return b, group, block


@jit(inline="always")
def clear(lin: Lineages) -> None:
    """Remove every node."""
    for i in range(lin.sums.size):
        lin.sums[i].count = 0.0
        lin.sums[i].time = 0.0
    for i in range(lin.links.size - lin.n_bins, lin.links.size):
        lin.links[i].following = -1


@jit(inline="always")
def _count(lin: Lineages, b: Int, number: float, t: float) -> None:
    """Add to the sums of all later bins of b's group, all later groups of its block, and all later blocks."""
    _, group, block = _places(lin, b)
    _add_to(lin.sums, b + 1, (b | (_GROUP - 1)) + 1, number, t)
    _add_to(lin.sums, group + 1, (group | (_GROUP - 1)) + 1, number, t)
    _add_to(lin.sums, block + 1, lin.sums.size, number, t)


@jit(inline="always")
def _add_to(sums: np.ndarray, first: Int, end: Int, number: float, t: float) -> None:
    for i in range(first, end):
        sums[i].count += number
        sums[i].time += t


@jit
def add(lin: Lineages, node: Int, t: float) -> None:
    """Add a node at time t."""
    lin = borrow(lin)
    links, b = lin.links, _bin_of(lin, t)
    _count(lin, b, 1.0, t)
    before = links.size - lin.n_bins + b
    after = links[before].following
    links[node].time = t
    links[node].preceding = before
    links[node].following = after
    links[before].following = node
    if after >= 0:
        links[after].preceding = node


@jit(inline="always")
def remove(lin: Lineages, node: Int) -> None:
    """Remove a node."""
    lin = borrow(lin)
    links, t = lin.links, lin.links[node].time
    _count(lin, _bin_of(lin, t), -1.0, -t)
    before, after = links[node].preceding, links[node].following
    links[before].following = after
    if after >= 0:
        links[after].preceding = before


@jit(inline="always")
def count_and_area(lin: Lineages, m: float, t: float) -> tuple[float, float]:
    """k(t) and K(t) without the nodes of t's own bin: close, and cheap enough for every quadrature point."""
    b, g, h = _places(lin, _bin_of(lin, t))
    sums = lin.sums
    k = m - (sums[b].count + sums[g].count + sums[h].count)
    return k, k * t + (sums[b].time + sums[g].time + sums[h].time)


@jit(inline="always")
def exact_area(lin: Lineages, m: float, t: float) -> float:
    """K(t), exactly."""
    lin = borrow(lin)
    _, area = count_and_area(lin, m, t)
    links = lin.links
    node = links[links.size - lin.n_bins + _bin_of(lin, t)].following
    while node >= 0:
        u = links[node].time
        if u <= t:
            area -= t - u
        node = links[node].following
    return area
