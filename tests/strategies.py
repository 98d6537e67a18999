"""Hypothesis strategies shared by the tests."""

import numpy as np
from hypothesis import strategies as st

from coaltree import Tree
from coaltree.model.process.coalescent import simulate_tree

labels = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=8)
"""Any leaf name: unicode, blanks, quotes, brackets, control characters."""

plain_times = st.floats(0.0, 100.0)
any_times = st.one_of(
    plain_times,
    st.floats(0.0, 1e300, allow_subnormal=True),
    st.sampled_from([0.0, 1e-300, 5e-324, 0.5, 1.0, 1e300]),  # also makes ties
)


@st.composite
def trees(draw, min_leaves=2, max_leaves=12, times=plain_times, labels=None):
    """Trees of every shape, ties included; with `labels` a strategy of names, otherwise the default ones."""
    n = draw(st.integers(min_leaves, max_leaves))
    alive = list(range(n))
    children = np.empty((n - 1, 2), dtype=np.int64)
    for k in range(n - 1):
        for side in range(2):
            children[k, side] = alive.pop(draw(st.integers(0, len(alive) - 1)))
        alive.append(n + k)
    drawn = sorted(draw(st.lists(times, min_size=n - 1, max_size=n - 1)))
    names = None if labels is None else draw(st.lists(labels, min_size=n, max_size=n, unique=True))
    return Tree(children, drawn, names)


def chain(n, times=None, labels=None):
    """The deepest tree: merge k adds leaf k + 1."""
    children = np.empty((n - 1, 2), dtype=np.int64)
    children[:, 0] = np.append(0, np.arange(n, 2 * n - 2))
    children[:, 1] = np.arange(1, n)
    return Tree(children, np.arange(1.0, n) if times is None else times, labels)


def random_tree(n, rng):
    """A draw from the coalescent, without the package's own simulation."""
    alive = list(range(n))
    children = np.empty((n - 1, 2), dtype=np.int64)
    waits = np.empty(n - 1)
    for k in range(n - 1):
        m = n - k
        waits[k] = rng.exponential(2.0 / (m * (m - 1)))
        for side in range(2):
            children[k, side] = alive.pop(rng.integers(len(alive)))
        alive.append(n + k)
    return Tree(children, np.cumsum(waits))


def coalescent_tree(n, seed=0):
    """Children and times of a tree drawn by the package."""
    tree = simulate_tree(n, np.random.default_rng(seed))
    return tree.children, tree.times
