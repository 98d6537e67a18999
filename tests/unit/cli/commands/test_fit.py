"""coaltree fit from end to end: a table as people have them, every file, every refusal, an interruption and its end."""

import csv
import json
import os
import signal
import subprocess
import sys
import threading
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import kneighbors_graph

import coaltree as ct
from coaltree.cli import main
from coaltree.cli.commands.fit import CHECKPOINT, COVARIANCES, SAMPLERS
from coaltree.cli.outputs import FILES, trees_to_write

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


def test_exactly_the_promised_files_are_left(left):
    assert sorted(path.name for path in left.iterdir()) == sorted(FILES)


def test_the_posterior_is_that_of_fit(left, data):
    post = ct.load(left / "posterior.npz")
    assert post.labels == tuple(NAMES)
    assert post.columns == ("Größe", "b", "c", "d")
    assert len(post) == 24
    X = np.array([row[2:] for row in table_of(data)[1:]])
    X = np.where(np.isin(X, ["", "NA"]), "nan", X).astype(float)
    np.testing.assert_array_equal(post.X, X)
    with pytest.warns(ct.CoaltreeWarning):
        same = ct.fit(X, "auto", n_samples=12, n_warmup=4, n_chains=2, random_state=3)
    np.testing.assert_array_equal(post.log_joint, same.log_joint)


def test_trees_clusters_and_pictures_agree_with_the_posterior(left):
    post = ct.load(left / "posterior.npz")
    tree = post.mean_tree()
    text = (left / "tree.newick").read_text(encoding="utf-8")
    assert {frozenset(clade) for clade in ct.Tree.from_newick(text).clades()} == set(tree.clades())
    assert text == post.annotated_tree(tree, "newick")
    assert (left / "tree.nex").read_text(encoding="utf-8") == post.annotated_tree(tree)
    header, *rows = table_of(left / "linkage.csv")
    np.testing.assert_array_equal(np.array(rows, dtype=float), tree.to_linkage())
    header, *rows = table_of(left / "clusters.csv")
    assert header == ["row", "cluster", "probability", "side_branch", "cluster_1", "cluster_2"]
    assert [row[0] for row in rows] == NAMES
    labels = post.cut(2)
    np.testing.assert_array_equal([int(row[1]) for row in rows], labels + 1)
    assert [row[3] for row in rows] == ["yes" if c == -1 else "" for c in tree.cut(2, outliers=True)]
    shares = np.array([row[4:] for row in rows], dtype=float)
    np.testing.assert_allclose(shares, post.membership(labels), atol=1e-4)
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


def test_sampled_trees_can_be_left_out(data, tmp_path, capsys, blank_pages):
    args = ["fit", str(data), "--drop", "Art", "--out", str(tmp_path), "--clusters", "2", *SHORT]
    assert main(args) == 0
    assert main([*args, "--no-trees", "--force"]) == 0
    assert sorted(os.listdir(tmp_path)) == sorted(set(FILES) - {"trees.nex"})
    assert capsys.readouterr().out.count("trees.nex") == 1


def test_chains_run_in_threads_unless_processes_are_asked_for(data, tmp_path, monkeypatch, blank_pages):
    from coaltree.inference.control import run

    threads, advance = set(), run.advance

    def watched(*args):
        threads.add(threading.current_thread() is threading.main_thread())
        return advance(*args)

    monkeypatch.setattr(run, "advance", watched)
    monkeypatch.setattr("joblib.cpu_count", lambda: 2)
    args = ["fit", str(data), "--drop", "Art", "--clusters", "2", "--no-trees", *SHORT]
    found = []
    for name, jobs, in_main in (("threads", [], False), ("one", ["--jobs", "1"], True)):
        threads.clear()
        assert main([*args, "--out", str(tmp_path / name), *jobs]) == 0
        assert threads == {in_main}
        found.append(ct.load(tmp_path / name / "posterior.npz").times)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize(("n", "expected"), [(150, 1000), (2_000, 1000), (10_000, 200), (1_000_000, 10)])
