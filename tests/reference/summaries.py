"""Summaries of weighted trees by listing leaf sets, transcribed from their definitions.

A tree is (children, times) in plain lists: merge k joins two nodes into node n + k. Nothing is fast here.
"""

import itertools
import math
from collections import Counter
from fractions import Fraction


def clades(children):
    """The leaf set of each merge, as frozensets of leaf numbers."""
    n = len(children) + 1
    below = [frozenset([i]) for i in range(n)]
    for a, b in children:
        below.append(below[int(a)] | below[int(b)])
    return below[n:]


def clade_frequencies(trees, weights):
    """{clade: Σ w over the trees that have it}."""
    total = Counter()
    for (children, _), w in zip(trees, weights, strict=True):
        for clade in clades(children):
            total[clade] += w
    return dict(total)


def quantile(values, weights, q):
    """The smallest value v with Σ w[values <= v] >= q Σ w, in exact arithmetic of the given weights."""
    pairs = sorted((float(v), Fraction(float(w))) for v, w in zip(values, weights, strict=True) if w > 0)
    total = sum(w for _, w in pairs)
    running = Fraction(0)
    for value, w in pairs:
        running += w
        if running >= Fraction(q) * total * (1 - Fraction(1, 10**11)):
            return value
    raise AssertionError("weights must not be empty")


def clade_times(trees, weights, clade):
    """Times and weights of a clade over the trees that have it."""
    found = [
        (float(times[clades(children).index(clade)]), w)
        for (children, times), w in zip(trees, weights, strict=True)
        if clade in clades(children)
    ]
    return [t for t, _ in found], [w for _, w in found]


def mcc_score(children, frequencies):
    """Σ log frequency of the clades of one tree."""
    return sum(math.log(frequencies[clade]) for clade in clades(children))


def majority(trees, weights, min_support):
    """{clade: frequency} of the clades above min_support."""
    return {c: f for c, f in clade_frequencies(trees, weights).items() if f > min_support + 1e-9 or f > 1 - 1e-9}


def cophenetic(children, times):
    """{(i, j): time at which leaves i < j first share a clade}."""
    found = {}
    for clade, time in zip(clades(children), times, strict=True):
        for i, j in itertools.combinations(sorted(clade), 2):
            found.setdefault((i, j), float(time))
    return found


def robinson_foulds(a, b):
    """Clades in one tree only."""
    return len(set(clades(a[0])) ^ set(clades(b[0])))


def branch_score(a, b):
    """√ Σ (difference of branch lengths)² over clades and leaves, a missing branch having length 0."""

    def lengths(children, times):
        n = len(children) + 1
        nodes = [frozenset([i]) for i in range(n)] + clades(children)
        height = [0.0] * n + [float(t) for t in times]
        return {nodes[int(c)]: height[n + k] - height[int(c)] for k, pair in enumerate(children) for c in pair}

    la, lb = lengths(*a), lengths(*b)
    return math.sqrt(sum((la.get(c, 0.0) - lb.get(c, 0.0)) ** 2 for c in set(la) | set(lb)))


def adjusted_rand(a, b):
    """ARI by counting pairs."""
    pairs = list(itertools.combinations(range(len(a)), 2))
    both = sum(a[i] == a[j] and b[i] == b[j] for i, j in pairs)
    in_a = sum(a[i] == a[j] for i, j in pairs)
    in_b = sum(b[i] == b[j] for i, j in pairs)
    expected = in_a * in_b / len(pairs)
    largest = (in_a + in_b) / 2
    return 1.0 if largest == expected else (both - expected) / (largest - expected)


def majority_labels(partition, classes):
    """The commonest class of each cluster (the smallest where several are), given to all of its members."""
    label = {}
    for cluster in set(partition):
        votes = Counter(c for p, c in zip(partition, classes, strict=True) if p == cluster)
        label[cluster] = min(c for c in votes if votes[c] == max(votes.values()))
    return [label[p] for p in partition]


def transfer_distance(clade, children):
    """Fewest leaves to move in or out to make `clade` one of the tree's, its leaves and its root among them."""
    n = len(children) + 1
    every = [frozenset([i]) for i in range(n)] + clades(children)
    return min(len(clade ^ other) for other in every)


def transfer_support(clade, trees, weights):
    """1 - E[distance] / min(size - 1, n - size); 1 for all leaves together."""
    n = len(trees[0][0]) + 1
    if len(clade) == n:
        return 1.0
    mean = sum(w * transfer_distance(clade, children) for (children, _), w in zip(trees, weights, strict=True))
    return 1 - mean / sum(weights) / min(len(clade) - 1, n - len(clade))


def dendrogram_purity(children, classes):
    """Mean over pairs of leaves of one class of the share of that class under their common ancestor."""
    under = clades(children)
    pairs = [(i, j) for i, j in itertools.combinations(range(len(classes)), 2) if classes[i] == classes[j]]
    shares = []
    for i, j in pairs:
        ancestor = next(clade for clade in under if i in clade and j in clade)
        shares.append(sum(classes[leaf] == classes[i] for leaf in ancestor) / len(ancestor))
    return sum(shares) / len(shares)


def jaccard(one, other):
    """Similarity of two sets."""
    return len(one & other) / len(one | other)


