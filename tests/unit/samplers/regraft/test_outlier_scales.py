"""Cells from which scales of outliers are proposed."""

import math

import numpy as np
import pytest

from coaltree._runtime.random_streams import make_streams
from coaltree.samplers.base import Tails
from coaltree.samplers.regraft.outlier_scales import cell_of, cells_of, draw_scale, log_prior_over_proposal


@pytest.mark.parametrize("df", [1.0, 4.0, 60.0, 1e4])
def test_cells_of_tails_hold_a_probability_of_one(df):
    cells = cells_of(Tails(np.ones(3), 0.5 * df, np.ones(3)))
    assert np.exp(cells.log_prior).sum() == pytest.approx(1.0)
    assert np.isfinite(cells.log_prior).all() and (np.diff(cells.bounds) > 0).all()
    assert cells.log_prior.size % 2 == 1  # the first and the last one are computed


def test_draw_scale_falls_into_cells_by_their_share():
    cells = cells_of(Tails(np.ones(3), 2.0, np.ones(3)))
    state, counts = make_streams(np.random.default_rng(0), 1)[0], np.zeros(cells.log_prior.size)
    for _ in range(4000):
        g, s = draw_scale(cells, cells.log_prior, state)
        assert cell_of(cells, s) == g
        counts[g] += 1
    share = np.exp(cells.log_prior)
    assert np.all(np.abs(counts - 4000 * share) < 4.5 * np.sqrt(4000 * share * (1.0 - share)) + 1.0)
    assert cell_of(cells, cells.bounds[0] / 2) == cell_of(cells, 2 * cells.bounds[-1]) == -1


def test_log_prior_over_proposal_weighs_scales_back_to_their_prior():
    """The mean of p(s) / q(s) is the mass of the prior in all cells, and that of s p(s) / q(s) its mean there."""
    half_df = 3.0
    cells = cells_of(Tails(np.ones(1), half_df, np.ones(1)))
    state, share = make_streams(np.random.default_rng(1), 1)[0], np.full(cells.log_prior.size, -math.log(7.0))
    constant = half_df * math.log(half_df) - math.lgamma(half_df)
    found = []
    for _ in range(20_000):
        g, s = draw_scale(cells, share, state)
        weight = math.exp(log_prior_over_proposal(cells, share, g, s) + constant)
        found.append((weight, weight * s))
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / math.sqrt(20_000)
    assert np.all(np.abs(mean - [1.0, half_df / (half_df - 1.0)]) < 4.5 * error + 0.005)
