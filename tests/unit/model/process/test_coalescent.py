"""The prior over trees: rates, density, simulation, how late leaves join."""

import numpy as np
import pytest

from coaltree.errors import InputError
from coaltree.model.process.coalescent import (
    lateness,
    log_prior,
    rates,
    simulate_merges,
    simulate_tree,
    standardized_gaps,
)
from coaltree.model.process.simulation import simulate
from tests.reference import contrasts as reference_contrasts
from tests.reference import likelihood as reference
from tests.reference.evidence import leaf_sets, ranked_topologies


def test_rates_count_the_pairs_of_lineages():
    np.testing.assert_array_equal(rates(5), [10, 6, 3, 1])


def test_log_prior_equals_the_transcription_and_works_on_stacks():
    trees = [simulate_tree(9, np.random.default_rng(seed)) for seed in range(4)]
    stack = np.array([tree.times for tree in trees])
    np.testing.assert_allclose(log_prior(stack), [reference.log_prior(tree.times) for tree in trees], rtol=1e-12)
    np.testing.assert_allclose(trees[0].log_prior(), log_prior(stack[0]))


def test_simulate_tree_has_exponential_gaps():
    rng = np.random.default_rng(1)
    gaps = np.array([standardized_gaps(simulate_tree(12, rng).times) for _ in range(2000)])
    standard_error = 1 / np.sqrt(gaps.shape[0])  # an Exp(1) variable has mean and deviation 1
    assert np.abs(gaps.mean(axis=0) - 1).max() < 4.5 * standard_error
    root = np.array([simulate_tree(12, rng).times[-1] for _ in range(2000)])
    assert abs(root.mean() - 2 * (1 - 1 / 12)) < 4.5 * root.std() / np.sqrt(len(root))
    assert np.abs((gaps * 1.3).mean(axis=0) - 1).max() > 4.5 * standard_error  # a rate wrong by 30 % is seen


def test_simulate_tree_draws_uniform_ranked_topologies():
    rng = np.random.default_rng(2)
    n, draws = 4, 9000
    counts = {leaf_sets(m): 0 for m in ranked_topologies(n)}
    expected = {leaf_sets(m): 0.0 for m in ranked_topologies(n)}
    for merges in ranked_topologies(n):
        expected[leaf_sets(merges)] += 1 / len(ranked_topologies(n))
    for _ in range(draws):
        counts[leaf_sets(tuple(map(tuple, simulate_tree(n, rng).children)))] += 1

    def chi_square(probabilities):
        return sum((counts[c] - draws * q) ** 2 / (draws * q) for c, q in probabilities.items())

    assert chi_square(expected) < 41  # 14 degrees of freedom, p = 2e-4
    wrong = {c: 1 / len(counts) for c in counts}  # unranked topologies are not uniform
    assert chi_square(wrong) > 100


def test_simulate_tree_is_repeatable_and_checks_n():
    assert simulate_tree(6, np.random.default_rng(3)) == simulate_tree(6, np.random.default_rng(3))
    for bad in (1, 0, -2, 2.5, True, "7"):
        with pytest.raises(InputError, match="n must be a whole number from 2 to"):
            simulate(bad, d=2)


def test_lateness_equals_the_transcription():
    for seed in range(20):
        tree = simulate_tree(40, np.random.default_rng(seed))
        np.testing.assert_allclose(lateness(tree.children), reference_contrasts.lateness(tree.children.tolist()))


def test_lateness_is_that_of_the_coalescent():
    rng = np.random.default_rng(1)
    of_trees = np.array([lateness(simulate_merges(30, rng)).mean() for _ in range(2000)])
    error = of_trees.std() / np.sqrt(2000)
    m = np.arange(2, 31)  # P(a leaf is single among m of n) = m (m - 1) / (n (n - 1)), P(it joins then) = 2 / m
    assert abs(of_trees.mean() - (2.0 * (m - 1) / m).sum() / (30 * 29)) < 4.0 * error
    caterpillar = [[0, 1], *([30 + k, k + 2] for k in range(28))]
    assert lateness(np.array(caterpillar)).mean() > of_trees.mean() + 10 * error  # negative control
