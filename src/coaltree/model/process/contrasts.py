"""Contrasts on a tree, and other statistics whose distribution is known if the model holds (pivotal quantities)."""

from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.random_streams import make_streams, uniform
from ...tree.tree import Tree
from .diffusion import messages


class Values(NamedTuple):
    """Values of rows on a tree, in any linear units."""

    contrasts: np.ndarray  # (n-1, d)
    means: np.ndarray  # (2n-1, d) of the messages of all nodes
    v: np.ndarray  # (n-1,) variance of the difference at a merge


def values_of_rows(tree: Tree, X: np.ndarray, leaf_var: np.ndarray) -> Values:
    """Contrasts and means of rows X (n, d) with variances (n,); Felsenstein's contrasts are independent N(0, Φ)."""
    up = messages(tree.children, tree.times, X, leaf_var)
    i, j = tree.children.T
    with np.errstate(divide="ignore", invalid="ignore"):  # of equal rows at time 0
        return Values((up.mean[i] - up.mean[j]) / np.sqrt(up.v)[:, None], up.mean, up.v)


def lateness(children: np.ndarray) -> np.ndarray:
    """(n,) how late each leaf joins another: 1 / m, m the number of lineages left before it does."""
    n = len(children) + 1
    late = np.empty(2 * n - 1)
    late[np.asarray(children)] = (1.0 / np.arange(n, 1, -1))[:, None]
    return late[:n]


def mean_lateness(n: int, rng: np.random.Generator) -> float:
    """The mean of `lateness` over the leaves of a tree drawn from the coalescent.

    Any two of the lineages that are left are equally likely to merge next, whether they are single leaves or not.
    """
    return float(_mean_lateness(n, make_streams(rng, 1)[0]))


@jit
def _mean_lateness(n: int, stream: np.ndarray) -> float:
    single, total = n, 0.0
    for m in range(n, 1, -1):
        pairs = 0.5 * m * (m - 1.0)
        u = uniform(stream) * pairs
        both = 0.5 * single * (single - 1.0)
        joined = 2 if u < both else 1 if u < both + single * (m - single) else 0
        single -= joined
        total += joined / m
    return total / n
