"""One file of named arrays and plain values: a zip of .npy members (what NumPy calls .npz) with a JSON header.

Nothing in it is ever executed (no pickle). Members are stored uncompressed with their data on 64-byte boundaries, so
that large arrays are mapped into memory instead of read, and a file appears whole or not at all. Since they are
uncompressed, and each is read once, no file takes much more memory than its own size. The header is

    {"format": …, "version": …, "written_by": {…}, "content": …}

with the content's arrays replaced by {"array": member}, and what JSON has no word for (tuples, NaN) by similar marks.
"""

import json
import math
import struct
import zipfile
import zlib
from io import BytesIO

import numpy as np

from ..errors import InputError
from .atomic_write import open_to_read, replacing

_HEADER = "header.json"
_ALIGNMENT = 64  # bytes: NumPy gathers several times more slowly from a mapped array that is not aligned
_ALIGNMENT_FIELD = 0xD935  # an extra field that zip readers skip; also used by Android for this purpose
_LOCAL_HEADER = struct.Struct("<26x2H")  # of which we read the lengths of the member's name and extra fields
_ZIP64_FIELD_BYTES = 20
_MAPPED_FROM_BYTES = 32_000_000
_CHECK_BLOCK = 1 << 24
_KINDS = "biufcUS"  # of arrays: booleans, numbers and text


def write(path, kind, version, content, default=None):
    """Write nested dicts, lists, tuples, strings, numbers, None and arrays; the file is replaced in one step.

    `default(value, where)` turns a value of any other kind into one of these.
    """
    arrays: dict[str, np.ndarray] = {}
    from .. import __version__

    header = {
        "format": kind,
        "version": version,
        "written_by": {"coaltree": __version__, "numpy": np.__version__},
        "content": _encode(content, "", arrays, default),
    }
    with replacing(path, "wb") as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo(_HEADER), json.dumps(header, allow_nan=False, ensure_ascii=False))
        for name, array in arrays.items():
            _write_member(archive, name, array)


def read(path, kind, version, oldest=1):
    """Return what `write` was given. Another program's file, a damaged one or one of another format is refused by name.

    Formats from `oldest` to `version` are read.
    """
    with open_to_read(path) as file:
        try:
            if file.read(4) != b"PK\x03\x04":
                raise InputError(f"{str(path)!r} is not a {kind} file.")
            with zipfile.ZipFile(file) as archive:
                _check_members(archive)
                header = _read_header(archive, path, kind, version, oldest)
                members: dict[str, np.ndarray] = {}

                def array(name):
                    if name not in members:
                        members[name] = _read_member(archive, path, name)
                    return members[name]

                return _decode(header["content"], array)
        except InputError:
            raise
        except Exception as error:  # whatever a damaged file may make the readers trip over
            raise damaged(path, error) from None


def damaged(path, error):
    """The error of a file whose content is not what it should be, in one line."""
    why = " ".join(str(error).split())
    return InputError(f"{str(path)!r} is damaged and cannot be read ({why[:150] or type(error).__name__}).")


def _check_members(archive):
    """Refuse members that would be larger than the file: compressed ones, and ones that share their bytes."""
    members = archive.infolist()
    if any(info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size for info in members):
        raise ValueError("a member is compressed")
    archive.fp.seek(0, 2)
    if sum(info.file_size for info in members) > archive.fp.tell():
        raise ValueError("its members are larger than the file")


def _read_header(archive, path, kind, version, oldest):
    if _HEADER not in archive.namelist():
        raise InputError(f"{str(path)!r} is not a {kind} file.")
    header = json.loads(archive.read(_HEADER))
    if not isinstance(header, dict) or header.get("format") != kind:
        raise InputError(f"{str(path)!r} is not a {kind} file.")
    found, written_by = header.get("version"), header.get("written_by")
    if type(found) is not int or not isinstance(written_by, dict) or "content" not in header:
        raise ValueError("its header lacks the version, the writer or the content")
    if not oldest <= found <= version:
        reads = f"formats up to {version}; update coaltree" if found > version else f"format {oldest} and later"
        raise InputError(
            f"{str(path)!r} was written by coaltree {str(written_by.get('coaltree', 'of another version'))[:30]} in "
            f"format {found}, and this version reads {reads}."
        )
    return header


