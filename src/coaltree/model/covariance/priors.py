"""Priors of covariance parameters: density, and draws for calibration."""

import math
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtrs
from scipy.special import gammaln, multigammaln

from ..._runtime.typing import ArrayLike
from ..._runtime.validation import as_array
from ...errors import InputError


def read_only(array: ArrayLike) -> np.ndarray:
    """Return a float64 array that cannot be written to: a copy, unless it is such an array, and no view, already."""
    if type(array) is np.ndarray and array.dtype == np.float64 and array.flags.owndata and not array.flags.writeable:
        return array
    copy = np.array(array, dtype=np.float64)
    copy.setflags(write=False)
    return copy


def positive_definite(name: str, values: Any) -> np.ndarray:
    """A read-only copy of a covariance matrix that a user gives, symmetric but for rounding."""
    matrix = read_only(as_array(name, values, np.float64))
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) == 0:
        raise InputError(f"{name} must be a square (d, d) matrix of numbers, not of shape {matrix.shape}.")
    size = float(np.max(np.abs(matrix)))
    if not (np.isfinite(size) and np.allclose(matrix, matrix.T, rtol=1e-8, atol=1e-10 * size)):
        raise InputError(f"{name} must be finite and symmetric.")
    if dpotrf(matrix)[1]:
        raise InputError(f"{name} must be positive definite, with eigenvalues above 0.")
    return matrix


def solve_lower(L: np.ndarray, B: np.ndarray) -> np.ndarray:
    """L⁻¹ B for a lower triangular L, in a tenth of the time that SciPy's `solve_triangular` takes for a few rows."""
    return np.asarray(dtrtrs(L.T, B, lower=0, trans=1)[0])  # LAPACK counts by columns: there L is its own transpose


class Prior:
    """A density over a positive parameter; of an array the product over its elements. Fields may be arrays, too."""

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            value = np.array(getattr(self, field.name), dtype=np.float64)
            if not np.all(np.isfinite(value)):
                raise InputError(f"{type(self).__name__}: {field.name} must be finite.")
            value.setflags(write=False)
            object.__setattr__(self, field.name, value if value.ndim else float(value))

    def _require(self, condition: ArrayLike, sentence: str) -> None:
        if not np.all(condition):
            raise InputError(f"{type(self).__name__}: {sentence}.")

    def _with(self, **values: Any) -> Self:
        """The same density with new fields, which are not checked: they follow from checked ones."""
        made = object.__new__(type(self))
        made.__dict__.update(values)
        return made

    def log_density(self, x: ArrayLike) -> float:
        raise NotImplementedError

    def sample(self, rng: np.random.Generator, size: Any = None) -> Any:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class InverseGamma(Prior):
    """p(x) = scale^shape / Γ(shape) · x^(-shape-1) · exp(-scale/x); both 0 mean the improper 1/x.

    Examples
    --------
    >>> covariance = ct.Spherical(priors={"amplitude": ct.InverseGamma(2.0, 1.0)})
    """

    shape: Any
    scale: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        proper = np.greater(self.shape, 0) & np.greater(self.scale, 0)
        improper = np.equal(self.shape, 0) & np.equal(self.scale, 0)
        self._require(proper | improper, "shape and scale must be positive (or both 0)")

    def log_density(self, x: ArrayLike) -> float:
        a, b = np.asarray(self.shape), np.asarray(self.scale)
        constant = np.where(b > 0, a * np.log(np.where(b > 0, b, 1.0)) - gammaln(np.where(a > 0, a, 1.0)), 0.0)
        return float(np.sum(constant - (a + 1) * np.log(x) - b / np.asarray(x)))

    def sample(self, rng: np.random.Generator, size: Any = None) -> Any:
        self._require(np.greater(self.shape, 0), "the improper prior 1/x cannot be drawn from")
        return self.scale / rng.standard_gamma(self.shape, size=size)

    def updated(self, n: int | np.ndarray, sum_of_squares: Any) -> "InverseGamma":
        """The posterior after n draws of N(0, x) with this sum of squares; n need not be whole."""
        return self._with(shape=self.shape + 0.5 * n, scale=self.scale + 0.5 * sum_of_squares)

    def scale_terms(self, x: ArrayLike) -> tuple[float, float]:
        """(α, b) such that the density of x / c has the factor c^α exp(-b c) in c."""
        return float(np.sum(self.shape * np.ones(np.shape(x)))), float(np.sum(self.scale / np.asarray(x)))

    def log_marginal(self, n: int | np.ndarray, sum_of_squares: Any) -> float:
        """Log density of n draws of N(0, x) with x integrated out, as a function of their sum of squares.

        Summed over the elements, up to a constant. It is asked for many times an iteration: nothing is checked.
        """
        return -float(np.sum((self.shape + 0.5 * n) * np.log(self.scale + 0.5 * sum_of_squares)))


