"""Compiled kernels are kept where that can be done, in a place that is ours alone; where not, they still run."""

import os
import pickle
import sys
import tempfile

import numba
import pytest
from numba import njit
from numba.core import caching, config

from coaltree import CoaltreeWarning
from coaltree._runtime.jit import kernel_cache


def double(x):
    return 2 * x


@pytest.fixture
def homeless(monkeypatch, tmp_path):
    """Neither the package's folder nor the user's cache can be written to; temporary files go to `tmp_path`."""
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [caching.UserProvidedCacheLocator])
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    kernel_cache._temporary_folder.cache_clear()
    kernel_cache._say.cache_clear()
    yield tmp_path
    kernel_cache._temporary_folder.cache_clear()


def compiled():
    kernel = kernel_cache.keep_compiled(njit(double))
    assert kernel(3) == 6
    return kernel


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the user's cache is named otherwise")
def test_a_package_that_cannot_be_written_to_is_kept_in_the_users_cache(monkeypatch, tmp_path):
    def read_only(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(caching.InTreeCacheLocator, "ensure_cache_path", read_only)
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert compiled().stats.cache_path.startswith(str(tmp_path))
    assert list(tmp_path.rglob("*.nbc"))
    assert sum(compiled().stats.cache_hits.values()) == 1


@pytest.mark.usefixtures("homeless")
def test_numba_alone_gives_up():
    with pytest.raises(RuntimeError, match="no locator available"):
        njit(double, cache=True)


def test_a_temporary_folder_that_only_we_can_write_to(homeless):
    with pytest.warns(CoaltreeWarning, match=r"kept in .*coaltree-kernels.*, which may not last; set NUMBA_CACHE_DIR"):
        compiled()
    (folder,) = homeless.iterdir()
    assert folder.stat().st_mode & 0o077 == 0
    assert list(folder.rglob("*.nbc"))
    assert config.CACHE_DIR == ""  # that of other packages
    assert sum(compiled().stats.cache_hits.values()) == 1


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="temporary folders are the user's own")
def test_a_folder_that_others_can_write_to_is_not_trusted(homeless):
    trap = homeless / f"coaltree-kernels-{os.getuid()}"
    trap.mkdir()
    trap.chmod(0o777)
    with pytest.warns(CoaltreeWarning, match="which may not last"):
        compiled()
    assert not any(trap.iterdir())
    assert len(list(homeless.rglob("*.nbc"))) == 1


def test_without_any_folder_they_run_all_the_same(homeless, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(homeless / "absent"))
    with pytest.warns(CoaltreeWarning, match="no folder to keep compiled kernels in, so each run compiles them"):
        compiled()
    assert not any(homeless.iterdir())


def test_a_full_disk_and_a_damaged_file_are_no_reason_to_fail(monkeypatch, tmp_path):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    kernel_cache._say.cache_clear()
    compiled()
    for path in tmp_path.rglob("*.nb[ci]"):
        path.write_bytes(b"damaged")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(caching.IndexDataCacheFile, "save", full)
    with pytest.warns(CoaltreeWarning, match=r"cannot be kept \(No space left on device\)"):
        compiled()


def test_code_that_another_process_wrote_under_our_number_is_not_run(monkeypatch, tmp_path):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    kernel = compiled()
    (kept,) = tmp_path.rglob("*.nbc")
    ours = kept.read_bytes()
    assert kernel(3.5) == 7.0
    kept.write_bytes(next(path for path in tmp_path.rglob("*.nbc") if path != kept).read_bytes())
    again = compiled()
    assert sum(again.stats.cache_hits.values()) == 0
    assert again(3.5) == 7.0
    assert sum(again.stats.cache_hits.values()) == 1
    assert len(kept.read_bytes()) == len(ours)


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_terminal_is_told_once_that_something_is_compiled(monkeypatch, tmp_path, capsys, is_terminal):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal)
    kernel_cache._tell_the_terminal.cache_clear()
    before = len(kernel_cache.compiled_in())
    assert compiled()(3.5) == 7.0
    assert len(kernel_cache.compiled_in()) == before + 2
    assert kernel_cache.compiled_in()[-1].startswith(str(tmp_path))
    assert capsys.readouterr().err.count("compiling what this run needs, once") == is_terminal
    kernel_cache._tell_the_terminal.cache_clear()
    compiled()  # from the folder
    assert len(kernel_cache.compiled_in()) == before + 2
    assert capsys.readouterr().err == ""


def test_what_an_earlier_version_kept_is_compiled_again_and_kept(monkeypatch, tmp_path):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    compiled()
    (index,) = tmp_path.rglob("*.nbi")
    head, kept = pickle.dumps(numba.__version__, protocol=-1), index.read_bytes()
    assert kept.startswith(head)
    index.write_bytes(head + b"cnumbers\ngone_since\n.")  # a type that is nowhere any more
    assert sum(compiled().stats.cache_hits.values()) == 0
    assert sum(compiled().stats.cache_hits.values()) == 1
