"""Checks of arguments: what they accept, and the sentence that refuses the rest."""

import numpy as np
import pytest

from coaltree import InputError
from coaltree._runtime import validation


@pytest.mark.parametrize(
    ("check", "options", "right", "wrong", "wanted"),
    [
        ("count", (), (1, np.int8(3)), (0, True, 1.0, "1", None, [1], 2**63), "a whole number from 1 to 1000000000"),
        ("count", (2, 4), (2, 4), (1, 5, np.True_), "a whole number from 2 to 4"),
        ("number", (), (-1, np.inf, np.array(2.0)), (np.nan, True, "1", None), "a number from -inf to inf"),
        ("number", (0, 1), (0, 0.5, 1), (-0.1, 1.1, np.nan), "a number from 0 to 1"),
        ("positive", (), (1, 1e-300), (0, -1, np.inf, np.nan, "1"), "a positive number"),
        ("positive", (True,), (0, 1), (-1, np.inf), "a positive number or 0"),
        ("level", (), (0.9, np.float32(0.5)), (-0.1, 1, "a"), "a number from 0 to 0.999"),
        ("choice", (("a", "b", "c"),), ("a", "c"), ("d", None, ["a"]), '"a" or "b" or "c"'),
    ],
)
def test_checks_refuse_in_one_sentence(check, options, right, wrong, wanted):
    function = getattr(validation, f"check_{check}")
    for value in right:
        assert function("x", value, *options) == value
    for value in wrong:
        with pytest.raises(InputError) as raised:
            function("x", value, *options)
        assert str(raised.value) == f"x must be {wanted}, not {value!r}."


def test_refusals_show_any_value_in_one_short_line():
    for value in (10**5000, np.zeros((50, 50)), "x" * 1000, 10**400):
        with pytest.raises(InputError) as caught:
            validation.check_count("k", value)
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, [2]], "x must be an array, or a sequence"),
        (np.ma.masked_array([1, 2], [0, 1]), "x has masked entries"),
        ([np.ma.masked_array([1, 2], [0, 1]), [3, 4]], "x has masked entries"),
        ([0, 1], "one label for each of 3 leaves, not shape"),
        ([0.0, np.nan, 1.0], "x has missing values"),
        (["a", None, 1], "x must be all numbers or all names"),
    ],
)
def test_labels_are_refused_in_one_sentence(values, message):
    with pytest.raises(InputError, match=message):
        validation.as_labels("x", values, 3)


def test_labels_are_numbered_in_their_order():
    names, numbers = validation.as_labels("x", np.ma.masked_array(["b", "a", "b"]), 3)
    assert names.tolist() == ["a", "b"] and numbers.tolist() == [1, 0, 1]
