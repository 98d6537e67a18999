"""Tables that break the model in one way each, more or less, to which the effects of checks are fitted.

The ways are those of `off_model`, whose own strengths, shapes and seeds are left to the test.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from coaltree.model.process.coalescent import simulate_tree
from coaltree.model.process.diffusion import simulate_data

from .off_model import Table


class Case(NamedTuple):
    """How a table is made, and what it is fitted with."""

    make: Callable[[np.random.Generator], Table]
    covariance: str = "scaled"
    noise: float | str = "student"


def _table(X, tree):
    return Table(X, np.arange(len(X)), None, tree)


def correlated(rng, n, d, share):
    """Any two columns have the correlation `share`."""
    tree = simulate_tree(n, rng)
    shared = simulate_data(tree, d + 1, rng)
    return _table(np.sqrt(1.0 - share) * shared[:, :d] + np.sqrt(share) * shared[:, d:], tree)


def curves(rng, n, d, length):
    """Smooth curves at d points."""
    tree = simulate_tree(n, rng)
    apart = np.subtract.outer(np.arange(float(d)), np.arange(float(d)))
    smooth = np.linalg.cholesky(np.exp(-0.5 * (apart / length) ** 2) + 0.01 * np.eye(d))
    return _table(simulate_data(tree, d, rng, lambda steps: steps @ smooth.T), tree)


def skewed(rng, n, d, strength, n_skewed):
    """The first columns are exponentials of `strength` times Gaussian ones."""
    tree = simulate_tree(n, rng)
    X = simulate_data(tree, d, rng)
    X[:, :n_skewed] = np.exp(strength * X[:, :n_skewed])
    return _table(X, tree)


def student_steps(rng, n, d, df):
    """The step of each column along each branch is of Student's t."""
    tree = simulate_tree(n, rng)
    times = np.append(np.zeros(n), tree.times)
    values = np.zeros((2 * n - 1, d))
    for k in range(n - 2, -1, -1):
        for child in tree.children[k]:
            step = rng.standard_t(df, size=d)
            values[child] = values[n + k] + np.sqrt(tree.times[k] - times[child]) * step
    return _table(values[:n], tree)


def mostly_zero(rng, n, d, above):
    """Columns are 0 but where a Gaussian one is `above` standard deviations above its mean, as pixels are."""
    tree = simulate_tree(n, rng)
    while True:
        X = simulate_data(tree, 8 * d, rng)
        X = np.maximum((X - X.mean(axis=0)) / X.std(axis=0) - above, 0.0)
        varied = np.flatnonzero((X > 0.0).sum(axis=0) > 1)[:d]
        if len(varied) == d:
            return _table(X[:, varied], tree)


def noisy(rng, n, d, level, df=np.inf):
    """Noise of the rows, normal or of Student's t."""
    tree = simulate_tree(n, rng)
    scale = 1.0 if np.isinf(df) else np.sqrt(df / rng.chisquare(df, size=(n, 1)))
    return _table(simulate_data(tree, d, rng) + np.sqrt(level) * scale * rng.standard_normal((n, d)), tree)


def unequal(rng, n, d, factor):
    """Standard deviations of the columns run from 1 to `factor`."""
    tree = simulate_tree(n, rng)
    return _table(simulate_data(tree, d, rng) * np.geomspace(1.0, factor, d), tree)


