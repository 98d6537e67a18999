"""Cuts of a tree: the exact optimum against every antichain of small trees, and cuts at a time."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster import hierarchy

from coaltree import InputError, Tree
from coaltree.tree import cut as module
from tests.reference import cut as slow
from tests.strategies import chain, random_tree, trees


def sets_of(labels):
    return {frozenset(np.flatnonzero(labels == c).tolist()) for c in range(labels.max() + 1)}


def rank_of(tree):
    return module.name_rank(tree.labels).tolist()


def same_partition(a, b):
    return len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))


def small_tree(rng, heights):
    """Up to 9 leaves in any order of names, with times of a kind: one of them a chain, some tied."""
    n = int(rng.integers(2, 10))
    alive, children = list(rng.permutation(n)), []
    for k in range(n - 1):
        i = len(alive) - 2 if heights == "chain" else int(rng.integers(len(alive) - 1))
        children.append([int(alive[i]), int(alive[i + 1])])
        alive[i : i + 2] = [n + k]
    times = {
        "chain": lambda: np.cumsum(rng.exponential(size=n - 1)),
        "differ": lambda: np.cumsum(rng.exponential(size=n - 1) ** 3),
        "tied": lambda: np.sort(rng.integers(0, 3, n - 1)),
        "equal": lambda: np.full(n - 1, rng.choice([0.0, 0.1, 1e300])),
    }[heights]()
    return Tree(children, times, rng.permutation([f"leaf {i}" for i in range(n)]))


@pytest.mark.parametrize("n_trees", [pytest.param(600, marks=pytest.mark.slow), 150])
@pytest.mark.parametrize("heights", ["chain", "differ", "tied", "equal"])
def test_cut_is_the_best_of_all_sets_of_disjoint_clades(heights, n_trees):
    rng = np.random.default_rng(0)
    for _ in range(n_trees):
        tree = small_tree(rng, heights)
        unit = max(tree.times[-1], 1e-300)
        best = slow.best_cuts(tree.children.tolist(), (tree.times / unit).tolist(), rank_of(tree))
        meet = tree.cophenetic()
        for k, expected in enumerate(best, 1):
            assert sets_of(tree.cut(k, outliers=True)) == expected
            if heights in ("chain", "differ"):  # of tied merges the lower one counts first
                assert sets_of(tree.cut(k)) == slow.joined(expected, lambda i, j, meet=meet: meet[i, j], rank_of(tree))


@pytest.mark.parametrize("rule", ["_EQUAL", "_within", "_least_below"])
def test_another_rule_would_be_noticed(rule, monkeypatch):
    """Negative control: other costs, no tolerance of rounding, or other names give other cuts of some tree."""
    monkeypatch.setattr(module, "_choose", module._choose.py_func)  # sees the constants and functions below
    monkeypatch.setattr(module, "_is_better", getattr(module._is_better, "py_func", module._is_better))
    right = getattr(module, rule)
    wrong = {
        "_EQUAL": 0.3,
        "_within": lambda *tree: right(*tree) * (1.0 + 0.2 * (np.arange(2 * len(tree[0]) + 1) % 2)),
        "_least_below": lambda children, rank: right(children, rank[::-1].copy()),
    }[rule]
    rng = np.random.default_rng(1)
    drawn = [small_tree(rng, kind) for kind in ("differ", "tied") for _ in range(40)]
    before = [tree.cut(k, outliers=True).tolist() for tree in drawn for k in range(1, tree.n + 1)]
    monkeypatch.setattr(module, rule, wrong)
    assert before != [tree.cut(k, outliers=True).tolist() for tree in drawn for k in range(1, tree.n + 1)]


@given(trees(max_leaves=30), st.randoms(use_true_random=False))
def test_cut_has_every_number_whatever_the_order_of_rows(tree, random):
    shuffled = list(range(tree.n))
    random.shuffle(shuffled)  # leaf i becomes leaf shuffled[i]
    number = np.append(shuffled, np.arange(tree.n, 2 * tree.n - 1))
    labels = np.empty(tree.n, dtype=object)
    labels[shuffled] = tree.labels
    other = Tree(number[tree.children][:, ::-1], tree.times, labels)
    for k in range(1, tree.n + 1):
        cut, named = tree.cut(k), tree.cut(k, outliers=True)
        first = [np.flatnonzero(named[tree.leaf_order()] == c)[0] for c in range(k)]
        assert first == sorted(first)
        assert cut.max() == named.max() == k - 1
        assert same_partition(cut, other.cut(k)[shuffled])
        assert same_partition(named, other.cut(k, outliers=True)[shuffled])
        assert np.all((named >= 0) | (named == -1))
    np.testing.assert_array_equal(tree.cut(tree.n)[tree.leaf_order()], np.arange(tree.n))


@pytest.mark.parametrize(
    ("sizes", "far"), [((120, 60, 30, 15, 8), 0), ((20, 20, 2), 3), ((9, 5), 1)], ids=["unequal", "outliers", "one"]
)
def test_cut_finds_blobs_of_very_unequal_sizes(sizes, far):
    """Rows much farther from all blobs than these from one another are in none of them."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(len(sizes) + far, 6)) * np.repeat([[100], [400]], [len(sizes), far], axis=0)
    number = np.repeat(np.arange(len(sizes) + far), [*sizes, *[1] * far])
    X = centres[number] + rng.normal(size=(len(number), 6))
    tree = Tree.from_linkage(hierarchy.linkage(X, "average"))
    expected = np.where(number < len(sizes), number, -1)
    assert same_partition(tree.cut(len(sizes), outliers=True), expected)
    assert same_partition(tree.cut(len(sizes))[expected >= 0], expected[expected >= 0])
    assert tree.cut(len(sizes)).min() == 0


