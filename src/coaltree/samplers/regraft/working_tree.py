"""A tree that changes: links, times and upward messages of its nodes, with its lineage counts.

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
from ...numerics.borrow import borrow
from ...numerics.sorting import sorted_places
from .lineage_counts import Lineages, add, clear, empty_lineages, remove

NODE = np.dtype(
    [
        ("parent", np.int32),  # -1 for the root and for a node taken off
        ("left", np.int32),  # the children, -1 for leaves
        ("right", np.int32),
        ("size", np.int32),  # leaves below it
        ("time", np.float64),
        ("var", np.float64),
    ],
    align=True,
)
TOP = np.dtype([("root", np.int64), ("n_leaves", np.int64)])  # leaves that are on the tree


class WorkingTree(NamedTuple):
    """Nodes with their messages."""

    nodes: np.ndarray  # (2n-1,) NODE
    mean: np.ndarray  # (2n-1, p)
    top: np.ndarray  # (1,) TOP
    lineages: Lineages


def empty_working_tree(n: int, p: int) -> WorkingTree:
    """Allocate a tree for n leaves with p columns."""
    nodes = np.zeros(2 * n - 1, NODE)
    nodes["parent"] = nodes["left"] = nodes["right"] = -1
    return WorkingTree(nodes, np.zeros((2 * n - 1, p)), np.zeros(1, TOP), empty_lineages(n))


@jit(inline="always")
def merge(tree: WorkingTree, node: Int) -> None:
    """Make the message of an inner node from those of its children."""
    nodes, mean = tree.nodes, tree.mean
    time, left, right = nodes[node].time, nodes[node].left, nodes[node].right
    s1 = nodes[left].var + (time - nodes[left].time)
    s2 = nodes[right].var + (time - nodes[right].time)
    _, w1, w2, var = join(s1, s2)
    blend(w1, mean[left], w2, mean[right], mean[node])
    nodes[node].var = var
    nodes[node].size = nodes[left].size + nodes[right].size


@jit(inline="always")
def refresh(tree: WorkingTree, node: Int) -> None:
    """Renew the messages from a node up to the root."""
    tree, node = borrow(tree), np.int64(node)
    while node >= 0:
        merge(tree, node)
        node = np.int64(tree.nodes[node].parent)


@jit(inline="always")
def put_leaf(tree: WorkingTree, leaf: Int, values: np.ndarray, leaf_var: float) -> None:
    """Write a leaf's own message."""
    node = tree.nodes[leaf]
    node.parent = node.left = node.right = -1
    node.size = 1
    node.time = 0.0
    node.var = leaf_var
    for j in range(values.size):
        tree.mean[leaf, j] = values[j]


@jit(inline="always")
def _depth_first(nodes: np.ndarray, root: Int, order: np.ndarray) -> None:
    """Write the inner nodes, parents before children and each subtree in one piece."""
    n_written = 0
    stack = np.empty(order.size + 1, np.int64)
    stack[0] = root
    n_open = 1
    while n_open > 0:
        n_open -= 1
        node = stack[n_open]
        if nodes[node].left < 0:
            continue
        order[n_written] = node
        n_written += 1
        stack[n_open] = nodes[node].right
        stack[n_open + 1] = nodes[node].left
        n_open += 2


@jit
def load(tree: WorkingTree, children: np.ndarray, times: np.ndarray, W: np.ndarray, leaf_var: np.ndarray) -> np.ndarray:
    """Fill a working tree from merges in order of time; returns the number that each node got."""
    tree = borrow(tree)
    nodes, n_merges = tree.nodes, times.size
    n = n_merges + 1
    by_time = np.empty(2 * n - 1, nodes.dtype)
    for i in range(n):
        by_time[i].left = -1
    for k in range(n_merges):  # an assignment of a whole slice takes seconds to compile, for its error message
        by_time[n + k].left = children[k, 0]
        by_time[n + k].right = children[k, 1]
    order = np.empty(n_merges, np.int64)
    _depth_first(by_time, n + n_merges - 1, order)
    number = np.arange(2 * n - 1)
    for i in range(n_merges):
        number[order[i]] = n + n_merges - 1 - i
    for i in range(n):
        put_leaf(tree, i, W[i], leaf_var[i])
    clear(tree.lineages)
    for k in range(n_merges):
        node, left, right = number[n + k], number[children[k, 0]], number[children[k, 1]]
        nodes[node].time = times[k]
        nodes[node].left = left
        nodes[node].right = right
        nodes[left].parent = node
        nodes[right].parent = node
        merge(tree, node)
        add(tree.lineages, node, times[k])
    root = number[n + n_merges - 1]
    nodes[root].parent = -1
    tree.top[0].root = root
    tree.top[0].n_leaves = n
    return number


@jit
def unload(tree: WorkingTree, children: np.ndarray, times: np.ndarray) -> None:
    """Write the tree as merges in order of time; a child comes before its parent even where times are tied."""
    nodes, n_merges = tree.nodes, times.size
    n = n_merges + 1
    order = np.empty(n_merges, np.int64)
    _depth_first(nodes, tree.top[0].root, order)
    upwards, time = np.empty(n_merges, np.int64), np.empty(n_merges)
    for k in range(n_merges):
        upwards[k] = order[n_merges - 1 - k]
        time[k] = nodes[upwards[k]].time
    by_time = sorted_places(time)
    number = np.arange(nodes.size)
    for k in range(n_merges):
        number[upwards[by_time[k]]] = n + k
    for k in range(n_merges):
        node = upwards[by_time[k]]
        times[k] = nodes[node].time
        children[k, 0] = number[nodes[node].left]
        children[k, 1] = number[nodes[node].right]


@jit(inline="always")
def _replace_child(tree: WorkingTree, parent: Int, old: Int, new: Int) -> None:
    nodes = tree.nodes
    if parent < 0:
        tree.top[0].root = new
    elif nodes[parent].left == old:
        nodes[parent].left = new
    else:
        nodes[parent].right = new
    nodes[new].parent = parent


@jit
def prune(tree: WorkingTree, c: Int) -> tuple[np.int64, np.int64, float]:
    """Take c off with its subtree, and its parent with it; returns this free node, the node c was joined to, and when.

    Lineages and messages are renewed.
    """
    tree = borrow(tree)
    nodes, parent = tree.nodes, np.int64(tree.nodes[c].parent)
    x, above = np.int64(nodes[parent].left), np.int64(nodes[parent].parent)
    if x == c:
        x = np.int64(nodes[parent].right)
    _replace_child(tree, above, parent, x)
    nodes[c].parent = -1
    nodes[parent].parent = -1
    remove(tree.lineages, parent)
    refresh(tree, above)
    return parent, x, nodes[parent].time


@jit
def regraft(tree: WorkingTree, c: Int, parent: Int, x: Int, t: float) -> None:
    """Join c, through the free node `parent`, to the branch above x; lineages and messages are renewed."""
    tree = borrow(tree)
    nodes = tree.nodes
    _replace_child(tree, np.int64(nodes[x].parent), x, parent)
    nodes[parent].left = x
    nodes[parent].right = c
    nodes[parent].time = t
    nodes[x].parent = parent
    nodes[c].parent = parent
    add(tree.lineages, parent, t)
    refresh(tree, parent)


def copy_tree(source: WorkingTree, target: WorkingTree) -> None:
    """Copy a tree of the same size with its lineages."""
    theirs, ours = ((tree.nodes, tree.mean, tree.top, *tree.lineages[:2]) for tree in (source, target))
    for one, other in zip(theirs, ours, strict=True):
        np.copyto(other, one)
