"""Run the command line: exit status, and messages on stderr."""

import json
import os
import signal
import subprocess
import sys

import click
import pytest

from coaltree import InputError, __version__
from coaltree.cli import commands, main
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


def test_main_shows_version_and_help(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"coaltree {__version__}\n"
    assert main(["-h"]) == 0
    out = capsys.readouterr().out
    assert "demo" in out
    assert "..." not in out.split("Commands:")[1]  # every summary fits its line
    assert main([]) == 0
    assert capsys.readouterr().out == out
    assert "simulate" in out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["bake"], "No such command 'bake'. (see coaltree --help)"),
        (["simulate", "--n", "1"], "(see coaltree simulate --help)"),
        (["simulate", "--n", "many"], "'many'"),
        (["simulate", "--wrong"], "--wrong"),
        (["demo", "--seed", "-1"], "--seed"),
    ],
)
def test_main_reports_bad_usage_in_one_line_with_status_2(args, message, only_line):
    assert main(args) == 2
    line = only_line()
    assert line.startswith("coaltree: ")
    assert message in line


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (InputError("X has no rows;\ngive one."), 2, "coaltree: X has no rows; give one."),
        (RuntimeError("lost"), 1, "coaltree: RuntimeError: lost (coaltree --debug … shows the traceback)"),
        (MemoryError(), 1, "coaltree: out of memory; use fewer rows, columns or samples."),
        (KeyboardInterrupt(), 130, "coaltree: interrupted."),
    ],
)
def test_main_reports_failures_in_one_line(failing, error, status, message, capsys):
    failing.append(error)
    assert main(["fail"]) == status
    # After an interrupt click ends the line that the terminal has written ^C on.
    warning, line = filter(None, capsys.readouterr().err.splitlines())
    assert warning == "coaltree: warning: look out"
    assert line == message


def test_main_says_nothing_when_the_reader_of_its_output_leaves():
    program = "from coaltree.cli import main; raise SystemExit(main(['--help']))"
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-c", program], stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert done.stderr == ""
    assert done.returncode == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_main_stops_at_a_signal_as_by_ctrl_c(number, monkeypatch, capsys):
    def told(*args, **options):
        signal.raise_signal(number)

    monkeypatch.setattr("coaltree.model.process.simulation.simulate", told)
    before = signal.signal(number, signal.SIG_DFL)  # it may be ignored, as under nohup
    try:
        assert main(["simulate"]) == 130
        assert capsys.readouterr().err.strip() == "coaltree: interrupted."
    finally:
        signal.signal(number, before)


COMMANDS = sorted(commands.commands)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_have_examples_in_their_help(command, capsys):
    assert main([command, "--help"]) == 0
    out = capsys.readouterr().out
    assert "Example" in out
    assert f"coaltree {command}" in out
    for option in commands.commands[command].params:
        if option.opts[0].startswith("-"):
            assert (option.opts[0] in out) is not getattr(option, "hidden", False)


def test_commands_load_no_heavy_package_for_their_help():
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
