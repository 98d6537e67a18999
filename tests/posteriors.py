"""Posteriors that the tests share, without a sampler."""

import numpy as np

import coaltree as ct
from coaltree.posterior.of_trees import posterior_of_trees
from tests.reference import summaries


def random_posterior(seed, n=7, n_trees=12, weighted=True, **extra):
    """Trees that share many clades: each is a coalescent tree, or an earlier one with new times."""
    rng = np.random.default_rng(seed)
    children = np.empty((n_trees, n - 1, 2), np.int64)
    for t in range(n_trees):
        if t and rng.random() < 0.6:
            children[t] = children[rng.integers(t)]
            continue
        alive = list(range(n))
        for k in range(n - 1):
            # neighbours in the list merge more often than not, so that clades recur
            i = rng.integers(len(alive) - 1)
            j = i + 1 if rng.random() < 0.8 else rng.choice([x for x in range(len(alive)) if x != i])
            a, b = alive[i], alive[j]
            children[t, k] = (a, b) if rng.random() < 0.5 else (b, a)
            alive[i] = n + k
            del alive[j]
    times = np.cumsum(rng.exponential(size=(n_trees, n - 1)), axis=1)
    log_weights = rng.normal(size=n_trees) * 1.5 if weighted else None
    if weighted:
        log_weights[rng.integers(n_trees)] = -np.inf
    return posterior_of_trees(children, times, log_weights=log_weights, log_joint=rng.normal(size=n_trees), **extra)


def lone_leaf_posterior(n_trees=3, **extra):
    """Trees of (0 1 2 3), (4 … 8) and leaf 9, which joins at the root: cut in two, in none of the clades."""
    children = [[0, 1], [2, 3], [10, 11], [4, 5], [6, 7], [13, 14], [15, 8], [12, 16], [17, 9]]
    return posterior_of_trees(np.tile(children, (n_trees, 1, 1)), np.tile(np.arange(1.0, 10.0), (n_trees, 1)), **extra)


def grouped_posterior(seed=0, n=7, n_trees=12, **extra):
    """Leaves of 1, 2, 3, 1, 2, 3 … rows, the second of which is an outlier, with Student's noise of a learnt level."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(n), 1 + np.arange(n) % 3))
    X = rng.normal(size=(len(groups), 3))
    tail_scale = rng.uniform(0.5, 1.5, (n_trees, len(groups)))
    tail_scale[:, 1] *= 20.0
    settings = {
        "labels": [f"leaf {i}" for i in range(n)],
        "X": X,
        "groups": groups,
        "row_labels": [f"row {i}" for i in range(len(groups))],
        "tail_scale": tail_scale,
        "covariance": ct.Spherical(amplitude=2.0),
        "noise": ct.Noise(tails="student"),
        "theta": {"amplitude": rng.gamma(30, 0.1, n_trees), "noise_level": rng.gamma(30, 0.01, n_trees)},
        "chain": np.arange(n_trees) % 2,
    }
    return random_posterior(seed, n, n_trees, weighted=False, **(settings | extra))


def posterior_of_rows(n=6, d=2, n_trees=3, seed=0, noise=0.2, **extra):
    """Trees of rows that are no draws, which is enough for densities given the trees."""
    rng = np.random.default_rng(seed)
    settings = {"X": rng.normal(size=(n, d)), "covariance": ct.Spherical(amplitude=2.0), "noise": noise}
    return random_posterior(seed, n, n_trees, weighted=False, **(settings | extra))


def listed(post):
    """The trees as plain lists, which the references take."""
    return [(tree.children.tolist(), tree.times.tolist()) for tree in post.trees]


def leaf_sets(tree):
    """The leaf numbers under each merge of a tree."""
    return summaries.clades(tree.children.tolist())


def times_of(tree):
    """{names of a clade: its time}."""
    return dict(zip(tree.clades(), tree.times.tolist(), strict=True))


def stacked(drawn, **settings):
    """The posterior of a list of trees."""
    return posterior_of_trees(np.stack([t.children for t in drawn]), np.stack([t.times for t in drawn]), **settings)


def renumbered(post, number, names):
    """The same trees with leaf i as leaf number[i]; `names` are those of the new leaves."""
    number = np.append(number, np.arange(post.n, 2 * post.n - 1))
    return posterior_of_trees(
        number[post.draws.children], post.draws.times, log_weights=post.draws.log_weights, labels=names
    )


def ward_posterior(X):
    """One tree, Ward's, of the rows that it was made from."""
    from scipy.cluster.hierarchy import linkage

    tree = ct.Tree.from_linkage(linkage(X, "ward"))
    return posterior_of_trees(tree.children[None], tree.times[None] ** 2, X=X, covariance=ct.Spherical(amplitude=1.0))
