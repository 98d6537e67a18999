"""How many lineages are alive at time u, and the area under that count, while nodes come and go.

With N(u) the number of nodes at times <= u and S(u) the sum of those times, a forest of `m` leaves has

    k(u) = m - N(u) ,      K(u) = ∫_0^u k = m u - u N(u) + S(u) .

Times fall into bins of equal width in the bits of a float64: equal steps of the mantissa within each octave, a fixed
grid that depends on nothing but n and reaches from far below 2/n² to far above 1. Bins are grouped by 64, groups by
64 again; each level keeps running (count, sum) pairs within its group, so a question is three look-ups and a change
at most 3 · 64 additions. The nodes of one bin form a short list, read only where the exact answer is wanted:
without it K is too large by at most (nodes in the bin) · (width of the bin).
"""

from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit

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
    """Room for the inner nodes of a tree with n leaves, numbered below 2n - 1; the busiest bin holds about 8."""
    doublings = int(np.ceil(np.log2(max(n, 2))))
    mantissa_bits = max(6, doublings - 6)
    lowest, highest = -(2 * doublings + 16), 8
    shift = 52 - mantissa_bits
    base = int(np.float64(2.0**lowest).view(np.int64)) >> shift
    n_bins = ((highest - lowest) << mantissa_bits) + 1
    n_groups = (n_bins >> _GROUP_BITS) + 1
    n_blocks = (n_groups >> _GROUP_BITS) + 1
    n_nodes = 2 * n - 1
    return Lineages(
        np.zeros((n_blocks * _GROUP * _GROUP, 2)),
        np.zeros((n_blocks * _GROUP, 2)),
        np.zeros((n_blocks, 2)),
        np.full(n_blocks * _GROUP * _GROUP, -1, np.int32),
        np.full(n_nodes, -1, np.int32),
        np.full(n_nodes, -1, np.int32),
        np.zeros(n_nodes),
        shift,
        base,
    )


@jit(inline="always", allocates=False)
def _bin_of(lin, t):
    b = (np.float64(t).view(np.int64) >> lin.shift) - lin.base
    return min(max(b, 0), lin.first.size - 1)


@jit(allocates=False)
def clear(lin):
    """Take every node out."""
    lin.by_bin[:] = 0.0
    lin.by_group[:] = 0.0
    lin.by_block[:] = 0.0
    lin.first[:] = -1


def copy_lineages(source: Lineages, target: Lineages) -> None:
    """Copy what another of the same size holds."""
    for mine, yours in zip(source[:7], target[:7], strict=True):
        np.copyto(yours, mine)


@jit(allocates=False)
def _count(lin, b, number, t):
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
def add(lin, node, t):
    """Put a node in at time t."""
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
def remove(lin, node):
    """Take a node out."""
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
def count_and_area(lin, m, t):
    """k(t) and K(t) with the nodes of t's own bin left out: close, and cheap enough for every quadrature point."""
    b = _bin_of(lin, t)
    g = b >> _GROUP_BITS
    h = g >> _GROUP_BITS
    k = m - (lin.by_bin[b, 0] + lin.by_group[g, 0] + lin.by_block[h, 0])
    return k, k * t + (lin.by_bin[b, 1] + lin.by_group[g, 1] + lin.by_block[h, 1])


@jit(allocates=False)
def exact_area(lin, m, t):
    """K(t), exactly."""
    _, area = count_and_area(lin, m, t)
    node = lin.first[_bin_of(lin, t)]
    while node >= 0:
        u = lin.time[node]
        if u <= t:
            area -= t - u
        node = lin.following[node]
    return area
