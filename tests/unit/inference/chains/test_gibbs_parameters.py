"""Covariance and noise given the tree: what is drawn, what stays, and what keeps the likelihood."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.inference.chains import gibbs_parameters
from coaltree.inference.chains.gibbs_parameters import draw_parameters
from coaltree.model.draws import State
from coaltree.model.model import Model
from coaltree.model.process.noise import first_draw, noise_model, row_variances
from coaltree.model.process.whitened import make_problem
from tests.fits import data


def a_state(covariance, noise, n=12, d=3, seed=0):
    X, tree = ct.simulate(n, d, random_state=seed)
    given = Model(X, covariance.adapt(X), noise_model(noise, X))
    rng = np.random.default_rng(seed)
    merges = tree.children.astype(np.int64), np.array(tree.times)
    return given, State(merges, given.covariance, first_draw(given.noise), np.empty(0)), rng


@pytest.mark.parametrize("covariance", [ct.Spherical(), ct.Full(), ct.SquaredExponential(1.0, 0.1)])
@pytest.mark.parametrize("noise", [ct.Noise(0.0), ct.Noise(), ct.Noise(tails="student")])
def test_draw_parameters_changes_what_is_learnt_and_no_topology(covariance, noise):
    given, state, rng = a_state(covariance, noise)
    new = draw_parameters(given, state, rng)
    np.testing.assert_array_equal(new.tree[0], state.tree[0])
    scale = new.tree[1] / state.tree[1]
    np.testing.assert_allclose(scale, scale[0])
    assert scale[0] != 1.0
    for name, value in state.covariance.theta.items():
        assert not np.array_equal(new.covariance.theta[name], value)
    assert (new.noise.level != state.noise.level) == noise.is_learnt
    assert (new.noise.tail_scale is not None) == (noise.tails == "student")


def test_draw_parameters_leaves_what_is_known():
    given, state, rng = a_state(ct.Spherical(learn=False), ct.Noise(0.1))
    new = draw_parameters(given, state, rng)
    assert new.covariance.amplitude == state.covariance.amplitude and new.noise == state.noise
    np.testing.assert_array_equal(new.tree[1], state.tree[1])


def test_scale_move_keeps_the_likelihood():
    given, state, rng = a_state(ct.Spherical(), ct.Noise())
    new = state._replace(**gibbs_parameters._draw_scale(given, state, rng))

    def log_likelihood(times, covariance, noise):
        problem = make_problem(given.values, covariance, row_variances(given.noise, noise))
        return problem.log_likelihood(state.tree[0], times)

    before = log_likelihood(state.tree[1], state.covariance, state.noise)
    assert log_likelihood(new.tree[1], new.covariance, new.noise) == pytest.approx(before, rel=1e-10)


@pytest.mark.parametrize(("repeat", "expected"), [(True, 2), (False, 1)])
def test_tails_are_drawn_several_times_unless_steps_repeat(repeat, expected, monkeypatch):
    drawn, draw = [], gibbs_parameters._draw_tails
    monkeypatch.setattr(gibbs_parameters, "_draw_tails", lambda *args: drawn.append(1) or draw(*args))
    draw_parameters(*a_state(ct.Spherical(), ct.Noise(tails="student")), repeat=repeat)
    assert len(drawn) == expected


def test_missing_entries_are_those_of_the_chain():
    X = data(8, 3)
    gaps = X.copy()
    gaps[2, 1] = np.nan
    given, state, rng = a_state(ct.Spherical(), ct.Noise(0.1), n=8)
    whole = draw_parameters(given._replace(values=X), state, rng)
    state = state._replace(imputed=X[[2], [1]])
    gapped = given._replace(values=gaps, missing=np.isnan(gaps))
    filled = draw_parameters(gapped, state, np.random.default_rng(0))
    assert filled.covariance.amplitude == whole.covariance.amplitude
