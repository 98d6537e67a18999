"""What the results of model checks mean."""

import numpy as np
import pandas as pd
import pytest

import coaltree as ct
from coaltree.posterior.diagnostics.check_advice import Advice, explain
from coaltree.posterior.diagnostics.check_statistics import Result
from tests.fits import quick_fit
from tests.posteriors import grouped_posterior, random_posterior


def result(z, worst=0):
    z = np.asarray(z, float)
    return Result(0.001, worst, z, z / 5, np.zeros(3), np.zeros(3), np.zeros(len(z)), np.ones(len(z)))


def data_posterior(**extra):
    X = np.exp(np.random.default_rng(0).standard_normal((7, 3)))
    return random_posterior(0, X=X, covariance=ct.Diagonal(), **extra)


def test_advice_names_arguments_or_options():
    advice = Advice("outliers bend the tree", "look at these rows", 'noise="student"', "--noise student")
    assert str(advice) == 'look at these rows; try noise="student"'
    assert advice.to_text(options=True) == "look at these rows; try --noise student"
    assert Advice("why", "", "noise=ct.Noise(df=2)").to_text(options=True) == "try noise=ct.Noise(df=2) in Python"
    assert Advice("why", "look").to_text(options=True) == "look"


@pytest.mark.parametrize(
    "name", ["noise", "tails", "outliers", "skewness", "spread of columns", "correlation", "clades"]
)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_explain_says_what_to_do_in_python_and_on_the_command_line(name, sign):
    z = sign * np.array([5.0, 4.0, 1.0, 1.0])
    for post in (data_posterior(), grouped_posterior()):
        seen, advice = explain(name, post, result(z), is_fine=False)
        assert seen and advice.why and advice.to_text()
        assert "--" not in str(advice)
        assert not advice.option or (advice.argument and advice.option in advice.to_text(options=True))
        fine, nothing = explain(name, post, result(z), is_fine=True)
        assert fine != seen and nothing is None


@pytest.mark.parametrize(
    ("z", "argument", "option"),
    [
        (5.0, 'noise=ct.Noise(tails="student", df=2)', ""),
        (-5.0, 'noise=ct.Noise(tails="student", df=16)', "--noise learn"),
    ],
)
def test_explain_tails_of_student_noise_changes_its_degrees_of_freedom(z, argument, option):
    _, advice = explain("tails", grouped_posterior(), result([z, 0, 0]), is_fine=False)
    assert (advice.argument, advice.option) == (argument, option)


def test_explain_skewness_counts_columns_and_asks_for_logarithms_of_positive_ones():
    seen, advice = explain("skewness", data_posterior(), result([9, 4, 1, 0, 0, 0]), is_fine=False)
    assert seen == "column 0 (and 1 more) varies more where its values are high"
    assert str(advice) == 'try transform={"log": [0, 1]}'
    assert advice.to_text(options=True) == "try --log 0 --log 1"
    seen, advice = explain("skewness", data_posterior(), result([0, 0, 0, 0, -9, 0], 4), is_fine=False)
    assert seen == "column 1 has a long tail of low values"
    assert str(advice) == "try the square or the ranks of column 1"
    _, advice = explain("skewness", data_posterior(), result([9, 4, 3, 0, 0, 0]), is_fine=False)
    assert (advice.argument, advice.option) == ('transform="log"', "--log all")
    named = data_posterior(columns=["a b", "c", "d"])
    _, advice = explain("skewness", named, result([9, 0, 0, 0, 0, 0]), is_fine=False)
    assert (advice.argument, advice.option) == ("transform={\"log\": ['a b']}", "--log 'a b'")


def test_explain_skewness_of_many_columns_is_one_word():
    rng = np.random.default_rng(0)
    X = np.exp(rng.standard_normal((40, 6)))
    z = result([9, 8, 7, 6, 0, 0, *[0] * 6])

    def advice(X, columns, **transform):
        return explain(
            "skewness", quick_fit(pd.DataFrame(X, columns=columns), "diagonal", **transform), z, is_fine=False
        )[1]

    found = advice(X, [*"abcdef"])
    assert (found.argument, found.option) == ('transform={"log": "skewed"}', "--log skewed")
    assert advice(X, [*"abcde", "skewed"]).option == "--log a --log b --log c --log d"  # the word is a column's name
    X[:, 0] = 9.0 + rng.standard_normal(
        40
    )  # varies more where values are high, but has no tail: the word is not for it
    assert advice(X, [*"abcdef"]).option == "--log a --log b --log c --log d"
    again = advice(np.exp(rng.standard_normal((40, 6))), [*"abcdef"], transform={"log": "skewed"})
    assert "skewed" not in again.to_text(options=True)


