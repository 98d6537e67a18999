"""Values of options that are neither text nor plain numbers."""

import click
import pytest

from coaltree._runtime import validation
from coaltree.cli import parameter_types
from coaltree.cli.parameter_types import COUNT, GRID, INCHES, INPUTS, NOISE, POSITIVE_COUNT
from coaltree.inference import settings
from coaltree.model.process import noise

EXPECTED = {
    COUNT: "auto or a whole number from 0 to 1000000000",
    POSITIVE_COUNT: "auto or a whole number from 1 to 1000000000",
    INCHES: "a number of inches from 1 to 100",
    GRID: "the shape of a grid, such as 16x16",
    NOISE: "student, learn or a number from 0 to 1e+150",
    INPUTS: "names, or numbers such as 0,0.5,1",
}


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (COUNT, "auto", "auto"),
        (COUNT, "0", 0),
        (POSITIVE_COUNT, "12", 12),
        (POSITIVE_COUNT, "1000000000", 10**9),
        (INCHES, "6.5", 6.5),
        (GRID, "16x8", (16, 8)),
        (GRID, "2×3,4", (2, 3, 4)),
        (NOISE, "student", "student"),
        (NOISE, "0.5", 0.5),
        (INPUTS, "names", "names"),
        (INPUTS, "0,0.5,-1e2", (0.0, 0.5, -100.0)),
    ],
)
def test_parsed_values(kind, text, value):
    assert kind(text) == value
    assert kind(value) == value  # click converts defaults as well


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (POSITIVE_COUNT, "0"),
        (COUNT, "-1"),
        (COUNT, "1e3"),
        (COUNT, "9" * 10),
        (POSITIVE_COUNT, "1000000001"),
        (INCHES, "nan"),
        (INCHES, "0.5"),
        (GRID, "0x3"),
        (GRID, "big"),
        (NOISE, "-1"),
        (NOISE, "nan"),
        (NOISE, "inf"),
        (NOISE, "1e300"),
        (INPUTS, "0,x"),
    ],
)
def test_parsed_refuses_other_text_with_what_is_expected(kind, text):
    with pytest.raises(click.BadParameter) as caught:
        kind(text)
    assert str(caught.value) == f"{text!r} is not {EXPECTED[kind]}."


def test_largest_values_are_those_of_fit():
    known = parameter_types.MAX_COUNT, parameter_types.MAX_CHAINS, parameter_types.MAX_JOBS, parameter_types.MAX_NOISE
    assert known == (validation.MAX_COUNT, settings.MAX_CHAINS, validation.MAX_JOBS, noise._MAX_LEVEL)
