"""`coaltree explain`."""

import csv

import numpy as np

import coaltree as ct
from coaltree.cli import main
from tests.posteriors import random_posterior


def test_explain_prints_and_writes_what_the_posterior_says(folder, tmp_path, capsys, only_line):
    assert main(["explain", str(folder), "--clusters", "2", "--columns", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    post = ct.load(folder / "posterior.npz")
    frame = post.explain(post.cut(2))
    assert lines[0] == "cluster 1: 6 of 12 leaves, sister clade of 6"
    assert lines[1].split() == ["to", "its", "sister", "clade", "to", "all", "others"]
    for line, (_, row) in zip(lines[2:4], frame.iterrows(), strict=False):
        assert line.split()[:2] == [row["column"], f"{row['sister']:+.1f}"]
    assert len(lines) == 2 * 4

    path = tmp_path / "differences.csv"
    args = ["explain", str(folder), "--clusters", "2", "-o", str(path)]
    assert main(args) == 0
    assert capsys.readouterr().out == f"{path}\n"
    written = list(csv.DictReader(path.read_text().splitlines()))
    assert [row["column"] for row in written] == frame["column"].tolist()
    assert [int(row["cluster"]) for row in written] == (frame["cluster"] + 1).tolist()
    np.testing.assert_allclose([float(row["sister_low"]) for row in written], frame["sister_low"])
    assert main(args) == 2
    assert "--force" in only_line()


def test_explain_says_where_there_is_nothing_to_explain(folder, tmp_path, capsys):
    assert main(["explain", str(folder), "--clusters", "1"]) == 0
    assert capsys.readouterr().out.startswith("All rows are in one cluster")
    random_posterior(0).save(tmp_path / "trees.npz")
    assert main(["explain", str(tmp_path / "trees.npz"), "--clusters", "2"]) == 2
    assert "does not include its data" in capsys.readouterr().err
