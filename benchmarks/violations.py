"""Tables on which a model holds, and tables on which it fails in a known way.

Each is n rows on a tree of the coalescent, Φ = I unless it says otherwise, with normal noise of a tenth of Φ; and what
it is to be fitted with. `found` names the checks of which at least one must find it; none where the model holds.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from coaltree.model.process.coalescent import simulate_tree


class Case(NamedTuple):
    """How a table is made, what it is fitted with, and which checks should find what is wrong."""

    make: Callable
    covariance: str
    noise: object
    found: tuple[str, ...] = ()


def diffused(tree, d, rng, along=None):
    """Values of the leaves; `along` (2n-1,) multiplies the variance of the branch above each node."""
    n = tree.n
    times = np.concatenate([np.zeros(n), tree.times])
    values = np.zeros((2 * n - 1, d))
    for k in range(n - 2, -1, -1):
        for c in tree.children[k]:
            length = (times[n + k] - times[c]) * (1.0 if along is None else along[c])
            values[c] = values[n + k] + np.sqrt(length) * rng.standard_normal(d)
    return values[:n]


def noisy(X, rng, level=0.1, scales=1.0):
    return X + np.sqrt(level * np.broadcast_to(scales, len(X)))[:, None] * rng.standard_normal(X.shape)


def inverse_gamma(half_df, size, rng):
    return half_df / rng.standard_gamma(half_df, size)


def as_modelled(n, d, rng, level=0.1, scales=None, mix=None):
    X = diffused(simulate_tree(n, rng), d, rng)
    X = noisy(X, rng, level, 1.0 if scales is None else scales(n, rng))
    return X if mix is None else X @ mix(d, rng).T


def correlated(share):
    return lambda d, rng: np.linalg.cholesky((1.0 - share) * np.eye(d) + share)


def scaled_columns(d, rng):
    return np.diag(np.exp(rng.standard_normal(d)))


def scaled_and_correlated(d, rng):
    return scaled_columns(d, rng) @ correlated(0.5)(d, rng)


def student(n, rng):
    return inverse_gamma(2.0, n, rng)


def heavier(n, rng):
    return inverse_gamma(1.5, n, rng)


def steps_of_student(n, d, rng):
    """One scale for all columns of a branch: a tree that has it for the branch's length nearly fits."""
    along = inverse_gamma(1.0, 2 * n - 1, rng)
    return noisy(diffused(simulate_tree(n, rng), d, rng, along), rng, 0.01)


def steps_of_student_by_column(n, d, rng):
    tree = simulate_tree(n, rng)
    X = [diffused(tree, 1, rng, inverse_gamma(1.0, 2 * n - 1, rng))[:, 0] for _ in range(d)]
    return noisy(np.array(X).T, rng, 0.01)


def skewed(n, d, rng):
    X = as_modelled(n, d, rng)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    X[:, :2] = np.exp(X[:, :2])
    return X


def with_slips(n, d, rng):
    """Two cells are wrong, by six standard deviations of their columns."""
    X = as_modelled(n, d, rng)
    rows = rng.choice(n, 2, replace=False)
    X[rows, [0, 1]] += 6.0 * X.std(axis=0)[:2]
    return X


def some_noisy_rows(n, d, rng):
    """A fifth of the rows has twenty times the noise."""
    return as_modelled(n, d, rng, scales=lambda n, rng: np.where(rng.random(n) < 0.2, 20.0, 1.0))


TRUE = {
    "scaled, learnt noise": Case(lambda n, d, rng: as_modelled(n, d, rng, mix=scaled_columns), "scaled", "learn"),
    "full, Student noise": Case(
        lambda n, d, rng: as_modelled(n, d, rng, scales=student, mix=scaled_and_correlated), "full", "student"
    ),
    "diagonal, learnt noise": Case(
        lambda n, d, rng: as_modelled(n, d, rng, 0.03, mix=scaled_columns), "diagonal", "learn"
    ),
    "spherical, no noise": Case(lambda n, d, rng: as_modelled(n, d, rng, 0.0), "spherical", 0.0),
}
WRONG = {
    "Student noise (3 df), normal fitted": Case(
        lambda n, d, rng: as_modelled(n, d, rng, scales=heavier), "diagonal", "learn", ("tails", "outliers")
    ),
    "Student steps (2 df), each column its own": Case(
        steps_of_student_by_column, "diagonal", "learn", ("tails", "outliers")
    ),
    "Student steps (2 df), all columns alike": Case(steps_of_student, "diagonal", "learn", ("tails", "outliers")),
    "some rows noisier": Case(some_noisy_rows, "diagonal", "learn", ("outliers", "tails")),
    "two wrong cells": Case(with_slips, "diagonal", "learn", ("outliers",)),
    "two skewed columns": Case(skewed, "diagonal", "student", ("skewness",)),
    "correlation 0.5, scaled": Case(
        lambda n, d, rng: as_modelled(n, d, rng, mix=correlated(0.5)), "scaled", "learn", ("correlation",)
    ),
}
