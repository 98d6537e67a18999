"""A file is replaced whole, where it stands, and nothing else about it changes."""

import os
import subprocess
import sys

import pytest

from coaltree import InputError
from coaltree._runtime.atomic_write import check_writable, move_into_place, replacing


def test_replacing_keeps_links_and_permissions(tmp_path):
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "file", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    with replacing(link) as file:
        file.write("new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o640
    (tmp_path / "whole").write_text("newer")
    move_into_place(tmp_path / "whole", link)
    assert link.is_symlink()
    assert target.read_text() == "newer"
    assert target.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["far", "link"]


def test_replacing_follows_a_link_to_nowhere_yet(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with replacing(tmp_path / "link") as file:
        file.write("new")
    assert (tmp_path / "file").read_text() == "new"


def test_move_into_place_copies_to_another_disk(tmp_path, monkeypatch):
    (tmp_path / "whole").write_text("new")
    replace, calls = os.replace, []

    def of_one_disk(source, target):
        calls.append(source)
        if len(calls) == 1:
            raise OSError(18, "Invalid cross-device link")
        replace(source, target)

    monkeypatch.setattr("os.replace", of_one_disk)
    move_into_place(tmp_path / "whole", tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "new"


def test_replacing_clears_away_what_a_killed_process_left(tmp_path):
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    for name in (f".file.{gone.stdout.strip()}.tmp", ".file.1.tmp", ".file.notes.tmp", ".other.5.tmp"):
        (tmp_path / name).write_text("")
    with replacing(tmp_path / "file") as file:
        file.write("new")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".file.1.tmp",
        ".file.notes.tmp",
        ".other.5.tmp",
        "file",
    ]


def test_replacing_takes_names_as_long_as_the_system_does(tmp_path):
    with replacing(tmp_path / ("x" * 250)) as file:
        file.write("new")
    with pytest.raises(InputError, match="cannot write"), replacing(tmp_path / ("x" * 300)) as file:
        file.write("new")


def test_replacing_refuses_a_device(tmp_path):
    with pytest.raises(InputError, match="never replaced"), replacing("/dev/null"):
        pass
    assert not os.path.isfile("/dev/null")


def test_check_writable_leaves_nothing_and_keeps_what_is_there(tmp_path):
    check_writable(tmp_path / "new")
    (tmp_path / "old").write_text("old")
    check_writable(tmp_path / "old")
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert (tmp_path / "old").read_text() == "old"
    for path, why in ((tmp_path / ("x" * 300), "File name too long"), ("/proc/x", "cannot write /proc/x")):
        with pytest.raises(InputError, match=why):
            check_writable(path)
