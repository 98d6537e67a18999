"""What a check of the model looks at, by listing: the order of merges below two children, and how late leaves join."""

import math


def merges_below(children, node, n):
    """Numbers of the merges at and below a node."""
    if node < n:
        return []
    k = node - n
    return [k] + [m for child in children[k] for m in merges_below(children, child, n)]


def shuffles(children, least):
    """{merge: z} of Wilcoxon's rank sum between the merges below its two children, each with at least `least`."""
    n = len(children) + 1
    found = {}
    for k, (i, j) in enumerate(children):
        first, second = merges_below(children, i, n), merges_below(children, j, n)
        if min(len(first), len(second)) < least:
            continue
        a, b = len(first), len(second)
        wins = sum(x > y for x in first for y in second)
        found[k] = (wins - a * b / 2) / math.sqrt(a * b * (a + b + 1) / 12)
    return found


def lateness(children):
    """For each leaf 1 / m, m the number of lineages before it joins another."""
    n = len(children) + 1
    found = [0.0] * n
    for k, pair in enumerate(children):
        for c in pair:
            if c < n:
                found[c] = 1.0 / (n - k)
    return found
