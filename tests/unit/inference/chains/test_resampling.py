"""Resampled columns: the power likelihood of each chain, what is refused, and the same bits however it is run."""

import joblib
import numpy as np
import pytest

import coaltree as ct
from coaltree.errors import InputError, InterruptedWarning
from coaltree.inference.chains import resampling
from coaltree.inference.chains.chain import problem_of
from coaltree.inference.chains.resampling import draw_weights, drift, models_of_chains, weighted, weighted_covariance
from coaltree.inference.control import checkpoint, run
from coaltree.inference.settings import RunSettings
from coaltree.model.covariance import Diagonal, Scaled, Spherical
from coaltree.model.covariance.conjugate import WeightedDiagonal
from coaltree.model.data.missing import missing_entries
from coaltree.model.draws import State
from coaltree.model.model import Model
from coaltree.model.process.diffusion import squared_distances
from coaltree.model.process.noise import Noise, first_draw, noise_model
from coaltree.model.process.whitened import make_problem
from coaltree.samplers.regraft.regraft import Regraft
from tests.fits import assert_same, data, pressing_ctrl_c, quick_fit, with_missing
from tests.refusals import assert_refused

SETTINGS = RunSettings(Regraft(), 4, 2, 5, resample="columns")


def chain_data(X, covariance, noise=None):
    noise = noise_model(Noise(tails="student") if noise is None else noise, X)
    return Model(X, covariance.adapt(X), noise, missing=missing_entries(X))


def resampled(X, *args, **options):
    return quick_fit(X, *args, **({"resample": "columns", "n_resamples": 4, "sampler": "regraft"} | options))


def test_draw_weights_sum_to_the_columns_and_do_not_depend_on_how_many_chains_there_are():
    given = chain_data(data(8, 6), Spherical())
    weights = draw_weights(given, SETTINGS, 3)
    assert weights.shape == (5, 6)
    assert (weights > 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 6.0)
    np.testing.assert_array_equal(weights[:2], draw_weights(given, SETTINGS._replace(n_chains=2), 3))
    assert not np.array_equal(weights, draw_weights(given, SETTINGS, 4))


def test_draw_weights_are_counts_where_cells_are_missing():
    weights = draw_weights(chain_data(with_missing(data(8, 6)), Spherical()), SETTINGS, 3)
    np.testing.assert_array_equal(weights, weights.round())
    np.testing.assert_array_equal(weights.sum(axis=1), 6.0)


def test_draw_weights_refuses_rows_that_agree_in_every_draw(monkeypatch):
    X = with_missing(data(8, 6))
    monkeypatch.setattr(resampling, "agreeing_pair", lambda _: (0, 1))
    with pytest.raises(InputError, match="too many values are missing"):
        draw_weights(chain_data(X, Spherical()), SETTINGS, 0)
    draw_weights(chain_data(X, Spherical(), Noise(0.1)), SETTINGS, 0)  # a fixed noise keeps them apart


@pytest.mark.parametrize("covariance", [Spherical(), Scaled(), Diagonal()], ids=lambda c: type(c).__name__)
def test_weighted_data_have_the_power_of_each_columns_likelihood(covariance):
    X = data(9, 4) * [1.0, 3.0, 0.2, 10.0]
    given = chain_data(X, covariance)
    own = models_of_chains(given, SETTINGS, 1)[2]
    chain_rows, found, expected, plain = weighted(own), [], [], []
    for seed, factor in ((0, 1.0), (1, 2.5)):  # constants apart: the fixed variances of `Scaled` are some
        tree = ct.simulate(9, 4, random_state=seed)[1]
        merges = tree.children, tree.times
        noise = first_draw(given.noise)._replace(level=0.3 * factor, tail_scale=np.linspace(0.5, 4.0, 9) ** factor)
        theta = {name: np.asarray(value) * factor for name, value in given.covariance.theta.items()}
        state = State(merges, chain_rows.covariance.with_theta(theta), noise, np.empty(0))
        found.append(problem_of(chain_rows, SETTINGS.sampler, state).log_likelihood(*merges))
        variances = np.diag(given.covariance.with_theta(theta).matrix(4))
        of_columns = [
            make_problem(X[:, [j]], Spherical(amplitude=v), noise.level * noise.tail_scale).log_likelihood(*merges)
            for j, v in enumerate(variances)
        ]
        expected.append(own.weights @ of_columns)
        plain.append(np.sum(of_columns))
    assert np.diff(found) == pytest.approx(np.diff(expected), rel=1e-10)
    assert np.diff(found) != pytest.approx(np.diff(plain), rel=1e-2)


