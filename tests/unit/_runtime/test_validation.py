"""Checks of arguments: what they accept, and the sentence that refuses the rest."""

import numpy as np
import pytest

from coaltree import InputError
from coaltree._runtime import validation


@pytest.mark.parametrize(
    ("check", "right", "wrong", "sentence"),
    [
        (
            lambda v: validation.check_count("k", v),
            (1, np.int8(3)),
            (0, True, 1.0, "1", None, [1]),
            "k must be a whole number of at least 1, not {!r}.",
        ),
        (
            lambda v: validation.check_count("k", v, 2, 4),
            (2, 4),
            (1, 5, np.True_),
            "k must be a whole number from 2 to 4, not {!r}.",
        ),
        (
            lambda v: validation.check_number("x", v),
            (-1, np.inf, np.array(2.0)),
            (np.nan, True, "1", None),
            "x must be a number, not {!r}.",
        ),
        (
            lambda v: validation.check_number("x", v, 0, 1),
            (0, 0.5, 1),
            (-0.1, 1.1, np.nan),
            "x must be a number from 0 to 1, not {!r}.",
        ),
        (
            lambda v: validation.check_number("x", v, 0),
            (0, np.inf),
            (-1,),
            "x must be a number of at least 0, not {!r}.",
        ),
        (
            lambda v: validation.check_number("x", v, most=0),
            (0, -np.inf),
            (1,),
            "x must be a number of at most 0, not {!r}.",
        ),
        (
            lambda v: validation.check_positive("x", v),
            (1, 1e-300),
            (0, -1, np.inf, np.nan, "1"),
            "x must be a positive number, not {!r}.",
        ),
        (
            lambda v: validation.check_positive("x", v, zero=True),
            (0, 1),
            (-1, np.inf),
            "x must be a positive number or 0, not {!r}.",
        ),
        (
            lambda v: validation.check_level("x", v),
            (0.9, np.float32(0.5)),
            (0, 1, "a"),
            "x must be a number between 0 and 1, such as 0.9, not {!r}.",
        ),
        (
            lambda v: validation.check_choice("c", v, ("a", "b", "c")),
            ("a", "c"),
            ("d", None, ["a"]),
            'c must be "a", "b" or "c", not {!r}.',
        ),
        (
            lambda v: validation.check_jobs(v),
            (1, -1, None),
            (0, 1.5, True),
            "n_jobs must be a whole number other than 0 (-1: every processor) or None, not {!r}.",
        ),
    ],
)
def test_checks_refuse_in_one_sentence(check, right, wrong, sentence):
    for value in right:
        assert check(value) in (value, None)
    for value in wrong:
        with pytest.raises(InputError) as raised:
            check(value)
        assert str(raised.value) == sentence.format(value)
