"""The experiments run, at sizes of seconds, and write what they promise; the statistics behind them are right."""

import argparse
import csv
import warnings

import numpy as np
import pytest

import coaltree as ct
from coaltree.posterior.of_trees import posterior_of_trees
from experiments.henao_lucas_2012 import (
    common,
    digits,
    table1_structure,
    table2_covariance,
    table3_greedy,
)


@pytest.fixture
def options(tmp_path):
    return argparse.Namespace(replicates=2, jobs=1, data=None, out=tmp_path)


@pytest.fixture(autouse=True)
def _silent():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.ConvergenceWarning)
        yield


def page_of(folder, name):
    text = (folder / f"{name}.md").read_text()
    assert "nan" not in text
    assert "Written by" in text and "Python" in text
    return text


def rows_of(folder, name):
    with (folder / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("module", [table1_structure, table2_covariance, table3_greedy])
def test_tables_on_simulated_data(module, options, monkeypatch):
    name = module.__name__.rpartition(".")[2]
    monkeypatch.setattr(table2_covariance, "ITERATIONS", 5)
    monkeypatch.setattr(table2_covariance, "DROPPED", 2)
    monkeypatch.setattr(table1_structure, "VARIANTS", {})
    further = {"other_lengths2": (3.0,)} if module is table2_covariance else {}
    module.run(options, sizes=(32,), **further)
    text = page_of(options.out, name)
    assert "at or below the paper's mean" in text and "50 times faster" in text
    rows = rows_of(options.out, name)
    assert {row["sampler"] for row in rows} >= set(module.SAMPLERS)
    assert all(float(row["time_mse_mean"]) <= float(row["time_mse_draws"]) * (1 + 1e-6) for row in rows)


@pytest.mark.parametrize("rule", ["Greedy", "MGreedy"])
def test_transcribed_rules_agree_with_the_package(rule):
    X, _ = ct.simulate(20, 6, random_state=3)
    slow = table3_greedy.transcribed_greedy(X, rule, total_rate=True)
    fast = ct.sample_trees(X, np.eye(6), getattr(ct, rule)(), progress=False).trees[0]
    np.testing.assert_allclose(slow.times, fast.times, rtol=1e-9)
    assert {frozenset(clade) for clade in slow.clades()} == {frozenset(clade) for clade in fast.clades()}


def test_digits(options):
    digits.run(options, n_images=60, iterations=6, warmup=2)
    page_of(options.out, "digits")
    scores = {row["method"]: float(row["area"]) for row in rows_of(options.out, "digits")}
    assert scores["regraft, Spherical"] > 0.5  # labels at random give about 0.35
    assert (options.out / "digits_tree.png").stat().st_size > 1000


def test_average_of_log_times_gives_back_a_tree_that_all_draws_share():
    tree = ct.simulate(9, 2, random_state=1)[1]
    post = posterior_of_trees(np.stack([tree.children] * 3), np.stack([tree.times * c for c in (0.5, 1.0, 2.0)]))
    found = common.log_average_tree(post)
    assert {frozenset(clade) for clade in found.clades()} == {frozenset(clade) for clade in tree.clades()}
