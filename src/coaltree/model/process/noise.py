"""Noise at the leaves: how far a row may lie from the value of its leaf."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..._runtime.validation import as_array, as_number, check_choice, check_positive
from ...errors import InputError
from ..covariance.base import column_variances, draw_multiple
from ..covariance.priors import LogNormal

_MAX_LEVEL = 1e150  # beyond, the square of a variance is not a number
NOISE_LEVEL = "noise_level"  # name of a learnt level among the parameters


@dataclass(frozen=True)
class Noise:
    """Measurement noise of rows, a multiple of the covariance Φ of the diffusion.

    (`SquaredExponential(noise=…)` and its kin mean another thing: white noise that diffuses along the tree.)

    Parameters
    ----------
    level : "learn" or a number
        The noise's variance as a multiple of Φ, learnt or fixed; a time of 1 on the tree adds as much as a level of 1.
    tails : "normal" or "student"
        Student's t has heavy tails: outliers are recognised, and do not bend the tree.
    df : float
        Degrees of freedom of Student's t.
    prior : LogNormal, optional
        Of a learnt level. The default has median 0.1 and log standard deviation 2, cut off below where values are
        rounded.

    Examples
    --------
    >>> X, _ = ct.simulate(12, 3, random_state=0)
    >>> noise = ct.Noise(tails="student", df=3)
    >>> post = ct.fit(X, noise=noise, n_samples=20, n_warmup=20, random_state=0, progress=False)
    """

    level: Any = "learn"
    tails: str = "normal"
    df: float = 4.0
    prior: LogNormal | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.level, str) and self.level == "learn"):
            if not 0.0 <= as_number(self.level) <= _MAX_LEVEL:
                raise InputError(
                    f'noise must be "learn", "student", a number from 0 to 1e150 or a Noise, not {self.level!r}.'
                )
            object.__setattr__(self, "level", float(self.level))
        check_choice("tails", self.tails, ("normal", "student"))
        object.__setattr__(self, "df", check_positive("df", self.df))
        if self.prior is not None and not (
            isinstance(self.prior, LogNormal) and np.ndim(self.prior.median) == np.ndim(self.prior.sd) == 0
        ):
            raise InputError(
                f"the prior of the noise level must be a LogNormal(median, sd) of two numbers, not {self.prior!r}."
            )
        if self.tails == "student" and self.level == 0.0:
            raise InputError('a noise level of 0 has no tails; give level="learn" or a positive number.')

    @property
    def is_learnt(self) -> bool:
        """Whether the level is learnt."""
        return isinstance(self.level, str)

    @property
    def is_random(self) -> bool:
        """Whether anything of the noise is drawn: the level, or the scales of Student's tails."""
        return self.is_learnt or self.tails == "student"


NoiseLike = float | str | Noise


def as_noise(noise: Any) -> Noise:
    """A `Noise` from one, from a number or from "learn" or "student"."""
    if isinstance(noise, Noise):
        return noise
    if isinstance(noise, str):
        check_choice("noise", noise, ("learn", "student"))
        return Noise(tails="student" if noise == "student" else "normal")
    return Noise(noise)


class NoiseModel(NamedTuple):
    """The noise of some rows: what is known of it, and the prior of what is not.

        x_i = z_i + e_i ,   z: leaves of the diffusion with Φ ,   e_i ~ N(0, a_i Φ) ,   a_i = λ r_i s_i

    In code λ is the `level`, r_i a row's `error2` (known: its squared relative standard error, 1 by default) and s_i
    its `tail_scale`: 1, or s_i ~ InverseGamma(df/2, df/2), which makes e_i Student, so that an outlier need not be a
    branch of its own next to the root. The noise is a multiple of Φ, so that a leaf's message is (x_i, a_i), one
    variance, and contrasts stay independent N(0, Φ).

    (τ, λ, Φ) → (c τ, c λ, Φ / c) leaves the likelihood as it is, and so does (λ, s) → (c λ, s / c).
    """

    level: float | None  # None: learnt
    half_df: float  # 0 for normal tails
    prior: LogNormal  # of the level
    log_floor: float  # it is cut off below
    error2: np.ndarray  # (N,) r_i
    settings: Noise


class NoiseDraw(NamedTuple):
    """Level and scales at one moment of a chain."""

    level: float
    tail_scale: np.ndarray | None  # (N,), None for normal tails


def noise_model(noise: Noise, values: np.ndarray, errors: np.ndarray | None = None) -> NoiseModel:
    """The noise of the rows of a table (N, d), NaN where missing."""
    prior, log_floor = noise.prior, -math.inf
    if prior is None:
        unit = typical_error(errors) ** 2  # so that no unit of errors matters
        prior = LogNormal(0.1 / unit, 2.0)  # times are in coalescent units, the root near 2
        if noise.is_learnt and values.size:
            log_floor = math.log(max(rounding_share(values), 1e-12) / unit)
    error2 = np.ones(len(values)) if errors is None else np.square(errors)
    half_df = 0.5 * noise.df if noise.tails == "student" else 0.0
    return NoiseModel(None if noise.is_learnt else noise.level, half_df, prior, log_floor, error2, noise)


