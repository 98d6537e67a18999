"""Working trees: loaded and unloaded without loss, pruned and regrafted with true messages."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.samplers.regraft.lineage_counts import exact_area
from coaltree.samplers.regraft.working_tree import copy_tree, empty_working_tree, load, prune, regraft, unload
from tests.reference import regraft as reference

N = 25


def loaded(seed=0):
    X, truth = ct.simulate(N, 3, random_state=seed)
    tree, X = empty_working_tree(N, 3), np.ascontiguousarray(X)
    number = load(tree, truth.children, truth.times, X, np.full(N, 0.1))
    return tree, truth, X, number


def assert_messages_are_true(tree, X):
    inner = {x: tree.nodes[["left", "right", "time"]][x].tolist() for x in range(N, 2 * N - 1)}
    for x in range(2 * N - 1):
        mean, var, _ = reference.message(inner, x, X.tolist(), 0.1)
        np.testing.assert_allclose(tree.mean[x], mean, rtol=1e-9, atol=1e-12)
        assert tree.nodes["var"][x] == pytest.approx(var, rel=1e-9)


def test_load_numbers_nodes_and_makes_their_messages():
    tree, truth, X, number = loaded()
    assert sorted(number) == list(range(2 * N - 1))
    np.testing.assert_array_equal(number[:N], np.arange(N))
    np.testing.assert_array_equal(tree.nodes["time"][number[N:]], truth.times)
    assert_messages_are_true(tree, X)


def test_unload_writes_the_tree_that_was_loaded():
    tree, truth, _, _ = loaded()
    children, times = np.empty((N - 1, 2), np.int64), np.empty(N - 1)
    unload(tree, children, times)
    np.testing.assert_array_equal(times, truth.times)
    np.testing.assert_array_equal(np.sort(children), np.sort(truth.children))


def test_unload_keeps_children_before_parents_where_times_are_tied():
    tree = empty_working_tree(4, 1)
    load(tree, np.array([[0, 1], [2, 4], [3, 5]]), np.ones(3), np.zeros((4, 1)), np.ones(4))
    children, times = np.empty((3, 2), np.int64), np.empty(3)
    unload(tree, children, times)
    assert (children.max(axis=1) < 4 + np.arange(3)).all()
    assert ct.Tree(children, times).n == 4


@pytest.mark.parametrize("c", [0, 7, 30, 40])
def test_prune_and_regraft_put_a_subtree_back(c):
    tree, truth, X, _ = loaded()
    before = exact_area(tree.lineages, float(N), 0.7)
    left, right = tree.nodes[tree.nodes["parent"][c]][["left", "right"]]
    parent, x, t = prune(tree, c)
    assert {c, x} == {left, right} and tree.nodes["parent"][c] == tree.nodes["parent"][parent] == -1
    regraft(tree, c, parent, x, t)
    assert_messages_are_true(tree, X)
    assert exact_area(tree.lineages, float(N), 0.7) == pytest.approx(before, rel=1e-12)
    children, times = np.empty((N - 1, 2), np.int64), np.empty(N - 1)
    unload(tree, children, times)
    np.testing.assert_array_equal(times, truth.times)


def test_regraft_above_the_root_makes_a_new_one():
    tree, _, X, _ = loaded()
    parent, _, _ = prune(tree, 3)
    root = tree.top["root"][0]
    regraft(tree, 3, parent, root, tree.nodes["time"][root] + 1.0)
    assert tree.top["root"][0] == parent and tree.nodes["parent"][parent] == -1
    assert_messages_are_true(tree, X)


def test_copy_tree_copies_lineages_too():
    (tree, *_), (other, *_) = loaded(0), loaded(1)
    copy_tree(tree, other)
    for mine, yours in zip((*tree[:-1], *tree.lineages[:-3]), (*other[:-1], *other.lineages[:-3]), strict=True):
        np.testing.assert_array_equal(mine, yours)
        assert mine is not yours
