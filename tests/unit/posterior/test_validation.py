"""What a posterior is made of must fit together; each misfit is named."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.posterior.of_trees import posterior_of_trees
from coaltree.posterior.validation import check_log_weights


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"times": np.ones((2, 3))}, "shape"),
        ({"times": np.array([[1.0, 2.0], [2.0, 1.0]])}, "Tree 1 of the posterior is not valid.*comes before"),
        ({"times": np.array([[np.nan, 2.0], [1.0, 2.0]])}, "Tree 0 .*finite"),
        ({"children": np.array([[[0, 1], [2, 3]], [[0, 1], [1, 3]]])}, "Tree 1 .*already joined"),
        ({"log_weights": [1.0]}, r"log_weights must have shape \(2 trees\), not \(1,\)"),
        ({"log_weights": [-np.inf, -np.inf]}, "at least one finite"),
        ({"theta": {"ell": [1.0]}}, r"theta\['ell'\] must have shape \(2 trees, …\), not \(1,\)"),
        ({"labels": ["a", "b"]}, "labels must be 3 names, not 2"),
        ({"X": np.zeros((4, 2))}, r"X must have shape \(3 rows, columns\), not \(4, 2\)"),
        ({"X": np.zeros((3, 2)), "columns": ["a"]}, "columns must name the 2 columns of X, not 1"),
        ({"X": np.zeros((3, 2)), "used": [1, 0]}, "used must list columns of X, numbers from 0 to 1, in order"),
        ({"X": np.zeros((3, 2)), "groups": [0, 0, 1]}, "groups must give each row of X one of the 3 leaves"),
        ({"X": np.zeros((3, 2)), "imputed": np.zeros((2, 1))}, r"must have shape \(2 trees, 0 missing entries\)"),
        ({"tail_scale": np.zeros((2, 3))}, "tail_scale must hold positive numbers"),
        ({"theta": {"noise_level": [1.0, -1.0]}}, "must hold a positive number for each of the 2 trees"),
    ],
)
def test_posterior_refuses_what_does_not_fit(change, message):
    given = {"children": np.tile([[0, 1], [2, 3]], (2, 1, 1)), "times": np.tile([1.0, 2.0], (2, 1))} | change
    with pytest.raises(ct.InputError, match=message):
        posterior_of_trees(**given)


def test_check_log_weights_makes_the_mean_weight_1():
    np.testing.assert_allclose(np.exp(check_log_weights([1000.0, 1000.0 + np.log(3.0)], 2)), [0.5, 1.5])
    np.testing.assert_array_equal(check_log_weights(None, 3), np.zeros(3))
