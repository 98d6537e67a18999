"""coaltree fit from end to end: a table as people have them, every file, every refusal, an interruption and its end."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import coaltree as ct
from coaltree.cli import commands, main
from coaltree.cli.commands.fit import CHECKPOINT, GROUPS
from coaltree.cli.outputs import FILES
from coaltree.posterior.diagnostics.convergence import ending
from coaltree.posterior.io.nexus import annotated_tree

WRITTEN = sorted(FILES)
SHORT = ["--samples", "12", "--warmup", "4", "--chains", "2"]
NAMES = ["rosé", "東京", "Ελλ, 3", "Ñandú", "дом", "a'b", "twin", "z z", "_x_", "<b>&"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A CSV with missing cells, a column of text, two equal rows, and names of all sorts."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((len(NAMES), 4)) + 6 * (np.arange(len(NAMES)) % 2)[:, None]
    X[6] = X[5]
    cells = [[f"{value:.6f}" for value in row] for row in X]
    cells[1][2], cells[3][0] = "", "NA"
    path = tmp_path_factory.mktemp("data") / "wein proben.csv"
    with open(path, "w", newline="", encoding="utf-8-sig") as file:
        rows = csv.writer(file)
        rows.writerow(["Probe", "Art", "Größe", "b", "c", "d"])
        rows.writerows([name, "rot", *row] for name, row in zip(NAMES, cells, strict=True))
    return path


@pytest.fixture(scope="module")
def left(data, tmp_path_factory):
    """The folder of a short run."""
    folder = tmp_path_factory.mktemp("left") / "out"
    args = ["fit", str(data), "--drop", "Art", "--out", str(folder), "--clusters", "2", "--seed", "3", *SHORT]
    assert main(args) == 0
    return folder


def table_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_fit_saves_the_posterior_of_the_function(left, data):
    post = ct.load(left / "posterior.npz")
    assert post.labels == tuple(NAMES)
    assert post.model.columns == ("Größe", "b", "c", "d")
    assert len(post) == 24
    X = np.array([row[2:] for row in table_of(data)[1:]])
    X = np.where(np.isin(X, ["", "NA"]), "nan", X).astype(float)
    np.testing.assert_array_equal(post.model.X, X)
    with pytest.warns(ct.CoaltreeWarning):
        same = ct.fit(X, "auto", n_samples=12, n_warmup=4, n_chains=2, random_state=3)
    np.testing.assert_array_equal(post.log_joint, same.log_joint)


def test_fit_files_agree_with_the_posterior(left):
    assert sorted(path.name for path in left.iterdir()) == WRITTEN
    post = ct.load(left / "posterior.npz")
    tree = post.mean_tree()
    text = (left / "tree.newick").read_text(encoding="utf-8")
    assert {frozenset(clade) for clade in ct.Tree.from_newick(text).clades()} == set(tree.clades())
    assert text == annotated_tree(post, tree, "newick")
    assert (left / "tree.nex").read_text(encoding="utf-8") == annotated_tree(post, tree)
    header, *rows = table_of(left / "linkage.csv")
    np.testing.assert_array_equal(np.array(rows, dtype=float), tree.to_linkage())
    header, *rows = table_of(left / "clusters.csv")
    assert header == ["row", "cluster", "probability", "in_no_clade", "cluster_1", "cluster_2", "none"]
    assert [row[0] for row in rows] == NAMES
    labels = post.cut(2)
    np.testing.assert_array_equal([int(row[1]) for row in rows], labels + 1)
    assert [row[3] for row in rows] == ["yes" if c == -1 else "" for c in tree.cut(2, outliers=True)]
    shares = np.array([row[4:] for row in rows], dtype=float)
    np.testing.assert_allclose(shares[:, :2], post.membership(labels), atol=1e-4)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=3e-4)
    np.testing.assert_allclose([float(row[2]) for row in rows], shares[np.arange(len(rows)), labels], atol=1e-4)
    nexus = (left / "trees.nex").read_text(encoding="utf-8")
    assert nexus.startswith("#NEXUS")
    assert nexus.count("\n  tree ") == len(post)
    assert (left / "tree.png").read_bytes().startswith(b"\x89PNG")
    drawn = "".join(ElementTree.parse(left / "tree.svg").getroot().itertext())
    assert "東京" in drawn
    page = (left / "report.html").read_text(encoding="utf-8")
    assert "wein proben" in page
    assert json.dumps("東京") in page


def test_fit_overwrites_only_with_force(left, data, only_line, blank_pages):
    before = {path.name: path.read_bytes() for path in left.iterdir()}
    args = ["fit", str(data), "--drop", "Art", "--out", str(left), "--seed", "4", *SHORT]
    assert main(args) == 2
    assert "overwrite it with --force" in only_line()
    assert {path.name: path.read_bytes() for path in left.iterdir()} == before
    (left / "notes.txt").write_text("mine")
    try:
        assert main([*args, "--force"]) == 0
        assert (left / "notes.txt").read_text() == "mine"
    finally:
        (left / "notes.txt").unlink()
    assert (left / "posterior.npz").read_bytes() != before["posterior.npz"]
    for name, content in before.items():  # for the tests to come
        (left / name).write_bytes(content)


def test_fit_prints_why_it_stopped(data, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("coaltree.inference.settings.MAX_ITERATIONS", 40)
    how = ["--drop", "Art", "--clusters", "2", "--out", str(tmp_path / "out")]
    assert main(["fit", str(data), *how]) == 0
    out, err = capsys.readouterr()
    post = ct.load(tmp_path / "out" / "posterior.npz")
    assert post.info["stopping"]["reason"] == "max_iterations"
    message = ending(post.info)
    assert f"sampling: {message}\n" in out
    assert "Increase --warmup and --samples." in err
    assert message[1:] in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert main(["info", str(tmp_path / "out")]) == 0
    assert message in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("", "line 2, column 'Art': 'rot' is not a number; correct it, leave text out with --drop Art, or"),
        ("--drop Art --clusters 11", "--clusters 11 is more than the 10 rows"),
        ("--drop Art --grid 2x2", "--grid needs --covariance matern32"),
        ("--drop Art --covariance matern32 --grid 2x3", "the grid 2 × 3 has 6 cells"),
        ("--drop Art --grid big", "'big' is not the shape of a grid, such as 16x16. (see coaltree fit --help)"),
        ("--drop Art --samples 0", "'0' is not auto or a whole number from 1 to 1000000000."),
        ("--drop Art --samples 5 --max-seconds 9", "--max-seconds needs --samples auto."),
        ("--drop Art --noise -1", "'-1' is not student, learn or a number from 0 to 1e+150."),
        ("--drop Art --covariance round", "'round' is not one of 'auto', 'scaled', 'spherical'"),
        ("--drop Farbe", "no column 'Farbe'; the columns are Probe, Art, Größe"),
        ("--drop Art --label colour", "there is no column 'colour'; the"),
        ("--columns b --columns c --names Art", "'rot' is in line 2 and again in line 3"),
        ("--drop Art --groups kind", "there is no column 'kind'"),
        ("--drop Art --errors b", "errors must be positive numbers, from 1e-70 to 1e70."),
        ("--columns b --names Probe --groups Art --clusters 6", "--clusters 6 is more than the 1 groups"),
    ],
)
def test_fit_refuses_in_one_line_and_leaves_nothing(data, tmp_path, more, message, only_line):
    folder = tmp_path / "out"
    assert main(["fit", str(data), "--out", str(folder), *more.split()]) == 2
    assert message in only_line()
    assert not folder.exists()


# --- interruption ---------------------------------------------------------------------------------------------------

# Blocks of one iteration, and after the first checkpoint a run that says so and waits for its end. A process started in
# the background may have been told to ignore Ctrl-C.
WAITING = """
import signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
from coaltree import cli
from coaltree.inference.control import run
run.SECONDS_PER_BLOCK = 0.0
save, saved = run.Run.save, []

