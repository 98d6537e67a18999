"""The commands that ask a saved posterior: report, plot, place, info; and that help is quick for all."""

import json
import subprocess
import sys

import numpy as np
import pytest

import coaltree as ct
from coaltree.cli import commands, main
from coaltree.tables import Frame

COMMANDS = sorted(commands.commands)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a posterior of twelve named rows in two groups, one value of which is missing."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 3)) + 8.0 * (np.arange(12) % 2)[:, None]
    X[0, 1] = np.nan
    frame = Frame(X, tuple(f"row é{i}" for i in range(12)), ("a", "b", "c"))
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
    assert said["leaves"] == "12: row é0, row é1, row é2, row é3, …"
    assert said["columns"] == "3: a, b, c"
    assert said["missing entries"] == "1"
    assert said["trees"] == "30 in 2 chain(s)"
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
    assert "there is no folder" in capsys.readouterr().err


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
    assert "no kind of picture" in only_line(capsys)


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
    assert "coaltree.cli.fitting" in loaded
    assert not loaded & {"numba", "sklearn", "matplotlib", "scipy", "pandas", "numpy"}