def clusters(rng, n, d, apart, df=np.inf, by_row=False):
    """Three clusters without structure inside, entries or rows normal or of Student's t."""
    number = np.repeat(np.arange(3), n // 3)
    noise = rng.standard_normal((n, d))
    if np.isfinite(df):
        noise *= np.sqrt(df / rng.chisquare(df, size=(n, 1 if by_row else d)))
    return Table(apart * rng.standard_normal((3, d))[number] + noise, np.arange(n), number, None)


def two_rates(rng, n, d, factor):
    """One side of the root, with a quarter to three quarters of the rows, has `factor` times the variance."""
    while True:
        tree = simulate_tree(n, rng)
        if 0.25 < tree.sizes[tree.children[-1, 0]] / n < 0.75:
            break
    X = simulate_data(tree, d, rng)
    under, rows = [int(tree.children[-1, 0])], []
    while under:
        node = under.pop()
        rows.append(node) if node < n else under.extend(tree.children[node - n].tolist())
    X[rows] *= np.sqrt(factor)
    return _table(X, tree)


CASES = {
    "on the model 32 5": Case(partial(correlated, n=32, d=5, share=0.0)),
    "on the model 48 20": Case(partial(correlated, n=48, d=20, share=0.0)),
    **{
        f"correlation {share:g} of {d}": Case(partial(correlated, n=n, d=d, share=share))
        for n, d, share in (
            (32, 4, 0.5), (32, 4, 0.9), (48, 10, 0.3), (32, 10, 0.65), (32, 24, 0.2), (48, 24, 0.5), (48, 12, 0.95),
        )
    },
    **{
        f"curves of length {length:g} at {d}": Case(partial(curves, n=32, d=d, length=length), "spherical")
        for d, length in ((16, 1.0), (40, 2.0), (30, 6.0), (40, 20.0))
    },
    **{
        f"skewness {strength:g} of {k} in {d}": Case(partial(skewed, n=n, d=d, strength=strength, n_skewed=k))
        for n, d, strength, k in (
            (48, 6, 0.4, 6), (32, 6, 0.7, 6), (48, 12, 0.7, 12), (32, 12, 1.4, 12), (48, 6, 1.4, 6),
            (32, 6, 1.0, 2), (32, 12, 1.0, 4), (48, 5, 1.0, 5),
        )
    },
    **{
        f"steps with {df:g} df in {d}": Case(partial(student_steps, n=n, d=d, df=df))
        for n, d, df in (
            (32, 6, 2.0), (48, 12, 2.0), (32, 12, 5.0), (32, 5, 4.0), (48, 12, 1.2), (48, 32, 1.2), (48, 32, 0.7),
        )
    },
    **{
        f"mostly zero, {above:g} above in {d}, {covariance}": Case(
            partial(mostly_zero, n=48, d=d, above=above), covariance
        )
        for d, above in ((16, 0.7), (48, 0.7), (48, 1.5))
        for covariance in ("scaled", "spherical")
    },
    **{
        f"noise {level:g} with {df:g} df, fitted {noise}": Case(
            partial(noisy, n=32, d=d, level=level, df=df), "scaled", noise
        )
        for d, level, df, noise in (
            (6, 0.1, np.inf, 0.0), (12, 0.02, np.inf, 0.0), (12, 0.3, np.inf, 0.0), (12, 0.3, 3.0, "learn"),
            (12, 0.5, 2.0, 0.0), (24, 1.0, 2.0, "learn"), (12, 0.3, 3.0, "student"), (24, 1.0, 2.0, 0.0),
        )
    },
    **{
        f"spread 1 to {factor:g} in {d}": Case(partial(unequal, n=32, d=d, factor=factor), "spherical")
        for d, factor in ((6, 1.7), (12, 3.0), (12, 8.0))
    },
    "clusters, fitted 0": Case(partial(clusters, n=36, d=6, apart=2.0), "scaled", 0.0),
    "clusters": Case(partial(clusters, n=36, d=6, apart=2.0)),
    "clusters, entries with 2.5 df": Case(partial(clusters, n=36, d=16, apart=1.2, df=2.5)),
    "clusters, rows with 2.5 df, fitted 0": Case(
        partial(clusters, n=36, d=16, apart=1.2, df=2.5, by_row=True), "scaled", 0.0
    ),
    "two rates, 6": Case(partial(two_rates, n=40, d=8, factor=6.0)),
}  # fmt: skip
