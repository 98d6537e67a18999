"""Checks of the model, on posteriors made by hand: the truth is as good as a draw from the posterior."""

import math
import warnings

import numpy as np
import pytest

import coaltree as ct
from benchmarks.violations import diffused, noisy
from coaltree.model.process.coalescent import simulate_tree
from coaltree.posterior.diagnostics.check_statistics import LARGE, compare_with_replicates
from coaltree.posterior.of_trees import posterior_of_trees


def true_posterior(seed, n=40, d=3, *, level=0.1, covariance=None, change=None, **extra):
    """A table of the model with its true tree as the only draw, fitted with the true noise."""
    rng = np.random.default_rng(seed)
    tree = simulate_tree(n, rng)
    X = noisy(diffused(tree, d, rng), rng, level)
    X = X if change is None else change(X)
    covariance = ct.Fixed(np.eye(d)) if covariance is None else covariance
    return posterior_of_trees(tree.children[None], tree.times[None], X=X, covariance=covariance, noise=level, **extra)


@pytest.mark.parametrize("n_tables", [pytest.param(80, marks=pytest.mark.slow), 30])
def test_check_p_values_are_uniform_if_the_model_holds(n_tables):
    """For a single draw from the posterior this is exact, whatever the statistic."""
    found = [true_posterior(seed, n=20).check(n_trees=1, random_state=seed + 1) for seed in range(n_tables)]
    assert [one.name for one in found[0]] == ["tails", "outliers", "skewness", "correlation"]
    p = np.array([[one.p_value for one in checks] for checks in found])
    for level in (0.1, 0.5):
        share = (p <= level).mean(axis=0)
        assert np.all(np.abs(share - level) < 4.0 * math.sqrt(level * (1 - level) / len(p)))


@pytest.mark.parametrize(
    ("name", "how", "words"),
    [
        (
            "tails",
            {"change": lambda X: X + 0.5 * np.random.default_rng(9).standard_t(1.5, X.shape)},
            "larger than the model allows",
        ),
        ("skewness", {"change": lambda X: np.exp(0.7 * X)}, "varies more where its values are high"),
        ("correlation", {"change": lambda X: X @ [[1, 0.9, 0], [0, 0.4, 0], [0, 0, 1]]}, "column 0 and column 1 most"),
        (  # three factors with a third of the variance: no two columns are much alike, but sixty count as twenty
            "correlation",
            {
                "d": 60,
                "change": lambda X: X + 0.4 * X[:, :3] @ np.random.default_rng(9).standard_normal((3, 60)),
                "covariance": ct.Spherical(amplitude=1.5),
            },
            "columns vary together, column",
        ),
    ],
)
def test_check_finds_and_names_what_is_wrong(name, how, words):
    found = true_posterior(1, n=120, **how).check()
    assert found[name].verdict == "wrong"
    assert words in found[name].sentence
    assert found[name] in found.wrong
    assert found[name].sentence in found.headline and "too high" in found.headline
    assert found[name].sentence in str(found)
    assert found.concern is found[name]
    assert found[name].size > LARGE[name] and found[name].excess > 1.0


def test_check_has_no_concern_where_a_violation_is_small_however_small_its_p_value():
    def mixed(share):
        return lambda X: X @ np.linalg.cholesky((1.0 - share) * np.eye(3) + share).T

    slight, strong = (true_posterior(1, n=1500, change=mixed(share)).check() for share in (0.15, 0.7))
    assert slight["correlation"].p_value == strong["correlation"].p_value
    assert slight["correlation"].verdict == "wrong"
    assert 0.0 < slight["correlation"].size < LARGE["correlation"]
    assert slight.concern is None
    assert slight.headline == ("The data differ from the model in correlation, too little to matter to supports.")
    assert strong.concern.name == "correlation"


def test_check_finds_outliers_by_the_tree():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    caterpillar = np.array([[0, 1], *([40 + k, k + 2] for k in range(38))])
    times = simulate_tree(40, rng).times
    post = posterior_of_trees(caterpillar[None], times[None], X=X, covariance=ct.Fixed(np.eye(2)))
    found = post.check()["outliers"]
    assert found.verdict == "wrong"
    assert "39, 38, 37" in found.sentence


def test_compare_with_replicates_is_calibrated_for_the_mean_over_draws():
    """S = a + b, a the same for all draws and b their own: the variance of its mean is that of a, plus what is kept."""
    rng = np.random.default_rng(0)
    made, weights = rng.standard_normal((500, 1)), np.full(50, 0.02)
    z = []
    for _ in range(1000):
        seen = math.sqrt(0.5) * rng.standard_normal() + math.sqrt(0.5) * rng.standard_normal((50, 1))
        z.append(compare_with_replicates(seen, made, weights).z[0])
    # Three quarters of the variance among the draws count: 1 - 0.75 / 2 is left, of which 0.5 is there, and a little.
    assert np.var(z) == pytest.approx(0.51 / (1 - 0.75 * 0.49), rel=0.2)
    usual = [
        compare_with_replicates(rng.standard_normal((50, 1)) * 0.0 + x, made, weights).z[0]
        for x in rng.standard_normal(1000)
    ]
    assert np.var(usual) == pytest.approx(1.0, rel=0.2)


def test_check_says_why_it_cannot():
    assert "there are 9 different rows, and it takes 10" in true_posterior(0, n=9).check().headline
    assert str(true_posterior(0, n=9).check()).startswith("The model cannot be checked")
    post = true_posterior(0)
    with pytest.raises(ct.InputError, match="does not include its data"):
        posterior_of_trees(post.draws.children, post.draws.times).check()
    with pytest.raises(ct.InputError, match="there is no check 'nonsense'; there are tails, outliers"):
        post.check()["nonsense"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        at_once = posterior_of_trees(
            post.draws.children, np.zeros_like(post.draws.times), X=post.model.X, covariance=post.model.covariance
        )
        assert "joins different rows at time 0" in at_once.check().headline
