"""A tree that changes: links, times and upward messages in arrays, with its lineage counts.

Node x carries N(mean_x, var_x), what the leaves under x say of its value at time_x (model.md):

    s̃_c = s_c + τ - τ_c ,  v = s̃_1 + s̃_2 ,  mean = (s̃_2 mean_1 + s̃_1 mean_2) / v ,  s = s̃_1 s̃_2 / v .

Leaves are 0 … n-1. Inner nodes keep their number while a subtree moves (its parent travels with it): `load` numbers
them depth first, so that relatives are neighbours in memory, and `unload` sorts them by time again.
"""

from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.typing import Int
from ...model.process.diffusion import blend, join
from ...numerics.sorting import sorted_places, take
from .lineage_counts import Lineages, add, clear, empty_lineages, remove


class WorkingTree(NamedTuple):
    """Arrays over nodes; `top` holds the root and the number of leaves on the tree."""

    parent: np.ndarray  # (2n-1,) int32, -1 for the root and for a node taken off
    child: np.ndarray  # (2n-1, 2) int32, -1 for leaves
    time: np.ndarray  # (2n-1,)
    mean: np.ndarray  # (2n-1, p)
    var: np.ndarray  # (2n-1,)
    top: np.ndarray  # (2,) int64
    lineages: Lineages


def empty_working_tree(n: int, p: int) -> WorkingTree:
    """Allocate a tree for n leaves with p columns."""
    nodes = 2 * n - 1
    parent, child = np.full(nodes, -1, np.int32), np.full((nodes, 2), -1, np.int32)
    time, mean, var = np.zeros(nodes), np.zeros((nodes, p)), np.zeros(nodes)
    return WorkingTree(parent, child, time, mean, var, np.zeros(2, np.int64), empty_lineages(n))


@jit(allocates=False)
def merge(tree: WorkingTree, node: Int) -> None:
    """Make the message of an inner node from those of its children."""
    one, two = tree.child[node, 0], tree.child[node, 1]
    s1 = tree.var[one] + (tree.time[node] - tree.time[one])
    s2 = tree.var[two] + (tree.time[node] - tree.time[two])
    _, w1, w2, var = join(s1, s2)
    blend(w1, tree.mean[one], w2, tree.mean[two], tree.mean[node])
    tree.var[node] = var


@jit(allocates=False)
def refresh(tree: WorkingTree, node: Int) -> None:
    """Renew the messages from a node up to the root."""
    node = np.int64(node)
    while node >= 0:
        merge(tree, node)
        node = np.int64(tree.parent[node])


@jit(allocates=False)
def put_leaf(tree: WorkingTree, leaf: Int, values: np.ndarray, leaf_var: float) -> None:
    """Write a leaf's own message."""
    tree.parent[leaf] = -1
    tree.time[leaf] = 0.0
    for j in range(values.size):
        tree.mean[leaf, j] = values[j]
    tree.var[leaf] = leaf_var


@jit
def _depth_first(child: np.ndarray, root: Int, order: np.ndarray) -> None:
    """Write the inner nodes, parents before children and each subtree in one piece."""
    n_found = 0
    stack = np.empty(order.size + 1, np.int64)
    stack[0] = root
    n_open = 1
    while n_open > 0:
        n_open -= 1
        node = stack[n_open]
        if child[node, 0] < 0:
            continue
        order[n_found] = node
        n_found += 1
        stack[n_open] = child[node, 1]
        stack[n_open + 1] = child[node, 0]
        n_open += 2


