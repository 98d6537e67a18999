"""The noise of a posterior in words: how large it is, and which rows are odd."""

from typing import NamedTuple

import numpy as np

from ...model.process.noise import NOISE_LEVEL
from ...numerics.weighted import weighted_quantile
from ..posterior import Posterior


class OddRow(NamedTuple):
    """A row whose noise is far larger than that of most rows."""

    label: str
    oddness: float  # posterior mean of its noise's scale, as a multiple of the median row's
    probability: float  # that its noise has at least four times the variance of the median row's
    leaf: str | None = None  # that it measures, where that has another name

    def __str__(self) -> str:
        times = f"{self.oddness:.0f}" if self.oddness < 1000 else f"{self.oddness:.0e}"
        which = self.label if self.leaf is None else f"{self.label} ({self.leaf})"
        return f"{which}: about {times} times the noise variance of a typical row, {_sure(self.probability)} sure"


def _sure(probability):
    """Never 100 % for what is not quite certain."""
    return "over 99 %" if 0.995 <= probability < 1.0 else f"{probability:.0%}".replace("%", " %")


def describe_rows(posterior: Posterior) -> str | None:
    """How many rows the leaves have, such as "30, 1 to 5 of each leaf"; None where every row is a leaf."""
    if posterior.groups is None:
        return None
    counts = np.bincount(posterior.groups)
    low, high = counts.min(), counts.max()
    return f"{len(posterior.groups):,}, {low if low == high else f'{low} to {high}'} of each leaf"


def describe_noise(posterior: Posterior) -> str:
    """The noise in a few words, such as "learnt, 0.12 (0.09 to 0.16) of the covariance, Student's t with 4 df"."""
    noise = posterior.noise
    if noise.level == 0.0:
        return "none"
    tails = f", Student's t with {noise.df:g} df" if noise.tails == "student" else ""
    if not noise.is_learnt:
        return f"{noise.level:g} of the covariance{tails}"
    draws = posterior.theta.get(NOISE_LEVEL)
    if draws is None:
        return f"learnt{tails}"
    low, middle, high = weighted_quantile(draws, posterior.weights, np.array([0.05, 0.5, 0.95]))
    return f"learnt, {middle:.3g} of the covariance (90 %: {low:.2g} to {high:.2g}){tails}"


def odd_rows(posterior: Posterior, n_rows: int = 5) -> list[OddRow]:
    """The oddest rows, the oddest first: those more likely than not to have four times the usual noise variance."""
    scales = posterior.tail_scale
    if scales is None:
        return []
    relative = scales / np.median(scales, axis=1, keepdims=True)
    probability = posterior.weights @ (relative >= 4.0)
    mean = posterior.weights @ relative
    order = np.argsort(-mean, kind="stable")
    odd = [i for i in order if probability[i] > 0.5][:n_rows]
    leaf = [None] * len(mean) if posterior.groups is None else [posterior.labels[i] for i in posterior.groups]
    return [OddRow(posterior.row_labels[i], float(mean[i]), float(probability[i]), leaf[i]) for i in odd]
