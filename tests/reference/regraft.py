"""Regrafting by brute force: the full joint density of every tree that a pruned subtree can be grafted into.

A tree is a dict from inner node to (child, child, time); leaves are 0 … n-1. Nothing is cached, nothing is local.
"""

import itertools
import math


def from_arrays(children, times):
    """The dict form of a tree given as merges in order of time; node n + k is made by merge k."""
    n = len(times) + 1
    return {n + k: (int(children[k][0]), int(children[k][1]), float(times[k])) for k in range(n - 1)}


def time_of(tree, node):
    """Leaves stand at time 0."""
    return tree[node][2] if node in tree else 0.0


def parent_of(tree, node):
    """The parent of a node, or None for a root."""
    for parent, (a, b, _) in tree.items():
        if node in (a, b):
            return parent
    return None


def message(tree, node, X, leaf_var=0.0):
    """(mean, variance, log factor) of a node: what the leaves under it say of its value; sum over its merges.

    `leaf_var` is the noise of all leaves, or a list with that of each.
    """
    d = len(X[0])
    if node not in tree:
        return [float(x) for x in X[node]], leaf_var[node] if isinstance(leaf_var, list) else leaf_var, 0.0
    a, b, time = tree[node]
    mean_a, s_a, log_a = message(tree, a, X, leaf_var)
    mean_b, s_b, log_b = message(tree, b, X, leaf_var)
    s_a += time - time_of(tree, a)
    s_b += time - time_of(tree, b)
    v = s_a + s_b
    eps = sum((p - q) ** 2 for p, q in zip(mean_a, mean_b, strict=True))
    mean = [(s_b * p + s_a * q) / v for p, q in zip(mean_a, mean_b, strict=True)]
    return mean, s_a * s_b / v, log_a + log_b - 0.5 * d * math.log(2 * math.pi * v) - eps / (2 * v)


def log_prior(tree):
    """Kingman's coalescent: -Σ λ_k Δ_k with λ_k = m(m-1)/2 for the m lineages alive before merge k."""
    times = sorted(time for _, _, time in tree.values())
    m, last, total = len(times) + 1, 0.0, 0.0
    for time in times:
        total -= 0.5 * m * (m - 1) * (time - last)
        m, last = m - 1, time
    return total


def log_joint(tree, X, leaf_var=0.0):
    """log p(X, tree) with Φ = I; X with no columns gives the prior alone."""
    root = max(tree, key=lambda node: tree[node][2])
    return log_prior(tree) + (message(tree, root, X, leaf_var)[2] if len(X[0]) else 0.0)


def prune(tree, c):
    """Take c off with its subtree: the tree without c's parent (whose number is returned), c's subtree still in it."""
    parent = parent_of(tree, c)
    a, b, _ = tree[parent]
    sibling = b if a == c else a
    grandparent = parent_of(tree, parent)
    rest = {node: merge for node, merge in tree.items() if node != parent}
    if grandparent is not None:
        a, b, time = tree[grandparent]
        rest[grandparent] = (sibling if a == parent else a, sibling if b == parent else b, time)
    return rest, parent, sibling


def graft(rest, parent, c, x, time):
    """Join c to the branch above x at a time, through the freed number `parent`."""
    tree = dict(rest)
    above = parent_of(rest, x)
    tree[parent] = (x, c, time)
    if above is not None:
        a, b, t = rest[above]
        tree[above] = (parent if a == x else a, parent if b == x else b, t)
    return tree


def leaves_under(tree, node):
    """The set of leaves under a node."""
    if node not in tree:
        return {node}
    return leaves_under(tree, tree[node][0]) | leaves_under(tree, tree[node][1])


def branches(rest, n, c):
    """(x, lower, upper) for every branch that c may join; upper is inf above the root."""
    below_c, stack = set(), [c]
    while stack:
        node = stack.pop()
        below_c.add(node)
        if node in rest:
            stack.extend(rest[node][:2])
    found = []
    for x in [*range(n), *rest]:
        if x in below_c:
            continue
        above = parent_of(rest, x)
        lower = max(time_of(rest, x), time_of(rest, c))
        upper = rest[above][2] if above is not None else math.inf
        if upper > lower:
            found.append((x, lower, upper))
    return found


def probabilities_of_scattered(tree, places, top, drawn):
    """P(these leaves, in any order | place) for each place: the first from below it, the others from below `top`.

    By going through all ordered draws of as many leaves; without a common factor.
    """
    others = sorted(leaves_under(tree, top))
    found = {}
    for x in places:
        first = sorted(leaves_under(tree, x))
        ways = sum(sorted(way) == sorted(drawn) for way in itertools.product(first, *[others] * (len(drawn) - 1)))
        found[x] = ways / len(first)
    return found
