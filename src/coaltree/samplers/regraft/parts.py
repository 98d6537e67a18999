"""A sweep in two parts that change side by side, each in a thread of its own.

The tree is cut at a time that depends on nothing in it, and the values z of the branches that cross it are drawn, given
all else. What hangs below such a branch is then a tree of its own, with a stem that ends in a known value. The stems
are shared out to two parts, by z alone; regrafts stay within a part and below the cut, and each stem keeps something
below it. Given z the likelihood of one part knows nothing of the other. What is left is the prior: with a(u) and b(u)
the numbers of lineages of the parts, it has a factor exp(-∫ a b du) between them. By

    exp(-a b) = exp(-a²/2) exp(-b²/2) E exp(V (a - b)) ,   V ~ N(0, 1) ,

at each moment, this is what is left of the joint density of a, b and a white noise V(u) when V is integrated out. Given
the tree, V is white noise around a₀ - b₀, what the lineages are now; given V the parts are independent:

    part one   exp(-∫ [a (a - 1) / 2 + a² / 2 - a V] du) ,      part two   exp(-∫ [b (b - 1) / 2 + b² / 2 + b V] du) .

A lineage more from τ to t then costs ∫ (2 k + ½ - V) du instead of ∫ k du (`lineage_counts`). Nothing is approximated
and nothing rejected, and each part has a stream of random numbers of its own: the number of threads changes no bit.

What the parts cannot do is done after them on the whole tree: the nodes above the cut are updated, and some leaves.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.random_streams import integer_below, make_streams, standard_normal
from ...model.diffusion import blend, join
from ..base import Merges
from .candidates import empty_candidates
from .lineage_counts import add, clear, draw_lines, draw_noise, empty_lineages
from .update import Engine, can_move, sweep_from, update, update_above
from .working_tree import empty_working_tree, load, merge, unload

_ONE_LEAF_IN = 32  # is updated with the whole tree in sight
_ABOVE = -1  # the part of what lies above the cut


class Cut(NamedTuple):
    """Where a tree is cut: the stems, and the nodes above them with their values, parents first."""

    time: float
    joint: np.ndarray  # (M,) the node above each stem; -1 where the root is below the cut
    side: np.ndarray  # (M,) which of its children the stem was
    above: np.ndarray  # (M-1,) the nodes above the cut
    value: np.ndarray  # (M-1, p)


def sweep_in_parts(engine: Engine, tree: Merges, cut_time: float, rng: np.random.Generator, n_threads: int) -> Merges:
    """A sweep from `tree`, by an engine that looks at near leaves; its working tree is left alone."""
    children, times = np.array(tree[0], dtype=np.int64), np.array(tree[1], dtype=np.float64)
    n, p = engine.W.shape
    n_stems = n - int(np.searchsorted(times, cut_time, side="right"))
    engine = engine._replace(tree=empty_working_tree(n, p, n_stems))
    state, noise, *streams = make_streams(rng, 4)
    one, other = rng.choice(n, 2, replace=False)
    direction = engine.W[one] - engine.W[other]  # most often one in which rows lie far apart: few neighbours are parted
    threshold = float(np.median(_along(engine.W, direction)))
    load(engine.tree, children, times, engine.W, engine.leaf_var)
    cut = _cut(engine, cut_time, n_stems, state)
    part = _share_out(engine, cut, direction, threshold)
    parts = [_engine_of_part(engine, sign) for sign in (1.0, -1.0)]
    draw_noise([one.tree.lineages for one in parts], noise)
    _side_by_side(n_threads, _count_lineages, parts, (part, part), (0, 1))  # both, before either moves a node
    _side_by_side(n_threads, _sweep_part, parts, (0, 1), streams)
    _join(engine, cut)
    _sweep_above(engine, cut, state)
    sweep_from(engine, integer_below(state, _ONE_LEAF_IN), _ONE_LEAF_IN, state)
    unload(engine.tree, children, times)
    for one in parts:
        engine.tally[:] += one.tally
        engine.candidates.counts[2] += one.candidates.counts[2]
    return children, times


def draw_cut(n: int, rng: np.random.Generator) -> float:
    """A time to cut a tree of n leaves at: under the prior √n/4 to 8 √n branches cross it.

    Few enough for the values that are drawn there to hinder little, and enough to be shared out evenly. It depends on
    nothing that a sweep changes; from round to round it varies, as near the cut nodes move least.
    """
    return 2.0 / (math.sqrt(n) * 2.0 ** rng.uniform(-2.0, 3.0))


def _side_by_side(n_threads, kernel, *arguments):
    """Call a kernel for both parts, in two threads if there are."""
    if n_threads < 2:
        list(map(kernel, *arguments))
        return
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(kernel, *arguments))


def _engine_of_part(engine, sign):
    """The same tree, with lineages, candidates and a tally for one part."""
    n, p = engine.W.shape
    return engine._replace(
        tree=engine.tree._replace(lineages=empty_lineages(n, sign)),
        candidates=empty_candidates(n, p),
        tally=np.zeros_like(engine.tally),
        rule=engine.rule._replace(global_share=0.0, few=-math.inf),  # there is no way from one stem to another
    )


def _cut(engine, time, n_stems, state):
    n_above, p = n_stems - 1, engine.W.shape[1]
    joint, side = np.full(n_stems, -1), np.zeros(n_stems, np.int64)
    cut = Cut(time, joint, side, np.empty(n_above, np.int64), np.empty((n_above, p)))
    _draw_stems(engine.tree, cut, state)
    return cut


@jit
def _draw_stems(tree, cut, state):
    """Draw values from the root down to the cut, and put stems there.

    The root's is N(mean, var). Of a time s_above below a node with value z, where the leaves say (mean, s), it is

        N((s_above mean + s z) / (s_above + s), s_above s / (s_above + s)) .
    """
    root, first_stem = tree.top[0], tree.top[2]
    if tree.time[root] <= cut.time:
        stem_var = tree.var[root] + (cut.time - tree.time[root])
        _draw(tree.mean[root], stem_var, tree.mean[root], math.inf, tree.mean[first_stem], state)
        _put_stem(tree, first_stem, root, cut.time)
        return
    cut.above[0] = root
    _draw(tree.mean[root], tree.var[root], tree.mean[root], math.inf, cut.value[0], state)
    n_above, n_stems, i = 1, 0, 0
    while i < n_above:
        node = cut.above[i]
        for side in range(2):
            x = np.int64(tree.child[node, side])
            if tree.time[x] > cut.time:
                s_above = tree.time[node] - tree.time[x]
                _draw(tree.mean[x], tree.var[x], cut.value[i], s_above, cut.value[n_above], state)
                cut.above[n_above] = x
                n_above += 1
            else:
                stem = first_stem + n_stems
                s = tree.var[x] + (cut.time - tree.time[x])
                _draw(tree.mean[x], s, cut.value[i], tree.time[node] - cut.time, tree.mean[stem], state)
                _put_stem(tree, stem, x, cut.time)
                cut.joint[n_stems], cut.side[n_stems] = node, side
                n_stems += 1
        i += 1


@jit
def _draw(mean, s, z, s_above, out, state):
    var = s
    if s_above < math.inf:
        _, w_mean, w_z, var = join(s, s_above)
        blend(w_mean, mean, w_z, z, out)
    else:
        out[:] = mean
    for j in range(out.size):
        out[j] += math.sqrt(var) * standard_normal(state)


@jit(allocates=False)
def _put_stem(tree, stem, x, time):
    """Set x below a stem, whose value is known. Its other child is the stem itself: all that x hears from above."""
    tree.time[stem], tree.var[stem] = time, 0.0
    tree.child[stem, 0], tree.child[stem, 1] = x, stem
    tree.parent[stem], tree.parent[x] = -1, stem


@jit(allocates=False)
def _dot(x, y):
    total = 0.0
    for j in range(x.size):
        total += x[j] * y[j]
    return total


@jit
def _along(W, direction):
    """W · direction, the same bits wherever it lies in memory."""
    out = np.empty(len(W))
    for i in range(out.size):
        out[i] = _dot(W[i], direction)
    return out


@jit
def _share_out(engine, cut, direction, threshold):
    """Give each stem to a part by the side of a plane on which its value lies; returns the part of every node."""
    tree = engine.tree
    part = np.full(tree.parent.size, _ABOVE, np.int8)
    stack = np.empty(tree.top[1] + 1, np.int64)
    for i in range(cut.joint.size):
        stem = tree.top[2] + i
        which = 0 if _dot(tree.mean[stem], direction) < threshold else 1
        stack[0] = tree.child[stem, 0]
        n_open = 1
        while n_open > 0:
            n_open -= 1
            node = stack[n_open]
            part[node] = which
            if tree.child[node, 0] >= 0:
                stack[n_open], stack[n_open + 1] = tree.child[node, 0], tree.child[node, 1]
                n_open += 2
    engine.part[:] = part[: engine.part.size]
    return part


@jit(allocates=False)
def _count_lineages(engine, part, which):
    """The lineages of a part: its nodes, these once more as they are now, and those of the other part."""
    tree, lin = engine.tree, engine.tree.lineages
    for node in range(tree.top[1], tree.top[2]):
        if part[node] == which:
            add(lin, node, tree.time[node])
            add(lin, node + lin.n_nodes, tree.time[node])
        elif part[node] != _ABOVE:
            add(lin, node + 2 * lin.n_nodes, tree.time[node])
    draw_lines(lin)


@jit(allocates=False)
def _sweep_part(engine, which, state):
    """A sweep over the leaves of a part; what hangs on a stem stays there."""
    for leaf in range(engine.tree.top[1]):
        if engine.part[leaf] == which:
            if can_move(engine.tree, leaf):
                update(engine, leaf, leaf, state)
            update_above(engine, leaf, leaf, state)


@jit(allocates=False)
def _join(engine, cut):
    """Make one tree of the parts again, with all its messages and lineages."""
    tree = engine.tree
    for i in range(cut.joint.size):
        x, node = np.int64(tree.child[tree.top[2] + i, 0]), cut.joint[i]
        tree.parent[x] = node
        if node >= 0:
            tree.child[node, cut.side[i]] = x
        else:
            tree.top[0] = x
    for i in range(cut.above.size - 1, -1, -1):
        merge(tree, cut.above[i])
    clear(tree.lineages)
    for node in range(tree.top[1], tree.top[2]):
        add(tree.lineages, node, tree.time[node])
    engine.part[:] = 0


@jit(allocates=False)
def _sweep_above(engine, cut, state):
    """Update the nodes above the cut as a sweep would in a tree whose leaves are the branches that cross it."""
    tree = engine.tree
    for i in range(cut.joint.size):
        x = np.int64(tree.child[tree.top[2] + i, 0])
        leaf = x
        while tree.child[leaf, 0] >= 0:
            leaf = np.int64(tree.child[leaf, 0])
        update_above(engine, x, leaf, state)
