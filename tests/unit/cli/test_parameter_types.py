"""Values of options that are neither text nor plain numbers."""

import click
import pytest

from coaltree._runtime import validation
from coaltree.cli import parameter_types
from coaltree.cli.parameter_types import COUNT, GRID, INCHES, INPUTS, NOISE, POSITIVE_COUNT
from coaltree.inference import settings
from coaltree.model.process import noise


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
    assert kind.convert(text, None, None) == value
    assert kind.convert(value, None, None) == value  # click converts defaults as well


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
        kind.convert(text, None, None)
    assert str(caught.value) == f"{text!r} is not {kind.expected}."


def test_largest_values_are_those_of_fit():
    known = parameter_types.MAX_COUNT, parameter_types.MAX_CHAINS, parameter_types.MAX_JOBS, parameter_types.MAX_NOISE
    assert known == (validation.MAX_COUNT, settings.MAX_CHAINS, validation.MAX_JOBS, noise._MAX_LEVEL)
