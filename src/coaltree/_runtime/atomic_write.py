"""Files that appear whole or not at all, and keep the links and permissions of what they replace."""

import contextlib
import errno
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from ..errors import InputError

_MAX_STEM = 60  # letters of up to four bytes: most systems take names of 255 bytes, and there is more to come
_TEMPORARY = re.compile(r"(?P<stem>\..*)\.(?P<process>[0-9]{1,9})\.tmp", re.DOTALL)


@contextlib.contextmanager
def replacing(path: Any, mode: str = "w", newline: str | None = None) -> Iterator[IO[Any]]:
    """Open a temporary file that takes the place of `path` once it is complete; what fails is an `InputError`.

    A symbolic link stays one: the file it points to is replaced. An existing file keeps its permissions.
    """
    with _refusals(path):
        target, temporary = _target(path)
        clear_away(target.parent, [target.name])
        try:
            with open(temporary, mode, encoding=None if "b" in mode else "utf-8", newline=newline) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            _replace(temporary, target)
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()


def check_writable(path: Any) -> None:
    """Refuse a path that no file can be written to, before any work is done: by writing one beside it."""
    with _refusals(path):
        target, temporary = _target(path)
        with contextlib.suppress(FileNotFoundError):
            target.lstat()  # a name may be too long
        temporary.touch()
        temporary.unlink()


def move_into_place(source: Path, path: Path) -> None:
    """Let a complete file take the place of `path`, as `replacing` does."""
    with _refusals(path):
        try:
            _replace(source, _target(path)[0])
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            with open(source, "rb") as whole, replacing(path, "wb") as file:  # a link to another disk
                shutil.copyfileobj(whole, file)
            source.unlink()


def as_path(path: Any, name: str = "path") -> Path:
    """Return a path, or refuse anything else; a number would be that of an open file."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise InputError(f"{name} must be a path, such as 'tree/posterior.npz', not {path!r}.")
    if not os.fspath(path):
        raise InputError(f"{name} must be a path, and an empty name is none.")
    if "\0" in os.fspath(path):
        raise InputError(f"{name} must be a path, and {os.fspath(path)!r} has a zero byte in it.")
    return Path(path)


def open_to_read(path: Any) -> IO[bytes]:
    """Open a regular file; a device or a pipe, which may have no end or never begin, is refused."""
    path = as_path(path)
    try:
        if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
            raise InputError(f"{str(path)!r} cannot be read: it is not a regular file.")
        return open(path, "rb")
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from None


def clear_away(folder: Path, names: Iterable[str]) -> None:
    """Remove what killed processes left of these files and folders: .NAME.PROCESS.tmp"""
    stems = {f".{name[:_MAX_STEM]}" for name in names}
    for left in folder.glob(".*.tmp"):
        found = _TEMPORARY.fullmatch(left.name)
        if found and found["stem"] in stems and not _is_running(int(found["process"])):
            if left.is_dir() and not left.is_symlink():
                shutil.rmtree(left, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    left.unlink()


@contextlib.contextmanager
def _refusals(path: Any) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}.") from None


def _target(path: Any) -> tuple[Path, Path]:
    """The file to be written, behind a link the one it points to, and a temporary one beside it."""
    target = Path(os.path.realpath(as_path(path)))
    if not target.parent.is_dir():
        raise InputError(f"cannot write {path}: the folder {target.parent} does not exist.")
    if target.exists() and not target.is_file():
        what = "a folder" if target.is_dir() else "a device or pipe, which is never replaced"
        raise InputError(f"cannot write {path}: it is {what}; choose another path.")
    return target, target.with_name(f".{target.name[:_MAX_STEM]}.{os.getpid()}.tmp")


def _is_running(process: int) -> bool:
    if os.name != "posix":
        return True  # asking there would end it
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    return True


def _replace(source: Path, target: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.chmod(source, stat.S_IMODE(target.stat().st_mode))
    os.replace(source, target)
