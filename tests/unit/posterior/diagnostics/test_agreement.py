"""Whether chains give the same answer: clusters and supports."""

import math
import warnings

import numpy as np
import pytest

import coaltree as ct
from coaltree.model.process.coalescent import simulate_tree
from coaltree.posterior.diagnostics import agreement
from coaltree.posterior.diagnostics.agreement import ChainAgreement, chains_agree, from_info, same_clusters
from coaltree.posterior.diagnostics.convergence import disagreements
from coaltree.tree.merges import in_order_of_time

N, T = 24, 40  # leaves, draws of each chain


def tree_of(groups, rng):
    """Children and times of a tree in which each of the groups of leaves is a clade, young beside the rest."""
    children, times, tops = [], [], []
    for leaves in groups:
        nodes = [(0.0, leaf) for leaf in leaves]
        while len(nodes) > 1:
            time = max(nodes[0][0], nodes[1][0]) + 0.01 * rng.exponential()
            (_, a), (_, b) = nodes.pop(0), nodes.pop(0)
            children.append((a, b))
            times.append(time)
            nodes.append((time, N + len(times) - 1))
        tops.append(nodes[0][1])
    while len(tops) > 1:
        children.append((tops.pop(0), tops.pop(0)))
        times.append(1.0 + len(times) + 0.1 * rng.random())
        tops.insert(0, N + len(times) - 1)
    return in_order_of_time(np.array(children), np.array(times))


def posterior(by_chain, **more):
    """Draws of chains, each from its own partitions of the leaves."""
    rng = np.random.default_rng(0)
    trees = [tree_of(groups[t % len(groups)], rng) for groups in by_chain for t in range(T)]
    children, times = map(np.array, zip(*trees, strict=True))
    return ct.Posterior(children, times, chain=np.repeat(np.arange(len(by_chain)), T), **more)


def split(cut):
    """Two groups, the second beginning at a leaf."""
    return np.arange(cut), np.arange(cut, N)


def rows_of(cut):
    rng = np.random.default_rng(1)
    return {
        "X": rng.normal(size=(N, 2)) + 20.0 * (np.arange(N) >= cut)[:, None],
        "covariance": ct.Spherical(learn=False),
        "noise": 0.1,
    }


def test_chains_of_the_same_posterior_agree():
    post = posterior([[split(12)], [split(12)]], **rows_of(12))
    found = post.agreement()
    assert (found.n_clusters, found.ari) == (2, 1.0)
    assert math.isnan(found.ari_of_halves)
    assert found.support_difference < 0.1
    assert disagreements(found) == []
    assert same_clusters(found) == "the chains give the same clusters: ARI 1.00"


def test_chains_held_in_two_halves_of_the_posterior_do_not_agree():
    """Of two partitions in equal parts: chains that have one each do not agree; those that have both do."""
    held = posterior([[split(12)], [split(6)]], **rows_of(12)).agreement()
    assert held.ari < 0.6
    assert held.ari_of_halves > 0.95
    assert held.support_difference > 0.2
    clusters, supports = disagreements(held)
    assert clusters.startswith("the chains give different clusters")
    assert supports.startswith("supports of large groups differ")
    both = [split(12), split(6)]
    assert disagreements(posterior([both, both], **rows_of(12)).agreement()) == []


def test_agreement_sees_supports_where_clusters_are_the_same():
    inner = [np.arange(6), np.arange(6, 12), np.arange(12, N)]
    shuffled = [np.arange(0, 12, 2), np.arange(1, 12, 2), np.arange(12, N)]
    found = posterior([[inner], [shuffled]], **rows_of(12)).agreement()
    assert found.n_clusters == 2
    assert found.gives_same_clusters
    (supports,) = disagreements(found)
    assert "supports" in supports


