"""How many lineages are alive at time u, and the area under that count, while nodes come and go.

With N(u) the number of nodes at times <= u and S(u) the sum of those times, a forest of `m` leaves has

    k(u) = m - N(u) ,      K(u) = ∫_0^u k = m u - u N(u) + S(u) .

Times fall into bins of equal width in the bits of a float64: equal steps of the mantissa within each octave, a fixed
grid that depends on nothing but n and reaches from far below 2/n² to far above 1. Bins are grouped by 64, groups by
64 again; each level keeps running (count, sum) pairs within its group, so a question is three look-ups and a change
at most 3 · 64 additions. The nodes of one bin form a short list, read only where the exact answer is wanted:
without it K is too large by at most (nodes in the bin) · (width of the bin).

Where parts of a tree change side by side (`parts`), each has lineages of its own. With m leaves in both parts less the
one that moves, N the merges of the part itself, N₀ and M₀ those of the part and of the other before the sweeps, and W a
Brownian path (for the other part -W),

    k(u) = m - ½ - 2 N(u) + R'(u) ,    R(u) = ∫_0^u (N₀ - M₀) - W(u) ,    K(u) = ∫_0^u k .

Nodes of the part count twice. Proposals may depend on R, which is given, but not on N₀, which is where the part was:
what is merely close has R at 32 times an octave, and straight lines between them; one line up to 1 / (4 n), where
shorter ones would be steep by chance.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.random_streams import next_uint64
from .lineage_noise import between, draw_edges

_GROUP_BITS = 6
_GROUP = 1 << _GROUP_BITS
_LINE_BITS = 5


class Lineages(NamedTuple):
    """Node times in bins; `shift` and `base` turn the bits of a time into its bin.

    Nodes count `own` times. Of a part, nodes n_nodes … 2 n_nodes - 1 are its own as they were, later ones those of the
    other part; these two have the third and fourth column of the running pairs.
    """

    by_bin: np.ndarray  # (n_bins, 2 or 4) count and sum of the bins before this one in its group
    by_group: np.ndarray  # (n_groups, 2 or 4) of the groups before this one in its block
    by_block: np.ndarray  # (n_blocks, 2 or 4) of all blocks before this one
    first: np.ndarray  # (n_bins,) first node of a bin, -1 for none
    following: np.ndarray  # (n_nodes,) next node of the same bin
    preceding: np.ndarray  # (n_nodes,) previous node of the same bin
    time: np.ndarray  # (n_nodes,) time of the nodes that are in
    shift: int
    base: int
    n_nodes: int
    own: float
    noise: np.ndarray  # ±W at the edges of the bins; empty for none
    sign: float  # of W
    key: np.ndarray  # (1,) uint64, from which W within bins is made
    line_bits: int  # as a power of 2, how many bins a line goes over
    drift: np.ndarray  # (n_lines, 3) where a line begins, R there, and its slope


def empty_lineages(n: int, sign: float = 0.0) -> Lineages:
    """Room for the inner nodes of a tree with n leaves, numbered below 2n - 1; the busiest bin holds about 8.

    With a sign of 1 or -1, for one part or the other of a tree.
    """
    doublings = int(np.ceil(np.log2(max(n, 2))))
    mantissa_bits = max(6, doublings - 6)
    lowest, highest = -(2 * doublings + 16), 8
    shift = 52 - mantissa_bits
    base = int(np.float64(2.0**lowest).view(np.int64)) >> shift
    n_bins = ((highest - lowest) << mantissa_bits) + 1
    n_groups = (n_bins >> _GROUP_BITS) + 1
    n_blocks = (n_groups >> _GROUP_BITS) + 1
    n_nodes, is_part = 2 * n - 1, sign != 0.0
    n_places, n_columns = (3 * n_nodes, 4) if is_part else (n_nodes, 2)
    return Lineages(
        np.zeros((n_blocks * _GROUP * _GROUP, n_columns)),
        np.zeros((n_blocks * _GROUP, n_columns)),
        np.zeros((n_blocks, n_columns)),
        np.full(n_blocks * _GROUP * _GROUP, -1, np.int32),
        np.full(n_places, -1, np.int32),
        np.full(n_places, -1, np.int32),
        np.zeros(n_places),
        shift,
        base,
        n_nodes,
        2.0 if is_part else 1.0,
        np.zeros(n_bins + 1 if is_part else 0),
        sign,
        np.zeros(1, np.uint64),
        mantissa_bits - _LINE_BITS,
        np.zeros(((n_bins >> (mantissa_bits - _LINE_BITS)) + 1 if is_part else 0, 3)),
    )


def draw_noise(parts: Sequence[Lineages], stream: np.ndarray) -> None:
    """Draw the path W that two parts share."""
    one, two = parts
    bits = (one.base + np.arange(one.noise.size)) << one.shift
    edges = bits.view(np.float64)
    edges[0] = 0.0  # the first bin has all that comes before it, too
    draw_edges(edges, one.noise, stream)
    one.key[0] = two.key[0] = next_uint64(stream)
    np.multiply(one.noise, two.sign, out=two.noise)
    one.noise[:] *= one.sign


@jit(inline="always", allocates=False)
def _weight(lin, node):
    """How often a node counts."""
    if node < lin.n_nodes:
        return lin.own
    return -1.0 if node < 2 * lin.n_nodes else 1.0


@jit(inline="always", allocates=False)
def _column(lin, node):
    """Where it is counted."""
    return 0 if node < lin.n_nodes else 2


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
def _count(lin, b, column, number, t):
    for i in range(b + 1, ((b >> _GROUP_BITS) + 1) << _GROUP_BITS):
        lin.by_bin[i, column] += number
        lin.by_bin[i, column + 1] += t
    g = b >> _GROUP_BITS
    for i in range(g + 1, ((g >> _GROUP_BITS) + 1) << _GROUP_BITS):
        lin.by_group[i, column] += number
        lin.by_group[i, column + 1] += t
    for i in range((g >> _GROUP_BITS) + 1, lin.by_block.shape[0]):
        lin.by_block[i, column] += number
        lin.by_block[i, column + 1] += t


@jit(allocates=False)
def add(lin, node, t):
    """Put a node in at time t."""
    b = _bin_of(lin, t)
    weight = _weight(lin, node)
    _count(lin, b, _column(lin, node), weight, weight * t)
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
    weight = _weight(lin, node)
    _count(lin, b, _column(lin, node), -weight, -weight * t)
    before, after = lin.preceding[node], lin.following[node]
    if before >= 0:
        lin.following[before] = after
    else:
        lin.first[b] = after
    if after >= 0:
        lin.preceding[after] = before


@jit(inline="always", allocates=False)
def _counted(lin, b, column):
    """Count and sum of all nodes in the bins before b."""
    g = b >> _GROUP_BITS
    h = g >> _GROUP_BITS
    number = lin.by_bin[b, column] + lin.by_group[g, column] + lin.by_block[h, column]
    total = lin.by_bin[b, column + 1] + lin.by_group[g, column + 1] + lin.by_block[h, column + 1]
    return number, total


@jit(inline="always", allocates=False)
def count_and_area(lin, m, t):
    """k(t) and K(t) with the nodes of t's own bin left out: close, and cheap enough for every quadrature point."""
    b = _bin_of(lin, t)
    number, total = _counted(lin, b, 0)
    k = m - number
    area = k * t + total
    if lin.drift.size > 0:
        drift = lin.drift[min(b >> lin.line_bits, lin.drift.shape[0] - 1)]
        k += drift[2] - 0.5
        area += drift[1] + drift[2] * (t - drift[0]) - 0.5 * t
    return k, area


