"""Trees with a subtree pruned, as tests of regrafting take them: for the reference and for the kernels."""

from typing import NamedTuple

import numpy as np

from coaltree.model.process.coalescent import simulate_tree
from coaltree.model.process.diffusion import simulate_data
from coaltree.samplers.regraft.branch_density import Target
from coaltree.samplers.regraft.candidates import add_every_branch, empty_candidates
from coaltree.samplers.regraft.working_tree import empty_working_tree, load, prune
from tests.reference import regraft as reference


class Case(NamedTuple):
    """A pruned tree, twice: as the reference sees it and as the kernels do."""

    tree: object
    cand: object
    target: Target
    rest: dict
    parent: int
    c: int
    X: list
    noise: float


def leaves_of(tree, x):
    left, right = tree.nodes["left"][x], tree.nodes["right"][x]
    return frozenset([int(x)]) if left < 0 else leaves_of(tree, left) | leaves_of(tree, right)


def make_case(seed, d, noise=0.0, n=None):
    """A random tree without one of its subtrees, and every branch as a candidate for it."""
    rng = np.random.default_rng(seed)
    n = n or int(rng.integers(2, 9))
    tree = simulate_tree(n, rng)
    children, times, X = tree.children, tree.times, simulate_data(tree, d, rng)
    named = reference.from_arrays(children, times)
    c = int(rng.integers(0, 2 * n - 2))
    rest, parent, _ = reference.prune(named, c)
    tree, cand = empty_working_tree(n, d), empty_candidates(n, d)
    load(tree, children, times, X, np.full(len(X), float(noise)))
    leaves = frozenset(reference.leaves_under(named, c))
    node = next(x for x in range(2 * n - 1) if leaves_of(tree, x) == leaves)
    prune(tree, node)
    time, var = tree.nodes["time"][node], tree.nodes["var"][node]
    add_every_branch(cand, tree, tree.mean[node], time)
    target = Target(var - time, n - 1.0, 0.5 * d, tree.lineages, 0.0, np.zeros((2, 2, 4)))
    return Case(tree, cand, target, rest, parent, c, X.tolist(), noise)
