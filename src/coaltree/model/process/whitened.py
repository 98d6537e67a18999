"""`Problem`: the data as a sampler sees them, distinct whitened rows under Φ = I."""

import math
from typing import NamedTuple

import numpy as np

from ..._runtime.threads import single_threaded_blas
from ...errors import InputError
from ..covariance.base import Covariance
from ..data.replicates import Replicates, collapse
from .diffusion import LOG_2PI, Variances, log_likelihood, squared_distances


class Problem(NamedTuple):
    """Whitened data as a sampler sees them: distinct rows, Φ = I.

    `d` is the dimension in the density, which may exceed the columns of W.
    """

    W: np.ndarray  # (n, p) whitened, centred and perhaps rotated rows
    d: int
    log_det: float = 0.0  # log |Φ|
    leaf_var: Variances = 0.0  # variance of the leaves' messages, one for all or (n,)
    rows: np.ndarray | None = None  # (N, p) where leaves stand for several rows: these, whitened
    log_beside: float = 0.0  # log density of what the tree does not carry: rows around leaves, noise beside components

    @property
    def n(self) -> int:
        """Number of distinct rows."""
        return len(self.W)

    def log_likelihood(self, children: np.ndarray, times: np.ndarray) -> float:
        """Return log p(X | tree)."""
        return self.log_beside + log_likelihood(children, times, self.W, self.d, self.log_det, self.leaf_var)

    def leaf_vars(self) -> np.ndarray:
        """(n,) variances of the leaves' messages, as kernels take them."""
        return np.full(self.n, self.leaf_var)

    def one_leaf_var(self) -> float:
        """The variance of every leaf, or InputError where they differ."""
        variances = self.leaf_vars()
        if np.any(variances != variances[0]):
            raise InputError(
                "this sampler takes the same noise for all rows; use Regraft or Insertion where errors differ."
            )
        return float(variances[0])


def _rotated(W: np.ndarray) -> np.ndarray:
    """Rows in an orthonormal basis of their span: with Wᵀ = Q R for the centred W, the rows of Rᵀ.

    Rounding moves them by some 1e-16 of the largest row; W is left as it is where rows stand so close that it matters.
    """
    n = len(W)
    rotated = np.ascontiguousarray(np.asarray(np.linalg.qr(W.T, mode="r")).T[:, : n - 1])
    smallest = squared_distances(rotated)[np.tril_indices(n, -1)].min()
    largest = np.square(rotated).sum(axis=1).max()
    return rotated if smallest > 1e-18 * largest else W  # rotation might lose digits of smaller distances


def make_problem(
    values: np.ndarray,
    covariance: Covariance,
    leaf_var: Variances = 0.0,
    *,
    replicates: Replicates | None = None,
    rotate: bool = False,
    columns: np.ndarray | None = None,
) -> Problem:
    """Whiten distinct rows (n, d), perhaps in some columns alone, into a `Problem`.

    `rotate` drops the columns beyond the n - 1 that rows span, and leaves all distances as they
    are, to within rounding. With `replicates`, rows and their variances are put together into leaves.
    """
    whole = values.shape[1]
    values = values if columns is None else values[:, columns]
    n, d = values.shape
    with single_threaded_blas():
        whitener = covariance.whitener(whole, columns)
        with np.errstate(over="ignore", invalid="ignore"):  # what is too large is refused below
            W = np.ascontiguousarray(whitener.whiten(values - values.mean(axis=0)))
    largest = np.abs(W).max()
    # squared distances ε are below 4 d largest², and 4 λ ε is to be finite for every λ <= n²/2
    if not largest < math.sqrt(float(np.finfo(float).max) / (8.0 * n * n * d)):
        raise InputError(
            f"the whitened values of X reach {largest:.3g}, too large for squared distances; rescale X or the "
            "covariance."
        )
    if rotate and 1 < n <= d:
        with single_threaded_blas():
            W = _rotated(W)
    log_det = float(whitener.log_det)
    if replicates is None:
        return Problem(W, d, log_det, leaf_var)
    leaves = collapse(W, np.broadcast_to(leaf_var, n), replicates)
    n_merges = n - replicates.n
    log_replicates = -0.5 * (n_merges * (d * LOG_2PI + log_det) + d * leaves.log_v + leaves.quotient)
    return Problem(leaves.mean, d, log_det, leaves.var, W, log_replicates)
