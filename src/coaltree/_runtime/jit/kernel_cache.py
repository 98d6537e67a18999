"""Where compiled kernels are kept: Numba's place, else a temporary folder of the user's own, else nowhere.

Numba takes NUMBA_CACHE_DIR, the package's own folder or the user's cache, whichever can be written first, and gives up
where none can (a container without a home). Keeping kernels saves a minute of compiling; nothing may fail for it.

A place is looked for when a kernel is first called. What is kept is used as long as `kernel_digest.digest` stays the
same, whatever else has changed in the kernel's file. On a terminal a line says that something is compiled, once.
"""

import os
import stat
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

from numba.core import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile

from ...errors import CoaltreeWarning
from .kernel_digest import digest

_ADVICE = "set NUMBA_CACHE_DIR to a folder that can be written to"


def keep_compiled(dispatcher: Any) -> Any:
    """Let a compiled function be kept where that can be done; return it."""
    dispatcher._cache = _KernelCache(dispatcher)
    return dispatcher


def compiled_in() -> list[str]:
    """The folder of each kernel that this process has compiled, and keeps."""
    return list(_COMPILED)


_COMPILED: list[str] = []


class _KernelCache(FunctionCache):
    """Numba's, for which a full disk, a damaged file or no place at all is no reason to fail."""

    def __init__(self, dispatcher):
        self._dispatcher = dispatcher
        self._py_func = dispatcher.py_func
        self._name = repr(self._py_func)
        self._is_open = self._enabled = False

    def load_overload(self, sig, target_context):
        self._open()
        try:
            found = super().load_overload(sig, target_context)
        except Exception:  # whatever reading a damaged or foreign file may end in: it is compiled again
            found = None
        if found is None and self._enabled:
            _COMPILED.append(self._cache_path)
            _tell_the_terminal()
        return found

    def save_overload(self, sig, data):
        try:
            super().save_overload(sig, data)
        except OSError as error:
            self.disable()
            _say(f"compiled kernels cannot be kept ({error.strerror or error}), so each run compiles them; {_ADVICE}.")

    @property
    def cache_path(self):
        self._open()
        return self._cache_path if self._enabled else None

    def flush(self):
        if self._enabled:
            super().flush()

    def _index_key(self, sig, codegen):
        return sig, codegen.magic_tuple()  # the digest says all about the code

    def _open(self):
        """Find the place of this kernel's files, once."""
        if self._is_open:
            return
        self._is_open = True
        try:
            self._impl = _place_of(self._py_func)
        except RuntimeError:  # "no locator available", nor a temporary folder
            return
        self._cache_path = self._impl.locator.get_cache_path()
        self._cache_file = _KernelFiles(self._cache_path, self._impl.filename_base, digest(self._dispatcher))
        self.enable()


class _Place(CompileResultCacheImpl):
    """Numba's names of files, without the line of the kernel: it may stand anywhere in its file."""

    def get_filename_base(self, fullname, abiflags):
        fullname = fullname.replace("<", "").replace(">", "")
        return f"{fullname}.py{sys.version_info[0]}{sys.version_info[1]}{abiflags}"


class _KernelFiles(IndexDataCacheFile):
    """Numba's index and machine code, which says itself what it is.

    Two processes that write at the same time may take the same number for different code; it is then compiled again.
    """

    def save(self, key, data):
        super().save(key, (self._source_stamp, key, data))

    def _load_index(self):
        try:
            return super()._load_index()
        except Exception:  # of an earlier version, whose types are gone, or damaged: it is written anew
            return {}

    def load(self, key):
        found = super().load(key)
        return found[2] if found is not None and found[:2] == (self._source_stamp, key) else None


def _place_of(function):
    try:
        return _Place(function)
    except RuntimeError:
        folder = _temporary_folder()
        if folder is None:
            raise
    before = config.CACHE_DIR
    config.CACHE_DIR = folder  # for this function: other packages' are none of our business
    try:
        return _Place(function)
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


@cache
def _tell_the_terminal() -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        words = "compiling what this run needs, once: up to a minute and a half for a first run …"
        print(words, file=sys.stderr, flush=True)


@cache  # once is enough
def _say(message: str) -> None:
    warnings.warn(message, CoaltreeWarning, stacklevel=2)
