"""Kernels that are called by other kernels need no machine code of their own, and no way in from Python.

Numba makes both for every kernel, although the code of a called one is linked into its caller: most of the time of the
first fit would go into code that nobody runs. Here a kernel has a twin that other kernels call, of which nothing but
LLVM code is made. The kernel itself is compiled when Python calls it, and it alone is kept on disk: where all kernels
come from there, no twin is ever made.

Nor is the code of a twin optimised by itself, with what it calls in it: the same code would be optimised again in every
caller, and in the callers of those. All is linked into the kernel that Python calls, and optimised there, once.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.types.misc import unliteral


def called_through(kernel: Any, make_twin: Callable[[], Any]) -> Any:
    """Let other kernels call a twin where they name `kernel`; return `kernel`."""

    @cache
    def twin():
        made = make_twin()
        made._compiling_counter = kernel._compiling_counter  # by which a kernel that calls itself is known
        return made

    def call_template(args, kws):  # a number that stands in the code is like any other, and needs no twin of its own
        return twin().get_call_template([unliteral(arg) for arg in args], kws)

    kernel.get_call_template = call_template
    kernel.get_overload = lambda sig: twin().get_overload(sig)
    return kernel


class Called(Compiler):
    """Numba's compiler, for kernels that Python calls: into one piece with all twins below them."""

    def __init__(self, typingctx, targetctx, library, args, return_type, flags, locals):
        super().__init__(typingctx, targetctx, library, args, return_type, flags, locals)
        self.state.library = _Library(targetctx.codegen(), "kernel")
        self.state.library.enable_object_caching()  # as Numba does with its own, so that it can be kept


class LinkedOnly(Compiler):
    """Numba's compiler, up to LLVM code that can be linked into a caller's."""

    def __init__(self, typingctx, targetctx, library, args, return_type, flags, locals):
        super().__init__(typingctx, targetctx, library, args, return_type, flags, locals)
        self.state.library = _LibraryToLink(targetctx.codegen(), "inner")


class _Library(JITCodeLibrary):
    def add_linking_library(self, library):
        if not isinstance(library, _LibraryToLink):
            super().add_linking_library(library)
            return
        library._ensure_finalized()
        known = set(self._linking_libraries)
        self._linking_libraries += [one for one in (library.alone, *library._linking_libraries) if one not in known]


class _LibraryToLink(_Library):
    def __init__(self, codegen, name):
        super().__init__(codegen, name)
        self.alone = _Alone(self)
        self._whole = None

    def finalize(self):
        self._raise_if_finalized()
        self._finalized = True

    def _get_module_for_linking(self):
        """With all that it calls, for a library of Numba's own: functions of plain Numba may call kernels."""
        if self._whole is None:
            whole = self.alone._get_module_for_linking().clone()
            for library in dict.fromkeys(self._linking_libraries):
                whole.link_in(library._get_module_for_linking(), preserve=True)
            self._whole = whole
        return self._whole

    def get_pointer_to_function(self, name):
        self._ensure_finalized()
        return 0

    @property
    def codegen(self):
        return _NoEnvironment


class _Alone:
    """A library without what it calls, for one that links all of these itself."""

    def __init__(self, library):
        self._library = library

    @property
    def _reload_init(self):
        return self._library._reload_init

    def _get_module_for_linking(self):
        return JITCodeLibrary._get_module_for_linking(self._library)


class _NoEnvironment:
    """An inner kernel's environment (of its Python constants) is used by nothing that a kernel may do."""

    @staticmethod
    def set_env(env_name, env):
        pass
