"""What the benchmarks take for true, against all groups of few rows."""

import ast
import itertools
from pathlib import Path

import numpy as np
import pytest

import benchmarks
from benchmarks import bench_repeat, pvclust
from benchmarks.bench_calibration import reliability
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


def test_a_bin_of_a_reliability_curve_has_the_jackknife_error_of_its_tables():
    results = [{"clades": [[0.9, 1.0], [0.9, 0.0], [0.1, 0.0]]}, {"clades": [[0.8, 1.0]]}, {"clades": []}]
    point = reliability(results, "clades", 0.5, 1.1)
    assert point.count == 3
    assert point.said == pytest.approx(2.6 / 3)
    assert point.true == pytest.approx(2 / 3)
    left_out = np.array([1.0, 0.5, 2 / 3])
    assert point.error == pytest.approx(np.sqrt(2 / 3 * np.square(left_out - left_out.mean()).sum()))
    assert reliability(results, "clades", 0.2, 0.5) is None


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


def test_halves_of_columns_share_rows_and_no_column():
    (one, other), classes = bench_repeat.two_halves({}, "from the model, 73 columns", 3)
    assert classes is None
    assert (one.shape, other.shape) == ((60, 37), (60, 36))
    assert not np.isin(one, other).any()


def test_multiscale_bootstrap_is_sure_of_clear_groups_alone(monkeypatch):
    monkeypatch.setattr(pvclust, "BOOTSTRAPS", 40)
    rng = np.random.default_rng(0)
    half = np.arange(10) < 5
    X = 8.0 * half[:, None] + rng.normal(size=(10, 30))
    probability, unbiased, trees = pvclust.multiscale_bootstrap(X, rng)
    group = np.packbits(half).tobytes()
    assert probability[group] == trees[group] == unbiased[group] == 1.0
    assert len(probability) == len(unbiased) == 8
    assert min(probability.values()) < 0.5
    assert all(0.0 <= value <= 1.0 for value in unbiased.values())
    apart = [abs(probability[group] - trees.get(group, 0.0)) for group in probability]
    assert max(apart) < 0.2
