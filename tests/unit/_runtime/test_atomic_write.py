"""A file is replaced whole or not at all."""

import pytest

from coaltree._runtime.atomic_write import check_writable, replacing


def write_half(path):
    with replacing(path) as file:
        file.write("new")
        raise ValueError("stopped")


def test_a_write_that_fails_leaves_what_there_was_and_one_that_was_killed_is_written_over(tmp_path):
    (tmp_path / "file").write_text("old")
    with pytest.raises(ValueError, match="stopped"):
        write_half(tmp_path / "file")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file", "old")]
    (tmp_path / ".file.tmp").write_text("half of an old one")
    with replacing(tmp_path / "file") as file:
        file.write("new")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file", "new")]


def test_check_writable_leaves_nothing_and_keeps_what_is_there(tmp_path):
    check_writable(tmp_path / "new")
    (tmp_path / "old").write_text("old")
    check_writable(tmp_path / "old")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("old", "old")]
