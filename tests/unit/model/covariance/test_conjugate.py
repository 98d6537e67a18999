"""Covariances with conjugate priors."""

import numpy as np
import pytest

from coaltree.errors import InputError
from coaltree.model.covariance import Diagonal, Fixed, Full, InverseGamma, Scaled, Spherical
from tests.refusals import assert_refused


def test_adapt_takes_missing_values_and_constant_columns():
    X = np.random.default_rng(6).normal(size=(40, 3))
    X[:, 1] = 5.0
    X[3, 0] = np.nan
    adapted = Diagonal().adapt(X)
    assert adapted.variances[0] == pytest.approx(np.nanvar(X[:, 0], ddof=1))
    assert adapted.variances[1] > 0
    assert Spherical().adapt(np.full((3, 2), 7.0)).amplitude == 1.0


def test_conjugate_priors_are_in_the_unit_of_each_column():
    X = np.random.default_rng(7).normal(size=(30, 4))
    units = np.array([1e-9, 1.0, 1e5, 1e9])
    for family in (Scaled(), Diagonal(), Full()):
        one, other = family.adapt(X), family.adapt(X * units)
        np.testing.assert_allclose(other.matrix(4), one.matrix(4) * np.outer(units, units), rtol=1e-12)
        assert other.log_prior() == pytest.approx(
            one.log_prior() - {Scaled: 0, Diagonal: 2, Full: 5}[type(family)] * np.log(units).sum(), rel=1e-12
        )


@pytest.mark.parametrize("amplitude", [1.0, 2.5])
def test_full_whitens_with_the_factor_of_what_was_drawn_last(amplitude):
    rng = np.random.default_rng(8)
    covariance = Full(amplitude=amplitude).adapt(rng.normal(size=(30, 3)))
    for _ in range(3):
        for draw in (covariance.scale_move(10.0, 20, rng)[1], covariance.update(covariance.statistics(np.eye(3)), rng)):
            covariance.whitener(3)
            whitener = draw.whitener(3)
            root = whitener.color(np.eye(3))
            np.testing.assert_allclose(root.T @ root, draw.matrix(3), rtol=1e-12)
            assert whitener.log_det == pytest.approx(np.linalg.slogdet(draw.matrix(3))[1])
            assert not draw.Phi.flags.writeable
            covariance = draw


def test_scaled_has_the_variances_of_the_columns_and_one_parameter():
    X = np.random.default_rng(8).normal(size=(50, 3)) * [1.0, 10.0, 1e-4]
    X[4, 1] = np.nan
    adapted = Scaled().adapt(X)
    np.testing.assert_allclose(adapted.variances, np.nanvar(X, axis=0, ddof=1), rtol=1e-12)
    assert adapted.theta == {"amplitude": 1.0}
    assert (adapted.priors["amplitude"].shape, adapted.priors["amplitude"].scale) == (0.5, 0.5)
    np.testing.assert_allclose(Scaled(learn=False).adapt(X).variances, adapted.variances)
    given = Scaled([1.0, 2.0, 4.0]).adapt(X)
    np.testing.assert_array_equal(given.variances, [1.0, 2.0, 4.0])
    assert given.amplitude == pytest.approx(np.mean(adapted.variances / given.variances))
    with pytest.raises(InputError, match="no parameter 'variances'"):
        Scaled(learn="variances")
    with pytest.raises(InputError, match="variances is for 3 columns"):
        given.check(4)


not_definite = np.array([[1.0, 2.0], [2.0, 1.0]])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Fixed(not_definite), "positive definite"),
        (lambda: Fixed([[1.0, 0.0]]), "square"),
        (lambda: Fixed([[1.0, np.nan], [np.nan, 1.0]]), "finite"),
        (lambda: Fixed([[1.0, 0.5], [0.0, 1.0]]), "symmetric"),
        (lambda: Full(not_definite), "positive definite"),
        (lambda: Full(priors={"Phi": InverseGamma(1, 1)}), "InverseWishart"),
        (lambda: Full(learn=("Phi", "amplitude")), "not both"),
        (lambda: Diagonal([1.0, -1.0]), "positive"),
        (lambda: Diagonal([[1.0]]), "1-d"),
        (lambda: Diagonal(priors={"variances": InverseGamma([1, 1, 1], 1)}).check(2), "2 columns"),
    ],
)
def test_conjugate_covariances_refuse_bad_input_in_one_sentence(make, says):
    assert_refused(make, says)