def test_fewer_trees_of_many_leaves_are_written(n, expected):
    assert trees_to_write(n) == expected


def test_dendropy_reads_the_tree_with_its_supports(left):
    dendropy = pytest.importorskip("dendropy")
    tree = dendropy.Tree.get(path=str(left / "tree.newick"), schema="newick", preserve_underscores=True)
    assert sorted(taxon.label for taxon in tree.taxon_namespace) == sorted(NAMES)
    assert all(0 <= float(node.label) <= 1 for node in tree.preorder_internal_node_iter())


def test_names_that_a_spreadsheet_would_run_are_written_as_text(tmp_path):
    from coaltree.cli.outputs import write_csv

    names = ["=cmd|' /C calc'!A0", "+1+1", "-x", "@SUM(A1)", "\tx", "-1.5", "+3", "x=1", "-", "東京"]
    write_csv(tmp_path / "x.csv", ["leaf"], [[name] for name in names])
    found = [row[0] for row in table_of(tmp_path / "x.csv")[1:]]
    assert found == [f"'{name}" for name in names[:5]] + ["-1.5", "+3", "x=1", "'-", "東京"]


def test_nothing_is_overwritten_unless_told(left, data, only_line, blank_pages):
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


def test_the_suggested_number_is_told(data, tmp_path, capsys):
    assert main(["fit", str(data), "--drop", "Art", "--out", str(tmp_path), *SHORT]) == 0
    out, err = capsys.readouterr()
    assert "wein proben.csv: 10 rows, 4 columns" in out
    assert "covariance: spherical (columns have similar ranges, as in one unit: " in out
    assert "1 cluster: " in out or " clusters: they fit the rows better" in out
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert " suggested</strong>" in page and "chosen when the page was made" not in page
    assert "merged at time 0" in err
    assert "--samples" in err  # a short run is said to be one, in words of the command line
    assert "n_samples" not in err
    assert "boxes" in err


def test_every_stage_after_the_rounds_is_named(data, tmp_path, monkeypatch, blank_pages):
    from coaltree.cli import shell

    stages, real = [], shell.doing
    monkeypatch.setattr(shell, "doing", lambda what: stages.append(what) or real(what))
    assert main(["fit", str(data), "--drop", "Art", "--out", str(tmp_path), *SHORT]) == 0
    words = ("number of clusters", "into clusters", "mean tree", "posterior", "sampled trees", "supports", "figure")
    for what, word in zip(stages, (*words, "report page", "drawn from the model"), strict=True):
        assert word in what


def test_it_says_why_it_stopped(data, tmp_path, capsys):
    how = ["--drop", "Art", "--clusters", "2", "--max-iterations", "40", "--out", str(tmp_path / "out")]
    assert main(["fit", str(data), *how]) == 0
    out, err = capsys.readouterr()
    post = ct.load(tmp_path / "out" / "posterior.npz")
    assert post.info["stopping"]["reason"] == "max_iterations"
    iterations = f"40 iterations per chain, {post.info['n_warmup']} of them warm-up"
    said = f"stopped at max_iterations after {iterations}"
    assert f"sampling: {said}: R-hat at most " in out
    assert "Increase --max-iterations." in err
    assert said in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert main(["info", str(tmp_path / "out")]) == 0
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([], "column 'Art' contains text ('rot' in line 2); leave it out with --drop Art, or show"),
        (["--drop", "Art", "--clusters", "11"], "--clusters 11 is more than the 10 rows"),
        (["--drop", "Art", "--grid", "2x2"], "--grid needs --covariance matern32"),
        (["--drop", "Art", "--covariance", "matern32", "--grid", "2x3"], "the grid 2 × 3 has 6 cells"),
        (
            ["--drop", "Art", "--grid", "big"],
            "is not the shape of a grid; expected something like 16x16. (see coaltree fit --help)",
        ),
        (["--drop", "Art", "--samples", "0"], "'0' is neither auto nor a whole number of at least 1"),
        (
            ["--drop", "Art", "--samples", "5", "--max-iterations", "9"],
            "--max-iterations and --max-seconds need --samples auto.",
        ),
        (["--drop", "Art", "--noise", "-1"], "--noise"),
        (["--drop", "Art", "--covariance", "round"], "'round' is not one of 'auto', 'best', 'scaled', 'spherical'"),
        (["--drop", "Farbe"], "no column 'Farbe' (--drop); the columns are Probe, Art, Größe"),
        (["--columns", "b", "--columns", "c", "--names", "Art"], "'rot' is in line 2 and again in line 3"),
    ],
)
def test_what_is_wrong_is_one_line_and_leaves_nothing(data, tmp_path, more, said, only_line):
    folder = tmp_path / "out"
    assert main(["fit", str(data), "--out", str(folder), *more]) == 2
    assert said in only_line()
    assert not folder.exists()


