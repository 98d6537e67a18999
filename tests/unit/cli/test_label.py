"""coaltree fit --label: a column that is not fitted, but shown and compared; and columns that look like one."""

import csv

import numpy as np
import pytest

import coaltree as ct
from coaltree.cli import main
from coaltree.cli.outputs import write_clusters
from coaltree.cli.tables.column_hints import column_hints
from coaltree.model.data.table import Table
from coaltree.posterior.clusters.answer import answer_for
from coaltree.posterior.leaf_annotations import KEPT
from tests.posteriors import random_posterior, side_branch_posterior

SHORT = ["--samples", "12", "--warmup", "4", "--clusters", "2"]


@pytest.fixture(scope="module")
def flowers(tmp_path_factory):
    """Twenty rows of two kinds, far apart, with a class that is missing once, a number, and a class as a number."""
    rng = np.random.default_rng(4)
    kind = np.arange(20) % 2
    X = rng.standard_normal((20, 3)) + 9.0 * kind[:, None]
    path = tmp_path_factory.mktemp("flowers") / "flowers.csv"
    with open(path, "w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["a", "b", "c", "kind", "age", "class"])
        for i, row in enumerate(X):
            name = "" if i == 3 else ["red", "blue"][kind[i]]
            lines.writerow([*row.round(4), name, round(10 * rng.random() + i, 3), kind[i]])
    return path


def test_labels_are_compared_shown_and_kept(flowers, tmp_path, capsys):
    args = [
        "fit",
        str(flowers),
        "--label",
        "kind",
        "--label",
        "age",
        "--label",
        "class",
        "--out",
        str(tmp_path / "out"),
    ]
    assert main([*args, *SHORT]) == 0
    shown = capsys.readouterr()
    assert "label      'kind': 2 distinct values, blue, red" in shown.out
    assert "kind: adjusted Rand index 1.00, purity 1.00 (1 missing)" in shown.out
    table = shown.out.split("(1 missing)\n")[1].splitlines()[:3]
    assert [line.split() for line in table] == [
        ["blue", "red"],
        ["cluster", "1", "0", "10"],
        ["cluster", "2", "9", "0"],
    ]
    assert "age: median in each cluster" in shown.out
    assert "class" not in shown.err  # it is not fitted, so there is nothing to warn of
    post = ct.load(tmp_path / "out" / "posterior.npz")
    assert post.columns == ("a", "b", "c")
    with open(tmp_path / "out" / "clusters.csv", newline="") as file:
        header, *rows = csv.reader(file)
    assert header[-3:] == ["kind", "age", "class"]
    assert [row[-3] for row in rows][:4] == ["red", "blue", "red", ""]
    drawn = (tmp_path / "out" / "tree.svg").read_text()
    assert "kind:" in drawn
    assert "red" in drawn
    page = (tmp_path / "out" / "report.html").read_text()
    assert '"levels":["blue","red"]' in page
    assert main(["report", str(tmp_path / "out"), "-o", str(tmp_path / "again.html")]) == 0
    assert '"levels":["blue","red"]' in (tmp_path / "again.html").read_text()


def test_a_label_called_like_another_column_has_a_name_of_its_own(tmp_path):
    post = random_posterior(1)
    kinds = [*"xxxyyyy"]
    names = ["cluster", "probability", "row", "cluster_1", "label_row", "kind"]
    post.info[KEPT] = dict.fromkeys(names, kinds)
    write_clusters(tmp_path / "clusters.csv", post, answer_for(post, 2, quietly=True))
    with open(tmp_path / "clusters.csv", newline="") as file:
        header, *rows = csv.reader(file)
    assert header[:6] == ["row", "cluster", "probability", "side_branch", "cluster_1", "cluster_2"]
    own = ["label_cluster", "label_probability", "label_label_row", "label_cluster_1", "label_row", "kind"]
    assert header[6:] == own
    assert [row[6] for row in rows] == kinds


def test_side_branches_are_told(tmp_path):
    post = side_branch_posterior()
    post.info[KEPT] = {"side_branch": [*"xxxxxyyyyy"]}
    write_clusters(tmp_path / "clusters.csv", post, answer_for(post, 2))
    with open(tmp_path / "clusters.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["side_branch"] for row in rows] == [""] * 9 + ["yes"]
    assert [row["label_side_branch"] for row in rows] == [*"xxxxxyyyyy"]
    assert [row["cluster"] for row in rows] == [*"1111222222"]


def test_a_text_column_is_offered_as_a_label(flowers, tmp_path, capsys):
    assert main(["fit", str(flowers), "--out", str(tmp_path / "out")]) == 2
    assert "--drop kind, or show and compare it with --label kind" in capsys.readouterr().err


def test_a_label_that_is_not_there_is_refused(flowers, tmp_path, capsys):
    assert main(["fit", str(flowers), "--label", "colour", "--out", str(tmp_path / "out")]) == 2
    assert "there is no column 'colour' (--label)" in capsys.readouterr().err


def test_classes_and_row_numbers_are_warned_of(flowers, tmp_path, capsys, blank_pages):
    args = ["fit", str(flowers), "--label", "kind", "--drop", "age", "--out", str(tmp_path / "out")]
    assert main([*args, *SHORT]) == 0
    said = capsys.readouterr().err
    assert "column 'class' has only 2 distinct whole numbers" in said
    assert "--drop class" in said
    assert "--label class" in said


def suspected(**columns):
    values = np.column_stack([np.asarray(column, dtype=float) for column in columns.values()])
    table = Table(values, tuple(map(str, range(len(values)))), tuple(columns))
    return [sentence.split("'")[1] for sentence in column_hints(table)]


def test_who_is_suspected():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 30))
    assert suspected(x=x, y=y) == []
    assert suspected(x=x, no=np.arange(30), z=y) == ["no"]
    assert suspected(x=x, back=np.arange(30)[::-1] + 7) == ["back"]
    assert suspected(x=x, last=np.arange(30) % 3) == ["last"]  # the only whole numbers
    assert suspected(a=rng.integers(0, 5, 30), b=rng.integers(0, 5, 30)) == []  # counts
    assert suspected(a=rng.integers(0, 5, 30), target=np.arange(30) % 2) == ["target"]
    assert suspected(x=x, patient_id=1000 + rng.permutation(30) * 7) == ["patient_id"]
    assert suspected(x=x, count=rng.integers(0, 12, 30)) == []  # too many values for so few rows