def _write_member(archive, name, array):
    info = zipfile.ZipInfo(f"{name}.npy")
    before = archive.fp.tell() + _LOCAL_HEADER.size + len(info.filename.encode()) + _ZIP64_FIELD_BYTES + 4
    padding = -before % _ALIGNMENT
    info.extra = struct.pack("<HH", _ALIGNMENT_FIELD, padding) + bytes(padding)
    with archive.open(info, "w", force_zip64=True) as member:
        np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)


def _read_member(archive, path, name):
    info = archive.getinfo(f"{name}.npy")
    start = _data_start(archive, info)
    if info.file_size >= _MAPPED_FROM_BYTES and start % _ALIGNMENT == 0:
        return _as_array(_mapped(path, start, info))
    array = _as_array(np.frombuffer(archive.read(info), np.uint8))  # `read` checks the sum
    array.setflags(write=False)
    return array


def _mapped(path, start, info):
    """A read-only view of the member in the file, after one pass over it to see that it is whole."""
    raw = np.memmap(path, np.uint8, "r", start, info.file_size)
    check = 0
    for at in range(0, len(raw), _CHECK_BLOCK):
        check = zlib.crc32(raw[at : at + _CHECK_BLOCK].data, check)
    if check != info.CRC:
        raise ValueError(f"bad check sum of {info.filename}")
    return raw


def _as_array(raw):
    """The array in the bytes of a member, without a copy; its header must claim exactly the bytes that follow it."""
    header = BytesIO(raw[:_CHECK_BLOCK].tobytes())
    shape, fortran_order, array_type = read_npy_header(header)
    data = np.asarray(raw[header.tell() :])
    if array_type.itemsize * math.prod(shape) != len(data):
        raise ValueError("an array has another size than its header says")
    return data.view(array_type).reshape(shape, order="F" if fortran_order else "C")


def read_npy_header(file):
    """Shape, whether it is in Fortran's order, and type of a .npy file, which must be booleans, numbers or text."""
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"a NumPy array of format {version[0]}.{version[1]}")
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran_order, array_type = read_header(file)
    if array_type.kind not in _KINDS or array_type.itemsize == 0 or any(side < 0 for side in shape):
        raise ValueError(f"an array of type {str(array_type)[:50]}")
    return shape, fortran_order, array_type


def _data_start(archive, info):
    archive.fp.seek(info.header_offset)
    lengths = _LOCAL_HEADER.unpack(archive.fp.read(_LOCAL_HEADER.size))
    return info.header_offset + _LOCAL_HEADER.size + sum(lengths)


def _encode(value, where, arrays, default):
    if isinstance(value, np.bool_ | np.integer | np.floating) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        arrays[where] = value
        return {"array": where}
    if isinstance(value, list | tuple):
        items = [_encode(item, f"{where}.{i}", arrays, default) for i, item in enumerate(value)]
        return items if isinstance(value, list) else {"tuple": items}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        items = {key: _encode(item, f"{where}.{key}".strip("."), arrays, default) for key, item in value.items()}
        return {"dict": items}
    if default is None:
        raise InputError(f"{where or 'The content'} is a {type(value).__name__}, which cannot be saved.")
    return _encode(default(value, where), where, arrays, default)


def _decode(value, array):
    if isinstance(value, list):
        return [_decode(item, array) for item in value]
    if not isinstance(value, dict):
        return value
    ((mark, inner),) = value.items()
    if mark == "array":
        return array(inner)
    if mark == "float":
        return float(inner)
    if mark == "tuple":
        return tuple(_decode(item, array) for item in inner)
    if mark == "dict":
        return {key: _decode(item, array) for key, item in inner.items()}
    raise ValueError(f"unknown mark {mark!r}")
