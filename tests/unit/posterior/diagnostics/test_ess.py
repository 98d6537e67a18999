"""Effective numbers and agreement of chains."""

import numpy as np
import pytest
from arviz_stats.base import array_stats

from coaltree.model.process import coalescent
from coaltree.posterior.diagnostics.convergence import split_frequency_sd_of, topology_ess_of
from coaltree.posterior.of_trees import posterior_of_trees
from tests.posteriors import listed, random_posterior
from tests.reference import summaries


def sticky_chain(rng, n_draws, stay, n=6):
    """Independent coalescent topologies, each kept for a geometric number of draws: autocorrelation stay^s."""
    children = []
    for t in range(n_draws):
        if t and rng.random() < stay:
            children.append(children[-1])
        else:
            children.append(coalescent.simulate_tree(n, rng).children)
    return np.array(children)


def with_unit_times(children, **extra):
    return posterior_of_trees(children, np.tile(np.arange(1.0, children.shape[1] + 1), (len(children), 1)), **extra)


@pytest.mark.parametrize("stay", [0.0, 0.7])
def test_topology_ess_is_the_median_of_those_of_clades_shared_with_references(stay):
    rng = np.random.default_rng(0)
    post = with_unit_times(sticky_chain(rng, 20, stay), chain=np.repeat([0, 1], 10))  # every draw is a reference
    clades = [set(summaries.clades(tree)) for tree, _ in listed(post)]
    shared = np.array([[len(one & other) for other in clades] for one in clades], dtype=float)
    expected = np.median([array_stats.ess(x.reshape(2, 10), method="bulk") for x in shared if np.ptp(x) > 0])
    assert topology_ess_of(post) == pytest.approx(min(expected, 20.0), rel=1e-9)


def test_topology_ess_knows_how_long_a_chain_remembers():
    """ρ_s = stay^s, so ESS / T = (1 - stay) / (1 + stay); the mean of 8 runs, within 15 %."""
    for stay, n_draws in ((0.0, 400), (0.5, 400), (0.9, 1000)):
        found = []
        for seed in range(8):
            rng = np.random.default_rng(seed)
            children = np.concatenate([sticky_chain(rng, n_draws, stay) for _ in range(2)])
            found.append(topology_ess_of(with_unit_times(children, chain=np.repeat([0, 1], n_draws))) / (2 * n_draws))
        assert np.mean(found) == pytest.approx((1 - stay) / (1 + stay), rel=0.15)


def test_topology_ess_sees_chains_that_disagree():
    rng = np.random.default_rng(3)
    one, other = (np.tile(coalescent.simulate_tree(6, rng).children, (50, 1, 1)) for _ in range(2))
    assert topology_ess_of(with_unit_times(np.concatenate([one, other]), chain=np.repeat([0, 1], 50))) < 10
    assert topology_ess_of(with_unit_times(one, chain=np.zeros(50, int))) == 50  # nothing is uncertain


def test_ess_of_a_chain_is_that_of_its_log_joint():
    rng = np.random.default_rng(1)
    log_joint = np.cumsum(rng.normal(size=(2, 300)), axis=1) * 0.02 + rng.normal(size=(2, 300)) * 0.01
    children = sticky_chain(rng, 600, 0.0)
    chain = np.repeat([0, 1], 300)
    post = with_unit_times(children, chain=chain, log_joint=log_joint.ravel())
    assert 2 < post.ess < 100
    assert with_unit_times(children, chain=chain, log_joint=rng.normal(size=600)).ess > 400
    short = with_unit_times(children[:3], chain=chain[:3], log_joint=log_joint.ravel()[:3])
    assert short.ess == pytest.approx(3)


def test_split_frequency_sd():
    post = random_posterior(2, n=6, n_trees=30)
    chain = np.arange(30) % 3
    post = posterior_of_trees(post.draws.children, post.draws.times, log_weights=post.draws.log_weights, chain=chain)
    trees = listed(post)
    per_chain = []
    for c in range(3):
        of_chain = [t for t in range(30) if chain[t] == c]
        weights = post.weights[of_chain] / post.weights[of_chain].sum()
        per_chain.append(summaries.clade_frequencies([trees[t] for t in of_chain], weights))
    every = set().union(*per_chain) - {frozenset(range(6))}
    table = np.array([[f.get(c, 0.0) for f in per_chain] for c in every])
    for least in (0.0, 0.1, 0.4):
        counted = table[table.max(axis=1) >= least]
        assert split_frequency_sd_of(post, least) == pytest.approx(counted.std(axis=1, ddof=1).mean())
    assert np.isnan(split_frequency_sd_of(random_posterior(0)))
