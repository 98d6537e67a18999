"""Scales of Student's tails, against quadrature."""

import math

import numpy as np
import pytest

from coaltree.model.process.diffusion import log_likelihood
from coaltree.model.process.student_scales import draw_scales, scale_mode
from tests.strategies import coalescent_tree


def test_student_scales_are_drawn_from_their_joint_posterior():
    """Two rows far from the rest: moments of log s against quadrature over both scales."""
    children, times = coalescent_tree(3, seed=5)
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
    for _ in range(4000):
        scales = draw_scales((children, times), W, 2, unit, scales, half_df, rng)
        logs.append(np.log(scales))
    batches = np.array(logs).reshape(40, 100, 3).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / math.sqrt(40)
    assert np.all(np.abs(batches.mean(axis=0) - exact) < 4 * error)
    wrong = exact + np.array([0.0, 0.0, 0.3])
    assert np.any(np.abs(batches.mean(axis=0) - wrong) > 4 * error)


@pytest.mark.parametrize(
    ("v", "unit", "d", "half_df", "eps"), [(1, 0.1, 4, 2, 3), (0.1, 1, 30, 2, 900), (1, 1e-9, 2, 1, 1)]
)
def test_scale_mode_is_a_mode(v, unit, d, half_df, eps):
    y, spread = scale_mode(float(v), float(unit), 0.5 * d, float(half_df), float(eps))

    def log_density(y):
        total = v + unit * math.exp(y)
        return -half_df * (y + math.exp(-y)) - 0.5 * d * math.log(total) - 0.5 * eps / total

    assert log_density(y) >= max(log_density(y - 1e-3), log_density(y + 1e-3)) - 1e-9
    assert 0.0 < spread < 2.0