def test_a_folder_and_a_file_are_needed(data, tmp_path, capsys, only_line):
    assert main(["fit", str(data)]) == 2
    assert "--out" in only_line()
    assert main(["fit", str(tmp_path / "absent.csv"), "--out", str(tmp_path / "out")]) == 2
    assert "file not found" in only_line()
    (tmp_path / "one.csv").write_text("a,b\n1,2\n")
    assert main(["fit", str(tmp_path / "one.csv"), "--out", str(tmp_path / "out")]) == 2
    assert "X must have at least 2 row(s)" in capsys.readouterr().err.splitlines()[-1]


def test_what_fit_refuses_leaves_no_folder(tmp_path, only_line):
    (tmp_path / "x.csv").write_text("a,b\n1,\n2,\n3,NA\n")
    args = ["fit", str(tmp_path / "x.csv"), "--out", str(tmp_path / "out")]
    assert main(args) == 2
    assert "column 'b' of X has only missing values" in only_line()
    assert not (tmp_path / "out").exists()
    (tmp_path / "out").mkdir()
    assert main(args) == 2
    assert (tmp_path / "out").exists()


def test_names_of_covariances_and_samplers_are_those_of_the_package():
    from coaltree.model.covariance import _BY_NAME
    from coaltree.samplers import _CLASS_OF_NAME

    assert set(COVARIANCES) == {"auto", "best", *_BY_NAME}
    assert set(SAMPLERS) == set(_CLASS_OF_NAME)


def test_a_grid_is_used(tmp_path, blank_pages):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "x.npy", rng.standard_normal((6, 6)).cumsum(axis=1))
    out = tmp_path / "out"
    args = ["fit", str(tmp_path / "x.npy"), "--out", str(out), "--covariance", "matern32", "--grid", "2x3", *SHORT]
    assert main(args) == 0
    assert ct.load(out / "posterior.npz").covariance.grid == (2, 3)


# --- interruption ---------------------------------------------------------------------------------------------------

# Blocks of one round, and after the first checkpoint a run that says so and waits for its end. A process started in the
# background may have been told to ignore Ctrl-C.
WAITING = """
import signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
from coaltree import cli
from coaltree.inference.control import checkpoint, run
run.SECONDS_PER_BLOCK = 0.0
save, saved = checkpoint.Checkpoint.save, []

def save_and_wait(*args, **options):
    saved.append(True)
    save(*args, **options)
    if len(saved) == 1:
        print("waiting", flush=True)
        threading.Event().wait()

checkpoint.Checkpoint.save = save_and_wait
sys.exit(cli.main(sys.argv[1:]))
"""


