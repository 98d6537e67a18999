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
        ({"n_warmup": -1}, "n_warmup"),
        ({"n_chains": True}, "n_chains"),
        ({"n_jobs": "two"}, "n_jobs"),
        ({"checkpoint": 3}, "checkpoint"),
        ({"noise": np.nan}, "noise"),
        ({"progress": "sometimes"}, "progress"),
        ({"covariance": "round"}, "covariance"),
        ({"covariance": np.eye(5)}, "columns"),
        ({"covariance": Matern32(1.0, 0.1, (2, 2))}, "grid"),
        ({"sampler": "magic"}, "magic"),
        ({"n_samples": "AUTO"}, '"auto"'),
        ({"n_warmup": "as needed"}, 'n_warmup must be "auto"'),
        ({"n_samples": "auto", "max_seconds": 0}, "max_seconds must be a positive number"),
        ({"n_samples": 10, "max_seconds": 5.0}, 'is for n_samples="auto", not for n_samples=10'),
    ],
)
def test_settings_are_refused_in_one_sentence(options, says):
    with pytest.raises(InputError, match=says) as caught:
        quick_fit(data(), **options)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


def test_limits_fall_with_the_number_of_leaves_and_the_size_of_draws():
    assert [default_max_iterations(n) for n in (2, 1200, 2000, 10_000, 10**6)] == [2000, 2000, 1200, 240, 60]
    assert [default_max_draws(size, 2000) for size in (1e3, 5e6, 1e9)] == [1000, 200, 100]
    assert default_max_draws(1e3, 40) == 40