def test_single_leaves_are_clusters_only_where_there_are_too_few_clades():
    tree = chain(9)  # never two clades of two leaves
    for k in range(2, 10):
        assert np.sort(np.bincount(tree.cut(k)))[::-1].tolist() == [10 - k] + [1] * (k - 1)
    pairs = Tree([[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11], [12, 13]], np.arange(1.0, 8.0))
    assert np.bincount(pairs.cut(4)).tolist() == [2, 2, 2, 2]
    assert sorted(np.bincount(pairs.cut(5))) == [1, 1, 2, 2, 2]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"n_clusters": 5}, "n_clusters must be"),
        ({"n_clusters": 0}, "n_clusters must be"),
        ({"n_clusters": 2.5}, "n_clusters must be"),
        ({"n_clusters": 2, "outliers": "yes"}, "outliers must be True or False, not 'yes'"),
        ({}, "exactly one of n_clusters and time must be given, not neither"),
        ({"n_clusters": 2, "time": 1.0}, "exactly one of n_clusters and time must be given, not both"),
        ({"time": 1.0, "outliers": True}, "outliers needs n_clusters"),
        ({"time": "late"}, "time must be"),
    ],
)
def test_cut_refuses(how, message):
    with pytest.raises(InputError, match=message):
        chain(4).cut(**how)


@pytest.mark.slow
@pytest.mark.parametrize("make", [chain, lambda n: random_tree(n, np.random.default_rng(0))], ids=["chain", "random"])
def test_cut_of_a_million_leaves(make):
    tree = make(1_000_000)
    tracemalloc.start()
    cut = tree.cut(30)
    assert tracemalloc.get_traced_memory()[1] < 2e9
    tracemalloc.stop()
    assert cut.max() == 29


@given(trees(max_leaves=15), st.floats(0, 100))
def test_cut_by_time_keeps_together_what_has_met(tree, time):
    for when in (time, *tree.times):
        together = tree.cut(time=when)[:, None] == tree.cut(time=when)
        np.testing.assert_array_equal(together, tree.cophenetic() <= when)


@given(trees(max_leaves=20, times=st.floats(0.01, 10)))
def test_cuts_at_a_time_agree_with_scipy(tree):
    for time in (0.0, *tree.times, 0.5 * tree.times[-1]):
        flat = hierarchy.fcluster(tree.to_linkage(), time, criterion="distance")
        assert same_partition(tree.cut(time=time), flat)
