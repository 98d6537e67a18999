"""Simulated blobs whose difficulty is known: how often Ward's clustering, told their number, gets them right.

Centres are N(0, s² I); s is set so that Ward at the true k reaches a given adjusted Rand index (ARI) on average.
Sizes are equal, or fall geometrically to a quarter; the noise around a centre is normal or Student's t with 3 degrees
of freedom (of the whole row).
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score

_CALIBRATION_SETS = 16
_STEPS = 10


class Cell(NamedTuple):
    """A kind of data set: k blobs in d dimensions that Ward gets right to the ARI `ward`."""

    n: int
    k: int
    d: int
    ward: float
    sizes: str = "equal"  # or "unequal"
    noise: str = "normal"  # or "t"


def draw(cell: Cell, rng: np.random.Generator, scale: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, d) and their true blobs (n,)."""
    scale = scale_of(cell) if scale is None else scale
    share = np.ones(cell.k) if cell.sizes == "equal" or cell.k == 1 else 4.0 ** -(np.arange(cell.k) / (cell.k - 1))
    truth = np.searchsorted(np.cumsum(share / share.sum()), (np.arange(cell.n) + 0.5) / cell.n)
    noise = rng.standard_normal((cell.n, cell.d))
    if cell.noise == "t":
        noise /= np.sqrt(rng.chisquare(3, size=(cell.n, 1)) / 3)
    return scale * rng.standard_normal((cell.k, cell.d))[truth] + noise, truth


def ward(X: np.ndarray, k: int) -> np.ndarray:
    """Ward's labels (n,) at k clusters."""
    return fcluster(linkage(X, "ward"), k, "maxclust")


@cache
def scale_of(cell: Cell) -> float:
    """The spread of the centres at which Ward's mean ARI is the cell's; "1" is 0.995."""
    if cell.k == 1:
        return 0.0
    low, high = np.log(0.3), np.log(60.0)
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        rng = np.random.default_rng(0)
        found = []
        for _ in range(_CALIBRATION_SETS):
            X, truth = draw(cell, rng, np.exp(middle))
            found.append(adjusted_rand_score(truth, ward(X, cell.k)))
        low, high = (middle, high) if np.mean(found) < min(cell.ward, 0.995) else (low, middle)
    return float(np.exp(high))