@pytest.mark.parametrize("warmup", ["0", pytest.param("3", marks=pytest.mark.slow)])  # with rounds to show, and without
def test_ctrl_c_leaves_a_checkpoint_and_the_same_command_goes_on(data, tmp_path, warmup, capsys, blank_pages):
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
    assert "belongs to a run with other data or settings" in capsys.readouterr().err
    assert os.listdir(out) == [CHECKPOINT]

    assert main(args) == 0
    assert f"resuming from {out / CHECKPOINT}" in capsys.readouterr().out
    assert sorted(os.listdir(out)) == sorted(FILES)
    whole = tmp_path / "whole"
    assert main([str(whole) if arg == str(out) else arg for arg in args]) == 0
    np.testing.assert_array_equal(ct.load(out / "posterior.npz").log_joint, ct.load(whole / "posterior.npz").log_joint)


def test_force_starts_anew_where_another_run_left_its_checkpoint(data, tmp_path, capsys, blank_pages):
    from coaltree.cli.tables.reading import Choice, read

    X = read(data, Choice(drop=("Art",)))
    with pytest.warns(ct.CoaltreeWarning):
        ct.fit(X, random_state=0, n_samples=3, n_warmup=0, checkpoint=tmp_path / CHECKPOINT)
    args = ["fit", str(data), "--drop", "Art", "--out", str(tmp_path), *SHORT]
    assert main(args) == 2
    assert "start over with --force" in capsys.readouterr().err
    assert main([*args, "--force"]) == 0
    assert sorted(os.listdir(tmp_path)) == sorted(FILES)


def test_ctrl_c_before_the_first_round_has_nothing_to_go_on_from(data, tmp_path, monkeypatch, only_line):
    def interrupted(*args, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr("coaltree.inference.fit.fit", interrupted)
    assert main(["fit", str(data), "--drop", "Art", "--out", str(tmp_path / "out")]) == 130
    assert "interrupted before the first round; nothing was saved." in only_line()
    assert not any(tmp_path.iterdir())


def test_a_kill_between_two_files_leaves_a_folder_to_go_on_from(data, tmp_path, monkeypatch, blank_pages):
    """As many files are in place as had been moved; the checkpoint is removed last."""
    args = ["fit", str(data), "--drop", "Art", "--out", str(tmp_path), *SHORT]
    moved = []

    def killed(source, target):
        if len(moved) == 3:
            raise SystemExit
        moved.append(source.replace(target))

    with monkeypatch.context() as patch:
        patch.setattr("coaltree.cli.outputs.move_into_place", killed)
        patch.setattr("coaltree.cli.outputs.shutil.rmtree", lambda *_, **__: None)
        with pytest.raises(SystemExit):
            main(args)
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    (aside,) = tmp_path.glob(".writing.*.tmp")
    aside.rename(tmp_path / f".writing.{gone.stdout.strip()}.tmp")
    (tmp_path / f".{CHECKPOINT}.{gone.stdout.strip()}.tmp").write_text("half")
    assert main(args) == 0
    assert sorted(os.listdir(tmp_path)) == sorted(FILES)


def test_force_discards_a_damaged_checkpoint(data, tmp_path, capsys, blank_pages):
    args = ["fit", str(data), "--drop", "Art", "--out", str(tmp_path), *SHORT]
    (tmp_path / CHECKPOINT).write_bytes(b"PK\x03\x04 damaged")
    assert main(args) == 2
    assert "is damaged and cannot be read" in (said := capsys.readouterr().err)
    assert said.endswith(", choose another --out, or start over with --force.\n")
    assert main([*args, "--force"]) == 0
    assert sorted(os.listdir(tmp_path)) == sorted(FILES)


@pytest.mark.parametrize(
    ("trouble", "status", "said"),
    [
        (RuntimeError("lost"), 1, "RuntimeError: lost (--debug shows the traceback)"),
        (KeyboardInterrupt(), 130, "interrupted; the same command resumes from "),
    ],
)
def test_what_is_done_need_not_be_done_again(data, tmp_path, monkeypatch, trouble, status, said, capsys, blank_pages):
    def failing(*args, **settings):
        raise trouble

    args = ["fit", str(data), "--drop", "Art", "--out", str(tmp_path), *SHORT]
    with monkeypatch.context() as patch:
        patch.setattr("coaltree.report.write_report", failing)
        assert main(args) == status
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"coaltree: {said}")
    assert os.listdir(tmp_path) == [CHECKPOINT]
    assert main(args) == 0
    assert sorted(os.listdir(tmp_path)) == sorted(FILES)


