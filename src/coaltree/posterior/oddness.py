"""The noise of a posterior in words: how large it is, and which rows are odd."""

from typing import NamedTuple

import numpy as np

from ..model.noise import LEVEL
from .posterior import Posterior


class OddRow(NamedTuple):
    """A row whose noise is far larger than that of most rows."""

    label: str
    oddness: float  # posterior mean of its noise's scale, as a multiple of the median row's
    probability: float  # that its noise has at least four times the variance of the median row's


def describe_noise(posterior: Posterior) -> str:
    """The noise in a few words, such as "learnt, 0.12 (0.09 to 0.16) of the covariance, Student's t with 4 df"."""
    noise = posterior.noise
    if noise.level == 0.0:
        return "none"
    tails = f", Student's t with {noise.df:g} df" if noise.tails == "student" else ""
    if not noise.is_learnt:
        return f"{noise.level:g} of the covariance{tails}"
    draws = posterior.theta.get(LEVEL)
    if draws is None:
        return f"learnt{tails}"
    low, high = np.quantile(draws, [0.05, 0.95])
    return f"learnt, {float(posterior.weights @ draws):.3g} of the covariance (90 %: {low:.2g} to {high:.2g}){tails}"


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
    return [OddRow(posterior.row_labels[i], float(mean[i]), float(probability[i])) for i in odd]
