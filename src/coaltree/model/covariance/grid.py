"""`Matern32` over the axes of a grid, in the eigenbasis of its Kronecker product."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import toeplitz

from ..._runtime.validation import check_count, check_positive
from ...errors import InputError
from .base import NOISE_FLOOR, Statistics, Whitener
from .kernels import DEFAULT_NOISE, KernelCovariance, Terms, Theta, log_normal_between, with_noise
from .priors import Prior, read_only


def _rotate(X: np.ndarray, bases: Sequence[np.ndarray]) -> np.ndarray:
    """X (Q_1 ⊗ … ⊗ Q_m), one axis at a time: every axis in turn is moved last and multiplied."""
    X = np.asarray(X, dtype=np.float64)
    rotated = X.reshape(len(X), *(len(Q) for Q in bases))
    for axis, Q in enumerate(bases, start=1):
        rotated = np.moveaxis(np.moveaxis(rotated, axis, -1) @ Q, -1, axis)
    return np.ascontiguousarray(rotated.reshape(X.shape))


@dataclass(frozen=True, eq=False)
class Matern32(KernelCovariance):
    """Φ = amplitude · [⊗_a M(length_a) + noise · I] over the axes a of a grid, row-major as in `image.ravel()`, with

        M(ℓ)_ij = (1 + √3 |i - j| / ℓ) exp(-√3 |i - j| / ℓ) = Q_a Λ_a Q_aᵀ .

    Q_1 ⊗ … ⊗ Q_m are its eigenvectors and λ_1j … λ_mk + noise its eigenvalues, so that nothing larger than one axis is
    ever factorised, and all that S = UᵀU must give is its diagonal in that basis.

    `grid=None` is one axis of all columns. A scalar `length` is shared by the axes; a sequence gives each its own.
    `noise` is a share of the amplitude, no lower than 1e-10 in the matrix; noise=0 is not learnt. Default priors:
    each length log-normal about the geometric mean of 1 and the (longest) axis, these two lying at -2 and +2 standard
    deviations (no less than 1 on the log scale); noise log-normal about 0.1, a decade for a standard deviation;
    amplitude InverseGamma(½, ½ · mean column variance).

    Examples
    --------
    >>> ct.Matern32(length=1.5, noise=0.1, grid=(2, 3)).matrix(6).shape
    (6, 6)
    """

    parameters: ClassVar[tuple[str, ...]] = ("amplitude", "length", "noise")

    length: Any = 1.0
    noise: float = 0.1
    grid: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._store("grid", _checked_grid(self.grid))
        axes = 1 if self.grid is None else len(self.grid)
        lengths = [check_positive("length", value) for value in np.ravel(self.length)]
        if np.shape(self.length) not in ((), (axes,)):
            raise InputError(f"length must be one number or one for each of the grid's axes ({axes}).")
        self._store("length", read_only(lengths) if np.ndim(self.length) else lengths[0])

    def check(self, d: int) -> None:
        if self.grid is not None and math.prod(self.grid) != d:
            shape = " × ".join(str(size) for size in self.grid)
            raise InputError(f"the grid {shape} has {math.prod(self.grid)} cells, but the data have {d} columns.")

    def _axes(self, d: int) -> tuple[int, ...]:
        return (d,) if self.grid is None else self.grid

    def _kernel(self, d: int) -> Callable[[Theta], np.ndarray]:
        axes = self._axes(d)

        def matrix(theta: Theta) -> np.ndarray:
            lengths = np.broadcast_to(theta["length"], len(axes))
            return with_noise(reduce(np.kron, map(_matern32, axes, lengths)), theta["noise"])

        return matrix

    def whitener(self, d: int, columns: np.ndarray | None = None) -> Whitener:
        axes = self._axes(d)
        if len(axes) == 1 or columns is not None:
            return super().whitener(d, columns)
        values, bases = _eigen(axes, np.broadcast_to(self.length, len(axes)))
        eigenvalues = self.amplitude * (values + max(self.noise, NOISE_FLOOR))
        sd = np.sqrt(eigenvalues)
        return Whitener(
            lambda X: np.asarray(_rotate(X, bases) / sd),
            lambda W: _rotate(W * sd, [Q.T for Q in bases]),
            float(np.sum(np.log(eigenvalues))),
        )

    def statistics(self, U: np.ndarray) -> Statistics:
        n, d = U.shape
        if len(self._axes(d)) == 1:
            return super().statistics(U)
        # With more contrasts than cells, the d rows of the triangular factor of U have the same products UᵀU.
        rows = U if n <= d else np.asarray(np.linalg.qr(U, mode="r"))
        return Statistics(n, d, rows)

    def _terms(self, statistics: Statistics) -> Terms:
        axes = self._axes(statistics.d)
        if len(axes) == 1:  # nothing to take apart, and a Cholesky factor costs less than eigenvectors
            return super()._terms(statistics)

        @lru_cache(1)  # an update of the noise leaves the lengths as they are
        def rotated(*lengths: float) -> tuple[np.ndarray, np.ndarray]:
            values, bases = _eigen(axes, lengths)
            return values, np.square(_rotate(statistics.value, bases)).sum(axis=0)  # the diagonal of QᵀSQ

        def terms(theta: Theta) -> tuple[float, float]:
            values, powers = rotated(*np.broadcast_to(theta["length"], len(axes)).tolist())
            eigenvalues = values + max(theta["noise"], NOISE_FLOOR)
            return float(np.sum(np.log(eigenvalues))), float(np.sum(powers / eigenvalues))

        return terms

    def _default_priors(self, d: int) -> dict[str, Prior]:
        axes = np.array(self._axes(d), dtype=np.float64)
        longest = np.maximum(axes if np.ndim(self.length) else axes.max(), 2.0)
        return {"length": log_normal_between(1.0, longest), "noise": DEFAULT_NOISE}


def _checked_grid(grid: Any) -> tuple[int, ...] | None:
    if grid is None:
        return None
    if isinstance(grid, str) or not isinstance(grid, Iterable) or len(sizes := tuple(grid)) == 0:
        raise InputError(f"grid must be the sizes of its axes, such as (16, 16), not {grid!r}.")
    return tuple(check_count("each size of grid", size, 1) for size in sizes)


def _matern32(size: int, length: float | np.ndarray) -> np.ndarray:
    """M(ℓ)_ij = (1 + √3 |i - j| / ℓ) exp(-√3 |i - j| / ℓ), (size, size)."""
    steps = math.sqrt(3.0) / float(np.squeeze(length)) * np.arange(size)
    return np.asarray(toeplitz((1.0 + steps) * np.exp(-steps)))


def _eigen(axes: Sequence[int], lengths: Iterable[float]) -> tuple[np.ndarray, list[np.ndarray]]:
    """All products of the axes' eigenvalues, in row-major order, and the eigenvectors of each axis."""
    values, bases = zip(*(np.linalg.eigh(matrix) for matrix in map(_matern32, axes, lengths)), strict=True)
    return np.maximum(reduce(np.kron, values), 0.0), list(bases)
