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
