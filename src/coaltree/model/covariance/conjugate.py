"""Covariances with exact conjugate draws: `Fixed`, `Spherical`, `Scaled`, `Diagonal`, `Full`."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ..._runtime.validation import as_array
from ...errors import InputError
from .base import Covariance, LearnableCovariance, Statistics, weak_inverse_gamma
from .priors import InverseWishart, positive_definite, read_only


def _check_columns(name: str, n_columns: int, d: int) -> None:
    if n_columns != d:
        raise InputError(f"{name} is for {n_columns} columns or components, but there are {d}.")


@dataclass(frozen=True, eq=False)
class Fixed(Covariance):
    """Φ = Phi as given; nothing is learnt. (`Full(Phi, learn="amplitude")` learns the scale of a given matrix.)

    Examples
    --------
    >>> ct.Fixed([[2.0, 0.0], [0.0, 1.0]]).matrix(2)
    array([[2., 0.],
           [0., 1.]])
    """

    Phi: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "Phi", positive_definite("Phi", self.Phi))

    def check(self, d: int) -> None:
        _check_columns("Phi", len(self.Phi), d)

    def matrix(self, d: int) -> np.ndarray:
        return np.array(self.Phi)


class _ConjugateCovariance(LearnableCovariance):
    """Φ = amplitude · S. One of the two is learnt, as each alone sets the scale; by default the first parameter.

    S is the identity, or the parameter named `shape`.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if {"amplitude", self.shape} <= set(self.learnt):
            raise InputError(f'learn="amplitude" or learn="{self.shape}", not both: each alone sets the overall scale.')

    def _learnt_by_default(self) -> tuple[str, ...]:
        return self.parameters[:1]

    def _sum_of_squares(self, statistics: Statistics) -> float:
        """Σ uᵀ S⁻¹ u over the contrasts."""
        if self.is_diagonal:
            return float(np.sum(statistics.value / self.diagonal(statistics.d))) * self.amplitude
        return float(np.vdot(np.linalg.inv(self.matrix(statistics.d)), statistics.value)) * self.amplitude

    def update(self, statistics: Statistics, rng: np.random.Generator) -> Covariance:
        if "amplitude" in self.learnt:
            return self._draw_amplitude(statistics, self._sum_of_squares(statistics), rng)
        if self.shape not in self.learnt:
            return self
        posterior = self._prior(self.shape).updated(statistics.n, statistics.value / self.amplitude)
        return self._with(**{self.shape: posterior.sample(rng, size=statistics.d)})

    @property
    def integrates(self) -> bool:
        return bool(self.learnt)

    def log_marginal(self, statistics: Statistics) -> float:
        if "amplitude" in self.learnt:
            n, squares = statistics.n * statistics.d, self._sum_of_squares(statistics)
            return float(self._prior("amplitude").log_marginal(n, squares))
        return float(self._prior(self.shape).log_marginal(statistics.n, statistics.value / self.amplitude))


@dataclass(frozen=True, eq=False)
class Spherical(_ConjugateCovariance):
    """Φ = amplitude · I.

    amplitude ~ InverseGamma(α, β);  amplitude | U ~ InverseGamma(α + (n-1)d/2, β + ½ Σ u²).
    Default: α = ½, β = ½ · mean column variance (worth one number of the data's own size).

    Examples
    --------
    >>> ct.Spherical(amplitude=2.0).matrix(2)
    array([[2., 0.],
           [0., 2.]])
    """

    parameters: ClassVar[tuple[str, ...]] = ("amplitude",)
    is_diagonal: ClassVar[bool] = True

    def diagonal(self, d: int) -> np.ndarray:
        return np.full(d, self.amplitude)

    def _adapted(self, spread: np.ndarray) -> Self:
        return self._with_amplitude_of(float(np.mean(spread)))


