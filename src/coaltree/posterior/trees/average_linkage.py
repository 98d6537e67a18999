"""Average linkage of the mean log clade size D̄ (see `mean_tree`) inside kept clades.

It is average linkage of D̄ - c · depth(i, j), depth the number of kept clades that hold both leaves and c more than any
D̄: all pairs within a clade come before any pair across its border.
"""

from typing import NamedTuple

import numpy as np

from .extended_majority import Frame
from .leaf_positions import mean_over_pairs


class DrawnTrees(NamedTuple):
    """Drawn trees, as far as their topology goes."""

    children: np.ndarray  # (T, n-1, 2)
    log_sizes: np.ndarray  # (T, n-1) log number of leaves under each merge, 0 at time 0
    weights: np.ndarray  # (T,) sum to 1


def average_linkage(draws: DrawnTrees, frame: Frame, rank: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Children (n-1, 2) and heights (n-1,) of the average linkage of D̄ inside the frame; `rank` (n,) decides ties.

    A height is the mean D̄ between the two sides, raised to those of the merges below.
    """
    from scipy.cluster.hierarchy import linkage

    n, step = len(rank), np.log(len(rank)) + 1.0
    number = np.append(rank, np.arange(n, 2 * n - 1))  # SciPy breaks ties by number
    shallow = (frame.depth.max() - frame.depth).astype(np.float64)
    Z = linkage(
        mean_over_pairs(
            number[np.concatenate([draws.children, frame.children[None]])],
            np.concatenate([draws.log_sizes, shallow[None]]),
            np.append(draws.weights, step),
        ),
        "average",
    )
    heights = Z[:, 2] - step * np.floor(Z[:, 2] / step + 1e-6)
    children = np.append(np.argsort(rank), np.arange(n, 2 * n - 1))[Z[:, :2].astype(np.int64)]
    for k, (a, b) in enumerate(children.tolist()):
        heights[k] = max(heights[k], 0.0, *(heights[c - n] for c in (a, b) if c >= n))
    return children, heights
