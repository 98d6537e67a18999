"""Large arrays lie in a file; what is in them is the same."""

import mmap
import os
import tempfile

import numpy as np
import pytest
from joblib import Parallel, delayed

from coaltree._runtime import temp_memmap

PARTS = [np.arange(12.0).reshape(2, 2, 3), np.arange(6.0).reshape(1, 2, 3) - 7.0]


def is_mapped(array):
    base = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, mmap.mmap)


@pytest.mark.parametrize("is_large", [False, True])
def test_stacked_equals_concatenate(monkeypatch, is_large):
    monkeypatch.setattr(temp_memmap, "LARGE", 1 if is_large else 10**6)
    found = temp_memmap.stacked(PARTS)
    assert type(found) is np.ndarray
    assert found.flags.writeable
    assert is_mapped(found) == is_large
    np.testing.assert_array_equal(found, np.concatenate(PARTS))


def test_stacked_is_an_ordinary_array_where_the_disk_is_full(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(temp_memmap, "LARGE", 1)
    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    found = temp_memmap.stacked(PARTS)
    assert not is_mapped(found)
    np.testing.assert_array_equal(found, np.concatenate(PARTS))


def test_stacked_leaves_no_file_behind(monkeypatch, tmp_path):
    monkeypatch.setattr(temp_memmap, "LARGE", 1)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = temp_memmap.stacked(PARTS)
    assert is_mapped(found)
    if os.name == "posix":
        assert not any(tmp_path.iterdir())
    del found
    assert not any(tmp_path.iterdir())


def test_stacked_arrays_are_sent_to_other_processes(monkeypatch):
    monkeypatch.setattr(temp_memmap, "LARGE", 1)
    found = temp_memmap.stacked(PARTS)
    assert Parallel(n_jobs=2)(delayed(np.sum)(part) for part in (found, found[1:])) == [found.sum(), found[1:].sum()]