@jit
def load(tree: WorkingTree, children: np.ndarray, times: np.ndarray, W: np.ndarray, leaf_var: np.ndarray) -> np.ndarray:
    """Fill a working tree from merges in order of time; returns the number that each node got.

    There may be fewer merges than room: then the leaves are the first, for more to be grafted on.
    """
    n_merges = times.size
    n = n_merges + 1
    first_inner = (tree.parent.size + 1) // 2
    by_time = np.full((2 * n - 1, 2), -1, np.int64)
    for k in range(n_merges):  # an assignment of a whole slice takes seconds to compile, for its error message
        by_time[n + k, 0] = children[k, 0]
        by_time[n + k, 1] = children[k, 1]
    order = np.empty(n_merges, np.int64)
    _depth_first(by_time, n + n_merges - 1, order)
    number = np.arange(2 * n - 1)
    for i in range(n_merges):
        number[order[i]] = first_inner + n_merges - 1 - i
    for i in range(n):
        put_leaf(tree, i, W[i], leaf_var[i])
        tree.child[i] = -1
    clear(tree.lineages)
    for k in range(n_merges):
        node = number[n + k]
        tree.time[node] = times[k]
        for side in range(2):
            x = number[children[k, side]]
            tree.child[node, side] = x
            tree.parent[x] = node
        merge(tree, node)
        add(tree.lineages, node, times[k])
    root = number[n + n_merges - 1]
    tree.parent[root] = -1
    tree.top[0] = root
    tree.top[1] = n
    return number


@jit
def unload(tree: WorkingTree, children: np.ndarray, times: np.ndarray) -> None:
    """Write the tree as merges in order of time; a child comes before its parent even where times are tied."""
    n_merges = times.size
    n = n_merges + 1
    order = np.empty(n_merges, np.int64)
    _depth_first(tree.child, tree.top[0], order)
    upwards = np.empty(n_merges, np.int64)
    for k in range(n_merges):
        upwards[k] = order[n_merges - 1 - k]
    by_time = sorted_places(take(tree.time, upwards))
    number = np.arange(tree.parent.size)
    for k in range(n_merges):
        number[upwards[by_time[k]]] = n + k
    for k in range(n_merges):
        node = upwards[by_time[k]]
        times[k] = tree.time[node]
        children[k, 0] = number[tree.child[node, 0]]
        children[k, 1] = number[tree.child[node, 1]]


@jit(allocates=False)
def sibling_of(tree: WorkingTree, c: Int) -> np.int64:
    """The other child of c's parent."""
    parent = tree.parent[c]
    return np.int64(tree.child[parent, 0] if tree.child[parent, 1] == c else tree.child[parent, 1])


@jit(allocates=False)
def _replace_child(tree: WorkingTree, parent: Int, old: Int, new: Int) -> None:
    if parent < 0:
        tree.top[0] = new
    elif tree.child[parent, 0] == old:
        tree.child[parent, 0] = new
    else:
        tree.child[parent, 1] = new
    tree.parent[new] = parent


@jit(allocates=False)
def detach(tree: WorkingTree, c: Int) -> None:
    """Take c off with its subtree, and its parent with it. Lineages and messages stay as they are."""
    parent = np.int64(tree.parent[c])
    _replace_child(tree, np.int64(tree.parent[parent]), parent, sibling_of(tree, c))
    tree.parent[c] = -1
    tree.parent[parent] = -1


@jit(allocates=False)
def attach(tree: WorkingTree, c: Int, parent: Int, x: Int, time: float) -> None:
    """Join c, through the free node `parent`, to the branch above x. Lineages and messages stay as they are."""
    _replace_child(tree, np.int64(tree.parent[x]), x, parent)
    tree.child[parent, 0] = x
    tree.child[parent, 1] = c
    tree.parent[x] = parent
    tree.parent[c] = parent
    tree.time[parent] = time


@jit(allocates=False)
def prune(tree: WorkingTree, c: Int) -> tuple[np.int64, np.int64, float]:
    """Take c off, with lineages and messages renewed; returns the free node, the node c was joined to, and when."""
    parent, x = np.int64(tree.parent[c]), sibling_of(tree, c)
    t = tree.time[parent]
    detach(tree, c)
    remove(tree.lineages, parent)
    refresh(tree, np.int64(tree.parent[x]))
    return parent, x, t


@jit(allocates=False)
def regraft(tree: WorkingTree, c: Int, parent: Int, x: Int, t: float) -> None:
    """Join c to the branch above x at time t through a free node, with lineages and messages renewed."""
    attach(tree, c, parent, x, t)
    add(tree.lineages, parent, t)
    refresh(tree, parent)


def copy_tree(source: WorkingTree, target: WorkingTree) -> None:
    """Copy a tree of the same size with its lineages."""
    for mine, yours in zip((*source[:-1], *source.lineages[:-2]), (*target[:-1], *target.lineages[:-2]), strict=True):
        np.copyto(yours, mine)
