"""Parts of a tree that change side by side, by brute force: the density of one of them.

A tree is a dict from inner node to (child, child, time), as in `regraft`; below the cut it is several of them, each
with a root and the value that its stem has at the cut.
"""

import math
from itertools import pairwise

from .regraft import leaves_under, message, time_of


def nodes_under(tree, node):
    """The inner nodes under a node, itself included."""
    if node not in tree:
        return []
    a, b, _ = tree[node]
    return [node, *nodes_under(tree, a), *nodes_under(tree, b)]


def lineages_at(tree, roots, u):
    """How many lineages the trees with these roots have at time u, below the cut."""
    n_leaves = sum(len(leaves_under(tree, root)) for root in roots)
    return n_leaves - sum(time_of(tree, node) <= u for root in roots for node in nodes_under(tree, root))


def log_part(tree, roots, values, cut, X, leaf_var, before, other, path):
    """Log density of one part, given the values of its stems and the noise V = a₀ - b₀ + Ẇ.

        -∫ [a (a - 1) / 2 + a² / 2 - a (a₀ - b₀)] du + ∫ a dW + Σ over trees of log p(leaves | value of the stem)

    `before` and `other` are functions of time: a₀ and b₀; `path` is W, for the other part -W. All three are constant
    between the times in `before.changes` and `other.changes`.
    """
    nodes = [node for root in roots for node in nodes_under(tree, root)]
    moments = sorted({0.0, cut, *(tree[node][2] for node in nodes), *before.changes, *other.changes})
    moments = [u for u in moments if u <= cut]
    total = 0.0
    for start, end in pairwise(moments):
        middle = 0.5 * (start + end)
        a = lineages_at(tree, roots, middle)
        total -= (0.5 * a * (a - 1) + 0.5 * a * a - a * (before(middle) - other(middle))) * (end - start)
        total += a * (path(end) - path(start))
    d = len(X[0])
    for root in roots:
        mean, s, log_factors = message(tree, root, X, leaf_var)
        v = s + cut - time_of(tree, root)
        eps = sum((p - q) ** 2 for p, q in zip(mean, values[root], strict=True))
        total += log_factors - 0.5 * d * math.log(2 * math.pi * v) - eps / (2 * v)
    return total
