"""Noise at the leaves: reading it, its variances and its prior."""

import math

import numpy as np
import pytest

from coaltree import InputError, Noise
from coaltree.model.covariance import LogNormal
from coaltree.model.process import noise as model_noise


def test_as_noise_takes_numbers_names_and_objects():
    assert model_noise.as_noise(0.3) == Noise(0.3)
    assert model_noise.as_noise("learn") == Noise("learn")
    assert model_noise.as_noise("student") == Noise("learn", "student")
    assert not Noise(0.3).is_random and Noise().is_random and Noise(0.3, "student").is_random


@pytest.mark.parametrize("bad", ["heavy", -0.1, math.nan, math.inf, None, True, [0.1], 1j, Noise])
def test_as_noise_refuses_what_is_no_noise(bad):
    with pytest.raises(InputError, match='noise must be "learn"'):
        model_noise.as_noise(bad)


@pytest.mark.parametrize("settings", [{"tails": "cauchy"}, {"df": 0}, {"level": 0.0, "tails": "student"}])
def test_noise_refuses_bad_settings(settings):
    with pytest.raises(InputError):
        Noise(**settings)


def test_noise_prior_is_cut_off_where_values_are_rounded():
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


def test_noise_log_prior_is_the_density_of_level_and_scales():
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


def test_noise_level_at_the_floor_of_its_prior_has_a_density():
    model = model_noise.noise_model(Noise(), np.zeros((2, 1)))
    for log_floor in np.random.default_rng(0).uniform(-1.0, 0.0, 500):
        at_floor = model._replace(log_floor=log_floor)
        level = model_noise.first_draw(at_floor._replace(prior=LogNormal(1e-4, 2.0))).level
        assert model_noise.log_level_density(at_floor, math.log(level)) > -math.inf
    assert model_noise.log_level_density(at_floor, log_floor - 1e-9) == -math.inf
