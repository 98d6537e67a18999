"""Noise at the leaves: reading it, its variances and densities, replicates and scales, against dense transcriptions."""

import math

import numpy as np
import pandas as pd
import pytest

import coaltree as ct
from coaltree import InputError, Noise
from coaltree.model.covariance import LogNormal
from coaltree.model.data.duplicates import Distinct
from coaltree.model.data.leaves import read_rows
from coaltree.model.data.replicates import read_groups, replicates_of
from coaltree.model.data.table import Table
from coaltree.model.process import noise as model_noise
from coaltree.model.process.coalescent import simulate_tree
from coaltree.model.process.diffusion import contrasts, log_likelihood
from coaltree.model.process.leaf_messages import begin_walk, expected_var, next_leaf
from coaltree.model.process.student_scales import ScalesOnTree, scale_mode
from coaltree.model.process.whitened import make_problem
from tests.reference import likelihood as reference

PHI = np.array([[1.0, 0.4], [0.4, 2.0]])
GROUPS = np.array([0, 1, 1, 2, 0, 1, 3])


def a_tree(n, seed=0):
    tree = simulate_tree(n, np.random.default_rng(seed))
    return tree.children, tree.times


# --- what users write ---------------------------------------------------------------------------------------------


def test_noise_is_read_from_numbers_names_and_objects():
    assert model_noise.as_noise(0.3) == Noise(0.3)
    assert model_noise.as_noise("learn") == Noise("learn")
    assert model_noise.as_noise("student") == Noise("learn", "student")
    assert not Noise(0.3).is_random and Noise().is_random and Noise(0.3, "student").is_random


@pytest.mark.parametrize("bad", ["heavy", -0.1, math.nan, math.inf, None, True, [0.1], 1j, Noise])
def test_a_bad_noise_is_refused_in_a_sentence(bad):
    with pytest.raises(InputError, match='noise must be "learn"'):
        model_noise.as_noise(bad)


@pytest.mark.parametrize(
    "settings",
    [
        {"tails": "cauchy"},
        {"df": 0},
        {"df": "4"},
        {"prior": 0.1},
        {"level": 0.0, "tails": "student"},
        {"prior": LogNormal([0.1, 0.2], 2.0)},
    ],
)
def test_bad_settings_of_a_noise_are_refused(settings):
    with pytest.raises(InputError):
        Noise(**settings)


@pytest.mark.parametrize("bad", [[1.0, 2.0], [1.0, 0.0, 1.0], [1.0, math.nan, 1.0], ["a", "b", "c"], 1.0])
def test_bad_errors_are_refused(bad):
    with pytest.raises(InputError, match="errors"):
        model_noise.check_errors(bad, 3)


@pytest.mark.parametrize(
    "bad",
    [
        ["a", "b"],
        "abc",
        3,
        ["a", None, "b"],
        ["a", float("nan"), "b"],
        ["a", np.datetime64("NaT"), "b"],
        ["a", pd.NA, "b"],
        ["a", "", "b"],
        ["a"] * 3,
        np.arange(6).reshape(3, 2),
    ],
)
def test_bad_groups_are_refused(bad):
    with pytest.raises(InputError, match="groups"):
        read_groups(bad, 3)


def test_groups_are_leaves_in_order_of_first_sight():
    leaf, labels = read_groups(["b", "a", "b", 3], 4)
    assert leaf.tolist() == [0, 1, 0, 2] and labels == ("b", "a", "3")


# --- variances and priors -----------------------------------------------------------------------------------------


def test_the_prior_is_cut_off_where_values_are_rounded():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    assert model_noise.rounding_share(X) < 1e-6
    rounded = np.round(X, 1)
    assert model_noise.rounding_share(rounded) == pytest.approx(
        0.1**2 / 12 / rounded.var(axis=0, ddof=1).mean(), rel=0.1
    )
    model = model_noise.noise_model(Noise(), rounded)
    assert model_noise.log_level_density(model, model.log_floor - 1e-9) == -math.inf
    given = model_noise.noise_model(Noise(prior=LogNormal(0.1, 2.0)), rounded)
    assert given.log_floor == -math.inf


