"""A file is replaced whole, where it stands, and nothing else about it changes."""

import os
import subprocess
import sys

import pytest

from coaltree import InputError
from coaltree._runtime.atomic_write import move_into_place, replacing


def test_links_and_permissions_stay(tmp_path):
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


def test_a_link_to_nowhere_yet_is_followed(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with replacing(tmp_path / "link") as file:
        file.write("new")
    assert (tmp_path / "file").read_text() == "new"


def test_a_file_on_another_disk_is_copied(tmp_path, monkeypatch):
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


def test_what_a_killed_process_left_is_cleared_away(tmp_path):
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


def test_a_name_as_long_as_the_system_takes_can_be_written(tmp_path):
    with replacing(tmp_path / ("x" * 250)) as file:
        file.write("new")
    with pytest.raises(InputError, match="cannot write"), replacing(tmp_path / ("x" * 300)) as file:
        file.write("new")


def test_a_device_stays_one(tmp_path):
    with pytest.raises(InputError, match="never replaced"), replacing("/dev/null"):
        pass
    assert not os.path.isfile("/dev/null")
