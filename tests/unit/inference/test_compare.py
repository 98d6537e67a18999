"""Predictive comparison, from given densities."""

from types import SimpleNamespace

import numpy as np
import pytest

import coaltree as ct


class Fixed:
    """A posterior that knows its answer."""

    def __init__(self, log_density):
        self.log_density = np.array(log_density)

    def place(self, X):
        assert len(X) == len(self.log_density)
        return SimpleNamespace(log_density=self.log_density)


def test_differences_are_paired():
    posteriors = {"bad": Fixed([-5.0, -9.0, -2.0]), "good": Fixed([-4.0, -8.5, -1.0]), "mid": Fixed([-4.5, -8.0, -2.0])}
    found = ct.compare(posteriors, np.zeros((3, 2)))
    assert found.names == ("good", "mid", "bad")
    np.testing.assert_allclose(found.log_density, [-13.5, -14.5, -16.0])
    np.testing.assert_allclose(found.difference, [0.0, -1.0, -2.5])
    expected = [0.0] + [np.sqrt(3) * np.std(d, ddof=1) for d in ([-0.5, 0.5, -1.0], [-1.0, -0.5, -1.0])]
    np.testing.assert_allclose(found.standard_error, expected)
    np.testing.assert_allclose(found.rows[1], [-4.5, -8.0, -2.0])
    lines = str(found).splitlines()
    assert [line.split()[0] for line in lines] == ["name", "good", "mid", "bad"]
    assert lines[2].split()[1:3] == ["-14.50", "-1.00"]


def test_one_row_has_no_standard_error():
    found = ct.compare({"a": Fixed([-1.0]), "b": Fixed([-2.0])}, np.zeros((1, 2)))
    assert np.isnan(found.standard_error).all()


def test_nothing_to_compare_is_refused():
    for wrong in ({}, [Fixed([1.0])]):
        with pytest.raises(ct.InputError, match="mapping of names"):
            ct.compare(wrong, np.zeros((1, 2)))