def test_the_log_prior_is_the_density_of_level_and_scales():
    from scipy import stats

    model = model_noise.noise_model(Noise("learn", "student", df=5.0, prior=LogNormal(0.3, 0.7)), np.zeros((3, 2)))
    draw = model_noise.NoiseDraw(0.2, np.array([0.5, 1.5, 4.0]))
    other = model_noise.NoiseDraw(0.7, np.array([0.9, 0.2, 2.0]))

    def exact(draw):
        level = stats.lognorm(0.7, scale=0.3).logpdf(draw.level)
        return level + stats.invgamma(2.5, scale=2.5).logpdf(draw.tail_scale).sum()

    assert model_noise.log_prior(model, draw) - model_noise.log_prior(model, other) == pytest.approx(
        exact(draw) - exact(other)
    )


# --- unequal variances, replicates --------------------------------------------------------------------------------


def test_likelihood_with_unequal_variances_equals_the_dense_one():
    rng = np.random.default_rng(1)
    children, times = a_tree(6)
    X, variances = rng.standard_normal((6, 2)), rng.exponential(size=6)
    problem = make_problem(X, ct.Fixed(PHI), variances)
    assert problem.log_likelihood(children, times) == pytest.approx(
        reference.log_likelihood(children, times, X, PHI, variances), rel=1e-10
    )


def rows_covariance(children, times, leaf, variances):
    """Of the rows of leaves that diffused from the root."""
    leaves = times[-1] - reference.cophenetic(children, times)
    return leaves[np.ix_(leaf, leaf)] + np.diag(variances)


def test_likelihood_of_replicates_equals_the_dense_one():
    rng = np.random.default_rng(2)
    children, times = a_tree(4)
    X, variances = rng.standard_normal((7, 2)), rng.exponential(size=7) + 0.1
    difference = np.hstack([-np.ones((6, 1)), np.eye(6)])
    covariance = np.kron(difference @ rows_covariance(children, times, GROUPS, variances) @ difference.T, PHI)
    y = (X[1:] - X[0]).ravel()
    exact = -0.5 * (
        len(y) * math.log(2 * math.pi) + np.linalg.slogdet(covariance)[1] + y @ np.linalg.solve(covariance, y)
    )
    replicates = replicates_of(GROUPS)
    assert make_problem(X, ct.Fixed(PHI), variances, replicates=replicates).log_likelihood(
        children, times
    ) == pytest.approx(exact, rel=1e-10)
    whitener = ct.Fixed(PHI).whitener(2)
    rows = replicates.expand(children, times)
    assert log_likelihood(*rows, whitener.whiten(X), 2, whitener.log_det, variances) == pytest.approx(exact, rel=1e-10)
    assert contrasts(*rows, X, variances).shape == (6, 2)


def test_leaves_of_replicates_are_their_weighted_means():
    rng = np.random.default_rng(3)
    X, variances = rng.standard_normal((7, 2)), rng.exponential(size=7) + 0.1
    problem = make_problem(X, ct.Fixed(np.eye(2)), variances, replicates=replicates_of(GROUPS))
    for leaf in range(4):
        weights = 1.0 / variances[leaf == GROUPS]
        assert problem.leaf_vars()[leaf] == pytest.approx(1.0 / weights.sum())
        mean = weights @ (X - X.mean(axis=0))[leaf == GROUPS] / weights.sum()
        assert problem.W[leaf] == pytest.approx(mean)


def test_a_walk_meets_every_leaf_with_what_the_rest_says_of_it():
    rng = np.random.default_rng(4)
    children, times = a_tree(5)
    X, variances = rng.standard_normal((5, 2)), rng.exponential(size=5)
    walk = begin_walk(children, times, X, variances)
    covariance = times[-1] - reference.cophenetic(children, times) + 1e7  # a root that is all but flat
    seen = []
    while (i := next_leaf(walk)) >= 0:
        seen.append(i)
        others = np.delete(np.arange(5), i)
        S = covariance[np.ix_(others, others)] + np.diag(variances[others])
        gain = np.linalg.solve(S, covariance[others, i])
        assert walk.outward[walk.depth[0]] == pytest.approx(gain @ X[others], abs=1e-5)
        assert expected_var(walk) == pytest.approx(covariance[i, i] - gain @ covariance[others, i], abs=1e-5)
        X[i] = walk.mean[i] = rng.standard_normal(2)  # the leaves met later must see what has changed
        variances[i] = walk.var[i] = rng.exponential()
    assert sorted(seen) == list(range(5))


# --- scales of Student's tails ------------------------------------------------------------------------------------


