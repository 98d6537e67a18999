"""Errors and warnings: their families, and attributes that survive a journey to another process."""

import pickle

import pytest

from coaltree import errors


def test_input_error_is_a_value_error_and_all_warnings_have_one_family():
    assert issubclass(errors.InputError, ValueError)
    for kind in (errors.ConvergenceWarning, errors.InterruptedWarning):
        assert issubclass(kind, errors.CoaltreeWarning) and issubclass(kind, UserWarning)


@pytest.mark.parametrize(
    "warning",
    [errors.ConvergenceWarning("not yet", ("R-hat of x is 1.20",)), errors.InterruptedWarning("stopped", 3, 10)],
    ids=lambda warning: type(warning).__name__,
)
def test_warnings_keep_their_attributes_when_pickled(warning):
    again = pickle.loads(pickle.dumps(warning))
    assert str(again) == str(warning) and vars(again) == vars(warning) != {}
