"""Helpers that compile: started once, for an empty cache, and no more when it is complete."""

import subprocess

import pytest

from coaltree.inference.control import compile_ahead as module
from coaltree.inference.control.compile_ahead import IS_HELPER, MAX_HELPERS, compile_ahead, say_complete


class Started:
    """In place of a process."""

    def __init__(self, command, **options):
        commands.append(command)
        environments.append(options["env"])

    def kill(self):
        pass


commands: list[list[str]] = []
environments: list[dict[str, str]] = []


@pytest.fixture(autouse=True)
def cold(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(module, "cpu_count", lambda: 3)
    monkeypatch.setattr(subprocess, "Popen", Started)
    monkeypatch.delenv(IS_HELPER, raising=False)
    compile_ahead.cache_clear()
    commands.clear()
    environments.clear()
    yield
    compile_ahead.cache_clear()


def test_compile_ahead_starts_a_helper_for_each_further_core_once():
    compile_ahead()
    compile_ahead()
    assert [command[-2:] for command in commands] == [["--part", "0"], ["--part", "1"]]
    assert all(environment[IS_HELPER] == "1" for environment in environments)


def test_compile_ahead_starts_few_helpers_on_many_cores(monkeypatch):
    monkeypatch.setattr(module, "cpu_count", lambda: 64)
    compile_ahead()
    assert len(commands) == MAX_HELPERS


def test_compile_ahead_starts_none_where_all_is_compiled():
    say_complete()
    compile_ahead()
    assert commands == []


def test_compile_ahead_starts_none_in_a_helper(monkeypatch):
    monkeypatch.setenv(IS_HELPER, "1")
    compile_ahead()
    assert commands == []


def test_compile_ahead_starts_none_without_a_cache(monkeypatch):
    monkeypatch.setattr(module, "cache_folder", lambda: None)
    compile_ahead()
    say_complete()
    assert commands == []


def test_compile_ahead_goes_on_where_no_process_can_be_started(monkeypatch):
    tried = []

    def refuse(command, **__):
        tried.append(command)
        raise OSError("no more processes")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    compile_ahead()
    assert tried
