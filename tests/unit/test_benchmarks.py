"""What the benchmarks take for true, against all groups of few rows."""

import ast
import itertools
from pathlib import Path

import numpy as np
import pytest

import benchmarks
from benchmarks.off_model import Table, agrees, to_move, true_nodes
from coaltree.model.process.coalescent import simulate_tree

ROWS = 6


def truths():
    rng = np.random.default_rng(0)
    X, rows = np.zeros((ROWS, 1)), np.arange(ROWS)
    yield Table(X, rows, np.array([0, 0, 0, 1, 1, 2]), None)
    yield Table(X, rows, None, simulate_tree(ROWS, rng))
    yield Table(X, np.array([0, 0, 1, 1, 1, 2]), None, simulate_tree(3, rng))


@pytest.mark.parametrize("truth", list(truths()), ids=["stars", "tree", "replicates"])
def test_groups_that_agree_and_how_far_the_others_are(truth):
    nodes = true_nodes(truth, as_groups=False)
    groups = np.array([group for group in itertools.product([False, True], repeat=ROWS) if any(group)])
    sets, true = ([set(np.flatnonzero(rows)) for rows in many] for many in (groups, [node.rows for node in nodes]))
    expected = [all(not (A & C) or A <= C or C <= A for C in true) for A in sets]
    np.testing.assert_array_equal(agrees(groups, nodes), expected)
    assert 1 <= sum(expected) < len(groups)
    nearest = [min(len(A ^ B) for B, good in zip(sets, expected, strict=True) if good) for A in sets]
    np.testing.assert_array_equal(to_move(groups, nodes), nearest)


def test_short_forms_change_constants_that_exist():
    n_short = 0
    for path in Path(benchmarks.__file__).parent.glob("bench_*.py"):
        assigned = {}
        for node in ast.parse(path.read_text()).body:
            for target in node.targets if isinstance(node, ast.Assign) else ():
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                assigned |= {name.id: node.value for name in names}
        short = {key.value for key in assigned["BRIEFLY"].keys} if "BRIEFLY" in assigned else set()
        assert short <= set(assigned), path.name
        n_short += bool(short)
    assert n_short > 5