def test_weighted_data_of_one_huge_weight_are_those_of_its_column_alone():
    X = data(10, 5)
    given = chain_data(X, Spherical())
    huge = np.array([1e-9, 5.0, 1e-9, 1e-9, 1e-9])
    alone = squared_distances(np.repeat(X[:, [1]], 5, axis=1))
    np.testing.assert_allclose(squared_distances(weighted(given._replace(weights=huge)).values), alone, atol=1e-6)
    assert not np.allclose(squared_distances(X), alone, atol=1e-6)


def test_fit_with_one_huge_weight_gives_the_tree_of_its_column(monkeypatch):
    rng = np.random.default_rng(0)
    of_one, of_others = np.arange(12) % 2, np.arange(12) // 6
    X = 6.0 * np.column_stack([of_one, *[of_others] * 4]) + 0.3 * rng.normal(size=(12, 5))
    settings = {"n_samples": 10, "n_warmup": 10, "n_resamples": 2}
    plain = resampled(X, "spherical", **settings)
    assert plain.support(of_others == 1).exact > 0.9
    monkeypatch.setattr(resampling, "draw_weights", lambda *_: np.tile([5.0, 1e-9, 1e-9, 1e-9, 1e-9], (2, 1)))
    for covariance in ("spherical", "scaled", "diagonal"):
        post = resampled(X, covariance, **settings)
        assert post.support(of_one == 1).exact > 0.9
        assert post.support(of_others == 1).exact < 0.1


def test_weighted_columns_are_repeated_where_cells_are_missing():
    X = with_missing(data(8, 6))
    given = chain_data(X, Scaled())._replace(weights=np.array([2.0, 0, 1, 3, 0, 0]))
    own = weighted(given)
    columns = [0, 0, 2, 3, 3, 3]
    np.testing.assert_array_equal(own.values, X[:, columns])
    np.testing.assert_array_equal(own.covariance.variances, given.covariance.variances[columns])
    assert own.n_missing == given.n_missing == np.isnan(X[:, columns]).sum()


def test_weighted_covariance_is_that_of_the_table():
    X = data(8, 4)
    for family in (Spherical(), Scaled()):
        given = chain_data(X, family)
        assert weighted_covariance(given._replace(weights=np.ones(4))) is given.covariance
    found = weighted_covariance(chain_data(X, Diagonal())._replace(weights=np.ones(4)))
    assert isinstance(found, WeightedDiagonal)
    np.testing.assert_array_equal(found.variances, Diagonal().adapt(X).variances)


def test_fit_of_resamples_has_the_same_bits_for_any_number_of_jobs():
    covariance = "diagonal"
    X = data(10, 6)
    one = resampled(X, covariance)
    assert one.draws.chain.tolist() == np.repeat(np.arange(4), 6).tolist()
    assert one.draws.column_weights.shape == (4, 6)
    assert one.log_joint is None
    with joblib.parallel_config("loky", max_nbytes=1):  # as in test_run.py, whose processes serve again
        assert_same(one, resampled(X, covariance, n_jobs=2))
    more = resampled(X, covariance, n_resamples=5)
    np.testing.assert_array_equal(one.draws.times, more.draws.times[: len(one)])


