"""`coaltree simulate`."""

import csv

import numpy as np

from coaltree import Tree
from coaltree.cli import main


def test_simulate_writes_data_and_their_tree(tmp_path, capsys):
    folder = tmp_path / "deep" / "er"
    args = ["simulate", "--n", "9", "--d", "3", "--seed", "5", "--out", str(folder)]
    assert main(args) == 0
    with open(folder / "data.csv", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["leaf", "x0", "x1", "x2"]
    tree = Tree.from_newick((folder / "tree.newick").read_text())
    assert sorted(row[0] for row in rows) == sorted(tree.labels)
    Z = np.loadtxt(folder / "linkage.csv", delimiter=",", skiprows=1)
    same = Tree.from_linkage(Z, labels=[row[0] for row in rows])
    assert {frozenset(clade) for clade in same.clades()} == {frozenset(clade) for clade in tree.clades()}
    np.testing.assert_allclose(same.times, tree.times, rtol=1e-12)

    from coaltree.model.process.simulation import simulate

    X, _ = simulate(9, 3, random_state=5)
    np.testing.assert_array_equal(np.array([row[1:] for row in rows], dtype=float), X)
