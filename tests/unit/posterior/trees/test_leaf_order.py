import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
from scipy.spatial.distance import pdist, squareform

import coaltree as ct
from coaltree.posterior.of_trees import posterior_of_trees
from coaltree.posterior.trees.leaf_order import side_by_side


def _ordered(X, labels=None):
    tree = ct.Tree.from_linkage(linkage(X, "average"), labels)
    post = posterior_of_trees(tree.children[None], tree.times[None], X=X, labels=labels)
    return ct.Tree(side_by_side(tree.children, np.arange(tree.n), post.model), tree.times), post


def _length(X, order):
    return squareform(pdist((X - X.mean(axis=0)) / X.std(axis=0)))[order[:-1], order[1:]].sum()


def _shortest(children, distance):
    """The length of the shortest path along the leaves of a tree, of all ways to swap its sides."""
    best = {leaf: {(leaf, leaf): 0.0} for leaf in range(len(distance))}
    for node, (a, b) in enumerate(children.tolist(), len(distance)):
        best[node] = {}
        for (first, last), one in best[a].items():
            for (next_, end), other in best[b].items():
                length = one + other + distance[last, next_]
                if length < best[node].get((first, end), np.inf):
                    best[node][first, end] = best[node][end, first] = length
    return min(best[node].values())


def test_path_along_the_leaves_is_nearly_the_shortest_and_shorter_than_scipys():
    rng = np.random.default_rng(0)
    ours, theirs, plain, shortest = [], [], [], []
    for _ in range(20):
        X = rng.normal(size=(40, 3))
        X /= X.std(axis=0)
        Z = linkage(X, "average")
        tree, _ = _ordered(X)
        ours.append(_length(X, tree.leaf_order()))
        theirs.append(_length(X, leaves_list(optimal_leaf_ordering(Z, pdist(X)))))
        plain.append(_length(X, leaves_list(Z)))
        shortest.append(_shortest(ct.Tree.from_linkage(Z).children, squareform(pdist(X))))
    assert (np.array(ours) >= np.array(shortest) - 1e-9).all()
    assert np.mean(ours) <= 1.08 * np.mean(shortest)
    assert np.mean(ours) <= np.mean(theirs)
    assert np.mean(plain) > 1.2 * np.mean(shortest)  # the negative control


def test_order_is_of_the_same_tree_and_does_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(0)
    X, shuffled = rng.normal(size=(40, 3)), rng.permutation(40)
    names = np.array([f"r{i:02}" for i in range(40)])
    first, second = (
        posterior_of_trees(t.children[None], t.times[None], X=x, labels=t.labels).mean_tree()
        for x, t in (
            (X, ct.Tree.from_linkage(linkage(X, "average"), names)),
            (X[shuffled], ct.Tree.from_linkage(linkage(X[shuffled], "average"), names[shuffled])),
        )
    )
    assert [first.labels[i] for i in first.leaf_order()] == [second.labels[i] for i in second.leaf_order()]
    assert set(first.clades()) == set(second.clades())


def test_order_of_trees_without_values_is_theirs():
    post = posterior_of_trees([[[1, 0], [3, 2]]], [[1.0, 2.0]])
    assert post.mean_tree().leaf_order().tolist() == [1, 0, 2]


def test_clusters_are_numbered_from_top_to_bottom():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(15, 2)) + center for center in ([0, 0], [30, 0], [10, 0], [20, 0])])
    _, post = _ordered(X)
    labels = post.cut(4)[post.mean_tree().leaf_order()]
    np.testing.assert_array_equal(labels, np.repeat(range(4), 15))
    assert post.cut(4)[[0, 15, 30, 45]].tolist() in ([0, 3, 1, 2], [3, 0, 2, 1])  # along the line
