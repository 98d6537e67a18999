"""Cells of a table as text."""

import pytest

from coaltree.cli.tables.cells import (
    advice_for,
    is_missing,
    is_name,
    is_text,
    looks_like_a_number,
    number,
    shell_quoted,
)


@pytest.mark.parametrize(
    ("cell", "decimal", "value"),
    [
        ("1.5", ".", 1.5),
        ("-2e3", ".", -2000.0),
        ("1,5", ",", 1.5),
        ("1.5", ",", None),
        ("1,5", ".", None),
        ("1_0", ".", None),
        ("inf", ".", None),
        ("1e400", ".", None),
        ("nan", ".", None),
        ("", ".", None),
    ],
)
def test_number_is_finite_and_plain(cell, decimal, value):
    assert number(cell, decimal) == value


def test_is_missing_knows_the_usual_words():
    assert all(map(is_missing, ("", "NA", "n/a", "NaN", "null", "None", "?")))
    assert not any(map(is_missing, ("0", "-", "missing")))


def test_is_name_needs_a_letter_and_no_value():
    assert all(map(is_name, ("anna", "x1", "東京")))
    assert not any(map(is_name, ("$1", "10 %", "2020-01-31", "1e5", "True", "", "7")))


def test_is_text_asks_most_observed_cells():
    assert is_text(["red", "blue", "1"], ".")
    assert not is_text(["red", "1,5", "1,000", "", "2"], ".")
    assert looks_like_a_number("1,000.5") and not looks_like_a_number("10%")


@pytest.mark.parametrize(
    ("cell", "decimal", "advice"),
    [
        ("1,000", ".", "remove thousands separators, or give --decimal ,"),
        ("1,5", ".", "give --decimal , if the comma is a decimal mark"),
        ("1.000,5", ",", "with --decimal , a number has no point"),
        ("-inf", ".", "values must be finite"),
        ("tall", ".", "correct it"),
    ],
)
def test_advice_for_a_cell_says_what_to_do(cell, decimal, advice):
    assert advice_for(cell, decimal).startswith(advice)


def test_shell_quoted_names_can_be_typed():
    assert [shell_quoted(name) for name in ("kind", "k 1", "-x", "東京")] == ["kind", "'k 1'", "'-x'", "東京"]
