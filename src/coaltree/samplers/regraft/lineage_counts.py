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

_GROUP_BITS = 6
_GROUP = 1 << _GROUP_BITS


class Lineages(NamedTuple):
    """Node times in bins; `shift` and `base` turn the bits of a time into its bin."""

    by_bin: np.ndarray  # (n_bins, 2) count and sum of the bins before this one in its group
    by_group: np.ndarray  # (n_groups, 2) of the groups before this one in its block
    by_block: np.ndarray  # (n_blocks, 2) of all blocks before this one
    first: np.ndarray  # (n_bins,) first node of a bin, -1 for none
    following: np.ndarray  # (n_nodes,) next node of the same bin
    preceding: np.ndarray  # (n_nodes,) previous node of the same bin
    time: np.ndarray  # (n_nodes,) time of the nodes that are in
    shift: int
    base: int


def empty_lineages(n: int) -> Lineages:
    """Allocate bins for the inner nodes of a tree with n leaves; the busiest bin holds about 8."""
    doublings = int(np.ceil(np.log2(max(n, 2))))
    mantissa_bits = max(6, doublings - 6)
    lowest, highest = -(2 * doublings + 16), 8  # log2 of times, from far below 2/n² to far above 1
    shift = 52 - mantissa_bits
    base = int(np.float64(2.0**lowest).view(np.int64)) >> shift
    n_bins = ((highest - lowest) << mantissa_bits) + 1
    n_groups = (n_bins >> _GROUP_BITS) + 1
    n_blocks = (n_groups >> _GROUP_BITS) + 1
    by_bin, by_group, by_block = (np.zeros((n_blocks * size, 2)) for size in (_GROUP * _GROUP, _GROUP, 1))
    first, following, preceding = (np.full(size, -1, np.int32) for size in (len(by_bin), 2 * n - 1, 2 * n - 1))
    return Lineages(by_bin, by_group, by_block, first, following, preceding, np.zeros(2 * n - 1), shift, base)


@jit(inline="always", allocates=False)
def _bin_of(lin: Lineages, t: float) -> int:
    b = (np.float64(t).view(np.int64) >> lin.shift) - lin.base
    return min(max(int(b), 0), lin.first.size - 1)


@jit(allocates=False)
def clear(lin: Lineages) -> None:
    """Remove every node."""
    lin.by_bin[:] = 0.0
    lin.by_group[:] = 0.0
    lin.by_block[:] = 0.0
    lin.first[:] = -1


@jit(allocates=False)
def _count(lin: Lineages, b: Int, number: float, t: float) -> None:
    for i in range(b + 1, ((b >> _GROUP_BITS) + 1) << _GROUP_BITS):
        lin.by_bin[i, 0] += number
        lin.by_bin[i, 1] += t
    g = b >> _GROUP_BITS
    for i in range(g + 1, ((g >> _GROUP_BITS) + 1) << _GROUP_BITS):
        lin.by_group[i, 0] += number
        lin.by_group[i, 1] += t
    for i in range((g >> _GROUP_BITS) + 1, lin.by_block.shape[0]):
        lin.by_block[i, 0] += number
        lin.by_block[i, 1] += t


@jit(allocates=False)
def add(lin: Lineages, node: Int, t: float) -> None:
    """Add a node at time t."""
    b = _bin_of(lin, t)
    _count(lin, b, 1.0, t)
    head = lin.first[b]
    lin.time[node] = t
    lin.following[node] = head
    lin.preceding[node] = -1
    if head >= 0:
        lin.preceding[head] = node
    lin.first[b] = node


@jit(allocates=False)
def remove(lin: Lineages, node: Int) -> None:
    """Remove a node."""
    t = lin.time[node]
    b = _bin_of(lin, t)
    _count(lin, b, -1.0, -t)
    before, after = lin.preceding[node], lin.following[node]
    if before >= 0:
        lin.following[before] = after
    else:
        lin.first[b] = after
    if after >= 0:
        lin.preceding[after] = before


@jit(inline="always", allocates=False)
def count_and_area(lin: Lineages, m: float, t: float) -> tuple[float, float]:
    """k(t) and K(t) without the nodes of t's own bin: close, and cheap enough for every quadrature point."""
    b = _bin_of(lin, t)
    g = b >> _GROUP_BITS
    h = g >> _GROUP_BITS
    k = m - (lin.by_bin[b, 0] + lin.by_group[g, 0] + lin.by_block[h, 0])
    return k, k * t + (lin.by_bin[b, 1] + lin.by_group[g, 1] + lin.by_block[h, 1])


@jit(allocates=False)
def exact_area(lin: Lineages, m: float, t: float) -> float:
    """K(t), exactly."""
    _, area = count_and_area(lin, m, t)
    node = lin.first[_bin_of(lin, t)]
    while node >= 0:
        u = lin.time[node]
        if u <= t:
            area -= t - u
        node = lin.following[node]
    return area
