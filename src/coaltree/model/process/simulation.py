"""Data from the model itself."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..._runtime.memory import require_memory
from ..._runtime.random_streams import as_generator
from ..._runtime.typing import ArrayLike, RandomState
from ..._runtime.validation import check_count
from ...tree.tree import Tree
from ..covariance import CovarianceLike, as_covariance
from .coalescent import simulate_tree
from .diffusion import simulate_data
from .noise import NoiseLike, as_noise, known_variances


def simulate(
    n: int,
    d: int,
    covariance: CovarianceLike = "spherical",
    random_state: RandomState = None,
    *,
    noise: NoiseLike = 0.0,
    errors: ArrayLike | None = None,
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
    noise : float or Noise
        Measurement noise: its variance as a multiple of Φ, or ``Noise(level, tails="student")``.
    errors : (n,), optional
        Relative standard errors of the rows.
    labels : sequence of str, optional
        Names of the leaves.

    Returns
    -------
    X : (n, d) array
    tree : Tree

    Examples
    --------
    >>> X, tree = ct.simulate(8, 2, random_state=0)
    >>> X.shape, tree.n
    ((8, 2), 8)
    """
    rng = as_generator(random_state)
    noise = as_noise(noise)
    n, d = check_count("n", n, 2), check_count("d", d)
    variances = known_variances(noise.level, errors, n)
    require_memory(n * (300 + 24 * d), f"{n} rows of {d} columns", "simulate fewer")
    tree = simulate_tree(n, rng, labels)
    whitener = as_covariance(covariance, d).whitener(d)
    if noise.tails == "student":
        variances = variances * (0.5 * noise.df / rng.standard_gamma(0.5 * noise.df, size=n))
    return simulate_data(tree, d, rng, whitener.color, leaf_var=variances), tree
