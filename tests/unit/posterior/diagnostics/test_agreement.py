"""Whether chains agree on the stability of clusters."""

import numpy as np

from coaltree.posterior.diagnostics.agreement import chains_agree
from coaltree.posterior.of_trees import posterior_of_trees
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
    return posterior_of_trees(children, times, chain=np.repeat(np.arange(len(by_chain)), T), **more)


def split(cut):
    """Two groups, the second beginning at a leaf."""
    return np.arange(cut), np.arange(cut, N)


def test_chains_of_the_same_posterior_agree():
    both = [split(12), split(6)]
    for by_chain in ([[split(12)], [split(12)]], [both, both]):
        agreement = chains_agree(posterior(by_chain))
        assert agreement.n_clusters >= 2
        assert agreement.stability_difference == 0.0
        assert agreement.stability_difference <= 0.1


def test_chains_held_in_two_halves_of_the_posterior_do_not_agree():
    """Also where nothing is stable any more, so that one cluster is suggested."""
    for other in ([split(6)], [split(6), split(3)], [[np.arange(0, N, 2), np.arange(1, N, 2)]]):
        held = posterior([[split(12)], other])
        agreement = chains_agree(held)
        assert agreement.n_clusters == max(held.suggest_n_clusters().n_clusters, 2)
        assert agreement.stability_difference > 0.2
        assert agreement.stability_difference > 0.1


def test_agreement_is_the_difference_between_the_stabilities_of_each_chain():
    rng = np.random.default_rng(3)
    visits = [[split(12) if rng.random() < share else split(6) for _ in range(T)] for share in (0.8, 0.5)]
    post = posterior(visits)
    agreement = chains_agree(post)
    labels = post.cut(agreement.n_clusters)
    first, second = (post[post.draws.chain == c].stability(labels).jaccard for c in (0, 1))
    np.testing.assert_allclose(agreement.stability_difference, np.abs(first - second).max(), atol=1e-12)
    assert 0.0 < agreement.stability_difference < 0.3


def test_agreement_needs_two_chains_of_equal_weights():
    assert chains_agree(posterior([[split(12)]])) is None
    two = posterior([[split(12)], [split(12)]])
    assert chains_agree(posterior_of_trees(two.draws.children, two.draws.times, log_weights=np.arange(2.0 * T))) is None
    assert chains_agree(two) is not None