@pytest.mark.parametrize(
    ("X", "covariance"), [(data(8, 4), "diagonal"), (with_missing(data(8, 6)), "scaled")], ids=["diagonal", "missing"]
)
def test_fit_of_resamples_resumes_to_the_same_bits(X, covariance, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "SECONDS_PER_BLOCK", 0.0)
    monkeypatch.setattr(checkpoint, "SECONDS_BETWEEN", 0.0)
    path = tmp_path / "run.checkpoint"
    whole = resampled(X, covariance, sampler=pressing_ctrl_c(10**6))
    with pytest.warns(InterruptedWarning):
        part = resampled(X, covariance, sampler=pressing_ctrl_c(20), checkpoint=path)
    assert 0 < len(part) < len(whole)
    resumed = resampled(X, covariance, sampler=pressing_ctrl_c(10**6), checkpoint=path)
    assert_same(resumed, whole)
    np.testing.assert_array_equal(resumed.draws.column_weights, whole.draws.column_weights)
    with pytest.raises(InputError, match="other data or settings"):
        quick_fit(X, covariance, sampler=pressing_ctrl_c(10**6), checkpoint=path, n_chains=4)


def test_fit_of_resamples_imputes_columns_that_were_not_drawn():
    X = with_missing(data(12, 6))
    post = resampled(X, "spherical")
    assert (post.draws.column_weights == 0).any()
    assert np.isfinite(post.draws.imputed).all()
    assert (post.draws.imputed.std(axis=0) > 0).all()
    np.testing.assert_array_equal(post.model.completed(post.draws, 3)[~np.isnan(X)], X[~np.isnan(X)])


def test_fit_of_resamples_of_groups_weighs_rows_before_they_are_put_together():
    X, groups = data(12, 5), np.arange(12) // 2
    post = resampled(X, "diagonal", noise="learn", groups=groups)
    assert post.n == 6
    student = resampled(X, "diagonal", noise="student", groups=groups)
    assert student.draws.tail_scale.shape == (24, 12)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"covariance": "full"}, 'use covariance="spherical", "scaled" or "diagonal"'),
        ({"covariance": "squared_exponential"}, "ties them to each other"),
        ({"covariance": np.eye(3)}, "Fixed ties them"),
        ({"resample": "rows"}, "resample"),
        ({"n_resamples": 1}, "n_resamples"),
        ({"n_chains": 4}, "leave out n_chains=4"),
        ({"max_seconds": 3.0}, "max_seconds is not for resample"),
        ({"resample": None, "n_resamples": 9}, 'n_resamples needs resample="columns"'),
        ({"start": ct.simulate(8, 3, random_state=0)[1]}, "coaltree.concat"),
    ],
)
def test_fit_of_resamples_is_refused_in_one_sentence(options, says):
    assert_refused(lambda: resampled(data(), **options), says)


def test_fit_of_resamples_refuses_one_column_and_learnt_variances_of_incomplete_ones():
    X = data(8, 4)
    assert_refused(lambda: resampled(X[:, :1]), "at least two columns")
    assert_refused(lambda: resampled(with_missing(X), "diagonal"), 'use covariance="scaled"')


def test_fit_of_resamples_chooses_among_covariances_that_it_can_weigh():
    X = np.random.default_rng(0).normal(size=(30, 3)) * [1.0, 100.0, 1e4]
    assert quick_fit(X, "auto").info["covariance_choice"].startswith("full")
    post = resampled(X, "auto")
    assert post.info["covariance_choice"].endswith("full cannot be resampled)")


def test_drift_is_small_where_nothing_moves_and_large_where_all_rises():
    rng, chain = np.random.default_rng(0), np.repeat(np.arange(24), 8)
    level = rng.normal(size=24)[chain] * 100.0 + rng.normal(size=192)
    assert abs(drift(level, chain)) < 0.75
    assert drift(level + 0.3 * np.tile(np.arange(8), 24), chain) > 1.0
    assert drift(np.zeros(192), chain) == 0.0
