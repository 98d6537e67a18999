"""One chain: how it starts, what an iteration is, and that neighbours are constants after the warm-up."""

from dataclasses import dataclass
from typing import ClassVar

import joblib
import numpy as np
import pytest

from coaltree.inference.chains import chain as module
from coaltree.inference.chains.chain import advance, begin, share_neighbors, tempered
from coaltree.model.covariance import Diagonal, Spherical
from coaltree.model.model import Model
from coaltree.model.process.noise import Noise, noise_model
from coaltree.model.process.simulation import simulate
from coaltree.model.process.whitened import make_problem
from coaltree.samplers.regraft.regraft import Regraft
from coaltree.tree import Tree
from tests.fits import LOCAL, QUICK, assert_same, data, quick_fit


def model_of(X, covariance, level=0.0):
    return Model(X, covariance.adapt(X), noise_model(Noise(level), X))


def test_begin_disperses_chains():
    model = model_of(data(30, 5), Spherical())
    first, second, third = (begin(model, QUICK, 0, dispersed) for dispersed in (False, True, True))
    assert tree_distance(first, second) > 0
    np.testing.assert_array_equal(second.state.tree[1], third.state.tree[1])


def tree_distance(a, b):
    clades = [{tuple(key) for key in Tree(*chain.state.tree).clade_keys()} for chain in (a, b)]
    return len(clades[0] ^ clades[1])


@dataclass(frozen=True)
class Watched(Regraft):
    """Notes which neighbours it finds, and which it is model."""

    candidates: str = "local"
    n_neighbors: int = 2
    made: ClassVar[list] = []
    used: ClassVar[list] = []

    def neighbors(self, problem, rng):
        self.made.append(super().neighbors(problem, rng))
        return self.made[-1]

    def step(self, problem, tree, rng, **options):
        self.used.append(options["neighbors"])
        return super().step(problem, tree, rng, **options)


def test_neighbors_are_constant_after_the_warmup():
    Watched.made.clear()
    Watched.used.clear()
    model = model_of(data(12, 4), Diagonal())
    chain = begin(model, Watched(), 0)
    chain, _ = advance(model, chain, 5, n_warmup=12)
    chain, _ = advance(model, chain, 20, n_warmup=12)
    assert len(Watched.made) == 3  # before iterations 0 and 10 of the warm-up, and at its end
    steps = Watched().steps_per_iteration(12, chain.neighbors)
    assert len(Watched.used) == 25 * steps
    for step, used in enumerate(Watched.used):
        iteration = step // steps
        np.testing.assert_array_equal(used, Watched.made[0 if iteration < 10 else 1 if iteration < 12 else 2])
    np.testing.assert_array_equal(chain.neighbors, Watched.made[2])
    constant = model._replace(covariance=Spherical(learn=False))
    advance(constant, begin(constant, Watched(), 0), 15, n_warmup=12)
    assert len(Watched.made) == 5  # nothing changes but how far it looks
    assert [made.shape[2] for made in Watched.made] == [8, 8, 4, 8, 4]  # 2 · 4 in the warm-up, then 2 · 2


def test_neighbors_of_many_leaves_are_searched_once(monkeypatch):
    monkeypatch.setattr(module, "MANY_LEAVES", 10)
    Watched.made.clear()
    Watched.used.clear()
    X = data(12, 4)
    model = model_of(X, Diagonal())
    begun = [begin(model, Watched(), seed) for seed in (0, 1)]
    for chain in share_neighbors(model, begun, n_warmup=3):
        advance(model, chain, 6, n_warmup=3)
    assert [made.shape[2] for made in Watched.made] == [8]
    assert all(used is not None and used.shape[2] == 8 for used in Watched.used)
    quick_fit(X, "diagonal", sampler=Watched(), n_chains=3, n_jobs=1)
    assert len(Watched.made) == 2  # one search for all chains
    with joblib.parallel_config(backend="threading"):  # other processes know nothing of the patch
        assert_same(*(quick_fit(X, "diagonal", sampler=LOCAL, n_jobs=n_jobs) for n_jobs in (1, 2)))


def test_advance_takes_read_only_arrays_and_leaves_its_arguments():
    X = data(12, 2)
    X[3, 1] = np.nan
    model = Model(X, Spherical().adapt(X), noise_model(Noise(tails="student"), X), missing=np.isnan(X))
    chain = begin(model, LOCAL, np.random.SeedSequence(0))
    before = [np.array(part) for part in (*chain.state.tree, chain.state.noise.tail_scale, chain.state.imputed)]
    expected, _ = advance(model, chain, 2)
    X.flags.writeable = False
    again, _ = advance(model._replace(values=X), chain, 2)
    np.testing.assert_array_equal(again.state.tree[1], expected.state.tree[1])
    for part, same in zip((*chain.state.tree, chain.state.noise.tail_scale, chain.state.imputed), before, strict=True):
        np.testing.assert_array_equal(part, same)


# --- tempering --------------------------------------------------------------------------------------------------------

MANY = 400


def test_tempered_problem_has_the_power_of_the_likelihood():
    X, tree = simulate(8, MANY, random_state=0)
    other = simulate(8, MANY, random_state=1)[1]
    problem = make_problem(X, Spherical(amplitude=1.0), 0.0)
    part = tempered(problem, 10, 40)
    share = part.d / problem.d
    assert 0.05 < share < 0.2

    def difference(problem):
        likelihoods = [problem.log_likelihood(one.children, one.times) for one in (tree, other)]
        return likelihoods[0] - likelihoods[1]

    assert difference(part) == pytest.approx(share * difference(problem), rel=1e-12)


def test_tempering_ends_with_the_warmup(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "coaltree.inference.chains.chain.tempered", lambda problem, iteration, _: seen.append(iteration) or problem
    )
    model = model_of(data(6, 3), Spherical(amplitude=1.0))
    advance(model, begin(model, Regraft(), np.random.SeedSequence(0), n_tempered=40), 6, n_warmup=3)
    assert sorted(set(seen)) == [0, 1, 2]