def test_agreement_takes_off_what_chance_explains():
    """Chains that visit the same two states, for long each time, differ by chance; chains with one each do not."""
    inner = [np.arange(6), np.arange(6, 12), np.arange(12, N)]
    shuffled = [np.arange(0, 12, 2), np.arange(1, 12, 2), np.arange(12, N)]
    visits = [[inner] * 8 + [shuffled] * 8 + [inner] * 16 + [shuffled] * 8, [inner] * 4 + [shuffled] * 16 + [inner] * 4]
    visits[1] += [shuffled] * 16
    slow = posterior(visits, **rows_of(12))
    raw = np.abs(np.diff([slow[slow.chain == c].clade_support(slow.mean_tree(), "transfer") for c in (0, 1)], axis=0))
    assert raw.max() > 0.2
    assert slow.agreement().support_difference < 0.1 < raw.max() - 0.1
    assert posterior([[inner], [shuffled]], **rows_of(12)).agreement().support_difference > 0.2


def test_agreement_sees_chains_that_visit_the_same_states_in_other_shares():
    """Often and quickly: that is not chance. In closer shares it may be, for the largest of many differences."""
    inner = [np.arange(6), np.arange(6, 12), np.arange(12, N)]
    shuffled = [np.arange(0, 12, 2), np.arange(1, 12, 2), np.arange(12, N)]

    def difference(*shares):
        rng = np.random.default_rng(3)
        visits = [[inner if rng.random() < share else shuffled for _ in range(T)] for share in shares]
        return posterior(visits, **rows_of(12)).agreement().support_difference

    assert difference(0.95, 0.05) > 0.1
    assert difference(0.7, 0.4) < 0.1


def test_agreement_of_one_cluster_is_reported_only():
    post = posterior([[split(12)], [split(6)]], **(rows_of(12) | {"X": np.random.default_rng(0).normal(size=(N, 2))}))
    found = post.agreement()._replace(n_clusters=1)
    assert found.gives_same_clusters
    assert same_clusters(found).startswith("one cluster is suggested; cut into two, the chains' trees have ARI 0.")


def test_agreement_needs_two_chains_draws_and_leaves():
    assert posterior([[split(12)]]).agreement() is None
    few = posterior([[split(12)], [split(12)]])
    assert few[[0, 1, T, T + 1]].agreement() is None
    weighted = ct.Posterior(few.children, few.times, log_weights=np.arange(2.0 * T))
    assert weighted.agreement() is None
    assert few.agreement() is not None  # without rows as well


def test_agreement_of_many_leaves_looks_at_some(monkeypatch):
    """A part of the leaves tells the same: that chains agree, and that they do not."""
    monkeypatch.setattr(agreement, "MAX_LEAVES", 16)
    same, held = ([[split(12)], [split(12)]], [[split(12)], [split(6)]])
    assert disagreements(chains_agree(posterior(same, **rows_of(12)))) == []
    assert len(disagreements(chains_agree(posterior(held, **rows_of(12))))) == 2


def test_agreement_is_read_from_info_if_it_is_there():
    found = ChainAgreement(3, 0.97, math.nan, 0.04)
    again = from_info({"reason": "converged", **found._asdict()})
    np.testing.assert_array_equal(again, found)
    for other in (None, {}, {**found._asdict(), "n_clusters": "many"}, {"ari": 1.0}):
        assert from_info(other) is None
    doubtful = ChainAgreement(3, 0.5, 0.9, 0.04)
    assert same_clusters(doubtful) == "the chains give different clusters: ARI 0.50, halves of one chain 0.90"
    vague = same_clusters(ChainAgreement(3, 0.5, 0.5, 0.04))
    assert vague == "the chains give as much the same clusters as halves of one do: ARI 0.50, halves of one chain 0.50"


def test_agreement_warns_of_nothing():
    trees = [simulate_tree(9, np.random.default_rng(seed)) for seed in range(24)]
    children, times = (np.array([getattr(tree, name) for tree in trees]) for name in ("children", "times"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ct.Posterior(children, times, chain=np.repeat([0, 1], 12)).agreement()
    assert found.ari == pytest.approx(found.ari)
