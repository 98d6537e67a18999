"""The best cuts of a small tree, by trying every set of disjoint nodes."""

from functools import cache


def best_cuts(children, heights, rank):
    """For k = 1 … n the k clusters, sets of leaves, of the best cut: the definition is in `tree/cut.py`."""
    n = len(children) + 1
    leaves, sides = [frozenset([i]) for i in range(n)], {}
    for pair in children:
        sides[len(leaves)] = sorted(pair, key=lambda c: min(rank[i] for i in leaves[c]))
        leaves.append(leaves[pair[0]] | leaves[pair[1]])
    root = 2 * n - 2

    def within(v):
        merges = [(u, *sides[u]) for u in sides if leaves[u] <= leaves[v]]
        return sum(len(leaves[a]) * len(leaves[b]) * heights[u - n] for u, a, b in merges) / len(leaves[v])

    cost = [within(v) for v in range(root + 1)]
    of_one_in_none = 2 * cost[root] / n

    @cache
    def antichains(v):
        both = [x + y for x in antichains(sides[v][0]) for y in antichains(sides[v][1])] if v >= n else [()]
        return [(v,), *both]

    def preference(nodes):
        in_none = n - sum(len(leaves[v]) for v in nodes)
        total = sum(cost[v] for v in nodes) + of_one_in_none * in_none
        return sum(v < n for v in nodes), round(total, 9), in_none, -sum(len(leaves[v]) ** 2 for v in nodes)

    def by_name(nodes):
        return [-sum(leaves[c] <= leaves[sides[v][0]] for c in nodes) for v in _from_the_root(root, sides)]

    best = []
    for k in range(1, n + 1):
        ranked = [(preference(nodes), nodes) for nodes in antichains(root) if len(nodes) == k]
        least = min(ranked)[0]
        chosen = min((nodes for value, nodes in ranked if value == least), key=by_name)
        best.append({leaves[v] for v in chosen})
    return best


def joined(clusters, distance, rank):
    """The same clusters with every leaf i in none in the one with the least mean distance(i, leaf of it).

    Of equally close ones that is the largest, then the one with the first name.
    """
    order = sorted(clusters, key=lambda c: (-len(c), min(rank[i] for i in c)))
    full = {c: set(c) for c in order}
    for i in range(len(rank)):
        if not any(i in c for c in order):
            full[min(order, key=lambda c: round(sum(distance(i, x) for x in c) / len(c), 9))].add(i)
    return {frozenset(c) for c in full.values()}


def _from_the_root(v, sides):
    return [v, *(u for c in sides[v] for u in _from_the_root(c, sides))] if v in sides else []
