"""Where compiled kernels are kept: Numba's place, else a temporary folder of the user's own, else nowhere.

Numba takes NUMBA_CACHE_DIR, the package's own folder or the user's cache, whichever can be written first, and gives up
where none can (a container without a home). Keeping kernels saves half a minute of compiling; nothing may fail for it.
"""

import os
import stat
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

from numba.core import config
from numba.core.caching import FunctionCache

from ..errors import CoaltreeWarning

_ADVICE = "set NUMBA_CACHE_DIR to a folder that can be written to"


def keep_compiled(dispatcher: Any) -> Any:
    """Let a compiled function be kept where that can be done; return it."""
    try:
        dispatcher._cache = _ForgivingCache(dispatcher.py_func)
    except RuntimeError:  # "no locator available"
        _keep_in_temporary_folder(dispatcher)
    return dispatcher


class _ForgivingCache(FunctionCache):
    """Numba's, for which a full disk or a damaged file is no reason to fail."""

    def load_overload(self, sig, target_context):
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever reading a damaged or foreign file may end in: it is compiled again
            return None

    def save_overload(self, sig, data):
        try:
            super().save_overload(sig, data)
        except OSError as error:
            self.disable()
            _say(f"compiled kernels cannot be kept ({error.strerror or error}), so each run compiles them; {_ADVICE}.")


def _keep_in_temporary_folder(dispatcher):
    folder = _temporary_folder()
    if folder is None:
        return
    before = config.CACHE_DIR
    config.CACHE_DIR = folder  # for this function: other packages' are none of our business
    try:
        dispatcher._cache = _ForgivingCache(dispatcher.py_func)
    except RuntimeError:
        pass
    finally:
        config.CACHE_DIR = before


@cache
def _temporary_folder() -> str | None:
    """A folder that nobody else can write to, since what is in it will be run; None where there is no such place."""
    user = os.getuid() if hasattr(os, "getuid") else None  # on Windows each user has a temporary folder
    try:
        folder = Path(tempfile.gettempdir()) / ("coaltree-kernels" if user is None else f"coaltree-kernels-{user}")
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        is_ours = user is None or (found.st_uid == user and stat.S_IMODE(found.st_mode) & 0o077 == 0)
        if not (stat.S_ISDIR(found.st_mode) and is_ours):
            folder = Path(tempfile.mkdtemp(prefix="coaltree-kernels-"))
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        _say(f"there is no folder to keep compiled kernels in, so each run compiles them; {_ADVICE}.")
        return None
    _say(f"compiled kernels are kept in {folder}, which may not last; {_ADVICE}.")
    return str(folder)


@cache  # once is enough
def _say(message: str) -> None:
    warnings.warn(message, CoaltreeWarning, stacklevel=2)
