"""What a compiled kernel depends upon, as one number: its code, its constants, its options, and all kernels it calls.

Numba keeps a compiled kernel until the file that it stands in changes: it would go on calling a kernel of another file
as that was when it was compiled, and compiles a whole file anew for a changed word. This number changes exactly if
something changes that the machine code comes from; comments, docstrings and other kernels of a file are left out.
"""

import hashlib
from collections.abc import Iterator
from functools import cache
from types import CodeType, ModuleType
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

_PACKAGE = __name__.split(".")[0]


def digest(kernel: Any) -> bytes:
    """The digest of a kernel and of all that it calls. Its module must be complete: ask when the kernel is needed."""
    found: dict[Dispatcher, str] = {}
    unseen = [kernel]
    while unseen:
        one = unseen.pop()
        if one not in found:
            found[one], called = _described(one)
            unseen.extend(called)
    return hashlib.sha256("\n".join(sorted(found.values())).encode()).digest()


@cache
def _described(kernel: Any) -> tuple[str, list[Any]]:
    """A kernel's own part in words, and the kernels that it names."""
    function = kernel.py_func
    used = list(_values_used(function))
    called = [value for _, value in used if isinstance(value, Dispatcher)]
    text = [
        f"{function.__module__}.{function.__qualname__}",
        _code(function.__code__, function.__doc__),
        _constant(kernel.targetoptions),
        *(f"{name}={_constant(value)}" for name, value in used),
    ]
    return " ".join(text), called


def _values_used(function: Any) -> Iterator[tuple[str, Any]]:
    """The globals, closed-over variables and defaults of a function, and what it takes from modules of ours."""
    names = _names(function.__code__)
    for name in names:
        if name not in function.__globals__:
            continue
        value = function.__globals__[name]
        yield name, value
        if isinstance(value, ModuleType) and value.__name__.split(".")[0] == _PACKAGE:
            yield from ((f"{name}.{inner}", getattr(value, inner)) for inner in names if hasattr(value, inner))
    cells = function.__closure__ or ()
    yield from zip(function.__code__.co_freevars, (cell.cell_contents for cell in cells), strict=True)
    yield from ((f"default {i}", value) for i, value in enumerate(function.__defaults__ or ()))


def _names(code: CodeType) -> list[str]:
    """The global names and attributes that some code uses, inner functions and comprehensions included."""
    inner = [name for part in code.co_consts if isinstance(part, CodeType) for name in _names(part)]
    return sorted({*code.co_names, *inner})


def _code(code: CodeType, doc: str | None = None) -> str:
    constants = [_code(c) if isinstance(c, CodeType) else _constant(c) for c in code.co_consts if c is None or c != doc]
    return f"{code.co_code.hex()} {constants} {code.co_names} {code.co_varnames} {code.co_exceptiontable.hex()}"


def _constant(value: Any) -> str:
    """A value in words that are the same in every process."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, dict):
        return f"{{{', '.join(sorted(f'{_constant(k)}: {_constant(v)}' for k, v in value.items()))}}}"
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(map(_constant, value)))}}}"
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(_constant, value))})"
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, np.generic)):
        return f"{type(value).__name__} {value!r}"
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", type(value).__qualname__)
    return f"{getattr(value, '__module__', '')}.{name} {getattr(value, '_fields', '')}"
