"""Scales of Student's tails, against quadrature."""

import math

import numpy as np
import pytest

from coaltree.model.process.diffusion import log_likelihood
from coaltree.model.process.student_scales import draw_scales, student_density, student_table
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


@pytest.mark.parametrize("d", [1, 4, 64, 300])
@pytest.mark.parametrize("half_df", [0.5, 2.0, 15.0])
def test_student_density_is_the_integral_over_scales(d, half_df):
    """On random variances and distances, near the turn into the tail and beyond the table."""
    rng, table = np.random.default_rng(d), student_table(0.5 * d, half_df)
    y, h = np.linspace(-12.0, 60.0, 40_001), half_df
    log_prior = h * math.log(h) - math.lgamma(h) - h * (y + np.exp(-y))
    for i in range(40):
        v, unit = 10.0 ** rng.uniform(-4.0, 1.0), 10.0 ** rng.uniform(-4.0, 0.5)
        far = 10.0 ** rng.uniform(-3.0, 1.0) if i % 2 else 1.0 + rng.uniform(-1.0, 20.0) / math.sqrt(d)
        eps = (1e8 if i < 3 else max(far, 0.0)) * (v + unit) * d
        total = v + unit * np.exp(y)
        exact = np.logaddexp.reduce(log_prior - 0.5 * (d * np.log(total) + eps / total)) + math.log(y[1] - y[0])
        level, normal, ratio = student_density(table, v, unit, 0.5 * d, eps)
        assert level == pytest.approx(exact, abs=0.03 if i < 3 or d > 100 else 0.003)
        assert v < normal and ratio >= 1.0 - 1e-3
    near, far = student_density(table, 0.3, 0.1, 0.5 * d, 0.4 * d)[0], student_density(table, 0.3, 0.1, 0.5 * d, d)[0]
    assert near - far > 0.1  # negative control: densities that differ are told apart