def closest_clade(group, children):
    """The clade of a tree, its leaves among them, with the largest Jaccard similarity to a group of leaves.

    Of equal ones the smaller, then the one that is joined with others first. The root counts only for all leaves.
    """
    n = len(children) + 1
    under = [frozenset([i]) for i in range(n)] + clades(children)
    if len(group) == n:
        return under[-1]
    joined = [under[int(node)] for pair in children for node in pair]
    return min(joined, key=lambda clade: (-Fraction(len(group & clade), len(group | clade)), len(clade)))


def systematic(weights, k):
    """{draw: share}: all that have weight, or of more than k those that k evenly spaced points fall on."""
    if len(weights) <= k:
        return {t: float(w) for t, w in enumerate(weights) if w > 0}
    shares = Counter()
    for i in range(k):
        point = (i + 0.5) / k
        shares[next(t for t, upto in enumerate(itertools.accumulate(weights)) if upto >= point)] += 1 / k
    return dict(shares)


def mean_log_sizes(trees, weights):
    """D̄ {(i, j): Σ w log |smallest clade with i and j|}, where a merge at time 0 counts 0."""
    mean = Counter()
    for (children, times), w in zip(trees, weights, strict=True):
        under, met = clades(children), set()
        for clade, time in zip(under, times, strict=True):
            for pair in itertools.combinations(sorted(clade), 2):
                if pair not in met:
                    met.add(pair)
                    mean[pair] += w * (math.log(len(clade)) if time > 0 else 0.0)
    return mean


def extended_majority(trees, weights, min_support):
    """Clades above min_support that contradict none before: the most frequent first, then smaller, then earlier."""
    n = len(trees[0][0]) + 1
    share = clade_frequencies(trees, weights)
    met = [clade for children, _ in trees for clade in clades(children)]
    given = []
    for clade in sorted(share, key=lambda c: (-round(share[c], 9), len(c), met.index(c))):
        fits = all(clade <= other or other <= clade or not clade & other for other in given)
        if share[clade] > min_support and len(clade) < n and fits:
            given.append(clade)
    return given


def between(one, other, mean):
    """The mean of D̄ over the pairs of leaves of two disjoint sets."""
    return sum(mean[min(i, j), max(i, j)] for i in one for j in other) / (len(one) * len(other))


def linked_inside(given, n, mean):
    """Average linkage of D̄ inside given clades.

    Returns {clade: height}, heights raised to those of children, and the least difference between the distance of two
    sets that were joined and that of one of them to a third: 0 where another tree is as good.
    """
    height, margin = {}, math.inf
    for around in sorted([*given, frozenset(range(n))], key=len):
        inside = [clade for clade in given if clade < around] + [frozenset([i]) for i in around]
        parts = [clade for clade in inside if not any(clade < other for other in inside)]
        while len(parts) > 1:
            apart = {pair: between(*pair, mean) for pair in itertools.combinations(sorted(parts, key=min), 2)}
            one, other = min(apart, key=lambda pair: (apart[pair], min(pair[0]), min(pair[1])))
            rivals = [d for pair, d in apart.items() if len({one, other} & set(pair)) == 1]
            margin = min([margin, *(d - apart[one, other] for d in rivals)])
            parts = [part for part in parts if part not in (one, other)] + [one | other]
            height[one | other] = max(apart[one, other], height.get(one, 0.0), height.get(other, 0.0))
    return height, margin


def closest_times(clade, trees, weights):
    """[(time, weight)] of the closest clade of each tree that has a close one.

    Close is at most a quarter of the greatest distance away.
    """
    n = len(trees[0][0]) + 1
    limit = max(min(len(clade) - 1, n - len(clade)), 1) // 4
    found = []
    for (children, times), w in zip(trees, weights, strict=True):
        time = dict.fromkeys((frozenset([i]) for i in range(n)), None) | dict(zip(clades(children), times, strict=True))
        nearest = min(time, key=lambda other: (len(clade ^ other), -len(clade & other)))
        if len(clade ^ nearest) <= limit and time[nearest] is not None:
            found.append((time[nearest], w))
    return found


def mean_time(found):
    """The mean of [(time, weight)]; None of nothing."""
    return sum(w * t for t, w in found) / sum(w for _, w in found) if found else None


def mean_tree_times(height, trees, weights):
    """{clade: time}: mean times of the closest clades, no clade below those inside.

    Where no tree has a close clade, the mean is on the line between those with the next heights.
    """
    mean = {clade: mean_time(closest_times(clade, trees, weights)) for clade in height}
    known = sorted((height[clade], time) for clade, time in mean.items() if time is not None)
    mean = {c: on_the_line(height[c], known) if time is None else time for c, time in mean.items()}
    return {clade: max(time for other, time in mean.items() if other <= clade) for clade in mean}


def sides_of(clade, every):
    """The two sets that a clade of a binary tree was made of."""
    inside = [other for other in every if other < clade] + [frozenset([i]) for i in clade]
    return [other for other in inside if not any(other < wider for wider in inside)]


def on_the_line(x, points):
    """Linear interpolation between the last point at or before x and the next, constant outside."""
    before, after = [p for p in points if p[0] <= x], [p for p in points if p[0] > x]
    if not before or not after:
        return before[-1][1] if before else after[0][1]
    (x0, y0), (x1, y1) = before[-1], after[0]
    return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