def rounding_share(values: np.ndarray) -> float:
    """The variance that rounding adds, as a share of a column's variance, on average over the columns.

    A column is taken to be recorded in steps of the smallest difference between its values. Below this noise, rows
    that agree to the last digit would say more than their digits do.
    """
    shares = []
    for column, variance in zip(values.T, column_variances(values), strict=True):
        steps = np.diff(np.unique(column[~np.isnan(column)]))
        shares.append(min(1.0, steps.min() ** 2 / (12.0 * variance)) if len(steps) else 0.0)
    return float(np.mean(shares))


def check_errors(errors: Any, n: int) -> np.ndarray | None:
    """Relative standard errors of n rows, or InputError."""
    if errors is None:
        return None
    values = as_array("errors", errors, object)
    if values.shape != (n,):
        raise InputError(f"errors must have one standard error for each of the {n} rows, not shape {values.shape}.")
    checked = np.array([as_number(error) for error in values])
    if not np.all((checked > 1e-70) & (checked < 1e70)):  # their squares are variances
        raise InputError("errors must be positive numbers, from 1e-70 to 1e70.")
    return checked


def typical_error(errors: np.ndarray | None) -> float:
    """The geometric mean of the rows' errors: what a row of the default prior has, and rows that come later."""
    return 1.0 if errors is None else math.exp(float(np.mean(np.log(errors))))


def first_draw(model: NoiseModel, rng: np.random.Generator | None = None) -> NoiseDraw:
    """Where a chain starts: the prior's median, or with a generator somewhere around it; all scales 1."""
    level = model.level
    if level is None:
        spread = 0.5 * model.prior.sd * rng.standard_normal() if rng is not None else 0.0
        level = math.exp(max(math.log(model.prior.median) + spread, model.log_floor))
    return NoiseDraw(level, np.ones(len(model.error2)) if model.half_df > 0.0 else None)


def row_variances(model: NoiseModel, draw: NoiseDraw) -> np.ndarray:
    """(N,) a_i = λ r_i s_i."""
    unit = model.error2 if draw.tail_scale is None else model.error2 * draw.tail_scale
    return draw.level * unit


def log_level_density(model: NoiseModel, log_level: float) -> float:
    """Log density of log λ, up to a constant; -inf below the floor."""
    if log_level < model.log_floor - 1e-12:  # a little slack: log(exp(floor)) need not return it
        return -math.inf
    return float(-0.5 * ((log_level - math.log(model.prior.median)) / model.prior.sd) ** 2)


def log_prior(model: NoiseModel, draw: NoiseDraw) -> float:
    """Log p(λ) + Σ log p(s_i) of what is drawn, up to a constant."""
    total = 0.0
    if model.level is None:
        log_level = math.log(draw.level)
        total += log_level_density(model, log_level) - log_level
    if draw.tail_scale is not None:
        h, s = model.half_df, draw.tail_scale
        total += float(np.sum(-(h + 1.0) * np.log(s) - h / s)) + len(s) * (h * math.log(h) - math.lgamma(h))
    return total


def likelihood_at_scale(
    model: NoiseModel, draw: NoiseDraw, make_log_likelihood: Callable[[], Callable[[np.ndarray], float]]
) -> Callable[[float], float] | None:
    """What the move (τ, Φ) → (c τ, Φ / c) adds to the log density, as a function of c; None where it is nothing.

    A learnt level moves along, so that only its prior changes. With a fixed one the likelihood is that of the tree as
    it is with all leaf variances divided by c.
    """
    if model.level is None:
        log_level = math.log(draw.level)
        return lambda c: log_level_density(model, log_level + math.log(c))
    if draw.level == 0.0:
        return None
    variances, log_likelihood = row_variances(model, draw), make_log_likelihood()
    return lambda c: log_likelihood(variances / c)


def draw_ratio(model: NoiseModel, draw: NoiseDraw, rng: np.random.Generator) -> NoiseDraw:
    """Draw c in (λ, s) → (c λ, s / c), which changes no leaf variance.

    p(c) dc/c ∝ c^(N df/2) exp(-c Σ df / (2 s_i)) p(log λ + log c).
    """
    if model.level is not None or draw.tail_scale is None:
        return draw
    shape = model.half_df * len(draw.tail_scale)
    rate = model.half_df * float(np.sum(1.0 / draw.tail_scale))
    log_level = math.log(draw.level)
    c = draw_multiple(shape, rate, lambda c: log_level_density(model, log_level + math.log(c)), rng)
    return draw._replace(level=draw.level * c, tail_scale=draw.tail_scale / c)


def known_variances(noise: Any, errors: Any, n: int) -> float | np.ndarray:
    """The variance of every row, or (n,) where `errors` are given, of a noise of which nothing is to be drawn."""
    noise = as_noise(noise)
    if noise.is_random:
        raise InputError("here the noise must be a number; fit() learns it.")
    level, errors = float(noise.level), check_errors(errors, n)
    return level if errors is None else level * np.square(errors)
