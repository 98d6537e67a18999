"""Kernels: compiled with plain Numba, kept where that can be done, never stale, and never a reason to fail."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from coaltree import CoaltreeWarning, InputError
from coaltree._runtime import jit as module
from coaltree._runtime.jit import KERNEL_SOURCES, PACKAGE, cache_folder, jit

X = np.linspace(0.1, 7.0, 1001)


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """The cache is looked for anew, in `tmp_path`."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    cache_folder.cache_clear()
    yield tmp_path
    cache_folder.cache_clear()


@pytest.fixture
def homeless(fresh, monkeypatch):
    """No folder can be written to."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(fresh / "file" / "below"))
    (fresh / "file").touch()
    monkeypatch.setattr(module, "PACKAGE", fresh / "file")
    monkeypatch.setenv("XDG_CACHE_HOME", str(fresh / "file"))


def compiled():
    @jit
    def double(x):
        return 2 * x

    assert double(3) == 6
    return double


def twice():
    compiled()
    compiled()


def hits(kernel):
    return sum(kernel.stats.cache_hits.values())


def package_in(folder, monkeypatch):
    (folder / "tree").mkdir(parents=True)
    (folder / "cli").mkdir()
    (folder / "tree" / "a.py").write_text("from .._runtime.jit import jit\nA = 1")
    (folder / "cli" / "b.py").write_text("B = 1")
    monkeypatch.setattr(module, "PACKAGE", folder)


def test_a_changed_file_has_another_folder_and_the_old_one_is_removed(fresh, monkeypatch):
    package_in(fresh / "coaltree", monkeypatch)
    other = fresh / "coaltree-of-somebody-else"
    other.mkdir()
    first = cache_folder()
    cache_folder.cache_clear()
    assert cache_folder() == first
    (fresh / "coaltree" / "cli" / "b.py").write_text("B = 2")  # no kernel is made of it
    cache_folder.cache_clear()
    assert cache_folder() == first
    (fresh / "coaltree" / "tree" / "a.py").write_text("from .._runtime.jit import jit\nA = 2")
    cache_folder.cache_clear()
    assert cache_folder() != first
    assert not first.exists()
    assert other.exists()
    monkeypatch.setattr(numba, "__version__", "0.0")
    second = cache_folder()
    cache_folder.cache_clear()
    assert cache_folder() != second


def test_kernels_take_constants_from_files_of_kernels_alone():
    """Numba freezes them, so that a change of their file must name another folder."""
    sources = {path for path in PACKAGE.rglob("*.py") if KERNEL_SOURCES.search(path.read_bytes())}
    assert PACKAGE / "samplers" / "regraft" / "update.py" in sources and PACKAGE / "errors.py" not in sources
    for path in (path for path in sources if b"import jit" in path.read_bytes()):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.ImportFrom) and node.level and node.module):
                continue
            target = path.parents[node.level - 1].joinpath(*node.module.split(".")).with_suffix(".py")
            constants = {alias.name for alias in node.names if alias.name.lstrip("_").isupper()}
            constants -= {"SMC", "MIN_DRAWS"}  # no kernel has them
            assert not constants or target in sources, (path, node.module, constants)


def test_without_the_compiler_a_sentence_says_what_to_do(monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    with pytest.raises(InputError, match="unset NUMBA_DISABLE_JIT"):
        compiled()


@pytest.mark.usefixtures("homeless")
def test_without_any_folder_they_run_all_the_same():
    with pytest.warns(CoaltreeWarning, match="no folder to keep compiled kernels in") as said:
        twice()
    assert len(said) == 1


KERNELS = """
from coaltree._runtime.jit import jit

@jit
def inner(x):
    return x * 1.5

@jit
def outer(x):
    total = inner(x)
    for i in range(3):
        total += inner(x + i)
    return total
"""
PROGRAM = """
import sys
import kernels
n_signatures = int(sys.argv[2])
signatures, first = [3, 3.0, True, 1j][:n_signatures], int(sys.argv[1]) % n_signatures
results = [kernels.outer(x) for x in signatures[first:] + signatures[:first]]
print(sum(bool(k.stats.cache_misses) for k in (kernels.inner, kernels.outer)), sorted(map(str, results)))
"""


@pytest.mark.parametrize(("n_processes", "n_signatures"), [pytest.param(8, 4, marks=pytest.mark.slow), (2, 2)])
def test_processes_that_compile_at_once_leave_a_sound_cache(n_processes, n_signatures, tmp_path):
    """Numba's own index may name the code of one signature for another if two processes write at the same time."""
    (tmp_path / "kernels.py").write_text(KERNELS)
    path = os.pathsep.join([str(PACKAGE.parent), str(tmp_path)])
    environment = os.environ | {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run(i):
        command = [sys.executable, "-c", PROGRAM, str(i), str(n_signatures)]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def said(process):
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        assert err == ""
        return out

    first = [said(process) for process in [run(i) for i in range(n_processes)]]
    after = [said(process) for process in [run(0)]]
    assert len({text.partition(" ")[2] for text in first + after}) == 1
    assert {text.partition(" ")[0] for text in after} == {"0"}
    assert len(list(Path(tmp_path, "cache").rglob("*.nbc"))) == 2 * n_signatures  # of two kernels
