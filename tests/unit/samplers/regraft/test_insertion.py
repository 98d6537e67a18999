"""Insertion: evidence against quadrature, orders, threads, and trees that hold together."""

import math
from functools import cache

import numpy as np
import pytest

import coaltree as ct
from coaltree._runtime.random_streams import make_streams
from coaltree.samplers.regraft import insertion
from coaltree.samplers.regraft.candidates import Quadrature
from coaltree.samplers.regraft.insertion import Insertion, insertion_tree
from coaltree.samplers.regraft.update import Rule, make_engine
from tests.reference.evidence import exact_posterior
from tests.sampler_cases import problem_of

CASES = [(2, 3, 0.0), (3, 1, 0.0), (3, 9, 0.0), (4, 2, 0.0), (4, 2, 0.3), (4, 9, 0.0)]
UNEQUAL = (3, 2, (0.02, 0.3, 2.0))


def run(sampler, problem, seed=0, n_threads=None):
    return sampler.run(problem, np.random.default_rng(seed), n_threads=n_threads)


@cache
def case_and_quadrature(n, d, noise):
    problem = problem_of(n, d, 10 * n + d, noise, log_det=0.7)
    return problem, exact_posterior(problem.W, leaf_var=noise, log_det=0.7)


@pytest.mark.parametrize(
    ("case", "n_updates"),
    [*((case, 0) for case in (*CASES, UNEQUAL)), *((case, 3) for case in ((3, 1, 0.0), (4, 2, 0.3), UNEQUAL))],
    ids=str,
)
def test_insertion_evidence_equals_quadrature(case, n_updates):
    problem, exact = case_and_quadrature(*case)
    ratios = np.exp(
        [run(Insertion(60, n_updates=n_updates), problem, seed).log_evidence - exact.log_evidence for seed in range(25)]
    )
    error = ratios.std() / math.sqrt(len(ratios) - 1)
    assert error < 0.03
    assert abs(ratios.mean() - 1.0) < 4.5 * error + 1e-6


def test_insertion_takes_errors_with_their_rows():
    """Negative control: variances in another order have another evidence."""
    problem, exact = case_and_quadrature(*UNEQUAL)
    turned = problem._replace(leaf_var=np.array(UNEQUAL[2][::-1]))
    ratios = np.exp([run(Insertion(60), turned, seed).log_evidence - exact.log_evidence for seed in range(25)])
    assert abs(ratios.mean() - 1.0) > 8 * ratios.std() / math.sqrt(24)


def test_insertion_evidence_is_not_the_normaliser_of_its_proposal(monkeypatch):
    """Negative control: with a coarse proposal, weighing by its mass instead of f / q is wrong."""
    problem = problem_of(3, 1, 31)
    exact = exact_posterior(problem.W)
    coarse = Rule(quadrature=Quadrature(spacing=12.0))
    monkeypatch.setattr(insertion, "make_engine", lambda problem, W: make_engine(problem, W, rule=coarse))
    right = np.exp([run(Insertion(200), problem, seed).log_evidence - exact.log_evidence for seed in range(25)])
    assert abs(right.mean() - 1.0) < 4.5 * right.std() / math.sqrt(24)
    wrong = np.exp([normaliser_alone(problem, coarse, seed) - exact.log_evidence for seed in range(25)])
    assert abs(wrong.mean() - 1.0) > 8 * wrong.std() / math.sqrt(24)


def normaliser_alone(problem, rule, seed, n_particles=200):
    population = insertion._GrowingTrees(problem, make_streams(np.random.default_rng(seed), n_particles), 0)
    log_weights = np.zeros(n_particles)
    for i in range(n_particles):
        engine = make_engine(problem, problem.W, rule=rule)
        insertion.begin_tree(engine)
        for leaf in range(1, problem.n):
            insertion.insert(engine, leaf, insertion._EVERY_BRANCH, population.streams[i])
            cand = engine.candidates
            log_weights[i] += np.logaddexp.reduce(cand.branches["log_weight"][: cand.counts["candidates"][0]])
    log_weights += (problem.n - 1) * population._constant
    return np.logaddexp.reduce(log_weights) - math.log(n_particles)


def test_insertion_trees_follow_the_posterior():
    problem = problem_of(4, 2, 42)
    exact = exact_posterior(problem.W).clade_probabilities()
    found = dict.fromkeys(exact, 0.0)
    n_runs = 20
    for seed in range(n_runs):
        draws = run(Insertion(200), problem, seed)
        weights = np.exp(draws.log_weights - draws.log_weights.max())
        weights /= weights.sum()
        for children, weight in zip(draws.children, weights, strict=True):
            sets = [frozenset([i]) for i in range(4)]
            for a, b in children:
                sets.append(sets[a] | sets[b])
                found[sets[-1]] += weight / n_runs
    for clade, probability in exact.items():
        assert found[clade] == pytest.approx(probability, abs=4.5 * math.sqrt(0.25 / 2000))


def test_insertion_trees_have_the_numbers_of_the_rows_and_their_log_joint():
    problem = problem_of(20, 4)
    for order in (None, tuple(reversed(range(20)))):
        draws = run(Insertion(5, order=order), problem, 3)
        for children, times, log_joint in zip(draws.children, draws.times, draws.log_joint, strict=True):
            tree = ct.Tree(children, times)
            assert log_joint == pytest.approx(tree.log_prior() + tree.log_likelihood(problem.W, np.eye(4)), rel=1e-9)


@pytest.mark.parametrize("n", [2, 3, 17, 400])
def test_insertion_tree_is_near_the_posterior(n):
    problem = problem_of(n, 8)
    children, times = insertion_tree(problem, np.random.default_rng(0))
    tree = ct.Tree(children, times)
    _, truth = ct.simulate(n, 8, random_state=0)
    gap = sum(sign * (t.log_prior() + t.log_likelihood(problem.W, np.eye(8))) for sign, t in ((1, tree), (-1, truth)))
    assert gap > -5.0 * n
