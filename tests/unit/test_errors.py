"""Errors and warnings: their families, and attributes that survive a journey to another process."""

import pickle

import pytest

from coaltree import errors


@pytest.mark.parametrize(
    "warning",
    [errors.ConvergenceWarning("not yet", ("R-hat of x is 1.20",)), errors.InterruptedWarning("stopped", 3, 10)],
    ids=lambda warning: type(warning).__name__,
)
def test_warnings_keep_their_attributes_when_pickled(warning):
    again = pickle.loads(pickle.dumps(warning))
    assert str(again) == str(warning) and vars(again) == vars(warning) != {}


def test_messages_are_one_line_that_can_be_read():
    error = errors.InputError("a\n  b" + "x" * 10_000 + " in the end.")
    assert "\n" not in str(error) and len(str(error)) <= errors.MAX_MESSAGE + 3
    assert str(error).startswith("a bx") and str(error).endswith("x in the end.")