def test_scales_are_drawn_from_their_joint_posterior():
    """Two rows far from the rest: moments of log s against quadrature over both scales."""
    children, times = a_tree(3, seed=5)
    W = np.array([[0.0, 0.0], [0.3, -0.2], [4.0, 3.0]])
    unit, half_df = np.array([0.2, 0.1, 0.3]), 2.0
    grid = np.linspace(-4.0, 8.0, 25)
    log_p = np.empty((25, 25, 25))
    for index in np.ndindex(25, 25, 25):
        y = grid[list(index)]
        log_p[index] = -half_df * np.sum(y + np.exp(-y)) + log_likelihood(children, times, W, 2, 0.0, unit * np.exp(y))
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    exact = np.array([(p.sum(axis=tuple({0, 1, 2} - {i})) @ grid) for i in range(3)])
    rng, scales, logs = np.random.default_rng(6), np.ones(3), []
    on_tree = ScalesOnTree(children, times)
    for _ in range(4000):
        scales = on_tree.draw(W, 2, unit, scales, half_df, rng)
        logs.append(np.log(scales))
    batches = np.array(logs).reshape(40, 100, 3).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / math.sqrt(40)
    assert np.all(np.abs(batches.mean(axis=0) - exact) < 4 * error)
    wrong = exact + np.array([0.0, 0.0, 0.3])
    assert np.any(np.abs(batches.mean(axis=0) - wrong) > 4 * error)


@pytest.mark.parametrize(
    ("v", "unit", "d", "half_df", "eps"), [(1, 0.1, 4, 2, 3), (0.1, 1, 30, 2, 900), (1, 1e-9, 2, 1, 1)]
)
def test_the_mode_of_a_scale_is_one(v, unit, d, half_df, eps):
    y, spread = scale_mode(float(v), float(unit), 0.5 * d, float(half_df), float(eps))

    def log_density(y):
        total = v + unit * math.exp(y)
        return -half_df * (y + math.exp(-y)) - 0.5 * d * math.log(total) - 0.5 * eps / total

    assert log_density(y) >= max(log_density(y - 1e-3), log_density(y + 1e-3)) - 1e-9
    assert 0.0 < spread < 2.0


# --- rows and leaves ----------------------------------------------------------------------------------------------


def table_of(X):
    return Table(np.asarray(X, dtype=float), tuple(f"r{i}" for i in range(len(X))), None)


def test_copies_are_merged_under_a_learnt_noise_and_stand_apart_under_a_fixed_one():
    X = [[0.0], [1.0], [0.0]]
    assert len(read_rows(table_of(X), Noise("learn"), quiet=True).kept) == 2
    assert len(read_rows(table_of(X), Noise(0.1), quiet=True).kept) == 3
    assert read_rows(table_of(X), Noise("learn"), quiet=True).places.tolist() == [0, 1, 0]


def test_groups_of_one_row_that_are_equal_are_copies_and_replicates_are_not():
    X = [[0.0], [1.0], [0.0], [5.0], [5.0]]
    rows = read_rows(table_of(X), Noise("learn"), ["a", "b", "c", "d", "d"], quiet=True)
    assert rows.labels == ("a", "b", "c", "d")
    assert rows.distinct.first.tolist() == [0, 1, 3] and rows.distinct.group.tolist() == [0, 1, 0, 2]
    assert rows.kept.tolist() == [0, 1, 3, 4] and rows.places.tolist() == [0, 1, 0, 2, 3]
    assert rows.replicates.n == 3
    assert isinstance(rows.distinct, Distinct)


@pytest.mark.parametrize(
    ("settings", "words"),
    [({"groups": ["a", "a", "b"]}, "noise"), ({"errors": [1.0, 2.0, 1.0]}, "errors")],
)
def test_groups_and_errors_need_a_noise(settings, words):
    with pytest.raises(InputError, match=words):
        ct.fit([[0.0], [1.0], [2.0]], noise=0.0, progress=False, **settings)


def test_a_level_at_the_floor_of_its_prior_has_a_density():
    model = model_noise.noise_model(Noise(), np.zeros((2, 1)))
    for log_floor in np.random.default_rng(0).uniform(-1.0, 0.0, 500):
        at_floor = model._replace(log_floor=log_floor)
        level = model_noise.first_draw(at_floor._replace(log_median=-9.0)).level
        assert model_noise.log_level_density(at_floor, math.log(level)) > -math.inf
    assert model_noise.log_level_density(at_floor, log_floor - 1e-9) == -math.inf
