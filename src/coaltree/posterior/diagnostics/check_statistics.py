"""What is computed of contrasts, of data and of contrasts drawn anew alike, to see where a model fails.

Each statistic is a short array, with an entry for a column, a pair of columns, or all. It is computed from a `View`,
of which the model says: rows of E are independent N(0, I); the rest follows from E, and from the coalescent.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from ...model.covariance import Covariance
from ...model.covariance.base import DiagonalWhitener, Whitener
from ...model.process.pivots import (
    Frame,
    Values,
    lateness,
    mean_lateness,
    shuffles,
    values_of_contrasts,
    values_of_rows,
)

MOST_COLUMNS = 60  # whose correlations are looked at
LEARN_SPREAD = frozenset(("variances", "Phi"))  # parameters
_MEAN_ABS = math.sqrt(2.0 / math.pi)  # E|z| of a standard normal z


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


class Drawn(NamedTuple):
    """What was drawn together with a tree."""

    frame: Frame  # over the rows
    leaf_children: np.ndarray  # of the tree over the leaves
    covariance: Covariance
    scales_itself: bool  # whether the covariance takes the columns' variances from the data
    values: np.ndarray  # (rows, d)
    tail_scale: np.ndarray | None
    half_df: float


class Scene:
    """One drawn tree: the view of the data, and views of data that the model would make on it."""

    def __init__(self, drawn: Drawn) -> None:
        d = drawn.values.shape[1]
        self.drawn = drawn
        self._whitener: Whitener = drawn.covariance.whitener(d)
        if isinstance(self._whitener, DiagonalWhitener):
            self._sd = np.broadcast_to(self._whitener.sd, d)
        else:
            self._sd = np.sqrt(np.diagonal(drawn.covariance.matrix(d)))
        self._side = _smaller_side(drawn.frame.children)
        self._shuffle = shuffles(drawn.leaf_children)

    def seen(self) -> View:
        """Of the data."""
        found = values_of_rows(self.drawn.frame, self.drawn.values / self._sd)
        E = self._whitener.whiten(found.contrasts * self._sd)
        scales = self.drawn.tail_scale
        late = float(lateness(self.drawn.leaf_children).mean())
        return self._view(E, found, late, self._shuffle.z, None if scales is None else np.log(scales))

    def replicated(self, rng: np.random.Generator) -> View:
        """Of contrasts and trees that the model draws."""
        drawn = self.drawn
        E = rng.standard_normal((len(drawn.frame.v), drawn.values.shape[1]))
        found = values_of_contrasts(drawn.frame, self._whitener.color(E) / self._sd)
        if drawn.scales_itself:
            E, found = _scaled_again(E, found)
        h, scales = drawn.half_df, None
        if drawn.tail_scale is not None:
            scales = np.log(h / rng.standard_gamma(h, len(drawn.tail_scale)))
        late = mean_lateness(len(drawn.leaf_children) + 1, rng)
        return self._view(E, found, late, rng.standard_normal(len(self._shuffle.z)), scales)

    def _view(self, E, found, late, shuffle, log_scales):
        return View(
            E,
            found.contrasts,
            found.means[len(E) + 1 :],
            self._side,
            late,
            shuffle,
            log_scales,
            bool(LEARN_SPREAD & set(self.drawn.covariance.learnt)),
        )


def _scaled_again(E, found):
    """`Scaled` takes its columns' variances from the data: so it does from those that are drawn, at the same total."""
    n = len(E) + 1
    by = 1.0 / found.means[:n].std(axis=0)
    by *= math.sqrt(np.square(E).sum() / np.square(E * by).sum())
    return E * by, Values(found.contrasts * by, found.means * by)


def _smaller_side(children):
    n = len(children) + 1
    size = np.ones(2 * n - 1)
    for k, (i, j) in enumerate(children):
        size[n + k] = size[i] + size[j]
    return np.sign(size[children[:, 1]] - size[children[:, 0]])


# --- the statistics ---------------------------------------------------------------------------------------------


def spread(view: View) -> np.ndarray:
    """Log variance of each column's contrasts, beside the mean of all."""
    log_squares = np.log(np.square(view.E).mean(axis=0))
    return log_squares - log_squares.mean()


def correlation(view: View) -> np.ndarray:
    """Correlations of the contrasts of pairs of columns, and last the root mean square of all."""
    E = view.E[:, some_columns(view.E.shape[1])]
    E = E / np.sqrt(np.square(E).sum(axis=0))
    pairs = (E.T @ E)[_above_the_diagonal(E.shape[1])]
    return np.append(pairs, math.sqrt(np.square(pairs).mean()))


@cache
def some_columns(d: int) -> np.ndarray:
    """Numbers of the columns whose correlations are looked at: all, or evenly spaced ones."""
    return np.unique(np.linspace(0, d - 1, min(d, MOST_COLUMNS)).astype(int))


def pairs_of(d: int) -> tuple[np.ndarray, np.ndarray]:
    """The two columns of each entry of `correlation` but the last."""
    columns = some_columns(d)
    i, j = _above_the_diagonal(len(columns))
    return columns[i], columns[j]


@cache
def _above_the_diagonal(d):
    return np.triu_indices(d, 1)


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
    odd = (scaled * np.abs(scaled) - 2.0 * _MEAN_ABS * scaled).sum(axis=0)  # without what a mere shift would add
    return np.concatenate([grows, odd / math.sqrt(len(view.C))])


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
    rank = _ranks(len(squares))
    return np.array([(squares / squares.mean() - 1.0) @ rank / (rank @ rank)])


@cache
def _ranks(n):
    return np.linspace(-0.5, 0.5, n)


def single_rows(view: View) -> np.ndarray:
    """How late single leaves join, on average."""
    return np.array([math.log(view.lateness)])


def clades(view: View) -> np.ndarray:
    """How far the merges of sister subtrees are from a shuffle."""
    return np.array([np.square(view.shuffle).sum() - len(view.shuffle)])


class Statistic(NamedTuple):
    """A statistic, and which learnt parameters leave it nothing to find."""

    compute: Callable[[View], np.ndarray]
    fitted_by: frozenset[str] = frozenset()
    of_pairs: bool = False  # whether it needs two columns


STATISTICS = {
    "noise": Statistic(age),
    "tails": Statistic(tails),
    "odd rows": Statistic(single_rows),
    "skewness": Statistic(skewness),
    "spread of columns": Statistic(spread, LEARN_SPREAD, of_pairs=True),
    "correlation": Statistic(correlation, frozenset(("Phi",)), of_pairs=True),
    "clades": Statistic(clades),
}


def applicable(covariance: Covariance, d: int) -> dict[str, Statistic]:
    """The statistics that say something of such a model, by name."""
    learnt = set(covariance.learnt)
    return {
        name: one for name, one in STATISTICS.items() if not (learnt & one.fitted_by) and (d > 1 or not one.of_pairs)
    }
