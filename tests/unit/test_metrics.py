"""The paper's measures: by hand on small cases, by listing, and against scikit-learn's adjusted Rand index."""

import math

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import coaltree as ct
from coaltree.model.process.coalescent import simulate_tree
from coaltree.posterior.of_trees import posterior_of_trees
from tests.posteriors import random_posterior
from tests.reference import summaries
from tests.reference import trees as slow

E = math.e


def post_of_two(weights=(0.25, 0.75)):
    """Log times (0, 1) and (2, 5) of the trees (01)2 and (12)0."""
    children = [[[0, 1], [2, 3]], [[1, 2], [0, 3]]]
    return posterior_of_trees(children, np.exp([[0.0, 1.0], [2.0, 5.0]]), log_weights=np.log(weights))


TRUTH = ct.Tree([[0, 1], [2, 3]], [E, E**2])  # log times 1, 2


@pytest.mark.parametrize("of", ["mean", "draws"])
def test_errors_of_weighted_posteriors_by_listing(of):
    post = random_posterior(3, n=8)
    truth = simulate_tree(8, np.random.default_rng(0), post.labels)
    pairs = [(i, j) for i in range(8) for j in range(i + 1, 8)]
    listed = [(t.children.tolist(), t.times.tolist()) for t in post.trees]
    for measure, values in [
        (ct.metrics.time_errors, [np.log(times) for _, times in listed]),
        (ct.metrics.distance_errors, [np.log([summaries.cophenetic(*tree)[p] for p in pairs]) for tree in listed]),
    ]:
        if measure is ct.metrics.time_errors:
            expected = np.log(truth.times)
        else:
            expected = np.log([summaries.cophenetic(truth.children.tolist(), truth.times)[p] for p in pairs])
        if of == "mean":
            errors = [(1.0, np.abs(np.average(values, axis=0, weights=post.weights) - expected))]
        else:
            errors = [(w, np.abs(v - expected)) for w, v in zip(post.weights, values, strict=True)]
        found = measure(post, truth, of)
        assert found.mse == pytest.approx(sum(w * np.mean(e**2) for w, e in errors))
        assert found.mae == pytest.approx(sum(w * np.mean(e) for w, e in errors))
        assert found.mab == pytest.approx(sum(w * np.max(e) for w, e in errors))


def test_distance_errors_match_leaves_by_label():
    truth = ct.Tree.from_newick("((a:1,b:1):2,c:3);")
    same = ct.Tree.from_newick("(c:3,(b:1,a:1):2);")
    assert ct.metrics.distance_errors(same, truth) == (0.0, 0.0, 0.0)
    with pytest.raises(ct.InputError, match="same leaf labels"):
        ct.metrics.distance_errors(same, ct.Tree.from_newick("((a:1,b:1):2,d:3);"))


def test_parameter_errors():
    post = post_of_two((0.25, 0.75))
    post = posterior_of_trees(
        post.draws.children,
        post.draws.times,
        log_weights=post.draws.log_weights,
        theta={"length2": [1.0, 3.0], "variances": [[1.0, 2.0], [3.0, 6.0]]},
    )
    assert ct.metrics.parameter_errors(post, "length2", 2.0) == pytest.approx((0.25, 0.5, 0.5))
    assert ct.metrics.parameter_errors(post, "length2", 2.0, of="draws") == pytest.approx((1.0, 1.0, 1.0))
    found = ct.metrics.parameter_errors(post, "variances", [2.0, 4.0])  # means 2.5, 5
    assert found == pytest.approx(((0.25 + 1) / 2, 0.75, 1.0))
    found = ct.metrics.parameter_errors(post, "length2", 1.0, log=True)
    assert found.mae == pytest.approx(0.75 * math.log(3))
    with pytest.raises(ct.InputError, match="length2, variances"):
        ct.metrics.parameter_errors(post, "noise", 1.0)


def test_errors_refuse_what_has_no_log_or_other_leaves():
    zero = ct.Tree([[0, 1], [2, 3]], [0.0, 1.0])
    with pytest.raises(ct.InputError, match="not positive"):
        ct.metrics.time_errors(zero, TRUTH)
    with pytest.raises(ct.InputError, match="not positive"):
        ct.metrics.distance_errors(TRUTH, zero)


def test_subtree_score_by_hand():
    tree = ct.Tree.from_newick("(((a:1,b:1):1,c:2):2,(d:3,e:3):1);")
    assert ct.metrics.subtree_score(tree, list("xxxyy")) == 1.0  # 3 of 3
    assert ct.metrics.subtree_score(tree, list("xxyyy")) == pytest.approx(2 / 3)  # (ab), (de)
    assert ct.metrics.subtree_score(tree, list("xyxyx")) == 0.0
    assert ct.metrics.subtree_score(tree, {"e": 1, "d": 1, "c": 2, "b": 2, "a": 2}) == 1.0
    post = posterior_of_trees(np.stack([tree.children] * 2), np.stack([tree.times] * 2))
    assert ct.metrics.subtree_score(post, list("xxyyy")) == pytest.approx(2 / 3)
    with pytest.raises(ct.InputError, match="every leaf has its own class"):
        ct.metrics.subtree_score(tree, list("abcde"))