@jit(allocates=False)
def exact_area(lin, m, t):
    """K(t), exactly."""
    b = _bin_of(lin, t)
    number, total = _counted(lin, b, 0)
    area = (m - number) * t + total
    if lin.drift.size > 0:
        area += _exact_before(lin, b, t) - _noise_at(lin, b, t) - 0.5 * t
    node = lin.first[b]
    while node >= 0:
        u = lin.time[node]
        if u <= t:
            area -= _weight(lin, node) * (t - u)
        node = lin.following[node]
    return area


@jit(inline="always", allocates=False)
def _exact_before(lin, b, t):
    """∫_0^t (N₀ - M₀), with the nodes of t's own bin left out."""
    number, total = _counted(lin, b, 2)
    return total - number * t


@jit(allocates=False)
def _noise_at(lin, b, t):
    """±W(t), in bin b."""
    high = _edge(lin, b + 1)
    if b == 0:
        return lin.noise[1] * (t / high)
    at_low, at_high = lin.sign * lin.noise[b], lin.sign * lin.noise[b + 1]
    return lin.sign * between(_edge(lin, b), high, at_low, at_high, b, lin.key[0], t)


@jit(inline="always", allocates=False)
def _edge(lin, b):
    return np.int64((lin.base + b) << lin.shift).view(np.float64)


@jit(allocates=False)
def draw_lines(lin):
    """Make the straight lines of R, once the nodes are in as they were."""
    last = 0  # the last line begun
    for i in range(1, lin.drift.shape[0]):
        b = i << lin.line_bits
        t = _edge(lin, b)
        if t >= 0.5 / lin.n_nodes:
            R = _exact_before(lin, b, t) - lin.noise[b]
            lin.drift[last:i, 2] = (R - lin.drift[last, 1]) / (t - lin.drift[last, 0])
            lin.drift[i, 0], lin.drift[i, 1] = t, R
            last = i
