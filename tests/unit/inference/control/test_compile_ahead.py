"""Parts that are compiled ahead: each by one process, by helpers too, and no more when all are done."""

import subprocess

import pytest

from coaltree.inference.control import compile_ahead as module
from coaltree.inference.control.compile_ahead import IS_HELPER, compile_ahead, compile_parts, parts_of_helper


class Started:
    """In place of a process."""

    def __init__(self, command, **options):
        commands.append(command)
        environments.append(options["env"])

    def kill(self):
        pass


commands: list[list[str]] = []
environments: list[dict[str, str]] = []
used: list[str] = []


def one():
    used.append("one")


def two():
    used.append("two")


def three():
    used.append("three")


@pytest.fixture(autouse=True)
def cold(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(module, "PARTS", (one, two, three))
    monkeypatch.setattr(module, "cpu_count", lambda: 3)
    monkeypatch.setattr(subprocess, "Popen", Started)
    monkeypatch.delenv(IS_HELPER, raising=False)
    for made in (commands, environments, used):
        made.clear()
    compile_ahead.cache_clear()
    yield
    compile_ahead.cache_clear()


def test_compile_ahead_takes_all_parts_and_starts_a_helper_for_each_further_core_once():
    compile_ahead()
    compile_ahead()
    assert used == ["one", "two", "three"]
    assert [command[-2:] for command in commands] == [["--part", "0"], ["--part", "1"]]
    assert all(environment[IS_HELPER] == "1" for environment in environments)
    compile_ahead.cache_clear()
    compile_ahead()
    assert len(used) == 3 and len(commands) == 2  # all is compiled


def test_compile_ahead_does_not_note_what_failed(monkeypatch, tmp_path):
    def wrong():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compile_parts([one, wrong])
    assert [path.name for path in tmp_path.glob("*.done")] == ["one.done"]


@pytest.mark.parametrize("i", range(5))
def test_parts_of_helpers_are_all_parts_from_the_back(i):
    backwards = [three, two, one] * 3
    assert parts_of_helper(i) == backwards[i % 3 : i % 3 + 3]


@pytest.mark.parametrize("quiet", [False, True])
def test_compile_ahead_says_so_in_a_line(quiet, capsys):
    compile_ahead(quiet=quiet)
    assert ("compiling kernels: about a minute" in capsys.readouterr().err) is not quiet


def test_compile_ahead_does_nothing_in_a_helper(monkeypatch):
    monkeypatch.setenv(IS_HELPER, "1")
    compile_ahead()
    assert commands == used == []
