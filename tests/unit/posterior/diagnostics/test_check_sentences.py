"""What the results of model checks mean."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.posterior.diagnostics.check_sentences import as_option, explain
from coaltree.posterior.diagnostics.check_statistics import Result
from tests.posteriors import random_posterior


def result(z, worst=0):
    z = np.asarray(z, float)
    return Result(0.001, worst, z, z / 5, np.zeros(len(z)), np.ones(len(z)))


@pytest.mark.parametrize(
    ("name", "n", "covariance", "option"),
    [
        ("correlation", 12, ct.Diagonal(), 'covariance="full"'),
        ("correlation", 7, ct.Diagonal(), 'covariance="components"'),
        ("correlation", 7, ct.SquaredExponential(inputs=np.arange(3.0)), ""),
    ],
)
def test_explain_gives_a_covariance_that_has_rows_enough(name, n, covariance, option):
    X = np.random.default_rng(0).standard_normal((n, 3))
    post = random_posterior(0, n=n, X=X, covariance=covariance)
    assert explain(name, post, result([5.0, 0.0, 0.0, 1.0]), is_fine=False)[1] == option


@pytest.mark.parametrize(
    ("argument", "option"),
    [
        ('noise="student"', "--noise student"),
        ("transform=ct.Preprocessor(log=True)", "--log all"),
        ("transform=ct.Preprocessor(log=['a b', 'c'])", "--log 'a b' --log c"),
    ],
)
def test_as_option_is_what_the_command_takes(argument, option):
    assert as_option(argument) == option


@pytest.mark.parametrize(
    ("shift", "argument", "option"),
    [
        (0, "transform=ct.Preprocessor(log1p=True)", "--log1p all"),  # counts: all of them
        (0.5, "transform=ct.Preprocessor(log=[0])", "--log 0"),
        (-1, "", "--"),
    ],
)
def test_skewed_columns_are_pointed_to_their_logarithm(shift, argument, option):
    X = np.arange(21.0).reshape(7, 3) % 5 + shift
    post = random_posterior(0, n=7, X=X, covariance=ct.Diagonal())
    advice = explain("skewness", post, result([5.0, 0.0, 0.0, 0.0, 0.0, 0.0]), is_fine=False)[1]
    assert (advice, as_option(advice)) == (argument, option)


def test_many_skewed_columns_are_not_listed_in_the_option():
    X = np.arange(84.0).reshape(7, 12) % 5 + 0.5
    post = random_posterior(0, n=7, X=X, covariance=ct.Diagonal())
    advice = explain("skewness", post, result([5.0] * 11 + [0.0] * 13), is_fine=False)[1]
    assert as_option(advice) == "--log all"
    few = random_posterior(0, n=7, X=np.tile(X, 2), covariance=ct.Diagonal())
    advice = explain("skewness", few, result([6.0] * 10 + [5.0] + [0.0] * 37), is_fine=False)[1]
    assert as_option(advice) == " ".join(f"--log {j}" for j in range(10))