@dataclass(frozen=True, eq=False)
class Diagonal(_ConjugateCovariance):
    """Φ = amplitude · diag(variances).

    variances_j ~ InverseGamma(α_j, β_j);  variances_j | U ~ InverseGamma(α_j + (n-1)/2, β_j + ½ Σ_k u_kj² / amplitude).
    Default: α_j = ½, β_j = ½ · variance of column j. `learn=True` learns the variances and keeps `amplitude` as their
    unit; `learn="amplitude"` keeps their ratios. `variances=None`: the columns' own variances (1 without data).

    Examples
    --------
    >>> ct.Diagonal([1.0, 4.0]).matrix(2)
    array([[1., 0.],
           [0., 4.]])
    """

    parameters: ClassVar[tuple[str, ...]] = ("variances", "amplitude")
    shape: ClassVar[str] = "variances"
    is_diagonal: ClassVar[bool] = True

    variances: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variances is not None:
            self._store("variances", read_only(as_array("variances", self.variances, np.float64)))
            if self.variances.ndim != 1 or not np.all(np.isfinite(self.variances) & (self.variances > 0)):
                raise InputError("variances must be a 1-d array of positive finite numbers, one per column.")

    def check(self, d: int) -> None:
        if self.variances is not None:
            _check_columns("variances", len(self.variances), d)
        prior = self.priors.get("variances")  # asked thousands of times in a fit
        if prior is not None and {np.size(prior.shape), np.size(prior.scale)} - {1, d}:
            raise InputError(f"the prior of variances needs one shape and scale, or one for each of the {d} columns.")

    @property
    def cannot_take(self) -> frozenset[str]:
        return frozenset(("constant", "tied")) if "variances" in self.learnt else frozenset()

    def diagonal(self, d: int) -> np.ndarray:
        return np.full(d, self.amplitude) if self.variances is None else self.amplitude * np.asarray(self.variances)

    def _adapted(self, spread: np.ndarray) -> Self:
        scale = float(np.mean(spread / self.variances)) if self.variances is not None else 1.0
        adapted = self._with_amplitude_of(scale)
        start = spread / adapted.amplitude if self.variances is None else self.variances
        priors = {"variances": weak_inverse_gamma(spread / adapted.amplitude)} | adapted.priors
        return adapted._replaced(variances=start, priors=priors)


@dataclass(frozen=True, eq=False)
class Scaled(Diagonal):
    """Φ = amplitude · diag(variances), with the variances fixed: one parameter, whatever the units of the columns.

    amplitude ~ InverseGamma(α, β);  amplitude | U ~ InverseGamma(α + (n-1)d/2, β + ½ Σ_k Σ_j u_kj² / variances_j).
    Default: α = β = ½. `variances=None`: the columns' observed variances, missing values aside (1 without data).

    Examples
    --------
    >>> ct.Scaled([1.0, 4.0], amplitude=2.0).matrix(2)
    array([[2., 0.],
           [0., 8.]])
    """

    parameters: ClassVar[tuple[str, ...]] = ("amplitude",)

    @property
    def cannot_take(self) -> frozenset[str]:
        return frozenset(("constant",)) if self.variances is None else frozenset()

    def _adapted(self, spread: np.ndarray) -> Self:
        variances = spread if self.variances is None else self.variances
        return self._replaced(variances=variances)._with_amplitude_of(float(np.mean(spread / variances)))


@dataclass(frozen=True, eq=False)
class Full(_ConjugateCovariance):
    """Φ = amplitude · Phi, Phi any positive definite matrix.

    Phi ~ InverseWishart(ν, S);  Phi | U ~ InverseWishart(ν + n-1, S + UᵀU / amplitude).
    Default: ν = d, S = diag(column variances), so that each diagonal element has `Diagonal`'s default prior.
    `learn=True` learns Phi and keeps `amplitude` as its unit; `learn="amplitude"` keeps Phi's shape.
    `Phi=None` starts from the columns' own variances (the identity without data).

    Examples
    --------
    >>> ct.Full([[1.0, 0.5], [0.5, 1.0]]).learnt
    ('Phi',)
    """

    parameters: ClassVar[tuple[str, ...]] = ("Phi", "amplitude")
    shape: ClassVar[str] = "Phi"

    Phi: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.Phi is not None:
            self._store("Phi", positive_definite("Phi", self.Phi))

    def check(self, d: int) -> None:
        if self.Phi is not None:
            _check_columns("Phi", len(self.Phi), d)
        if "Phi" in self.priors:
            _check_columns("the prior of Phi", len(self.priors["Phi"].scale), d)

    @property
    def cannot_take(self) -> frozenset[str]:
        return frozenset(("constant", "tied", "dependent")) if "Phi" in self.learnt else frozenset()

    def matrix(self, d: int) -> np.ndarray:
        return self.amplitude * (np.eye(d) if self.Phi is None else np.asarray(self.Phi))

    def _adapted(self, spread: np.ndarray) -> Self:
        scale = float(np.mean(spread / np.diag(self.Phi))) if self.Phi is not None else 1.0
        adapted = self._with_amplitude_of(scale)
        start = np.diag(spread / adapted.amplitude)
        priors = {"Phi": InverseWishart(len(spread), start)} | adapted.priors
        return adapted._replaced(Phi=start if self.Phi is None else self.Phi, priors=priors)
