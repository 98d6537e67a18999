"""Clades around a place: side by side, the same from everywhere inside, and with the messages of the whole tree."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.model.process.whitened import Problem
from coaltree.samplers.regraft.candidates import add_all_above, add_clade_around, begin, pass_down
from coaltree.samplers.regraft.update import make_engine
from coaltree.samplers.regraft.working_tree import detach, load, refresh, sibling_of
from tests.reference import regraft as reference

N = 40


def pruned(seed, c):
    """An engine with node c taken off its tree, and the tree that is left as a dict."""
    X, truth = ct.simulate(N, 3, random_state=seed)
    engine = make_engine(Problem(np.ascontiguousarray(X), None, 3, 0.0, 0.1), np.ascontiguousarray(X))
    tree = engine.tree
    load(tree, truth.children, truth.times, engine.W, engine.leaf_var)
    x = sibling_of(tree, c)
    detach(tree, c)
    refresh(tree, np.int64(tree.parent[x]))
    left = {}
    below = [int(tree.top[0])]
    while below:
        node = below.pop()
        if tree.child[node, 0] >= 0:
            left[node] = (int(tree.child[node, 0]), int(tree.child[node, 1]), float(tree.time[node]))
            below.extend(left[node][:2])
    return engine, left


def drawn_from(cand):
    return {int(node) for node in cand.node[cand.counts[3] : cand.counts[0]]}


@pytest.mark.parametrize("most", [1, 4, 13, 100])
@pytest.mark.parametrize("c", [0, 7, N + 5, N + 20])
def test_largest_clades_are_those_of_the_definition_from_everywhere_in_them(c, most):
    engine, left = pruned(c, c)
    cand, tree = engine.candidates, engine.tree
    time = tree.time[c]
    clades = reference.largest_clades(left, time, most)
    for clade in clades:
        for x in clade:
            begin(cand)
            add_clade_around(cand, tree, x, time, most)
            assert drawn_from(cand) == clade
    outside = {x for x in left if left[x][2] > time} - set().union(*clades)
    assert outside or most == 100
    for x in outside:  # too many lineages: no candidates, and the subtree stays where it is
        begin(cand)
        add_clade_around(cand, tree, x, time, most)
        assert cand.counts[0] == 0


def test_messages_are_those_of_the_whole_tree():
    engine, _ = pruned(3, 3)
    cand, tree = engine.candidates, engine.tree
    begin(cand)
    add_all_above(cand, tree, 0.0)
    pass_down(cand, tree, tree.mean[3], 0.0)
    place = {int(cand.node[i]): i for i in range(cand.counts[0])}
    scalars = cand.scalars.copy()
    n_seen = 0
    for x in range(N):
        if x == 3:
            continue
        begin(cand)
        add_clade_around(cand, tree, x, 0.0, 6)
        pass_down(cand, tree, tree.mean[3], 0.0)
        for i in range(cand.counts[0]):
            np.testing.assert_array_equal(cand.scalars[i, :7], scalars[place[int(cand.node[i])], :7])
        n_seen += cand.counts[3] > 0
    assert n_seen > 20
