"""Tempered likelihood in the first iterations."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.inference.chains import tempering
from coaltree.inference.chains.chain import advance, begin
from coaltree.inference.chains.tempering import tempered, tempered_iterations
from coaltree.inference.settings import RunSettings
from coaltree.model.covariance import Spherical
from coaltree.model.model import Model
from coaltree.model.process.noise import Noise, noise_model
from coaltree.model.process.whitened import make_problem

MANY = 400


@pytest.mark.parametrize(
    ("n", "d", "longest", "expected"),
    [(10, 128, 1000, 0), (300, 400, 1000, 0), (10, 400, 1000, 40), (10, 400, 30, 15)],
)
def test_tempering_needs_many_more_columns_than_rows(n, d, longest, expected):
    assert tempered_iterations(n, d, longest) == expected


def test_tempered_problem_has_the_power_of_the_likelihood():
    X, tree = ct.simulate(8, MANY, random_state=0)
    other = ct.simulate(8, MANY, random_state=1)[1]
    problem = make_problem(X, Spherical(amplitude=1.0), 0.0)
    part = tempered(problem, 10, 40)
    share = part.d / problem.d
    assert 0.05 < share < 0.2

    def difference(problem):
        likelihoods = [problem.log_likelihood(one.children, one.times) for one in (tree, other)]
        return likelihoods[0] - likelihoods[1]

    assert difference(part) == pytest.approx(share * difference(problem), rel=1e-12)


def test_tempered_problem_grows_to_the_whole_data():
    problem = make_problem(ct.simulate(8, MANY, random_state=0)[0], Spherical(amplitude=1.0), 0.0)
    worth = [tempered(problem, iteration, 40).d for iteration in range(42)]
    assert worth[0] == 16
    assert worth == sorted(worth)
    assert worth[39] < MANY == worth[40] == worth[41]
    assert tempered(problem, 40, 40) is problem


def test_tempering_ends_with_the_warmup(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "coaltree.inference.chains.chain.tempered", lambda problem, iteration, _: seen.append(iteration) or problem
    )
    X, _ = ct.simulate(6, 3, random_state=0)
    data = Model(X, Spherical(amplitude=1.0).adapt(X), noise_model(Noise(0.0), X))
    settings = RunSettings(ct.Regraft(), n_tempered=40)
    advance(data, settings, begin(data, settings, np.random.SeedSequence(0)), 6, n_warmup=3)
    assert sorted(set(seen)) == [0, 1, 2]


def test_tempering_leaves_a_given_start(monkeypatch):
    asked = []
    monkeypatch.setattr(tempering, "MAX_TEMPERED", 4)
    monkeypatch.setattr(
        "coaltree.inference.settings.tempered_iterations", lambda *settings: asked.append(settings) or 2
    )
    X, tree = ct.simulate(6, 200, random_state=0)
    short = {"n_samples": 2, "n_warmup": 4, "n_chains": 1, "random_state": 0, "progress": False, "noise": 0.0}
    ct.fit(X, "spherical", start=tree, **short)
    assert asked == []
    ct.fit(X, "spherical", **short)
    assert asked == [(6, 200, 4)]