@pytest.mark.filterwarnings("ignore::coaltree.ConvergenceWarning")
def test_groups_and_errors_are_columns_kept_out_of_the_fit(grouped, repeats, capsys):
    post = ct.load(grouped / "posterior.npz")
    assert post.columns == ("a", "b", "c") and post.X.shape == (12, 3)
    assert post.labels == tuple(f"no. {i}" for i in range(5))
    assert post.groups.tolist() == [0, 0, 0, 1, 2, 2, 3, 3, 3, 3, 4, 4]
    np.testing.assert_allclose(post.errors, 0.5 + 0.1 * np.arange(12))
    same = ct.fit(
        np.array(post.X), "scaled", groups=post.groups, errors=post.errors, n_samples=20, n_warmup=20, random_state=0
    )
    np.testing.assert_array_equal(post.times, same.times)
    rows = table_of(grouped / "clusters.csv")[1:]
    assert [row[0] for row in rows] == list(post.labels)


def test_how_groups_and_errors_were_read_is_said(repeats, tmp_path, capsys, blank_pages):
    args = ["fit", str(repeats), "--groups", "compound", "--errors", "sd", "--out", str(tmp_path / "out"), *SHORT]
    assert main(args) == 0
    said = capsys.readouterr().out
    assert "  groups     5 leaves, by the column 'compound'\n  errors     0.5 to 1.6, in the column 'sd'\n" in said


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        (("", ""), ["--groups", "kind"], "there is no column 'kind' (--groups)"),
        (("", ""), ["--errors", "kind"], "there is no column 'kind' (--errors)"),
        (("no. 1,", ","), ["--groups", "compound"], "assay.csv, line 5: the row has no group in column 'compound'"),
        (("0.8\n", "0\n"), ["--errors", "sd", "--drop", "compound"], "line 5, column 'sd': a standard error"),
        (("0.8\n", "\n"), ["--errors", "sd", "--drop", "compound"], "must be a positive number, not nothing"),
        (("0.8\n", "x\n"), ["--errors", "sd", "--drop", "compound"], "'x' is not a number"),
        (("", ""), ["--groups", "compound", "--clusters", "6"], "--clusters 6 is more than the 5 groups"),
        (("", ""), ["--groups", "compound", "--noise", "0"], "rows of one group differ by their noise"),
        (("", ""), ["--groups", "compound", "--sampler", "mpost1"], "rows of one group differ by their noise"),
    ],
)
def test_groups_and_errors_that_make_no_sense_are_refused(repeats, tmp_path, change, options, said, capsys):
    path = tmp_path / "assay.csv"
    path.write_text(repeats.read_text().replace(*change))
    assert main(["fit", str(path), "--out", str(tmp_path / "out"), *SHORT, *options]) == 2
    assert said in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "out").exists()


@pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")
def test_neighbors_are_read_from_a_file(tmp_path, only_line, blank_pages):
    X = np.random.default_rng(0).normal(size=(140, 2))
    np.save(tmp_path / "x.npy", X)
    sparse.save_npz(tmp_path / "near.npz", kneighbors_graph(X, 6))
    command = ["fit", str(tmp_path / "x.npy"), "--out", str(tmp_path / "out"), "--samples", "4", "--warmup", "1"]
    command += ["--no-trees", "--clusters", "2"]
    assert main([*command, "--neighbors", str(tmp_path / "near.npz")]) == 0
    given = ct.load(tmp_path / "out" / "posterior.npz")
    with pytest.warns(ct.ConvergenceWarning):
        expected = ct.fit(X, n_samples=4, n_warmup=1, random_state=0, neighbors=kneighbors_graph(X, 6))
    np.testing.assert_array_equal(given.times, expected.times)