def test_explain_skewness_never_goes_in_circles():
    X = np.exp(np.random.default_rng(0).standard_normal((12, 3)))
    X[:, 1] = np.arange(12) % 2
    skewed = result([9, 0, 0, 0, 0, 0])
    logged = quick_fit(X, "diagonal", transform={"log": [0]})
    _, advice = explain("skewness", logged, skewed, is_fine=False)
    assert str(advice) == "try the ranks of column 0 in place of its logarithm"
    _, advice = explain("skewness", logged, result([-9, 0, 0, 0, 0, 0]), is_fine=False)
    assert str(advice) == "try the square root of column 0 in place of its logarithm"
    for z in (9, -9):  # of a column of two values
        _, advice = explain("skewness", logged, result([0, z, 0, 0, 0, 0], 1), is_fine=False)
        assert str(advice).startswith("no function helps: column 1 has two values")
        _, advice = explain("skewness", logged, result([z / 2, z, 0, 0, 0, 0], 1), is_fine=False)
        assert "of column 0 in place of its logarithm" in str(advice)  # the worst that can be changed
    _, advice = explain("skewness", logged, result([2, 0, 9, 0, 0, 0], 2), is_fine=False)
    assert advice.argument == 'transform={"log": [2]}'  # of the one that was not taken yet
    _, advice = explain("skewness", logged, result([9, 0, 4, 0, 0, 0]), is_fine=False)
    assert advice.argument == 'transform={"log": [2]}'  # also where one whose logarithm was taken is worse
    below = data_posterior()
    negative = random_posterior(0, X=below.X - 1.0, covariance=ct.Diagonal())
    _, advice = explain("skewness", negative, skewed, is_fine=False)
    assert str(advice) == "try the square root or the ranks of column 0"


@pytest.mark.parametrize("d", [8, 4])
def test_explain_skewness_without_logarithms_resamples_many_columns(d):
    X = np.random.default_rng(0).exponential(size=(7, d))
    X[:2] = 0.0
    post = random_posterior(0, X=X, covariance=ct.Diagonal())
    _, advice = explain("skewness", post, result([9.0, *np.zeros(2 * d - 1)]), is_fine=False)
    assert advice.action == "try the square root or the ranks of column 0"
    assert advice.option == ("--resample columns" if d == 8 else "")


@pytest.mark.parametrize(("d", "option"), [(8, "--resample columns"), (4, "")])
@pytest.mark.parametrize("name", ["tails", "outliers"])
def test_explain_tails_and_outliers_of_student_noise_resamples_many_columns(name, d, option):
    X = np.random.default_rng(0).standard_normal((7, d))
    scales = np.ones((len(random_posterior(0)), 7))
    noise = ct.Noise(0.1, tails="student")
    post = random_posterior(0, X=X, covariance=ct.Diagonal(), noise=noise, tail_scale=scales)
    _, advice = explain(name, post, result([5.0, 9.0, *np.zeros(d)], 1), is_fine=False)
    assert advice.option == option
    assert advice.action.startswith("look at")


@pytest.mark.parametrize(
    ("n", "columns", "option"),
    [
        (12, ["a", "b", "c"], "--covariance full"),
        (7, ["1", "2.5", "4"], "--covariance squared_exponential --inputs names"),
        (7, ["1", "4", "2.5"], "--resample columns"),
        (7, ["0", "1", "2"], "--resample columns"),
        (7, ["1", "2", "3"], "--resample columns"),
        (7, ["2", "3", "4"], "--covariance squared_exponential --inputs names"),
        (7, ["a", "b", "c"], "--resample columns"),
        (7, None, "--resample columns"),
    ],
)
def test_explain_correlation_gives_the_one_option_that_helps(n, columns, option):
    X = np.random.default_rng(0).standard_normal((n, 3))
    post = random_posterior(0, n=n, X=X, columns=columns, covariance=ct.Diagonal())
    _, advice = explain("correlation", post, result([5.0, 0.0, 0.0, 9.0]), is_fine=False)
    assert advice.to_text(options=True) == f"try {option}"


@pytest.mark.parametrize(
    ("covariance", "gaps", "option"),
    [
        (ct.Diagonal(), False, "--resample columns"),
        (ct.Scaled(), True, "--resample columns"),
        (ct.Diagonal(), True, "--covariance scaled --resample columns"),
        (ct.Full(), False, ""),
        (ct.SquaredExponential(inputs=np.arange(8.0)), False, ""),
    ],
)
def test_explain_resamples_only_columns_that_can_be_resampled(covariance, gaps, option):
    X = np.random.default_rng(0).standard_normal((7, 8))
    X[:, 0] = np.arange(7) % 2
    X[3, 4] = np.nan if gaps else X[3, 4]
    scales = np.ones((len(random_posterior(0)), 7))
    more = {"imputed": np.zeros((len(scales), 1))} if gaps else {}
    noise = ct.Noise(0.1, tails="student")
    post = random_posterior(0, X=X, covariance=covariance, noise=noise, tail_scale=scales, **more)
    for name in ("tails", "outliers"):
        _, advice = explain(name, post, result([5.0, 9.0, *np.zeros(8)], 1), is_fine=False)
        assert advice.option == option
    _, advice = explain("skewness", post, result([9.0, *np.zeros(15)]), is_fine=False)  # of a column of two values
    assert advice.option == option
    _, advice = explain("correlation", post, result([5.0, *np.zeros(28)]), is_fine=False)
    assert advice.option == option


@pytest.mark.parametrize(
    ("n", "covariance", "text"),
    [
        (12, ct.Scaled(), "try --covariance full"),
        (7, ct.Scaled(), "try --covariance diagonal"),
        (7, ct.SquaredExponential(inputs=np.arange(3.0)), "look at this column"),
    ],
)
def test_explain_spread_gives_one_covariance_that_has_rows_enough(n, covariance, text):
    X = np.random.default_rng(0).standard_normal((n, 3))
    post = random_posterior(0, n=n, X=X, covariance=covariance)
    _, advice = explain("spread of columns", post, result([5.0, 0.0, 0.0]), is_fine=False)
    assert advice.to_text(options=True) == text
