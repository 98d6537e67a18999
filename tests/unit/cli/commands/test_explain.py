"""`coaltree explain`."""

import csv

import numpy as np
import pytest

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


@pytest.mark.usefixtures("blank_pages")
def test_explain_of_fit_adds_a_column_to_the_clusters(tmp_path):
    X = np.random.default_rng(0).standard_normal((20, 2)) + 9.0 * np.array([0, 1])[np.arange(20) % 2, None] * [1, 0]
    np.savetxt(tmp_path / "data.csv", X, delimiter=",", header="length,other", comments="")
    how = ["--samples", "8", "--warmup", "8", "--chains", "1", "--clusters", "2", "--quiet"]
    for option in ([], ["--explain"]):
        out = tmp_path / f"out{len(option)}"
        assert main(["fit", str(tmp_path / "data.csv"), "--out", str(out), *how, *option]) == 0
        rows = list(csv.DictReader((out / "clusters.csv").read_text().splitlines()))
        assert ("differs_from_sister" in rows[0]) == bool(option)
        if option:
            said = {row["cluster"]: row["differs_from_sister"] for row in rows}
            assert all(text.startswith("length ") for text in said.values())
            assert len({text.split()[1][0] for text in said.values()}) == 2  # one is above, the other below
