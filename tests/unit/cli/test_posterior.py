"""The commands that ask a saved posterior: report, plot, place, info; and that help is quick for all."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest

import coaltree as ct
from coaltree.cli import commands, main
from coaltree.model.table import Table

COMMANDS = sorted(commands.commands)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a posterior of twelve named rows in two groups, one value of which is missing."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 3)) + 8.0 * (np.arange(12) % 2)[:, None]
    X[0, 1] = np.nan
    frame = Table(X, tuple(f"row é{i}" for i in range(12)), ("a", "b", "c"))
    path = tmp_path_factory.mktemp("posterior")
    with pytest.warns(ct.ConvergenceWarning):
        ct.fit(frame, "diagonal", n_samples=15, n_warmup=5, random_state=0).save(path / "posterior.npz")
    return path


def only_line(capsys):
    err = capsys.readouterr().err
    assert err.count("\n") == 1, err
    return err.rstrip()


def test_info_says_what_there_is_and_how_far_to_trust_it(folder, capsys):
    assert main(["info", str(folder)]) == 0
    out = capsys.readouterr().out
    said = dict(line.split("  ", 1) for line in out.splitlines())
    said = {name: value.strip() for name, value in said.items()}
    assert said["leaves"] == "12: row é0, row é1, row é2, row é3 and 8 more"
    assert said["columns"] == "3: a, b, c"
    assert said["missing values"] == "1"
    assert said["trees"] == "30 from 2 chains"
    assert said["seed"] == "0"
    assert said["warmup"] == "5"
    assert said["covariance"] == "Diagonal"
    assert "verdict" in said
    variances = ct.load(folder / "posterior.npz").theta["variances"][:, 1]
    middle = float(said["variances, b"].split()[0])
    assert np.mean(variances < middle) == pytest.approx(0.5, abs=0.05)
    assert main(["info", str(folder / "posterior.npz")]) == 0
    assert capsys.readouterr().out == out


def test_info_of_weighted_particles(tmp_path, capsys):
    X, _ = ct.simulate(8, 3, random_state=0)
    ct.sample_trees(X, np.eye(3), ct.MPost1(n_particles=20), random_state=0).save(tmp_path / "p.npz")
    assert main(["info", str(tmp_path / "p.npz")]) == 0
    assert "Log evidence" in capsys.readouterr().out


def test_report_lies_beside_the_posterior_or_where_told(folder, tmp_path, capsys):
    assert main(["report", str(folder), "--title", "A <title>"]) == 0
    assert capsys.readouterr().out == f"{folder / 'report.html'}\n"
    assert "A &lt;title&gt;" in (folder / "report.html").read_text(encoding="utf-8")
    assert main(["report", str(folder / "posterior.npz")]) == 2
    assert "overwrite it with --force" in only_line(capsys)
    assert main(["report", str(folder), "--force", "--clusters", "3"]) == 0
    (folder / "report.html").unlink()
    assert main(["report", str(folder), "-o", str(tmp_path / "page.html")]) == 0
    assert (tmp_path / "page.html").exists()
    assert main(["report", str(folder), "-o", str(tmp_path / "no" / "page.html")]) == 2
    assert "does not exist" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["tree", "cloud", "heatmap", "coclustering"])
def test_pictures(folder, tmp_path, kind, capsys):
    path = tmp_path / "picture.png"
    assert main(["plot", str(folder), "-o", str(path), "--kind", kind, "--clusters", "2"]) == 0
    assert path.read_bytes().startswith(b"\x89PNG")
    assert main(["plot", str(folder), "-o", str(path)]) == 2
    assert "--force" in only_line(capsys)


def test_pictures_repeat_and_have_the_size_that_is_asked_for(folder, tmp_path, capsys):
    paths = [tmp_path / f"{i}.svg" for i in range(2)]
    for path in paths:
        assert main(["plot", str(folder), "-o", str(path), "--width", "3", "--height", "2"]) == 0
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert 'width="216pt" height="144pt"' in paths[0].read_text()
    assert main(["plot", str(folder), "-o", str(tmp_path / "picture.doc")]) == 2
    assert "unsupported file type" in only_line(capsys)


def test_new_rows_are_placed(folder, tmp_path, capsys):
    # Columns in another order, one that was not fitted, an empty cell.
    rows = tmp_path / "new.csv"
    rows.write_text("name,c,kind,a,b\nnew ü,0.1,x,0.2,0.3\nfar,8.1,y,,7.9\n", encoding="utf-8")
    assert main(["place", str(folder), str(rows), "--clusters", "2"]) == 0
    out = capsys.readouterr().out
    lines = list(csv.DictReader(out.splitlines()))
    assert [line["row"] for line in lines] == ["new ü", "far"]
    post = ct.load(folder / "posterior.npz")
    labels = post.cut(2)
    placed = post.place(np.array([[0.2, 0.3, 0.1], [np.nan, 7.9, 8.1]]), classes=labels)
    assert [int(line["cluster"]) for line in lines] == [labels[0], labels[1]]
    for i, line in enumerate(lines):
        assert float(line["log_density"]) == pytest.approx(placed.log_density[i], rel=1e-5)
        assert float(line["probability"]) == pytest.approx(placed.class_probability[i].max(), rel=1e-5)
        share, leaves = placed.nearest_clades(i)[0]
        assert float(line["clade_probability"]) == pytest.approx(share, rel=1e-5)
        assert int(line["clade_size"]) == len(leaves)
        assert line["clade"].split("; ")[:5] == list(leaves[:5])
        assert 0 <= float(line["time_low"]) <= float(line["time_high"])

    path = tmp_path / "placed.csv"
    args = ["place", str(folder), str(rows), "--clusters", "2", "-o", str(path)]
    assert main(args) == 0
    assert capsys.readouterr().out == f"{path}\n"
    assert path.read_text(encoding="utf-8") == out
    assert main(args) == 2
    assert "--force" in only_line(capsys)
    assert main([*args, "--force"]) == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "name,a,b\np,1,2\n",
            "new.csv: there is no column 'c' (a column of the fitted data); the columns are name, a, b.",
        ),
        ("name,a,b,c\np,1,2,three\n", "column 'c' contains text"),
        ("name,a,b,c\np,1,2,3\np,1,2,3\n", "'p' is in line 2 and again in line 3"),
    ],
)
def test_new_rows_that_do_not_fit_are_refused(folder, tmp_path, text, said, capsys):
    (tmp_path / "new.csv").write_text(text)
    assert main(["place", str(folder), str(tmp_path / "new.csv")]) == 2
    assert said in only_line(capsys)


@pytest.mark.parametrize("command", [["info"], ["report"], ["plot", "-o", "x.png"]])
def test_what_is_no_posterior_is_refused(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.npz").write_text("no")
    assert main([*command, str(tmp_path / "x.npz")]) == 2
    assert "is not a coaltree posterior file" in only_line(capsys)
    assert main([*command, str(tmp_path / "absent.npz")]) == 2
    assert "cannot be read" in only_line(capsys)
    assert main([*command, str(tmp_path)]) == 2
    assert "posterior.npz" in only_line(capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["x.npz"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(command, capsys):
    assert main([command, "--help"]) == 0
    out = capsys.readouterr().out
    assert "Example" in out
    assert f"coaltree {command}" in out
    for name in commands.commands[command].params:
        assert name.opts[0].startswith("-") is False or name.opts[0] in out


def test_help_is_quick():
    calls = "; ".join(f"main([{command!r}, '--help'])" for command in COMMANDS)
    program = f"""
import sys, json
from coaltree.cli import main
main(["--help"]); {calls}
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stderr))
    assert "coaltree.cli.fit" in loaded
    assert not loaded & {"numba", "sklearn", "matplotlib", "scipy", "pandas", "numpy"}
