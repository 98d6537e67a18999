"""Files that appear whole or not at all."""

import contextlib
import os
from pathlib import Path

from ..errors import InputError


@contextlib.contextmanager
def replacing(path, mode="w"):
    """Open a temporary file that takes the place of `path` once it is complete; what fails is an `InputError`."""
    path = Path(path)
    if not path.parent.is_dir():
        raise InputError(f"cannot write {path}: the folder {path.parent} does not exist.")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, mode, encoding=None if "b" in mode else "utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}.") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
