"""Data from the model itself."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from .._runtime.aliases import RandomState
from .._runtime.checks import check_count
from .._runtime.random_streams import as_generator
from ..tree.tree import Tree
from .coalescent import simulate_tree
from .covariance import CovarianceLike, as_covariance
from .diffusion import check_leaf_noise, simulate_data


def simulate(
    n: int,
    d: int,
    covariance: CovarianceLike = "spherical",
    random_state: RandomState = None,
    *,
    leaf_noise: float = 0.0,
    labels: Iterable[Any] | None = None,
) -> tuple[np.ndarray, Tree]:
    """Draw a coalescent tree of n leaves and d-dimensional data that diffused along it.

    Parameters
    ----------
    n, d : int
        Leaves and dimensions.
    covariance : Covariance, str or (d, d) array
        Φ, the covariance of the diffusion per unit of time.
    random_state : int, numpy.random.Generator or None
    leaf_noise : float
        Extra variance of the leaves, in units of Φ.
    labels : sequence of str, optional
        Names of the leaves.

    Returns
    -------
    X : (n, d) array
    tree : Tree
    """
    rng = as_generator(random_state)
    leaf_noise = check_leaf_noise(leaf_noise)
    n = check_count("n", n, 2)
    d = check_count("d", d)
    tree = simulate_tree(n, rng, labels)
    whitener = as_covariance(covariance, d).whitener(d)
    return simulate_data(tree, d, rng, whitener.color, leaf_noise=leaf_noise), tree
