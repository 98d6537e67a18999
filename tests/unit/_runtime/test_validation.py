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
            lambda v: validation.check_count("k", v, 2),
            (2, 10**9),
            (10**9 + 1, 2**63),
            "k must be a whole number from 2 to 1000000000, not {!r}.",
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


def test_refusals_show_any_value_in_one_short_line():
    for value in (10**5000, np.zeros((50, 50)), "x" * 1000, 10**400):
        with pytest.raises(InputError) as caught:
            validation.check_count("k", value)
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 200


@pytest.mark.parametrize(("n_jobs", "n_tasks", "used"), [(None, 2, None), (-1, 2, -1), (10_000, 2, 2), (3, 0, 1)])
def test_at_most_jobs_is_no_more_than_there_are_tasks(n_jobs, n_tasks, used):
    assert validation.at_most_jobs(n_jobs, n_tasks) == used