def save_and_wait(*args, **options):
    saved.append(True)
    save(*args, **options)
    if len(saved) == 1:
        print("waiting", flush=True)
        threading.Event().wait()

run.Run.save = save_and_wait
sys.exit(cli.main(sys.argv[1:]))
"""


@pytest.mark.parametrize("warmup", ["0", pytest.param("3", marks=pytest.mark.slow)])  # iterations to show, or none
def test_fit_resumes_after_ctrl_c(data, tmp_path, warmup, capsys, blank_pages):
    out = tmp_path / "out"
    args = ["fit", str(data), "--drop", "Art", "--out", str(out), "--samples", "20", "--warmup", warmup, "--seed", "7"]
    running = subprocess.Popen(
        [sys.executable, "-c", WAITING, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert "waiting\n" in iter(running.stdout.readline, "")
        running.send_signal(signal.SIGINT)
        _, err = running.communicate()
    finally:
        running.kill()
    assert running.returncode == 130
    last = err.splitlines()[-1]
    assert last == f"coaltree: interrupted; the same command resumes from {out / CHECKPOINT}."
    assert "Traceback" not in err
    assert "converged" not in err
    assert os.listdir(out) == [CHECKPOINT]

    # Another seed is another run.
    assert main([*args[:-1], "8"]) == 2
    assert "belongs to another random_state; delete it" in capsys.readouterr().err
    assert os.listdir(out) == [CHECKPOINT]

    assert main(args) == 0
    assert f"resuming from {out / CHECKPOINT}" in capsys.readouterr().out
    assert sorted(os.listdir(out)) == WRITTEN
    whole = tmp_path / "whole"
    assert main([str(whole) if arg == str(out) else arg for arg in args]) == 0
    np.testing.assert_array_equal(ct.load(out / "posterior.npz").log_joint, ct.load(whole / "posterior.npz").log_joint)


def test_fit_with_force_discards_a_checkpoint_that_is_not_its_own(data, tmp_path, capsys, blank_pages):
    (tmp_path / CHECKPOINT).write_bytes(b"PK\x03\x04 damaged")
    args = ["fit", str(data), "--drop", "Art", "--out", str(tmp_path), *SHORT]
    assert main(args) == 2
    message = capsys.readouterr().err
    assert "is damaged" in message and message.endswith("Choose another --out, or start over with --force.\n")
    assert main([*args, "--force"]) == 0
    assert sorted(os.listdir(tmp_path)) == WRITTEN


def test_fit_resumes_after_a_failure_in_writing(data, tmp_path, monkeypatch, capsys, blank_pages):
    def failing(*args, **settings):
        raise RuntimeError("lost")

    args = ["fit", str(data), "--drop", "Art", "--out", str(tmp_path), *SHORT]
    with monkeypatch.context() as patch:
        patch.setattr("coaltree.report.write_report", failing)
        assert main(args) == 1
    message = capsys.readouterr().err.splitlines()[-1]
    assert message == "coaltree: RuntimeError: lost (coaltree --debug … shows the traceback)"
    assert sorted(os.listdir(tmp_path)) == sorted({CHECKPOINT, *FILES} - {"report.html"})
    (tmp_path / f".{CHECKPOINT}.tmp").write_text("half")
    assert main(args) == 0
    assert sorted(os.listdir(tmp_path)) == WRITTEN


@pytest.mark.filterwarnings("ignore::coaltree.ConvergenceWarning")
def test_fit_keeps_groups_and_errors_out_of_the_fit(grouped, repeats, capsys):
    post = ct.load(grouped / "posterior.npz")
    assert post.model.columns == ("a", "b", "c") and post.model.X.shape == (12, 3)
    assert post.labels == tuple(f"no. {i}" for i in range(5))
    assert post.model.leaves.groups.tolist() == [0, 0, 0, 1, 2, 2, 3, 3, 3, 3, 4, 4]
    np.testing.assert_allclose(post.model.leaves.errors, 0.5 + 0.1 * np.arange(12))
    given = {"groups": post.model.leaves.groups, "errors": post.model.leaves.errors, "n_samples": 20, "n_warmup": 20}
    same = ct.fit(np.array(post.model.X), "scaled", random_state=0, **given)
    np.testing.assert_array_equal(post.draws.times, same.draws.times)
    rows = table_of(grouped / "clusters.csv")[1:]
    assert [row[0] for row in rows] == list(post.labels)


def written(path, header, X):
    lines = [f"{name},{','.join(f'{value:.4f}' for value in row)}" for name, row in zip("abcdefgh", X, strict=True)]
    path.write_text("\n".join([",".join(header), *lines]) + "\n")
    return str(path)


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


def test_fit_compares_and_keeps_labels(flowers, tmp_path, capsys):
    labels = ["--label", "kind", "--label", "age", "--label", "class"]
    args = ["fit", str(flowers), *labels, "--out", str(tmp_path / "out")]
    assert main([*args, *SHORT, "--clusters", "2"]) == 0
    shown = capsys.readouterr()
    assert re.search(r"kind: (\d+) of \1 have the commonest class of their cluster\n", shown.out)
    assert "age: medians " in shown.out
    assert "class" not in shown.err  # it is not fitted, so there is nothing to warn of
    post = ct.load(tmp_path / "out" / "posterior.npz")
    assert post.model.columns == ("a", "b", "c")
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


def test_fit_transforms_and_place_does_so_too(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = np.exp(rng.standard_normal((8, 3)) * 0.2 + 2.0 * (np.arange(8) % 2)[:, None])
    path, out = written(tmp_path / "x.csv", ["name", *"abc"], X), tmp_path / "out"
    steps = ["--log", "all", "--scale", "columns"]
    assert main(["fit", path, "--out", str(out), *steps, "--clusters", "2", *SHORT]) == 0
    message = capsys.readouterr().out
    assert "transform: Preprocessor(log=True, scale='columns')" in message
    post = ct.load(out / "posterior.npz")
    assert post.labels == tuple("abcdefgh") and repr(post.model.transform) in message
    assert main(["place", str(out), path, "--clusters", "2"]) == 0
    placed = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    clusters = list(csv.DictReader((out / "clusters.csv").read_text().splitlines()))
    assert [row["cluster"] for row in placed] == [row["cluster"] for row in clusters]


def test_fit_has_at_most_28_options_in_groups(capsys):
    assert main(["fit", "--help"]) == 0
    text = capsys.readouterr().out
    headings = [line for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings == ["Common options:", "Input:", "Model:", "Run:", "Output:"]
    options = [param for param in commands.commands["fit"].params if param.opts[0].startswith("-")]
    assert len(options) <= 28
    assert {option.opts[-1] for option in commands.commands["fit"].params[1:]} | {"--help"} == set(
        " ".join(GROUPS.values()).split()
    )
    assert len(GROUPS["Common options"].split()) == 10
