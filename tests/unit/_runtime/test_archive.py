"""The container: what goes in comes out, mapped where large, and what is not ours is refused by name."""

import json
import math
import re
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


def test_what_goes_in_comes_out(tmp_path):
    path = tmp_path / "file.ct"
    archive.write(path, KIND, 1, CONTENT)
    assert same(archive.read(path, KIND, 1), CONTENT)
    assert sorted(tmp_path.iterdir()) == [path]  # nothing temporary is left


def test_numpy_reads_it_without_pickle(tmp_path):
    path = tmp_path / "file.npz"
    archive.write(path, KIND, 1, {"x": np.arange(5), "deep": {"y": np.ones((2, 2))}})
    with np.load(path, allow_pickle=False) as found:
        np.testing.assert_array_equal(found["x"], np.arange(5))
        np.testing.assert_array_equal(found["deep.y"], np.ones((2, 2)))
        assert json.loads(found["header.json"])["format"] == KIND


def test_the_same_content_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        archive.write(tmp_path / name, KIND, 1, CONTENT)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_large_arrays_are_mapped(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_MAPPED_FROM_BYTES", 1000)
    path = tmp_path / "file.ct"
    content = {
        "odd name": np.arange(7),
        "large": np.arange(3000.0).reshape(10, 300),
        "ints": np.arange(999, dtype=np.int32),
    }
    archive.write(path, KIND, 1, content)
    found = archive.read(path, KIND, 1)
    assert same(found, content)
    for name, mapped in [("odd name", False), ("large", True), ("ints", True)]:
        base, is_mapped = found[name], False
        while base is not None:
            is_mapped |= isinstance(base, np.memmap)
            base = getattr(base, "base", None)
        assert is_mapped == mapped
        assert found[name].flags.aligned
        assert type(found[name]) is np.ndarray
        with pytest.raises(ValueError, match="read-only"):
            found[name][0] = 1


@pytest.mark.parametrize("mapped", [False, True])
def test_a_changed_byte_anywhere_is_noticed(tmp_path, monkeypatch, mapped):
    if mapped:
        monkeypatch.setattr(archive, "_MAPPED_FROM_BYTES", 1)
    path = tmp_path / "file.ct"
    content = {"x": np.arange(40.0), "s": "text"}
    archive.write(path, KIND, 1, content)
    whole = path.read_bytes()
    noticed = []
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :])
        try:
            found = archive.read(path, KIND, 1)
        except ct.InputError as error:
            noticed.append(str(error))
        else:
            assert same(found, content)  # padding and unused fields may change
    assert len(noticed) > len(whole) / 7 * 0.6
    assert all(re.search(r"is damaged|is not a test record|update coaltree", message) for message in noticed)


def test_every_truncation_is_noticed(tmp_path):
    path = tmp_path / "file.ct"
    archive.write(path, KIND, 1, CONTENT)
    whole = path.read_bytes()
    for length in range(0, len(whole), 41):
        path.write_bytes(whole[:length])
        with pytest.raises(ct.InputError, match=r"is damaged|is not a test record"):
            archive.read(path, KIND, 1)


def test_foreign_files_are_named(tmp_path):
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


def test_a_newer_format_asks_for_an_update(tmp_path):
    archive.write(tmp_path / "new", KIND, 3, {})
    with pytest.raises(ct.InputError, match=r"in format 3, and this version reads formats up to 2; update"):
        archive.read(tmp_path / "new", KIND, 2)


def test_pickled_arrays_are_neither_written_nor_read(tmp_path):
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


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file.ct"
    archive.write(path, KIND, 1, {"x": 1})

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(ct.InputError, match="No space left"):
        archive.write(path, KIND, 1, {"x": 2})
    assert archive.read(path, KIND, 1) == {"x": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(ct.InputError, match=r"folder .* does not exist"):
        archive.write(tmp_path / "no" / "file", KIND, 1, {})
