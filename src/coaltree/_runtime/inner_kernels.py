"""Kernels that are called by other kernels need no machine code of their own, and no way in from Python.

Numba makes both for every kernel, although the code of a called one is linked into its caller: most of the time of the
first fit would go into code that nobody runs. Here a kernel has a twin that other kernels call, whose optimised LLVM
code is all that is ever made of it. The kernel itself is compiled when Python calls it, and it alone is kept on disk:
where all kernels come from there, no twin is ever made.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


def called_through(kernel: Any, make_twin: Callable[[], Any]) -> Any:
    """Let other kernels call a twin where they name `kernel`; return `kernel`."""

    @cache
    def twin():
        made = make_twin()
        made._compiling_counter = kernel._compiling_counter  # by which a kernel that calls itself is known
        return made

    kernel.get_call_template = lambda args, kws: twin().get_call_template(args, kws)
    kernel.get_overload = lambda sig: twin().get_overload(sig)
    return kernel


class LinkedOnly(Compiler):
    """Numba's compiler, up to LLVM code that can be linked into a caller's."""

    def __init__(self, typingctx, targetctx, library, args, return_type, flags, locals):
        super().__init__(typingctx, targetctx, library, args, return_type, flags, locals)
        self.state.library = _LibraryToLink(targetctx.codegen(), "inner")


class _LibraryToLink(JITCodeLibrary):
    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name):
        self._ensure_finalized()
        return 0

    @property
    def codegen(self):
        return _NoEnvironment


class _NoEnvironment:
    """An inner kernel's environment (of its Python constants) is used by nothing that a kernel may do."""

    @staticmethod
    def set_env(env_name, env):
        pass