@dataclass(frozen=True, eq=False)
class LogNormal(Prior):
    """log x ~ N(log median, sd²).

    Examples
    --------
    >>> noise = ct.Noise(prior=ct.LogNormal(0.1, 1.0))
    """

    median: Any
    sd: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(np.greater(self.median, 0) & np.greater(self.sd, 0), "median and sd must be positive")

    def log_density(self, x: Any) -> float:
        z = (np.log(x) - np.log(self.median)) / self.sd
        return float(np.sum(-0.5 * z * z - np.log(self.sd * np.asarray(x)) - 0.5 * math.log(2 * math.pi)))

    def sample(self, rng: np.random.Generator, size: Any = None) -> Any:
        return self.median * np.exp(self.sd * rng.standard_normal(np.shape(self.median) if size is None else size))


@dataclass(frozen=True, eq=False)
class LogUniform(Prior):
    """log x uniform between log low and log high.

    Examples
    --------
    >>> ct.LogUniform(0.1, 10.0).log_density(11.0)
    -inf
    """

    low: Any
    high: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(np.greater(self.low, 0) & np.less(self.low, self.high), "must have 0 < low < high")

    def log_density(self, x: ArrayLike) -> float:
        x = np.asarray(x)
        # With a little slack: exp(log x) of a value at its bound need not return it.
        inside = np.all((x >= self.low * (1 - 1e-12)) & (x <= self.high * (1 + 1e-12)))
        return float(np.sum(-np.log(x) - np.log(np.log(self.high / np.asarray(self.low))))) if inside else -math.inf

    def sample(self, rng: np.random.Generator, size: Any = None) -> Any:
        return np.exp(rng.uniform(np.log(self.low), np.log(self.high), size=size))


@dataclass(frozen=True, eq=False)
class InverseWishart(Prior):
    """p(Φ) = |S|^(ν/2) / (2^(νd/2) Γ_d(ν/2)) · |Φ|^(-(ν+d+1)/2) · exp(-½ tr(S Φ⁻¹)), ν = `df`, S = `scale`.

    Examples
    --------
    >>> covariance = ct.Full(priors={"Phi": ct.InverseWishart(5.0, np.eye(3))})
    """

    df: Any
    scale: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_definite("the scale of InverseWishart", self.scale)
        self._require(self.df > len(self.scale) - 1, "df must exceed d - 1")

    def log_density(self, x: ArrayLike) -> float:
        chol, chol_scale = np.linalg.cholesky(np.asarray(x, dtype=np.float64)), np.linalg.cholesky(self.scale)
        half_log_det, half_log_det_scale = (np.log(np.diag(root)).sum() for root in (chol, chol_scale))
        root, d = solve_lower(chol, chol_scale), len(self.scale)
        constant = self.df * half_log_det_scale - 0.5 * self.df * d * math.log(2) - multigammaln(0.5 * self.df, d)
        return float(constant - (self.df + d + 1) * half_log_det - 0.5 * np.sum(root * root))

    def sample(self, rng: np.random.Generator, size: Any = None) -> np.ndarray:
        """One draw, by Bartlett's decomposition: Φ = MᵀM, M = A⁻¹Cᵀ, S = CCᵀ, AAᵀ ~ Wishart(ν, I)."""
        d = len(self.scale)
        bartlett = rng.standard_normal((d, d))  # nothing above its diagonal is read
        np.fill_diagonal(bartlett, np.sqrt(2.0 * rng.standard_gamma(0.5 * (self.df - np.arange(d)))))
        root = solve_lower(bartlett, np.linalg.cholesky(self.scale).T)
        draw = root.T @ root
        return np.asarray(0.5 * (draw + draw.T))

    def updated(self, n: int, products: np.ndarray) -> "InverseWishart":
        """The posterior after n draws of N(0, Φ) with the products UᵀU."""
        return self._with(df=self.df + n, scale=self.scale + products)

    def scale_terms(self, x: ArrayLike) -> tuple[float, float]:
        """(α, b) such that the density of x / c has the factor c^α exp(-b c) in c."""
        # Cholesky pivots nothing: in other units the same bits.
        root = solve_lower(np.linalg.cholesky(np.asarray(x, dtype=np.float64)), np.linalg.cholesky(self.scale))
        return 0.5 * self.df * len(self.scale), 0.5 * float(np.sum(root * root))

    def log_marginal(self, n: int, products: np.ndarray) -> float:
        """Log density of n draws of N(0, Φ) with Φ integrated out, as a function of UᵀU, up to a constant."""
        chol, failed = dpotrf(self.scale + products, lower=1, clean=0)
        if failed:  # contrasts too large for their squares to be numbers
            return -math.inf
        return float(-(self.df + n) * float(np.log(chol.diagonal()).sum()))
