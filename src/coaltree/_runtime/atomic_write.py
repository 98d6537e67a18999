"""Files that appear whole or not at all: written beside their place, then renamed."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from ..errors import InputError


@contextlib.contextmanager
def replacing(path: Any, mode: str = "w", newline: str | None = None, keep: bool = False) -> Iterator[IO[Any]]:
    """Open a temporary file that takes the place of `path` once it is complete, unless `keep`."""
    path = as_path(path)
    temporary = path.parent / f".{path.name}.tmp"  # what a killed process left of it is written over
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"cannot write {path}: it is a folder or a device; choose another path.")
        with open(temporary, mode, encoding=None if "b" in mode else "utf-8", newline=newline) as file:
            yield file
            if keep:
                return
        os.replace(temporary, path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}.") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def check_writable(path: Any) -> None:
    """Refuse a path that no file can be written to, before any work is done: by writing one beside it."""
    with replacing(path, keep=True):
        pass


def as_path(path: Any, name: str = "path") -> Path:
    """Return a path, or refuse anything else; a number would be that of an open file."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path) or "\0" in str(path):
        raise InputError(f"{name} must be a path, such as 'tree/posterior.npz', not {path!r}.")
    return Path(path)


def open_to_read(path: Any) -> IO[bytes]:
    """Open a file, or say why it cannot be read; a pipe may never begin, nor a device end."""
    path = as_path(path)
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{str(path)!r} cannot be read: it is no regular file.")
        return open(path, "rb")
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from None
