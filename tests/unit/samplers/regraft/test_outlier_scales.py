"""Proposals of an outlier's scale: pieces between knots, which follow the density of the scale over all places."""

import math

import numpy as np
import pytest

from coaltree._runtime.random_streams import make_streams
from coaltree.model.covariance import Spherical
from coaltree.model.process.coalescent import simulate_tree
from coaltree.model.process.diffusion import simulate_data
from coaltree.model.process.whitened import make_problem
from coaltree.samplers import Regraft
from coaltree.samplers.base import Tails
from coaltree.samplers.regraft.candidates import add_every_branch
from coaltree.samplers.regraft.outlier_scales import Knots, draw_from, knots_of, level_at, scales_of, total_mass
from coaltree.samplers.regraft.working_tree import load, prune
from tests.reference.regraft import branches, from_arrays, graft, log_joint
from tests.reference.regraft import prune as prune_reference


def test_draw_from_follows_the_pieces_between_knots():
    knots = Knots(np.array([-1.0, -0.5, 0.0, 0.75, 1.0]), np.array([-3.0, 0.0, 0.0, -1.0, -700.0]))
    state = make_streams(np.random.default_rng(0), 1)[0]
    draws = np.array([draw_from(knots, state) for _ in range(8000)])
    grid = np.linspace(-1.0, 1.0, 4001)
    density = np.exp([level_at(knots, y) for y in grid])
    below = np.cumsum(density) / density.sum()
    for y in (-0.75, -0.4, 0.1, 0.6):
        assert np.mean(draws < y) == pytest.approx(np.interp(y, grid, below), abs=0.02)
    best, total = total_mass(knots)
    assert math.exp(best) * total == pytest.approx(density.mean() * 2.0, rel=1e-3)
    assert math.isnan(level_at(knots, -1.1)) and math.isnan(level_at(knots, 1.1))


@pytest.mark.parametrize("df", [1.0, 4.0, 60.0, 1e4])
def test_scales_of_tails_are_proposed_close_to_their_prior(df):
    prior = scales_of(Tails(np.ones(3), 0.5 * df, np.ones(3))).prior
    state = make_streams(np.random.default_rng(0), 1)[0]
    scales = np.exp([draw_from(prior, state) for _ in range(4000)])
    exact = 0.5 * df / np.random.default_rng(1).standard_gamma(0.5 * df, size=4000)
    for share in (0.1, 0.5, 0.9):
        assert np.mean(scales < np.quantile(exact, share)) == pytest.approx(share, abs=0.05)


def off_the_tree(n, d, c, seed, half_df=2.0, level=0.3):
    """An engine whose leaf c is off the tree and has every branch for a candidate; its scales, tree and rows."""
    rng = np.random.default_rng(seed)
    tree, scale = simulate_tree(n, rng), half_df / rng.standard_gamma(half_df, size=n)
    X = simulate_data(tree, d, rng, leaf_var=level * scale)
    problem = make_problem(X, Spherical(), level * scale)
    engine = Regraft(candidates="all")._engine(problem, np.ascontiguousarray(X), np.empty((0, n, 0)))
    load(engine.tree, np.array(tree.children, np.int64), np.array(tree.times), engine.W, engine.leaf_var)
    prune(engine.tree, c)
    add_every_branch(engine.candidates, engine.tree, engine.tree.mean[c], 0.0)
    return engine, scales_of(Tails(scale, half_df, np.full(n, level))), tree, X


@pytest.mark.parametrize("d", [2, 12])
def test_knots_follow_the_density_of_a_scale_over_all_places(d):
    """Against the joint density of all, summed over branches and times; the masses of places are rough."""
    n, c, half_df, level = 5, 2, 2.0, 0.3
    engine, scales, tree, X = off_the_tree(n, d, c, seed=3)
    knots = knots_of(engine, c, n - 1.0, scales)
    rest, parent, _ = prune_reference(from_arrays(tree.children, tree.times), c)
    ys = np.linspace(knots.y[0], knots.y[0] + 6.0, 25)
    logs = []
    for y in ys:
        s = [math.exp(y) if i == c else float(scales.leaves["scale"][i]) for i in range(n)]
        of_places = []
        for x, lower, upper in branches(rest, n, c):
            u, width = (np.arange(24) + 0.5) / 24, min(upper, lower + 8.0) - lower
            at = [
                log_joint(graft(rest, parent, c, x, lower + width * v * v), X.tolist(), [level * z for z in s])
                for v in u
            ]
            of_places += [value + math.log(2.0 * width * v / 24) for value, v in zip(at, u, strict=True)]
        logs.append(np.logaddexp.reduce(of_places) - half_df * (y + math.exp(-y)))
    expected, found = np.array(logs), np.array([level_at(knots, y) for y in ys])
    matters = expected > expected.max() - 4.0
    difference = (found - expected)[matters]
    assert np.ptp(difference) < 1.0
    assert np.ptp(expected[matters]) > 2.0  # or any proposal would do


def test_knots_are_closer_where_columns_are_many():
    few, many = (off_the_tree(40, d, 3, seed=1) for d in (2, 100))
    spacing = []
    for engine, scales, *_ in (few, many):
        knots = knots_of(engine, 3, 39.0, scales)
        place = int(np.argmax(knots.level))
        spacing.append(np.diff(knots.y)[max(place - 1, 0) : place + 1].min())
    assert spacing[1] < 0.5 * spacing[0]
