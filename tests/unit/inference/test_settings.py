"""Run settings: what is refused, and the limits that follow from the size of a table."""

import numpy as np
import pytest

from coaltree.errors import InputError
from coaltree.inference.settings import default_max_draws, default_max_iterations
from coaltree.model.covariance import Matern32
from tests.fits import data, quick_fit


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


def test_limits_fall_with_the_number_of_leaves_and_the_size_of_draws():
    assert [default_max_iterations(n) for n in (2, 1200, 2000, 10_000, 10**6)] == [2000, 2000, 1200, 240, 60]
    assert [default_max_draws(size, 2000) for size in (1e3, 5e6, 1e9)] == [1000, 200, 100]
    assert default_max_draws(1e3, 40) == 40
