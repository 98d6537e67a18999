"""Closest clades of drawn trees, against a transcription of their definition."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.model.process.coalescent import simulate_tree
from coaltree.posterior.clusters.closest_clades import closest_clades, times_inside, times_together
from coaltree.posterior.of_trees import posterior_of_trees
from tests.posteriors import listed, random_posterior, renumbered
from tests.reference import summaries


def drawn(seed, n, n_trees=30):
    """Children of random trees, and k disjoint sets of their leaves, some of which are in none."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, n + 1))
    sets = np.append(np.arange(k), rng.integers(-1, k, n - k))
    return np.stack([simulate_tree(n, rng).children for _ in range(n_trees)]), rng.permutation(sets)


def closest(children, numbers):
    """[[the closest clade of each set] of each tree]"""
    sets = [frozenset(np.flatnonzero(numbers == j).tolist()) for j in range(numbers.max() + 1)]
    return sets, [[summaries.closest_clade(one, tree.tolist()) for one in sets] for tree in children]


def under(tree):
    n = len(tree) + 1
    return [frozenset([i]) for i in range(n)] + summaries.clades(tree.tolist())


def test_closest_clades_are_those_of_the_definition():
    """A negative control: those with the fewest leaves to move, as in transfer supports, are other clades."""
    others = 0
    for seed in range(40):
        children, numbers = drawn(seed, 2 + seed % 13)
        sets, expected = closest(children, numbers)
        similarity, nodes, _ = closest_clades(children, numbers)
        assert [[under(tree)[v] for v in row] for tree, row in zip(children, nodes, strict=True)] == expected
        jaccard = [[summaries.jaccard(one, clade) for one, clade in zip(sets, row, strict=True)] for row in expected]
        np.testing.assert_allclose(similarity, jaccard, rtol=1e-15)
        for tree, row in zip(children, expected, strict=True):
            others += row != [
                min(under(tree), key=lambda clade, one=one: (len(one ^ clade), len(clade))) for one in sets
            ]
    assert others > 100


def test_times_inside_and_together_are_sums_over_the_closest_clades():
    for seed in range(10):
        n = 3 + seed
        children, numbers = drawn(seed, n)
        weights = np.random.default_rng(seed).dirichlet(np.ones(len(children)))
        _, found = closest(children, numbers)
        nodes = closest_clades(children, numbers).nodes
        inside = np.zeros((n, len(found[0])))
        together = np.zeros((n, n))
        for w, row in zip(weights, found, strict=True):
            for j, clade in enumerate(row):
                inside[list(clade), j] += w
            together += w * np.array([[any({a, b} <= clade for clade in row) for a in range(n)] for b in range(n)])
        np.testing.assert_allclose(times_inside(children, nodes, weights), inside, atol=1e-14)
        np.fill_diagonal(together, 1.0)
        some = np.random.default_rng(seed).permutation(n)[: n - 1]
        part = together[np.ix_(some, some)]
        np.testing.assert_allclose(times_together(children, nodes, weights, some), part, atol=1e-14)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_what_follows_from_closest_clades_is_what_the_definitions_say(k):
    post = random_posterior(k, n=12, n_trees=25)
    labels = np.random.default_rng(k).permutation(np.arange(12) % k)
    sets = [frozenset(np.flatnonzero(labels == j).tolist()) for j in range(k)]
    found = [[summaries.closest_clade(one, children) for one in sets] for children, _ in listed(post)]
    similar = np.array([[summaries.jaccard(*both) for both in zip(sets, row, strict=True)] for row in found])
    stability = post.stability(labels, level=0.8)
    np.testing.assert_allclose(stability.jaccard, post.weights @ similar, atol=1e-12)
    ends = [[summaries.quantile(values, post.weights, q) for q in (0.1, 0.9)] for values in similar.T]
    np.testing.assert_allclose(stability.interval, ends)
    np.testing.assert_array_equal(stability.sizes, np.bincount(labels))
    inside = np.array([[post.weights @ [i in row[j] for row in found] for j in range(k)] for i in range(12)])
    membership = inside / np.maximum(inside.sum(axis=1, keepdims=True), 1.0)
    np.testing.assert_allclose(post.membership(labels), membership, atol=1e-12)
    both = [
        [post.weights @ [any({a, b} <= clade for clade in row) for row in found] for a in range(12)] for b in range(12)
    ]
    np.testing.assert_allclose(post.coclustering(labels), both + np.diag(1.0 - np.diag(both)), atol=1e-12)


def test_the_order_of_the_rows_does_not_matter():
    post = random_posterior(3, n=14, n_trees=40)
    labels = np.random.default_rng(0).integers(-1, 4, 14)
    number = np.random.default_rng(1).permutation(14)
    other = renumbered(post, number, [str(i) for i in range(14)])
    moved = np.empty(14, int)
    moved[number] = labels
    np.testing.assert_allclose(other.membership(moved)[number], post.membership(labels), atol=1e-12)
    np.testing.assert_allclose(other.stability(moved).jaccard, post.stability(labels).jaccard, atol=1e-12)


@pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")
@pytest.mark.parametrize(
    "make",
    [
        lambda: posterior_of_trees([[[0, 1]]], [[1.0]]),  # two rows
        lambda: posterior_of_trees([[[0, 1], [3, 2]]], [[1.0, 2.0]]),  # one draw
        lambda: random_posterior(0, n=9),  # weighted, one of them 0
        lambda: ct.fit(np.repeat(np.eye(3), 3, axis=0), noise=0.0, n_samples=5, n_warmup=2, random_state=0),  # copies
    ],
    ids=["two rows", "one draw", "weights", "duplicates"],
)
def test_small_and_odd_posteriors_have_all_answers(make):
    post = make()
    for k in (1, 2, post.n):
        labels = post.cut(k)
        stability, membership = post.stability(labels), post.membership(labels)
        assert stability.jaccard.shape == (k,) and (stability.jaccard > 0.0).all() and (stability.jaccard <= 1.0).all()
        assert membership.shape == (post.n, k)
        assert (membership >= 0.0).all() and (membership.sum(axis=1) <= 1.0 + 1e-12).all()
        together = post.coclustering(k)
        assert (together == together.T).all() and together.max() == 1.0 and together.min() >= 0.0
    np.testing.assert_allclose(post.stability(np.arange(post.n)).jaccard, 1.0)
    np.testing.assert_allclose(post.membership(np.zeros(post.n, int)), 1.0)
    suggested = post.suggest_n_clusters()
    assert suggested.low <= suggested.n_clusters <= suggested.high
