"""What may be said after an option of `coaltree fit` that is neither text nor a plain number."""

import re
from typing import Any

import click


class Grid(click.ParamType):
    """The shape of a grid, such as 16x16."""

    name = "grid"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value
        if not re.fullmatch(r"[1-9]\d*([x×,][1-9]\d*)*", value):
            self.fail(f"{value!r} is not the shape of a grid; expected something like 16x16.", param, ctx)
        return tuple(int(side) for side in re.split("[x×,]", value))


class NoiseLevel(click.ParamType):
    """ "student", "learn" or a number of at least 0."""

    name = "noise"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str) or value in ("student", "learn"):
            return value
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not 0.0 <= number < 1e150:
            self.fail(f"{value!r} is neither student, learn nor a number of at least 0.", param, ctx)
        return number


class Count(click.ParamType):
    """A whole number, or "auto"."""

    name = "count"

    def __init__(self, least: int) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "auto" or not isinstance(value, str):
            return value
        if not re.fullmatch(r"\d{1,9}", value) or int(value) < self.least:
            self.fail(f"{value!r} is neither auto nor a whole number of at least {self.least}.", param, ctx)
        return int(value)


class Inputs(click.ParamType):
    """Where columns were measured: numbers with commas between them, or "names" if the columns are called so."""

    name = "inputs"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str) or value == "names":
            return value
        try:
            return tuple(float(part) for part in value.split(","))
        except ValueError:
            self.fail(f"{value!r} is neither names nor numbers such as 0,0.5,1.", param, ctx)
