"""Run settings: what is refused, and the limits that follow from the size of a table."""

import numpy as np
import pytest

from coaltree.errors import InputError
from coaltree.inference.settings import check_settings, default_max_iterations, with_limits
from coaltree.model.covariance import Matern32
from tests.fits import at_most_iterations, data, quick_fit


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"n_samples": 0}, "n_samples"),
        ({"n_samples": 2.5}, "n_samples"),
        ({"n_warmup": -1}, "n_warmup"),
        ({"n_chains": True}, "n_chains"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"n_jobs": "two"}, "n_jobs"),
        ({"checkpoint": 3}, "checkpoint"),
        ({"noise": -0.1}, "noise"),
        ({"noise": np.nan}, "noise"),
        ({"random_state": -1}, "random_state"),
        ({"random_state": "x"}, "random_state"),
        ({"progress": "sometimes"}, "progress"),
        ({"covariance": "round"}, "covariance"),
        ({"covariance": np.eye(5)}, "columns"),
        ({"covariance": Matern32(1.0, 0.1, (2, 2))}, "grid"),
        ({"sampler": "magic"}, "magic"),
    ],
)
def test_settings_are_refused_in_one_sentence(options, says):
    with pytest.raises(InputError, match=says) as caught:
        quick_fit(data(), **options)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


def test_counts_may_be_of_any_integer_type():
    small = {"n_samples": np.uint8(3), "n_warmup": np.int8(1), "n_chains": np.uint8(2)}  # which overflow soon
    post = quick_fit(data(), **small)
    np.testing.assert_array_equal(post.draws.times, quick_fit(data(), n_samples=3, n_warmup=1, n_chains=2).draws.times)


@pytest.mark.parametrize("given", [{"n_samples": "AUTO"}, {"n_samples": None}, {"n_warmup": "as needed"}])
def test_settings_that_are_almost_auto_name_it(given):
    with pytest.raises(InputError, match='"auto"'):
        quick_fit(data(), "spherical", **given)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"n_samples": "many"}, 'n_samples must be "auto"'),
        ({"n_warmup": "long"}, 'n_warmup must be "auto"'),
        ({"max_seconds": 0}, "max_seconds must be a positive number"),
        ({"n_samples": 10, "max_seconds": 5.0}, 'is for n_samples="auto", not for n_samples=10'),
    ],
)
def test_settings_of_length_are_refused_in_one_sentence(options, says):
    with pytest.raises(InputError, match=says):
        quick_fit(data(), **({"n_samples": "auto", "n_warmup": "auto"} | options))


def settings_for(n, n_bytes=1.0, d=3, start=False, **given):
    counts = {"n_samples": "auto", "n_warmup": "auto", "n_chains": 2, "max_seconds": None}
    return with_limits(check_settings("regraft", **(counts | given)), n, d, n_bytes, start)


def test_limits_fall_with_the_number_of_leaves_and_the_size_of_draws():
    assert [default_max_iterations(n) for n in (2, 1200, 2000, 10_000, 10**6)] == [2000, 2000, 1200, 240, 60]
    assert [settings_for(100, size).max_draws for size in (1e3, 5e6, 1e9)] == [1000, 200, 100]
    assert settings_for(100).first_look == 20
    with at_most_iterations(40):
        assert settings_for(100).first_look == settings_for(100).max_warmup == 10
    assert settings_for(100, n_warmup=30).first_look == 130
    fixed = settings_for(100, n_samples=50)
    assert (fixed.n_warmup, fixed.max_iterations, fixed.first_look, fixed.max_draws) == (100, 150, 150, 50)


def test_limits_temper_many_columns_unless_a_start_is_given():
    assert settings_for(10, d=400).n_tempered == 40
    assert settings_for(10, d=400, start=True).n_tempered == 0
