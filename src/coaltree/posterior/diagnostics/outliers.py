"""Describe the noise of a posterior: how large it is, and which rows are outliers."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..._runtime.formatting import percent
from ...model.process.noise import NOISE_LEVEL
from ...numerics.weighted import weighted_quantile

if TYPE_CHECKING:
    from ..posterior import Posterior

MIN_RELATIVE_VARIANCE = 4.0  # of an outlier's noise, as a multiple of the median row's


class Outlier(NamedTuple):
    """A row whose noise is far larger than that of most rows."""

    label: str
    score: float  # posterior mean of its noise's scale, as a multiple of the median row's
    probability: float  # that its noise has at least four times the variance of the median row's
    leaf: str | None = None  # that it measures, where that has another name

    def __str__(self) -> str:
        times = f"{self.score:.0f}" if self.score < 1000 else f"{self.score:.0e}"
        row = self.label if self.leaf is None else f"{self.label} ({self.leaf})"
        return f"{row}: about {times} times the noise variance of a typical row, {percent(self.probability)} sure"


def find_outliers(posterior: "Posterior", n_rows: int = 5) -> list[Outlier]:
    """Rows more likely than not to have four times the usual noise variance, those of the highest score first."""
    scales = posterior.draws.tail_scale
    if scales is None:
        return []
    relative = scales / np.median(scales, axis=1, keepdims=True)
    probability = posterior.weights @ (relative >= MIN_RELATIVE_VARIANCE)
    score = posterior.weights @ relative
    order = [i for i in np.argsort(-score, kind="stable") if probability[i] > 0.5][:n_rows]
    rows, groups = posterior.model.table.labels, posterior.model.leaves.groups
    leaf = [None if groups is None else posterior.labels[groups[i]] for i in order]
    return [Outlier(rows[i], float(score[i]), float(probability[i]), of) for i, of in zip(order, leaf, strict=True)]


def describe_rows(posterior: "Posterior") -> str | None:
    """Count the rows of the leaves, such as "30, 1 to 5 of each leaf"; None where every row is a leaf."""
    if posterior.model.leaves.groups is None:
        return None
    counts = np.bincount(posterior.model.leaves.groups)
    low, high = counts.min(), counts.max()
    return f"{len(posterior.model.leaves.groups):,}, {low if low == high else f'{low} to {high}'} of each leaf"


def describe_noise(posterior: "Posterior") -> str:
    """Describe the noise, such as "learnt, level 0.12 (90 %: 0.09 to 0.16), heavy tails (Student's t with 4 df)"."""
    noise = posterior.model.noise.settings
    if noise.level == 0.0:
        return "none"
    tails = f", heavy tails (Student's t with {noise.df:g} df)" if noise.tails == "student" else ""
    if not noise.is_learnt:
        return f"level {noise.level:g}{tails}"
    draws = posterior.theta.get(NOISE_LEVEL)
    if draws is None:
        return f"learnt{tails}"
    low, middle, high = weighted_quantile(draws, posterior.weights, np.array([0.05, 0.5, 0.95]))
    return f"learnt, level {middle:.3g} (90 %: {low:.2g} to {high:.2g}){tails}"
