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
from .lineage_counts import Lineages, add, borrow_lineages, clear, empty_lineages, remove

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


class WorkingTree(NamedTuple):
    """Nodes with their messages; `top` holds the root and the number of leaves on the tree."""

    nodes: np.ndarray  # (2n-1,) NODE
    mean: np.ndarray  # (2n-1, p)
    top: np.ndarray  # (2,) int64
    lineages: Lineages


@jit(inline="always")
def borrow_tree(tree: WorkingTree) -> WorkingTree:
    """The same without owners of arrays (`numerics.borrow`)."""
    return WorkingTree(borrow(tree.nodes), borrow(tree.mean), borrow(tree.top), borrow_lineages(tree.lineages))


def empty_working_tree(n: int, p: int) -> WorkingTree:
    """Allocate a tree for n leaves with p columns."""
    nodes = np.zeros(2 * n - 1, NODE)
    nodes["parent"] = nodes["left"] = nodes["right"] = -1
    return WorkingTree(nodes, np.zeros((2 * n - 1, p)), np.zeros(2, np.int64), empty_lineages(n))


@jit
def merge(tree: WorkingTree, node: Int) -> None:
    """Make the message of an inner node from those of its children."""
    _merge(tree.nodes, tree.mean, node)


@jit
def _merge(nodes: np.ndarray, mean: np.ndarray, node: Int) -> None:
    nodes, mean = borrow(nodes), borrow(mean)
    time = nodes[node].time
    left, right = nodes[node].left, nodes[node].right
    s1 = nodes[left].var + (time - nodes[left].time)
    s2 = nodes[right].var + (time - nodes[right].time)
    _, w1, w2, var = join(s1, s2)
    blend(w1, mean[left], w2, mean[right], mean[node])
    nodes[node].var = var
    nodes[node].size = nodes[left].size + nodes[right].size


@jit
def refresh(tree: WorkingTree, node: Int) -> None:
    """Renew the messages from a node up to the root."""
    node = np.int64(node)
    nodes, mean = borrow(tree.nodes), borrow(tree.mean)
    while node >= 0:
        _merge(nodes, mean, node)
        node = np.int64(nodes[node].parent)


@jit
def put_leaf(tree: WorkingTree, leaf: Int, values: np.ndarray, leaf_var: float) -> None:
    """Write a leaf's own message."""
    node = tree.nodes[leaf]
    node.parent = node.left = node.right = -1
    node.size = 1
    node.time = 0.0
    node.var = leaf_var
    for j in range(values.size):
        tree.mean[leaf, j] = values[j]


@jit
def _depth_first(nodes: np.ndarray, root: Int, order: np.ndarray) -> None:
    """Write the inner nodes, parents before children and each subtree in one piece."""
    n_found = 0
    stack = np.empty(order.size + 1, np.int64)
    stack[0] = root
    n_open = 1
    while n_open > 0:
        n_open -= 1
        node = stack[n_open]
        if nodes[node].left < 0:
            continue
        order[n_found] = node
        n_found += 1
        stack[n_open] = nodes[node].right
        stack[n_open + 1] = nodes[node].left
        n_open += 2


@jit
def load(tree: WorkingTree, children: np.ndarray, times: np.ndarray, W: np.ndarray, leaf_var: np.ndarray) -> np.ndarray:
    """Fill a working tree from merges in order of time; returns the number that each node got.

    There may be fewer merges than room: then the leaves are the first, for more to be grafted on.
    """
    nodes, n_merges = tree.nodes, times.size
    n = n_merges + 1
    first_inner = (nodes.size + 1) // 2
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
        number[order[i]] = first_inner + n_merges - 1 - i
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
    tree.top[0] = root
    tree.top[1] = n
    return number


@jit
def unload(tree: WorkingTree, children: np.ndarray, times: np.ndarray) -> None:
    """Write the tree as merges in order of time; a child comes before its parent even where times are tied."""
    nodes, n_merges = tree.nodes, times.size
    n = n_merges + 1
    order = np.empty(n_merges, np.int64)
    _depth_first(nodes, tree.top[0], order)
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
def sibling_of(tree: WorkingTree, c: Int) -> np.int64:
    """The other child of c's parent."""
    return sibling_in(tree.nodes, c)


@jit(inline="always")
def sibling_in(nodes, c: Int) -> np.int64:
    nodes = borrow(nodes)
    parent = nodes[nodes[c].parent]
    return np.int64(parent.left if parent.right == c else parent.right)


@jit
def _replace_child(tree: WorkingTree, parent: Int, old: Int, new: Int) -> None:
    nodes = borrow(tree.nodes)
    if parent < 0:
        tree.top[0] = new
    elif nodes[parent].left == old:
        nodes[parent].left = new
    else:
        nodes[parent].right = new
    nodes[new].parent = parent


@jit(inline="always")
def _count_leaves(nodes: np.ndarray, node: Int, change: Int) -> None:
    """Add to the sizes from a node up to the root."""
    node, nodes = np.int64(node), borrow(nodes)
    while node >= 0:
        nodes[node].size += change
        node = np.int64(nodes[node].parent)


@jit(inline="always")
def detach(tree: WorkingTree, c: Int) -> None:
    """Take c off with its subtree, and its parent with it. Lineages and messages stay as they are."""
    nodes, parent = tree.nodes, np.int64(tree.nodes[c].parent)
    _replace_child(tree, np.int64(nodes[parent].parent), parent, sibling_of(tree, c))
    _count_leaves(nodes, nodes[parent].parent, -nodes[c].size)
    nodes[c].parent = -1
    nodes[parent].parent = -1


@jit
def attach(tree: WorkingTree, c: Int, parent: Int, x: Int, time: float) -> None:
    """Join c, through the free node `parent`, to the branch above x. Lineages and messages stay as they are."""
    nodes = borrow(tree.nodes)
    _replace_child(tree, np.int64(nodes[x].parent), x, parent)
    nodes[parent].left = x
    nodes[parent].right = c
    nodes[parent].time = time
    nodes[x].parent = parent
    nodes[c].parent = parent
    nodes[parent].size = nodes[x].size
    _count_leaves(nodes, parent, nodes[c].size)


@jit
def prune(tree: WorkingTree, c: Int) -> tuple[np.int64, np.int64, float]:
    """Take c off, with lineages and messages renewed; returns the free node, the node c was joined to, and when."""
    tree = borrow_tree(tree)
    parent, x = np.int64(tree.nodes[c].parent), sibling_of(tree, c)
    t = tree.nodes[parent].time
    detach(tree, c)
    remove(tree.lineages, parent)
    refresh(tree, np.int64(tree.nodes[x].parent))
    return parent, x, t


@jit
def regraft(tree: WorkingTree, c: Int, parent: Int, x: Int, t: float) -> None:
    """Join c to the branch above x at time t through a free node, with lineages and messages renewed."""
    tree = borrow_tree(tree)
    attach(tree, c, parent, x, t)
    add(tree.lineages, parent, t)
    refresh(tree, parent)


def copy_tree(source: WorkingTree, target: WorkingTree) -> None:
    """Copy a tree of the same size with its lineages."""
    for mine, yours in zip(_arrays(source), _arrays(target), strict=True):
        np.copyto(yours, mine)


def _arrays(tree: WorkingTree) -> tuple[np.ndarray, ...]:
    return tree.nodes, tree.mean, tree.top, tree.lineages.sums, tree.lineages.links
