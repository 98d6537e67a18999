"""What a tree means, transcribed plainly for small trees: recursion, sets, double loops; nothing of the package.

A tree is children (n-1 pairs) and times (n-1 numbers); node n + k is made by merge k.
"""


def leaves_under(children, node):
    n = len(children) + 1
    if node < n:
        return frozenset([int(node)])
    left, right = children[node - n]
    return leaves_under(children, left) | leaves_under(children, right)


def clades(children):
    n = len(children) + 1
    return [leaves_under(children, n + k) for k in range(n - 1)]


def sizes(children):
    return [len(leaves_under(children, node)) for node in range(2 * len(children) + 1)]


def parents(children):
    n = len(children) + 1
    found = {}
    for k, pair in enumerate(children):
        for node in pair:
            found[int(node)] = n + k
    return [found.get(node, -1) for node in range(2 * n - 1)]


def leaf_order(children, node=None):
    n = len(children) + 1
    node = 2 * n - 2 if node is None else node
    if node < n:
        return [int(node)]
    left, right = children[node - n]
    return leaf_order(children, left) + leaf_order(children, right)


def cophenetic(children, times):
    """The time of the first merge that has both leaves under it."""
    n = len(children) + 1
    under = clades(children)
    return [
        [0.0 if i == j else next(times[k] for k in range(n - 1) if {i, j} <= under[k]) for j in range(n)]
        for i in range(n)
    ]


def cut(children, n_merges):
    """Clusters after the first merges, numbered in order of first leaf."""
    n = len(children) + 1
    clusters = {leaf: {leaf} for leaf in range(n)}
    for k in range(n_merges):
        left, right = (int(node) for node in children[k])
        clusters[n + k] = clusters.pop(left) | clusters.pop(right)
    of_leaf = {leaf: node for node, members in clusters.items() for leaf in members}
    numbers = {}
    return [numbers.setdefault(of_leaf[leaf], len(numbers)) for leaf in range(n)]


def newick(children, times, labels, node=None):
    """Nested parentheses with every name quoted."""
    n = len(children) + 1
    node = 2 * n - 2 if node is None else int(node)
    if node < n:
        return "'" + labels[node].replace("'", "''") + "'"
    height = times[node - n]
    parts = []
    for child in children[node - n]:
        below = 0.0 if child < n else times[child - n]
        parts.append(f"{newick(children, times, labels, child)}:{float(height - below)!r}")
    return "(" + ",".join(parts) + ")" + (";" if node == 2 * n - 2 else "")


def splitmix64(counter):
    """The number splitmix64 gives at this step (0, 1, …) when seeded with 0."""
    z = (counter + 1) * 0x9E3779B97F4A7C15 % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)
