"""Probabilistic principal components with a tree on them, for tables of more columns than rows."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ..._runtime.formatting import count
from ..._runtime.threads import single_threaded_blas
from ..._runtime.typing import ArrayLike
from ..._runtime.validation import check_count, check_positive
from ...errors import InputError
from .base import Whitener, column_variances, weak_inverse_gamma
from .conjugate import Full
from .directions import fitted, principal_directions, why_not_one_unit
from .priors import read_only

MIN_COMPONENTS = 2  # of one, all distances lie on a line
_FIT_ALONE = "components are found by fit alone; give another covariance here."
_ROWS_PER_PARAMETER = 6  # of the covariance: K (K + 1) / 2 of them, so that 3 K (K + 1) <= n


@dataclass(frozen=True, eq=False)
class Components(Full):
    """The `n_components` leading principal components with a `Full` covariance Phi; all other directions are noise.

    With c and s the centres and scales of the d columns and V (d, K) the leading principal directions of the table,

        y_i = Vᵀ (x_i - c) / s                        the tree, Φ (K, K) full
        (x_i - c) / s - V y_i ~ N(μ, σ² (I - V Vᵀ))   of every row by itself, μ flat

    V, c and s are computed once from all rows; Φ and σ² are learnt.
    residual_variance ~ InverseGamma(α, β) is the variance σ² of the other directions; by default α = ½,
    β = ½ · mean column variance. "auto" is the largest K with 3 K (K + 1) <= n rows, at least 2, and at most one less
    than the directions that the rows span. `loadings`, `centre` and `scale` are those of the columns; fit finds them.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(12, 30))
    >>> post = ct.fit(X, ct.Components(2), n_samples=10, n_warmup=10, random_state=0, progress=False)
    >>> post.theta["Phi"].shape
    (20, 2, 2)
    """

    parameters: ClassVar[tuple[str, ...]] = ("Phi", "residual_variance", "amplitude")

    n_components: Any = "auto"
    Phi: Any = field(default=None, kw_only=True)
    residual_variance: Any = field(default=None, kw_only=True)
    loadings: Any = field(default=None, kw_only=True)
    centre: Any = field(default=None, kw_only=True)
    scale: Any = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_components != "auto":
            self._store("n_components", check_count("n_components", self.n_components, 1))
        if self.residual_variance is not None:
            self._store("residual_variance", check_positive("residual_variance", self.residual_variance))
        if self.loadings is not None:
            self._check_loadings()

    def _check_loadings(self) -> None:
        for name in ("loadings", "centre", "scale"):
            self._store(name, read_only(np.nan if getattr(self, name) is None else getattr(self, name)))
        d, K = np.shape(self.loadings) if np.ndim(self.loadings) == 2 else (0, 0)
        fits = self.centre.shape == self.scale.shape == (d,) and 0 < K < d and self.n_components in ("auto", K)
        has_units = np.isfinite(self.centre).all() and np.isfinite(self.scale).all() and (self.scale > 0.0).all()
        if not (fits and has_units and np.allclose(self.loadings.T @ self.loadings, np.eye(K), atol=1e-6)):
            raise InputError(
                "loadings must be fewer than d orthonormal columns, with a centre and scale for each of d."
            )
        self._store("n_components", K)
        super().check(K)

    def _learnt_by_default(self) -> tuple[str, ...]:
        return self.parameters[:2]

    def check(self, d: int) -> None:
        if self.loadings is not None and d != len(self.loadings):
            raise InputError(f"the components are of {len(self.loadings)} columns, but the data have {d}.")

    @property
    def cannot_take(self) -> frozenset[str]:
        return frozenset(("constant",)) if self.loadings is None else frozenset()

    def whitener(self, d: int, columns: np.ndarray | None = None) -> Whitener:
        if self.loadings is None or d != self.loadings.shape[1]:
            raise InputError(_FIT_ALONE)
        return super().whitener(d, columns)

    def adapt(self, X: ArrayLike) -> "Components":
        """Find centres, scales and directions, unless they are given, and default priors."""
        X = np.asarray(X, dtype=np.float64)
        self.check(X.shape[1])
        with single_threaded_blas():
            made = self if self.loadings is not None else self._with_directions(X)
            Z = made.standardized(X)
            spread = float(np.mean(column_variances(Z)))
            Y, rest = fitted(Z, made.loadings)
        variances = np.maximum(Y.var(axis=0, ddof=1), 1e-9 * spread)
        start = max(rest, 1e-9 * spread) if made.residual_variance is None else made.residual_variance
        made = made._adapted(variances)
        priors = {"residual_variance": weak_inverse_gamma(spread)} | made.priors
        return made._replaced(residual_variance=start, priors=priors)

    def _with_directions(self, X: np.ndarray) -> "Components":
        scale = np.where(bool(why_not_one_unit(X.T)), np.sqrt(column_variances(X)), 1.0)  # refuses extreme units, too
        most, is_auto = min(len(X) - 1, X.shape[1]) - 1, self.n_components == "auto"
        wanted = max(min(default_components(len(X)), most), MIN_COMPONENTS) if is_auto else self.n_components
        V, centre, rank = principal_directions(X / scale, min(wanted, max(most, 0)))
        if V.shape[1] < (MIN_COMPONENTS if is_auto else wanted):
            raise InputError(
                f"{wanted} components need at least {wanted + 1} directions, as one is left to noise, and the "
                f'{len(X)} distinct rows span {rank}; use fewer components, or covariance="scaled".'
            )
        return self._replaced(n_components=V.shape[1], loadings=V, centre=centre * scale, scale=scale)

    # Coordinates

    def standardized(self, X: np.ndarray) -> np.ndarray:
        """(n, d) rows centred, and each column in its scale."""
        if self.loadings is None:
            raise InputError(_FIT_ALONE)
        return np.asarray((X - self.centre) / self.scale)

    def project(self, X: np.ndarray) -> np.ndarray:
        """(n, K) components of complete rows (n, d)."""
        return np.ascontiguousarray(self.standardized(X) @ self.loadings)

    def columns_of(self, Y: np.ndarray) -> np.ndarray:
        """(n, d) what components (n, K) say of the columns, in their own units."""
        return np.asarray(self.centre + self.scale * (Y @ self.loadings.T))

    def residual_squares(self, X: np.ndarray) -> np.ndarray:
        """(2,) sum of squares of complete rows (n, d) around their mean beside the components, and n - 1."""
        Z = self.standardized(X)
        Z -= Z.mean(axis=0)
        Z -= (Z @ self.loadings) @ self.loadings.T
        return np.array([np.vdot(Z, Z), len(Z) - 1.0])

    # The noise beside the components

    def draw_residual(self, residual: np.ndarray, rng: np.random.Generator) -> "Components":
        """Draw the variance of the noise given `residual_squares`."""
        if "residual_variance" not in self.learnt:
            return self
        (d, K), (squares, n) = self.loadings.shape, residual
        posterior = self._prior("residual_variance").updated(n * (d - K), squares)
        return self._with(residual_variance=float(posterior.sample(rng)))

    def residual_log_density(self, residual: np.ndarray) -> float:
        """Log density of what is beside the components, given `residual_squares`, as of x."""
        (d, K), (squares, n) = self.loadings.shape, residual
        log_variance = math.log(2.0 * math.pi * self.residual_variance)
        of_units = n * float(np.log(self.scale).sum())
        return float(-0.5 * (n * (d - K) * log_variance + squares / self.residual_variance) - of_units)

    def summary(self) -> str:
        """How many components carry the tree, and their share of the variance."""
        d, K = self.loadings.shape
        own = float(np.trace(self.Phi))
        share = own / (own + self.residual_variance * (d - K))
        beside = count(d - K, "other direction")
        return f"tree carried by {count(K, 'component')} ({100 * share:.0f} % of the variance); {beside} taken as noise"


def default_components(n: int) -> int:
    """The largest K with 3 K (K + 1) <= n, at least 2: how many components n rows can teach a covariance."""
    return max(MIN_COMPONENTS, int((math.sqrt(1.0 + 8.0 * n / _ROWS_PER_PARAMETER) - 1.0) / 2.0 + 1e-9))
