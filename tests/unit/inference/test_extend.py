"""Grafting new rows into the trees of a posterior."""

import math

import numpy as np
import pandas as pd
import pytest

import coaltree as ct
from coaltree.errors import InputError
from tests.reference.evidence import exact_posterior

PHI = np.array([[1.0, 0.6, 0.2], [0.6, 2.0, -0.3], [0.2, -0.3, 0.5]])


@pytest.mark.parametrize("n_samples", [pytest.param(1500, marks=pytest.mark.slow), 300])
def test_extend_by_one_row_gives_the_posterior_of_all(n_samples):
    X, _ = ct.simulate(4, 2, random_state=42)
    exact = exact_posterior(X).clade_probabilities()
    post = ct.sample_trees(X[:3], np.eye(2), n_samples=n_samples, random_state=0, progress=False)
    longer = post.extend(X[3:], n_iterations=4, random_state=1)
    found = dict.fromkeys(exact, 0.0)
    for children in longer.children:
        sets = [frozenset([i]) for i in range(4)]
        for a, b in children:
            sets.append(sets[a] | sets[b])
            found[sets[-1]] += 1 / len(longer)
    # Over 24 runs of 700 trees, frequencies of the ten clades varied as those of 400 to 1370 independent trees do.
    independent = 400 / 700 * n_samples
    for clade, probability in exact.items():
        error = math.sqrt(probability * (1 - probability) / independent)
        assert found[clade] == pytest.approx(probability, abs=4.5 * error + 1e-3)


def test_extend_learns_and_imputes():
    X, _ = ct.simulate(20, 4, random_state=3)
    X = np.asarray(X)
    post = ct.fit(X[:16], "scaled", n_samples=15, n_warmup=10, n_chains=2, random_state=0, progress=False)
    new = X[16:].copy()
    new[0, 1] = new[3, 0] = np.nan
    longer = post.extend(new, n_iterations=2, random_state=0)
    assert longer.n == 20 and len(longer) == 30
    assert longer.imputed.shape == (30, 2)
    assert not np.array_equal(longer.theta["amplitude"], post.theta["amplitude"])
    again = post.extend(new, n_iterations=2, random_state=0)
    np.testing.assert_array_equal(again.times, longer.times)
    assert len(post.extend(new, n_iterations=1, n_trees=7, random_state=0)) <= 7


def test_extend_grafts_near_neighbours():
    X, _ = ct.simulate(2100, 3, random_state=0)
    post = ct.sample_trees(X[:2050], np.eye(3), n_samples=1, n_warmup=2, random_state=0, progress=False)
    longer = post.extend(X[2050:], n_iterations=1, random_state=0)
    tree = ct.Tree(longer.children[0], longer.times[0])  # refuses what is none
    new = np.arange(2050, 2100)
    nearest = np.argmin(np.square(X[new, None] - X[None, :2050]).sum(axis=-1), axis=1)
    to_nearest = tree.cophenetic(pairs=np.column_stack([nearest, new]))
    to_anyone = tree.cophenetic(pairs=np.column_stack([np.random.default_rng(0).permutation(nearest), new]))
    assert np.median(to_nearest) < 0.05 * np.median(to_anyone)


def test_extend_takes_names_of_samplers_and_finds_free_labels():
    X, _ = ct.simulate(6, 3, ct.Fixed(PHI), random_state=0)
    frame = pd.DataFrame(X, index=[str(i) for i in range(4, 10)], columns=list("abc"))
    post = ct.sample_trees(frame, PHI, n_samples=4, random_state=0)
    longer = post.extend(X[:2] + 0.5, sampler="regraft", random_state=0)
    assert longer.labels[6:] == ("10", "11")
    assert longer.info["n_distinct"] == 8 and "seconds" not in longer.info
    for options, words in [
        ({"sampler": "nonsense"}, "sampler must be one of"),
        ({"n_trees": 0}, "n_trees"),
        ({"n_iterations": 0}, "n_iterations"),
    ]:
        with pytest.raises(InputError, match=words):
            post.extend(X[:2] + 0.5, **options)


@pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")
def test_extend_takes_equal_rows():
    post = ct.sample_trees(np.ones((4, 3)), PHI, random_state=0)
    assert post.extend([[1.0, 1.0, 1.0]], random_state=0).trees[0].times.tolist() == [0.0] * 4
    longer = post.extend([[1.0, 1.0, 1.0], [2.0, 3.0, 4.0]], random_state=0)
    assert longer.trees[0].times[:-1].tolist() == [0.0] * 4 and longer.trees[0].times[-1] > 0.0


def test_extend_does_not_learn_a_known_covariance():
    X, _ = ct.simulate(6, 3, random_state=0)
    post = ct.sample_trees(X, "spherical", n_samples=3, random_state=0, progress=False)
    longer = post.extend(X[:1] + 0.5, n_iterations=1, random_state=0)
    assert longer.n == 7 and not longer.theta
    assert longer.extend(X[:1] + 0.7, n_iterations=1, random_state=0).n == 8
