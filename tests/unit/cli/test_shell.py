"""The command line: what it leaves, what it says, and with which status it ends."""

import csv
import json
import os
import signal
import subprocess
import sys

import click
import numpy as np
import pytest

from coaltree import InputError, Tree, __version__
from coaltree.cli import commands, main, shell
from coaltree.errors import CoaltreeWarning


@pytest.fixture
def failing():
    """Add a command that raises what the test puts into it."""
    trouble = []

    @commands.command("fail")
    @click.pass_context
    def fail(context):
        import warnings

        warnings.warn("look\nout", CoaltreeWarning, stacklevel=1)
        raise trouble[0]

    yield trouble
    del commands.commands["fail"]


def test_version_and_help(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"coaltree {__version__}\n"
    assert main(["-h"]) == 0
    out = capsys.readouterr().out
    assert "demo" in out
    assert "..." not in out.split("Commands:")[1]  # every summary fits its line
    assert main([]) == 0
    assert capsys.readouterr().out == out
    assert "simulate" in out


def test_module_and_command_are_the_same():
    done = subprocess.run([sys.executable, "-m", "coaltree", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"coaltree {__version__}\n"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["bake"], "No such command 'bake'. (see coaltree --help)"),
        (["simulate", "--n", "1"], "(see coaltree simulate --help)"),
        (["simulate", "--n", "many"], "'many'"),
        (["simulate", "--wrong"], "--wrong"),
        (["demo", "--seed", "-1"], "--seed"),
    ],
)
def test_bad_usage_is_one_line_and_status_2(args, said, only_line):
    assert main(args) == 2
    line = only_line()
    assert line.startswith("coaltree: ")
    assert said in line


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (InputError("X has no rows;\ngive one."), 2, "coaltree: X has no rows; give one."),
        (RuntimeError("lost"), 1, "coaltree: RuntimeError: lost (--debug shows the traceback)"),
        (MemoryError(), 1, "coaltree: out of memory; use fewer rows, columns or samples, or a higher limit."),
        (KeyboardInterrupt(), 130, "coaltree: interrupted."),
    ],
)
def test_failures_are_one_line(failing, error, status, said, capsys):
    failing.append(error)
    assert main(["fail"]) == status
    # After an interrupt click ends the line that the terminal has written ^C on.
    warning, line = filter(None, capsys.readouterr().err.splitlines())
    assert warning == "coaltree: warning: look out"
    assert line == said


def test_debug_shows_the_traceback(failing, capsys):
    failing.append(RuntimeError("lost"))
    assert main(["--debug", "fail"]) == 1
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert err.endswith("coaltree: RuntimeError: lost\n")


def test_a_reader_that_leaves_is_no_failure_worth_a_word():
    program = "from coaltree.cli import main; raise SystemExit(main(['--help']))"
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-c", program], stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert done.stderr == ""
    assert done.returncode == 1


@pytest.mark.skipif(os.name != "posix", reason="the shell's >&-")
def test_closed_output_is_no_reason_to_fail(tmp_path):
    command = f"{sys.executable} -m coaltree simulate --n 4 --d 2 --out {tmp_path / 'out'} >&- 2>&-"
    assert subprocess.run(command, shell=True, check=False).returncode == 0
    assert (tmp_path / "out" / "data.csv").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_told_to_stop_it_stops_as_by_ctrl_c(number, monkeypatch, capsys):
    def told(*args, **options):
        signal.raise_signal(number)

    monkeypatch.setattr("coaltree.model.process.simulation.simulate", told)
    before = signal.signal(number, signal.SIG_DFL)  # it may be ignored, as under nohup
    try:
        assert main(["simulate"]) == 130
        assert capsys.readouterr().err.strip() == "coaltree: interrupted."
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)


def test_simulate_leaves_data_and_the_tree_it_came_from(tmp_path, capsys):
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


def test_output_is_overwritten_only_when_told(tmp_path, capsys, only_line):
    (tmp_path / "notes.txt").write_text("mine")
    args = ["simulate", "--n", "4", "--d", "2", "--out", str(tmp_path)]
    assert main(args) == 0
    before = (tmp_path / "data.csv").read_bytes()
    capsys.readouterr()
    assert main([*args, "--seed", "1"]) == 2
    assert "--force" in only_line()
    assert (tmp_path / "data.csv").read_bytes() == before
    assert main([*args, "--seed", "1", "--force"]) == 0
    assert (tmp_path / "data.csv").read_bytes() != before
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_out_that_is_a_file_is_refused(tmp_path, only_line):
    (tmp_path / "file").write_text("")
    assert main(["simulate", "--out", str(tmp_path / "file")]) == 2
    assert "is a file" in only_line()
    assert main(["simulate", "--out", str(tmp_path / "file" / "below")]) == 2
    assert "choose another --out" in only_line()


COMMANDS = sorted(commands.commands)


@pytest.mark.parametrize("command", [["info"], ["report"], ["plot", "-o", "x.png"]])
def test_what_is_no_posterior_is_refused(command, tmp_path, monkeypatch, only_line):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.npz").write_text("no")
    assert main([*command, str(tmp_path / "x.npz")]) == 2
    assert "is not a coaltree posterior file" in only_line()
    assert main([*command, str(tmp_path / "absent.npz")]) == 2
    assert "cannot be read" in only_line()
    assert main([*command, str(tmp_path)]) == 2
    assert "posterior.npz" in only_line()
    assert [path.name for path in tmp_path.iterdir()] == ["x.npz"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(command, capsys):
    assert main([command, "--help"]) == 0
    out = capsys.readouterr().out
    assert "Example" in out
    assert f"coaltree {command}" in out
    for name in commands.commands[command].params:
        assert name.opts[0].startswith("-") is False or name.opts[0] in out


def test_every_out_has_its_short_form_and_no_other_option_has_it():
    n_seen = 0
    for command in commands.commands.values():
        names = [name for param in command.params for name in param.opts]
        assert len(names) == len(set(names))
        assert [param.opts for param in command.params if "-o" in param.opts or "--out" in param.opts] in (
            [],
            [["-o", "--out"]],
        )
        n_seen += "-o" in names
    assert n_seen >= 7


def test_help_loads_no_heavy_package():
    calls = "; ".join(f"main([{command!r}, '--help'])" for command in COMMANDS)
    program = f"""
import sys, json
from coaltree.cli import main
main(["--help"]); {calls}
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stderr))
    assert "coaltree.cli.commands.fit" in loaded
    assert not loaded & {"numba", "sklearn", "matplotlib", "scipy", "pandas", "numpy"}


def test_what_takes_time_is_said_on_a_terminal_and_taken_back(monkeypatch, capsys):
    with shell.doing("writing"):
        pass
    assert capsys.readouterr().err == ""  # no terminal
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with shell.doing("writing"):
        shell.show_warning("mind this", CoaltreeWarning)
    said = capsys.readouterr().err
    assert said.startswith("writing …")
    assert said.index("\r\x1b[K") < said.index("coaltree: warning: mind this")  # a warning has a line of its own
    with pytest.raises(KeyError), shell.doing("reading"):
        raise KeyError
    assert capsys.readouterr().err == "reading …\r\x1b[K"