@pytest.mark.parametrize(("file", "said"), [("none.npz", "cannot be read"), ("x.npz", "holds no sparse matrix")])
def test_neighbors_that_cannot_be_read(tmp_path, file, said, only_line):
    np.save(tmp_path / "x.npy", np.eye(5))
    np.savez(tmp_path / "x.npz", np.eye(5))
    command = ["fit", str(tmp_path / "x.npy"), "--out", str(tmp_path / "out"), "--neighbors", str(tmp_path / file)]
    assert main(command) == 2
    assert said in only_line()


def test_the_best_covariance_is_chosen_and_said(tmp_path, capsys, blank_pages, few_trials):
    rng = np.random.default_rng(0)
    np.savetxt(tmp_path / "rows.csv", rng.normal(size=(10, 3)), delimiter=",")
    command = ["fit", str(tmp_path / "rows.csv"), "--samples", "5", "--warmup", "2", "--out", str(tmp_path / "out")]
    assert main([*command, "--ordered"]) == 2
    assert "--ordered needs --covariance best" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert main([*command, "--covariance", "best", "--no-trees"]) == 0
    assert ", best of 4 by leave-one-out of 10 rows: " in capsys.readouterr().out


def written(path, header, X):
    lines = [f"{name},{','.join(f'{value:.4f}' for value in row)}" for name, row in zip("abcdefgh", X, strict=True)]
    path.write_text("\n".join([",".join(header), *lines]) + "\n")
    return str(path)


def test_a_table_of_squared_distances(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8, 2)) + 9.0 * (np.arange(8) % 2)[:, None]
    D = np.square(X[:, None] - X[None]).sum(axis=2)
    path, out = written(tmp_path / "d.csv", ["name", *"abcdefgh"], D), tmp_path / "out"
    assert main(["fit", path, "--metric", "precomputed", "--out", str(out), "--clusters", "2", *SHORT]) == 0
    said = capsys.readouterr().out
    assert "distances: classical scaling: 2 axes" in said
    assert "covariance:" not in said
    assert ct.load(out / "posterior.npz").labels == tuple("abcdefgh")
    assert "metric=&#34;precomputed&#34;" in (out / "report.html").read_text()


def test_where_columns_were_measured(tmp_path, only_line, capsys, blank_pages):
    places = ["0", "0.5", "1", "4"]
    X = np.random.default_rng(0).standard_normal((8, 4)).cumsum(axis=1)
    path = written(tmp_path / "curves.csv", ["name", *places], X)
    curves = ["fit", path, "--covariance", "squared_exponential", "--clusters", "2", *SHORT]
    for number, inputs in enumerate(("names", ",".join(places))):
        out = tmp_path / str(number)
        assert main([*curves, "--inputs", inputs, "--out", str(out)]) == 0
        found = ct.load(out / "posterior.npz")
        np.testing.assert_array_equal(np.ravel(found.covariance.inputs), np.array(places, float))
        assert found.n == 8
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("name,p,2\na,1,2\nb,3,5\nc,4,1\n")
    capsys.readouterr()  # what the runs above said
    for given, sentence in (
        (["fit", path, "--inputs", "names"], "needs --covariance squared_exponential or best"),
        ([*curves, "--inputs", "0,1"], "inputs has 2 rows, but the data have 4 columns"),
        ([*curves, "--inputs", "0,x"], "is neither names nor numbers"),
        (["fit", str(wrong), "--covariance", "best", "--inputs", "names"], "called by numbers, not 'p'"),
    ):
        assert main([*given, "--out", str(tmp_path / "none")]) == 2
        assert sentence in only_line()
