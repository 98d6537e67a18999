"""Parts that are compiled ahead: each by one process, by helpers too, and no more when all are done."""

import subprocess
from unittest import mock

import pytest

from coaltree.inference.control import compile_ahead as module
from coaltree.inference.control.compile_ahead import IS_HELPER, compile_ahead

commands: list[list[str]] = []
environments: list[dict[str, str]] = []
used: list[str] = []


def started(command, **options):
    """In place of a process."""
    commands.append(command)
    environments.append(options["env"])
    return mock.Mock()


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
    monkeypatch.setattr(subprocess, "Popen", started)
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
    assert [command[-1][-20:] for command in commands] == ["(parts_of_helper(0))", "(parts_of_helper(1))"]
    assert all(environment[IS_HELPER] == "1" for environment in environments)
    compile_ahead.cache_clear()
    compile_ahead()
    assert len(used) == 3 and len(commands) == 2  # all is compiled


@pytest.mark.parametrize("quiet", [False, True])
def test_compile_ahead_says_so_in_a_line(quiet, capsys):
    compile_ahead(quiet=quiet)
    assert ("compiling kernels: about a minute" in capsys.readouterr().err) is not quiet
