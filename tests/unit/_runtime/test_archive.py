"""The container: what goes in comes out, and what is not ours is refused by name."""

import math
import zipfile

import numpy as np
import pytest

import coaltree as ct
from coaltree._runtime import archive

KIND = "test record"


def same(a, b):
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and (a == b or (a != a and b != b))


CONTENT = {
    "an array": np.arange(6.0).reshape(2, 3),
    "small types": [np.array([1, -2], np.int32), np.array([True, False]), np.array(["a", "ßx"])],
    "empty": np.empty((0, 2)),
    "fortran": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "numbers": (1, 2.5, -math.inf, math.nan, True, None, 2**70),
    "names": {"τ / .. \\": "line\nbreak", "nested": {"deep": np.ones(3)}},
    "array": {"array": "not a mark", "tuple": [1]},
}


def test_read_returns_what_write_was_given(tmp_path):
    path = tmp_path / "file.ct"
    archive.write(path, KIND, 1, CONTENT)
    assert same(archive.read(path, KIND, 1), CONTENT)
    assert sorted(tmp_path.iterdir()) == [path]  # nothing temporary is left


def test_read_names_foreign_files(tmp_path):
    (tmp_path / "text").write_text("hello")
    np.savez(tmp_path / "other.npz", x=np.ones(3))
    archive.write(tmp_path / "other kind", "another record", 1, {})
    for name in ("text", "other.npz", "other kind"):
        with pytest.raises(ct.InputError, match=rf"{name}' is not a test record file\."):
            archive.read(tmp_path / name, KIND, 1)
    with pytest.raises(ct.InputError, match="No such file"):
        archive.read(tmp_path / "nothing", KIND, 1)
    with pytest.raises(ct.InputError, match="cannot be read"):
        archive.read(tmp_path, KIND, 1)


def test_write_and_read_refuse_pickled_arrays(tmp_path):
    with pytest.raises(ct.InputError, match="things is a ndarray"):
        archive.write(tmp_path / "x", KIND, 1, {"things": np.array([{}], dtype=object)})
    assert list(tmp_path.iterdir()) == []
    archive.write(tmp_path / "x", KIND, 1, {"a": np.ones(1)})
    with zipfile.ZipFile(tmp_path / "x") as good, zipfile.ZipFile(tmp_path / "bad", "w") as bad:
        bad.writestr("header.json", good.read("header.json"))
        with bad.open("a.npy", "w") as member:
            np.lib.format.write_array(member, np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ct.InputError, match="is damaged"):
        archive.read(tmp_path / "bad", KIND, 1)
