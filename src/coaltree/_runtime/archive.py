"""One file of named arrays and plain values: NumPy's .npz with a JSON header. Nothing in it is ever executed.

The header is {"format": …, "version": …, "written_by": …, "content": …}, with {"array": member} in place of the
content's arrays, and tuples and dicts marked alike. A file appears whole or not at all.
"""

import json
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import InputError
from .atomic_write import open_to_read, replacing
from .formatting import shortened
from .typing import PathLike

_HEADER = "header.json"
_ARRAY_KINDS = "biufUS"  # booleans, real numbers and text

Default = Callable[[Any, str], Any]


def write(path: PathLike, kind: str, version: int, content: Any, default: Default | None = None) -> None:
    """Write nested dicts, lists, tuples, strings, numbers, None and arrays; the file is replaced in one step.

    `default(value, where)` turns a value of any other kind into one of these.
    """
    from .. import __version__

    arrays: dict[str, np.ndarray] = {}
    content = _encode(content, "", arrays, default)
    header = {"format": kind, "version": version, "written_by": __version__, "content": content}
    with replacing(path, "w+b") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]
        with zipfile.ZipFile(file, "a") as members:
            members.writestr(zipfile.ZipInfo(_HEADER), json.dumps(header, ensure_ascii=False))


def read(path: PathLike, kind: str, version: int) -> Any:
    """Return what `write` was given; refuse files of other programs or formats, and damaged ones, by name."""
    with open_to_read(path) as file:
        try:
            if file.read(4) != b"PK\x03\x04":
                raise InputError(f"{str(path)!r} is not a {kind} file.")
            file.seek(0)
            with np.load(file, allow_pickle=False) as members:
                header = json.loads(members[_HEADER]) if _HEADER in members else None
                if not isinstance(header, dict) or header.get("format") != kind:
                    raise InputError(f"{str(path)!r} is not a {kind} file.")
                if (written := header["version"]) != version:
                    by = f"coaltree {shortened(str(header['written_by']), 30)} in format {shortened(str(written), 30)}"
                    raise InputError(f"{str(path)!r} was written by {by}, and this version reads format {version}.")
                if any(info.compress_type != zipfile.ZIP_STORED for info in members.zip.infolist()):
                    raise ValueError("a member is compressed")  # and may be far larger than the file
                arrays = {name: members[name] for name in members.files if name != _HEADER}
                return _decode(header["content"], arrays)
        except Exception as error:  # whatever a damaged file may make the readers trip over
            raise error if isinstance(error, InputError) else damaged(path, error) from None


def damaged(path: PathLike, error: Exception) -> InputError:
    """Return the error of a file whose content is wrong."""
    why = shortened(" ".join(str(error).split()), 150) or type(error).__name__
    return InputError(f"{str(path)!r} is damaged and cannot be read ({why}).")


def _encode(value: Any, where: str, arrays: dict[str, np.ndarray], default: Default | None) -> Any:
    if isinstance(value, np.bool_ | np.integer | np.floating) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in _ARRAY_KINDS:
        arrays[where] = value
        return {"array": where}
    if isinstance(value, list | tuple):
        items = [_encode(item, f"{where}.{i}", arrays, default) for i, item in enumerate(value)]
        return items if isinstance(value, list) else {"tuple": items}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: _encode(x, f"{where}.{key}".strip("."), arrays, default) for key, x in value.items()}}
    if default is None:
        raise InputError(f"{where or 'The content'} is a {type(value).__name__}, which cannot be saved.")
    return _encode(default(value, where), where, arrays, default)


def _decode(value: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    if isinstance(value, list):
        return [_decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    ((mark, inner),) = value.items()
    if mark == "array":
        return arrays[inner]
    if mark == "tuple":
        return tuple(_decode(item, arrays) for item in inner)
    return {key: _decode(item, arrays) for key, item in inner.items()}
