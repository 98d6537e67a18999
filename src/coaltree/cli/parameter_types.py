"""Values of options that are neither text nor plain numbers."""

import os
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import click

from .._runtime.formatting import shortened

MAX_COUNT, MAX_CHAINS, MAX_JOBS, MAX_NOISE = 10**9, 10**4, 10**4, 1e150  # those of `fit`, known before it is imported


def _parsed(parse: Callable[[str], Any], expected: str) -> Callable[[Any], Any]:
    """The type of values that `parse` makes of text; `expected` names them in the message of a refusal."""

    def convert(value: Any) -> Any:
        try:
            return parse(value) if isinstance(value, str) else value
        except ValueError:
            raise click.BadParameter(f"{shortened(value)!r} is not {expected}.") from None

    return convert


class PathName(click.Path):
    """A path that a file can have."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if os.fspath(value) == "":
            self.fail("an empty name is no path.", param, ctx)
        if "\0" in os.fspath(value):
            self.fail(f"{os.fspath(value)!r} is no path: it has a zero byte in it.", param, ctx)
        try:
            os.lstat(value)
        except (FileNotFoundError, NotADirectoryError):
            pass  # said below, or by who reads it
        except OSError as error:
            self.fail(f"{shortened(os.fspath(value))!r}: {error.strerror or error}.", param, ctx)
        return super().convert(value, param, ctx)


def _count(text: str, minimum: int) -> int | str:
    if text == "auto":
        return text
    if not re.fullmatch(r"[0-9]{1,10}", text) or not minimum <= int(text) <= MAX_COUNT:
        raise ValueError
    return int(text)


def _number(text: str, minimum: float, maximum: float) -> float:
    if not minimum <= float(text) <= maximum:  # false for NaN, which passes click.FloatRange
        raise ValueError
    return float(text)


def _grid(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"[1-9]\d*([x×,][1-9]\d*)*", text):
        raise ValueError
    return tuple(int(side) for side in re.split("[x×,]", text))


def _noise(text: str) -> float | str:
    return text if text in ("student", "learn") else _number(text, 0.0, MAX_NOISE)


def _inputs(text: str) -> tuple[float, ...] | str:
    return text if text == "names" else tuple(float(part) for part in text.split(","))


COUNT = _parsed(partial(_count, minimum=0), f"auto or a whole number from 0 to {MAX_COUNT}")
POSITIVE_COUNT = _parsed(partial(_count, minimum=1), f"auto or a whole number from 1 to {MAX_COUNT}")
INCHES = _parsed(partial(_number, minimum=1.0, maximum=100.0), "a number of inches from 1 to 100")
GRID = _parsed(_grid, "the shape of a grid, such as 16x16")
NOISE = _parsed(_noise, f"student, learn or a number from 0 to {MAX_NOISE:g}")
INPUTS = _parsed(_inputs, "names, or numbers such as 0,0.5,1")
