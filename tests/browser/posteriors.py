"""Posteriors to show on a page, made without a sampler: average linkage of the data with a little noise, many times."""

import numpy as np
from scipy.cluster.hierarchy import average

import coaltree as ct
from coaltree.posterior.of_trees import posterior_of_trees

WORDS = ("río", "åpen", "Über", "naïve", "水", "лес", "δέντρο", "שלום", "plain", "fern")


def grouped_data(n, d, n_groups=5, seed=0, spread=2.5):
    """Points in groups within groups, and group numbers."""
    rng = np.random.default_rng(seed)
    group = rng.integers(n_groups, size=n)
    centres = rng.normal(size=(n_groups, d)) * spread
    sub = rng.normal(size=(n_groups, 4, d)) * 0.8
    X = centres[group] + sub[group, rng.integers(4, size=n)] + 0.5 * rng.normal(size=(n, d))
    return X, group


def noisy_trees(X, n_trees, noise=0.25, seed=0):
    """Children (T, n-1, 2) and times (T, n-1)."""
    rng = np.random.default_rng(seed)
    children, times = [], []
    for _ in range(n_trees):
        Z = average(X + noise * rng.normal(size=X.shape))
        tree = ct.Tree.from_linkage(Z)
        children.append(tree.children)
        times.append((tree.times / tree.times[-1]) ** 2 * rng.gamma(50, 2 / 50))
    return np.array(children), np.array(times)


def chain_posterior(n=60, d=8, n_trees=80, n_chains=2, seed=0, labels=None, columns=None, noise=0.25, **theta):
    """A posterior as a fit leaves it: two chains, a covariance parameter, settings."""
    X, _ = grouped_data(n, d, seed=seed)
    children, times = noisy_trees(X, n_trees, noise, seed)
    rng = np.random.default_rng(seed + 1)
    info = {"seed": 7, "sampler": "Regraft()", "n_warmup": 10, "seconds": 1.5}
    return posterior_of_trees(
        children,
        times,
        log_joint=rng.normal(-100, 3, n_trees),
        labels=labels,
        theta=theta or {"amplitude": rng.gamma(30, 0.1, n_trees)},
        chain=np.arange(n_trees) % n_chains,
        X=X,
        columns=columns,
        covariance=ct.Spherical(amplitude=2.5),
        info=info,
    )


def leaf_names(n):
    """Names with letters of many scripts."""
    return [f"{WORDS[i % len(WORDS)]} {i}" for i in range(n)]
