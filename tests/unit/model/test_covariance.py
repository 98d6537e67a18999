"""Names, arrays and objects as covariances."""

import numpy as np
import pytest

from coaltree.model.covariance import Diagonal, Fixed, Full, Spherical, as_covariance
from tests.refusals import assert_refused


def test_as_covariance_takes_names_arrays_and_objects():
    assert isinstance(as_covariance("spherical", 3), Spherical)
    assert isinstance(as_covariance("diagonal", 3), Diagonal)
    assert isinstance(as_covariance("full", 3), Full)
    assert as_covariance("squared_exponential", 3).matrix(3).shape == (3, 3)
    fixed = as_covariance([[2.0, 0.0], [0.0, 1.0]], 2)
    assert isinstance(fixed, Fixed)
    assert as_covariance(fixed, 2) is fixed


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: as_covariance("sphere"), "sphere"),
        (lambda: as_covariance(Spherical), "not the class"),
        (lambda: as_covariance(3.0), "covariance"),
        (lambda: as_covariance(np.eye(3), 4), "4"),
    ],
)
def test_as_covariance_refuses_bad_input_in_one_sentence(make, says):
    assert_refused(make, says)