@pytest.mark.parametrize("seed", range(4))
def test_subtree_score_by_listing(seed):
    post = random_posterior(seed, n=9)
    classes = np.random.default_rng(seed).integers(3, size=9)
    expected = 0.0
    for tree, w in zip(post.trees, post.weights, strict=True):
        pure = sum(len({classes[i] for i in clade}) == 1 for clade in summaries.clades(tree.children.tolist()))
        expected += w * pure / (9 - len(set(classes)))
    assert ct.metrics.subtree_score(post, classes) == pytest.approx(expected)


def test_dendrogram_purity_by_hand():
    """((a b) c) (d e): of the pairs of x, a b meets among x alone, a d and b d among all, of which 3 of 5 are x."""
    tree = ct.Tree.from_newick("(((a:1,b:1):1,c:2):2,(d:3,e:3):1);")
    assert ct.metrics.dendrogram_purity(tree, list("xxxyy")) == 1.0
    assert ct.metrics.dendrogram_purity(tree, list("xxyxz")) == pytest.approx((1 + 0.6 + 0.6) / 3)
    assert ct.metrics.dendrogram_purity(tree, dict(zip("edcba", "zxyxx", strict=True))) == pytest.approx(2.2 / 3)
    with pytest.raises(ct.InputError, match="every leaf has its own class"):
        ct.metrics.dendrogram_purity(tree, list("abcde"))


@pytest.mark.parametrize("seed", range(6))
def test_dendrogram_purity_by_listing(seed):
    post = random_posterior(seed, n=14)
    classes = np.random.default_rng(seed).integers(seed % 3 + 1, size=14).tolist()
    each = [summaries.dendrogram_purity(tree.children.tolist(), classes) for tree in post.trees]
    assert ct.metrics.dendrogram_purity(post, classes) == pytest.approx(np.dot(post.weights, each))
    assert ct.metrics.dendrogram_purity(post.trees[0], classes) == pytest.approx(each[0])


def test_ari_curve_by_hand():
    """((a b) c) (d e), classes x x y y y. Four clusters: ab right. Three: (abc) is x by majority. Two: x x x y y."""
    tree = ct.Tree.from_newick("(((a:1,b:1):1,c:2):2,(d:3,e:3):1);")
    curve = ct.metrics.ari_curve(tree, list("xxyyy"))
    assert curve.n_clusters.tolist() == [1, 2, 3, 4, 5]
    # x x x y y against x x y y y: pairs together 4 and 4 of 10, 2 of them in both; expected 1.6
    wrong = (2 - 1.6) / (4 - 1.6)
    assert curve.ari == pytest.approx([0.0, wrong, wrong, 1.0, 1.0])
    assert ct.metrics.ari_auc(curve) == pytest.approx((0 / 2 + wrong + wrong + 1 + 1 / 2) / 5)
    assert ct.metrics.ari_auc(tree, list("xxyyy")) == ct.metrics.ari_auc(curve)


@pytest.mark.parametrize(("n", "n_classes", "seed"), [(2, 2, 0), (3, 1, 1), (12, 3, 2), (60, 5, 3), (60, 60, 4)])
def test_ari_curve_is_scikit_learns(n, n_classes, seed):
    rng = np.random.default_rng(seed)
    tree = simulate_tree(n, rng)
    classes = np.array(list("abcdefghijklmnopqrstuvwxyz" * 3))[rng.permutation(np.arange(n) % n_classes)]
    if n_classes == 60:
        classes = np.arange(n)
    curve = ct.metrics.ari_curve(tree, classes)
    first_met = {c: i for i, c in reversed(list(enumerate(classes.tolist())))}
    codes = [first_met[c] for c in classes.tolist()]
    for k in range(1, n + 1):
        labels = summaries.majority_labels(slow.cut(tree.children, n - k), codes)
        assert curve.ari[k - 1] == pytest.approx(adjusted_rand_score(codes, labels), abs=1e-12)
        if n <= 12:
            assert curve.ari[k - 1] == pytest.approx(summaries.adjusted_rand(codes, labels), abs=1e-12)


def test_ari_curve_of_a_posterior_is_the_weighted_mean():
    post = random_posterior(2, n=9)
    classes = np.arange(9) % 3
    expected = np.average([ct.metrics.ari_curve(t, classes).ari for t in post.trees], axis=0, weights=post.weights)
    np.testing.assert_allclose(ct.metrics.ari_curve(post, classes).ari, expected, atol=1e-12)
    assert ct.metrics.ari_auc(post, classes) == pytest.approx(np.trapezoid(expected, np.arange(1, 10) / 9))


def test_agreement_is_scikit_learns_index_and_the_share_of_the_commonest_class():
    rng = np.random.default_rng(8)
    for _ in range(20):
        labels, classes = rng.integers(0, 4, 30), rng.choice(["x", "y", "z"], 30)
        found = ct.metrics.agreement(labels, classes)
        assert found.ari == pytest.approx(adjusted_rand_score(classes, labels))
        most = [np.unique(classes[labels == c], return_counts=True)[1].max() for c in np.unique(labels)]
        assert found.purity == pytest.approx(sum(most) / 30)
        assert found.table.sum() == 30
    assert ct.metrics.agreement([0, 0, 1], ["b", "b", "a"])[:2] == (1.0, 1.0)
    assert ct.metrics.agreement([0, 0], [1, 1]).ari == 1.0
    with pytest.raises(ct.InputError, match="of the same length"):
        ct.metrics.agreement([0, 1], [0])
