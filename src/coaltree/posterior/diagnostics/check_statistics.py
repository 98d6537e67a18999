"""Statistics of contrasts that show where a model fails, computed of data and of replicates alike.

Each statistic is a short array, with an entry for a column, a pair of columns, or all. It is computed from a `View`,
of which the model says: rows of E are independent N(0, I); the rest follows from E, and from the coalescent.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...model.covariance import Covariance
from .watched import evenly_spaced

MAX_COLUMNS = 60  # whose correlations are looked at
LEARN_SPREAD = frozenset(("variances", "Phi"))  # learnt parameters that fit the spread of columns
_MEAN_ABS = math.sqrt(2.0 / math.pi)  # E|z| of a standard normal z
_AGE_BINS = 12
_MAX_SORTED = 20_000  # contrasts whose quantiles are taken
_QUANTILES = np.array([math.erf(z / math.sqrt(2.0)) for z in np.linspace(0.1, 3.0, 25)])  # of |z|, evenly spaced


class View(NamedTuple):
    """Contrasts of one drawn tree, in order of the merges' age, or what the model would have made of them."""

    E: np.ndarray  # (K, d) whitened contrasts
    C: np.ndarray  # (K, d) contrasts in the columns' own standard deviations
    level: np.ndarray  # (K, d) means of the merges, in the same units
    side: np.ndarray  # (K,) 1 or -1: the sign that makes a contrast that of the smaller side; 0 where sides are equal
    lateness: float  # mean over the leaves
    shuffle: np.ndarray  # how merges of sister subtrees follow one another, standard normal
    log_scales: np.ndarray | None  # (rows,) of Student's noise
    learns_spread: bool  # whether the variance of each column is learnt


def spread(view: View) -> np.ndarray:
    """Log variance of each column's contrasts, beside the mean of all."""
    log_squares = np.log(np.square(view.E).mean(axis=0))
    relative: np.ndarray = log_squares - log_squares.mean()
    return relative


def correlation(view: View) -> np.ndarray:
    """Correlations of the contrasts of pairs of columns, and last the root mean square of all."""
    E = view.E[:, evenly_spaced(view.E.shape[1], MAX_COLUMNS)]
    E = E / np.sqrt(np.square(E).sum(axis=0))
    pairs = (E.T @ E)[np.triu_indices(E.shape[1], 1)]
    return np.append(pairs, math.sqrt(np.square(pairs).mean()))


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

    With Student's noise, first the spread of its log scales. Single columns are asked only where their variances are
    learnt: one that varies less than the model says has heavy tails for no other reason.
    """
    by_column = np.log(np.sqrt(np.square(view.C).mean(axis=0)) / np.abs(view.C).mean(axis=0))
    scales = () if view.log_scales is None else (view.log_scales.std(),)
    return np.concatenate([scales, [by_column.mean()], by_column if view.learns_spread else ()])


def age(view: View) -> np.ndarray:
    """The slope of the contrasts' squared length from the youngest merge to the oldest."""
    squares = np.square(view.E).mean(axis=1)
    rank = np.linspace(-0.5, 0.5, len(squares))
    return np.array([(squares / squares.mean() - 1.0) @ rank / (rank @ rank)])


def single_rows(view: View) -> np.ndarray:
    """How late single leaves join, on average."""
    return np.array([math.log(view.lateness)])


def clades(view: View) -> np.ndarray:
    """How far the merges of sister subtrees are from a shuffle."""
    return np.array([np.square(view.shuffle).sum() - len(view.shuffle)])


class _Statistic(NamedTuple):
    """A statistic, and which learnt parameters leave it nothing to find."""

    compute: Callable[[View], np.ndarray]
    fitted_by: frozenset[str] = frozenset()
    needs_two_columns: bool = False


_STATISTICS = {
    "noise": _Statistic(age),
    "tails": _Statistic(tails),
    "outliers": _Statistic(single_rows),
    "skewness": _Statistic(skewness),
    "spread of columns": _Statistic(spread, LEARN_SPREAD, needs_two_columns=True),
    "correlation": _Statistic(correlation, frozenset(("Phi",)), needs_two_columns=True),
    "clades": _Statistic(clades),
}


def applicable(covariance: Covariance, d: int) -> dict[str, Callable[[View], np.ndarray]]:
    """The statistics that say something of such a model, by the name of their check."""
    learnt = set(covariance.learnt)
    return {
        name: one.compute
        for name, one in _STATISTICS.items()
        if not (learnt & one.fitted_by) and (d > 1 or not one.needs_two_columns)
    }


# For the figures


def contrast_sizes(view: View) -> np.ndarray:
    """(bins,) root mean square contrast of merges from young to old."""
    return np.asarray(np.sqrt(means_by_age(np.square(view.E).mean(axis=1))))


def means_by_age(values: np.ndarray) -> np.ndarray:
    """(bins,) means of values of merges in order of age."""
    ends = np.linspace(0, len(values), min(_AGE_BINS, len(values)) + 1).astype(int)
    means: np.ndarray = np.add.reduceat(values, ends[:-1]) / np.diff(ends)
    return means


def contrast_quantiles(view: View) -> np.ndarray:
    """Quantiles of the contrasts' sizes: np.quantile in a tenth of its time, as it is asked for hundreds of times."""
    sizes = np.sort(np.abs(view.C.ravel()[:: 1 + view.C.size // _MAX_SORTED]))
    at = _QUANTILES * (len(sizes) - 1)
    low = at.astype(int)
    found: np.ndarray = sizes[low] + (at - low) * (sizes[np.minimum(low + 1, len(sizes) - 1)] - sizes[low])
    return found
