"""Statistics of contrasts that show where a model fails, how far data are from replicates, and what that does.

Each statistic is a short array, with an entry for a column, a pair of columns, or all. It is computed from a `View`,
of which the model says: rows of E are independent N(0, I); the rest follows from E, and from the coalescent.

Each check has a size, which is 0 where the model holds, whatever the number of rows:

    correlation   d columns say as much of the tree as d / (1 + size) uncorrelated ones: d - 1 times the mean square
                  correlation of the contrasts of two columns, less that of the replicates
    skewness      mean over the columns of |correlation between level and size of contrasts|, less what chance makes
    tails         log of Geary's ratio, the mean over the columns, less that of a normal distribution
    outliers      log of how late single leaves join, on average, less that of the coalescent

Sizes of `LARGE` and more made supports of one half and more 0.1 too high on simulated tables.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...model.covariance import Covariance
from .watched import MATRIX, MAX_COLUMNS, evenly_spaced, is_covariance

#: Sizes from which on supports of one half and more were at least 0.1 too high on simulated tables.
LARGE = {"correlation": 0.2, "skewness": 0.18, "tails": 0.05, "outliers": 0.045}
_VARIANCE_SHARE = 0.75  # of the variance among the draws that counts
_MEAN_ABS = math.sqrt(2.0 / math.pi)  # E|z| of a standard normal z


class View(NamedTuple):
    """Contrasts of one drawn tree, in order of the merges' age, or what the model would have made of them."""

    E: np.ndarray  # (K, d) whitened contrasts
    C: np.ndarray  # (K, d) contrasts in the columns' own standard deviations
    level: np.ndarray  # (K, d) means of the merges, in the same units
    side: np.ndarray  # (K,) 1 or -1: the sign that makes a contrast that of the smaller side; 0 where sides are equal
    lateness: float  # mean over the leaves
    log_scales: np.ndarray | None  # (rows,) of Student's noise
    learns_spread: bool  # whether the variance of each column is learnt


def correlation(view: View) -> np.ndarray:
    """Correlations of the contrasts of pairs of some columns; last the root mean square of those with all others."""
    E = view.E / np.sqrt(np.square(view.E).sum(axis=0))
    some = evenly_spaced(E.shape[1], MAX_COLUMNS)
    with_all = E[:, some].T @ E
    squares = np.square(with_all).sum() - len(some)  # without each with itself
    pairs = with_all[:, some][np.triu_indices(len(some), 1)]
    return np.append(pairs, math.sqrt(squares / (len(some) * (E.shape[1] - 1))))


def pairs_of(d: int) -> tuple[np.ndarray, np.ndarray]:
    """The two columns of each entry of `correlation` but the last."""
    columns = evenly_spaced(d, MAX_COLUMNS)
    i, j = np.triu_indices(len(columns), 1)
    return columns[i], columns[j]


def skewness(view: View) -> np.ndarray:
    """For each column: do contrasts grow with the level? And are those of the smaller sides skewed? (2 d entries.)

    A contrast as such has no sign, so that a skewed column shows by these two.
    """
    size = np.sqrt(np.abs(view.C))  # nearly normal
    size -= size.mean(axis=0)
    level = view.level - view.level.mean(axis=0)
    grows = (size * level).sum(axis=0) / np.sqrt(np.square(size).sum(axis=0) * np.square(level).sum(axis=0))
    rms = np.sqrt(np.square(view.C).mean(axis=0))
    scaled = view.side[:, None] * view.C / rms
    skew = (scaled * np.abs(scaled) - 2.0 * _MEAN_ABS * scaled).sum(axis=0)  # without what a mere shift would add
    return np.concatenate([grows, skew / math.sqrt(len(view.C))])


def tails(view: View) -> np.ndarray:
    """Geary's ratio, root mean square by mean size of the contrasts, larger for heavy tails: of all columns, of each.

    With Student's noise, the spread of its log scales comes second. Single columns are asked only where their variances
    are learnt: one that varies less than the model says has heavy tails for no other reason.
    """
    by_column = np.log(np.sqrt(np.square(view.C).mean(axis=0)) / np.abs(view.C).mean(axis=0))
    scales = () if view.log_scales is None else (view.log_scales.std(),)
    return np.concatenate([[by_column.mean()], scales, by_column if view.learns_spread else ()])


def single_rows(view: View) -> np.ndarray:
    """How late single leaves join, on average."""
    return np.array([math.log(view.lateness)])


def learns_spread(covariance: Covariance) -> bool:
    """Whether the variance of each column is learnt."""
    return any(map(is_covariance, covariance.learnt))


def applicable(covariance: Covariance, d: int) -> dict[str, Callable[[View], np.ndarray]]:
    """The statistics that say something of such a model of d columns, by the name of their check."""
    every: dict[str, Callable[[View], np.ndarray]] = {"tails": tails, "outliers": single_rows, "skewness": skewness}
    if d > 1 and MATRIX not in covariance.learnt:
        every["correlation"] = correlation
    return every


# What a statistic of the data is beside that of replicates


class Result(NamedTuple):
    """How far a statistic is from what the model expects."""

    p_value: float
    worst: int  # the entry of the statistic that is farthest off
    z: np.ndarray  # of all entries
    excess: np.ndarray  # mean over the draws less that of the replicates, of all entries
    expected: np.ndarray  # mean over the replicates, of all entries
    sd: np.ndarray  # over the replicates


def compare_with_replicates(seen: np.ndarray, made: np.ndarray, weights: np.ndarray) -> Result:
    """S (trees, entries) of the data and (replicates, entries) of the model to p-value and the rest."""
    mean, made_mean, variance = weights @ seen, made.mean(axis=0), made.var(axis=0)
    among = weights @ np.square(seen - mean)
    unit = np.sqrt(np.where(variance > 0.0, variance, 1.0))
    sd = unit * np.sqrt(1.0 - _VARIANCE_SHARE * np.minimum(among / np.square(unit), 1.0))
    z = (mean - made_mean) / sd
    worst = int(np.argmax(np.abs(z)))
    replicates = (made - made_mean) / unit
    as_far = np.count_nonzero(np.abs(replicates).max(axis=1) >= abs(z[worst]) - 1e-9)
    p_value = (1 + as_far) / (1 + len(made))
    return Result(p_value, worst, z, mean - made_mean, made_mean, unit)


def size_of(name: str, result: Result, d: int) -> float:
    """The size of what a check found in d columns."""
    excess = result.excess
    if name == "correlation":
        size = (d - 1) * ((result.expected[-1] + excess[-1]) ** 2 - result.expected[-1] ** 2)
    elif name == "skewness":
        size = np.abs(excess[:d]).mean() - _MEAN_ABS * result.sd[:d].mean()
    else:
        size = excess[0]
    return max(float(size), 0.0)
