"""Values of options that are neither text nor plain numbers."""

import os
import re
from collections.abc import Callable
from typing import Any

import click

from .._runtime.formatting import shortened


class _Parsed(click.ParamType):
    """A value that `parse` makes of text; `expected` names it in the message of a refusal."""

    def __init__(self, name: str, parse: Callable[[str], Any], expected: str) -> None:
        self.name = name
        self.parse = parse
        self.expected = expected

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self.parse(value)
        except ValueError:
            return self.fail(f"{value!r} is not {self.expected}.", param, ctx)


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
    if not re.fullmatch(r"\d{1,9}", text) or int(text) < minimum:
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
    return text if text in ("student", "learn") else _number(text, 0.0, 1e150)


def _inputs(text: str) -> tuple[float, ...] | str:
    return text if text == "names" else tuple(float(part) for part in text.split(","))


COUNT: "click.ParamType[Any]" = _Parsed("count", lambda text: _count(text, 0), "auto or a whole number of at least 0")
POSITIVE_COUNT: "click.ParamType[Any]" = _Parsed(
    "count", lambda text: _count(text, 1), "auto or a whole number of at least 1"
)
INCHES: "click.ParamType[Any]" = _Parsed(
    "inches", lambda text: _number(text, 1.0, 100.0), "a number of inches from 1 to 100"
)
GRID: "click.ParamType[Any]" = _Parsed("grid", _grid, "the shape of a grid, such as 16x16")
NOISE: "click.ParamType[Any]" = _Parsed("noise", _noise, "student, learn or a number of at least 0")
INPUTS: "click.ParamType[Any]" = _Parsed("inputs", _inputs, "names, or numbers such as 0,0.5,1")
