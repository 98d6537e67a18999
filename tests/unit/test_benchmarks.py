"""What the benchmarks take for true, against all groups of few rows."""

import ast
import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import benchmarks
from benchmarks import bench_growth, kept, timing
from benchmarks.bench_calibration import reliability
from benchmarks.off_model import TABLES, Table, agrees, to_move, true_nodes
from coaltree.model.coalescent import simulate_tree

ROWS = 6


def truths():
    rng = np.random.default_rng(0)
    X, rows = np.zeros((ROWS, 1)), np.arange(ROWS)
    yield Table(X, rows, np.array([0, 0, 0, 1, 1, 2]), None)
    yield Table(X, rows, None, simulate_tree(ROWS, rng))
    yield Table(X, np.array([0, 0, 1, 1, 1, 2]), None, simulate_tree(3, rng))


@pytest.mark.parametrize("truth", truths(), ids=["stars", "tree", "replicates"])
def test_groups_that_agree_and_how_far_the_others_are(truth):
    nodes = true_nodes(truth, as_groups=False)
    groups = np.array([group for group in itertools.product([False, True], repeat=ROWS) if any(group)])
    sets, true = ([set(np.flatnonzero(rows)) for rows in many] for many in (groups, [node.rows for node in nodes]))
    expected = [all(not (A & C) or A <= C or C <= A for C in true) for A in sets]
    np.testing.assert_array_equal(agrees(groups, nodes), expected)
    assert 1 <= sum(expected) < len(groups)
    nearest = [min(len(A ^ B) for B, good in zip(sets, expected, strict=True) if good) for A in sets]
    np.testing.assert_array_equal(to_move(groups, nodes), nearest)


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_what_they_say(name):
    table = TABLES[name](np.random.default_rng(0))
    again = TABLES[name](np.random.default_rng(0))
    np.testing.assert_array_equal(table.X, again.X)
    assert np.isfinite(table.X).all()
    assert (table.clusters is None) != (table.tree is None)
    assert len(table.groups) == len(table.X)


def test_a_bin_of_a_reliability_curve_has_the_jackknife_error_of_its_tables():
    results = [{"clades": [[0.9, 1.0], [0.9, 0.0], [0.1, 0.0]]}, {"clades": [[0.8, 1.0]]}, {"clades": []}]
    point = reliability(results, "clades", 0.5, 1.1)
    assert point.count == 3
    assert point.said == pytest.approx(2.6 / 3)
    assert point.true == pytest.approx(2 / 3)
    left_out = np.array([1.0, 0.5, 2 / 3])
    assert point.error == pytest.approx(np.sqrt(2 / 3 * np.square(left_out - left_out.mean()).sum()))
    assert reliability(results, "clades", 0.2, 0.5) is None


def test_growth_shows_what_has_been_measured(tmp_path, monkeypatch, capsys):
    def measure(n, method):
        n = int(n)
        peak = {"peak": 10**6 * n, "commit": "0000000"}
        if method != bench_growth.COALTREE:
            return {"seconds": 1e-9 * n**2, **peak}
        quality = {"recall": 1.0, "beside_truth": 0.01, "start_beside_truth": -1.0, "ari": 1.0}
        return {"seconds": {"first tree": 1e-6 * n}, **quality, **peak}

    monkeypatch.setattr(kept, "BUILD", tmp_path)
    monkeypatch.setattr(bench_growth, "measure", measure)
    monkeypatch.delenv("FULL", raising=False)
    bench_growth.run()
    said = capsys.readouterr().out
    assert "first tree" in said and "1.00" in said
    lines = [line.split() for line in said.splitlines()]
    (ward,) = [line for line in lines if line[:2] == ["scipy", "ward"] and "GB" not in line]
    assert ward[-1] == "2.00"
    assert lines[-1] == ["measured", "at", "0000000"]
    monkeypatch.setattr(bench_growth, "measure", None)  # all of it is kept
    bench_growth.run()
    assert capsys.readouterr().out.splitlines()[-1] == "measured at 0000000"


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


def test_printed_tables_are_kept_as_json(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(timing, "FOLDER", tmp_path)
    monkeypatch.setattr(timing, "_tables", [])
    timing.table(("what", "seconds"), [("one", 1.5), ("two", np.float64(2.0))])
    timing.write_tables("some")
    (kept_table,) = json.loads((tmp_path / "some.json").read_text())["tables"]
    assert kept_table == {"header": ["what", "seconds"], "rows": [["one", 1.5], ["two", 2.0]]}
    assert timing._tables == [] and "1.5" in capsys.readouterr().out
