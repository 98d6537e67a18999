"""What is watched from draw to draw: the scalars by which a run is judged, and what they are called.

People look at the top of a tree, which mixes worst. With t_1 ≥ t_2 ≥ … the times of the merges, oldest first,

    root_time, merge_2 … merge_10       t_1, t_2 … t_10
    mean_of_oldest                      their mean
    tree_length                         t_1 + Σ_k t_k, the length of all branches
    log_determinant                     of a covariance that is learnt entry by entry, and
    largest_eigenvalue                  the variance along its longest axis

beside the log joint and every parameter. Of covariance and noise a run asks less (`convergence`).
"""

from collections.abc import Mapping

import numpy as np

N_OLDEST = 10  # merges at the top of the tree
MAX_COLUMNS = 60  # of more, the block of so many is watched, and their correlations are checked
MATRIX, VARIANCES = "Phi", "variances"  # parameters that are a covariance, entry by entry

_IN_WORDS = {
    "root_time": "root",
    "merge_2": "2nd oldest merge",
    "merge_3": "3rd oldest merge",
    **{f"merge_{k}": f"{k}th oldest merge" for k in range(4, N_OLDEST + 1)},
    "mean_of_oldest": "mean of the oldest merges",
    "log_determinant": "log determinant of the covariance",
    "largest_eigenvalue": "largest eigenvalue of the covariance",
    MATRIX: "covariance",
}


def in_words(name: str) -> str:
    """What is watched, or a parameter, as people read it."""
    return _IN_WORDS.get(name, name.replace("_", " "))


def watched(times: np.ndarray, log_joint: np.ndarray | None, theta: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The scalars (T,) of T draws, by name, and parameters of several entries, a covariance among them, as they are."""
    series = {} if log_joint is None else {"log_joint": log_joint}
    series |= _of_times(times)
    for name, draws in theta.items():
        series |= {name: draws} | (_of_covariance(draws) if is_covariance(name) else {})
    return series


def is_covariance(name: str) -> bool:
    """Whether a parameter is a covariance matrix or its diagonal."""
    return name in (MATRIX, VARIANCES)


def is_of_covariance_or_noise(name: str) -> bool:
    """Whether this is a covariance, a scalar of one, or the noise level."""
    return is_covariance(name) or name in ("log_determinant", "largest_eigenvalue", "noise_level")


def evenly_spaced(n: int, most: int) -> np.ndarray:
    """Numbers from 0 to n - 1: all, or evenly spaced ones, at most so many."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(int))


def is_merge(name: str) -> bool:
    """Whether this is a function of the oldest merges below the root."""
    return name.startswith("merge_") or name in ("mean_of_oldest", "tree_length")


def _of_times(times: np.ndarray) -> dict[str, np.ndarray]:
    """Merges at the top, and the length of all branches; `times` (T, n-1) in order."""
    if times.shape[1] == 0:
        return {}
    oldest = times[:, : -N_OLDEST - 1 : -1]
    names = ["root_time", *(f"merge_{k}" for k in range(2, oldest.shape[1] + 1))]
    series = dict(zip(names, oldest.T, strict=True))
    if len(names) > 1:
        series["mean_of_oldest"] = oldest.mean(axis=1)
        series["tree_length"] = times.sum(axis=1) + times[:, -1]
    return series


def _of_covariance(draws: np.ndarray) -> dict[str, np.ndarray]:
    is_square = draws.ndim == 3 and draws.shape[1] == draws.shape[2]
    if not (draws.ndim == 2 or is_square) or not np.isfinite(draws).all():  # a file may hold anything
        return {}
    eigenvalues = draws
    if draws.ndim == 3:
        columns = evenly_spaced(draws.shape[1], MAX_COLUMNS)
        eigenvalues = np.linalg.eigvalsh(draws[:, columns[:, None], columns])
    tiny = np.finfo(np.float64).tiny  # where rounding makes the smallest one negative
    log_determinant = np.log(np.maximum(eigenvalues, tiny)).sum(axis=1)
    return {"log_determinant": log_determinant, "largest_eigenvalue": eigenvalues.max(axis=1)}
