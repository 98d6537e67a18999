"""What every covariance is: an immutable value that whitens, colours, and learns from contrasts."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.linalg.lapack import dpotrf

from ..._runtime.typing import ArrayLike
from ..._runtime.validation import check_positive
from ...errors import InputError
from ...numerics.slice_sampling import slice_sample
from .priors import InverseGamma, InverseWishart, Prior, solve_lower

# Kernel matrices K + noise·I are formed with the noise no lower than this (relative to K's unit diagonal), so that a
# smooth kernel stays positive definite in double precision. Nothing else is ever added to a matrix.
NOISE_FLOOR = 1e-10

# The exact updates need conjugate priors.
_CONJUGATE = {"Phi": InverseWishart} | dict.fromkeys(("amplitude", "variances", "residual_variance"), InverseGamma)
_MAX_VARIANCE = 1e301  # amplitudes are inverted, and multiplied by numbers of the size of n: room for both


class Statistics(NamedTuple):
    """What a covariance keeps of n contrasts in d dimensions."""

    n: int
    d: int
    value: Any


class Whitener(NamedTuple):
    """Φ as a change of coordinates: rows that are whitened have the identity for a covariance."""

    whiten: Callable[[np.ndarray], np.ndarray]  # from rows of covariance Φ
    color: Callable[[np.ndarray], np.ndarray]  # and back
    log_det: float  # log |Φ|


def by_variances(variances: np.ndarray) -> Whitener:
    """Φ = diag(variances): W = X / sd."""
    sd = np.sqrt(variances)
    return Whitener(lambda X: X / sd, lambda W: W * sd, float(np.log(variances).sum()))


def by_factor(chol: np.ndarray) -> Whitener:
    """Φ = L Lᵀ: W = X L⁻ᵀ."""

    def whiten(X: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(solve_lower(chol, np.asarray(X, dtype=np.float64).T).T)

    return Whitener(whiten, lambda W: W @ chol.T, 2.0 * float(np.log(chol.diagonal()).sum()))


def factorized(matrix: np.ndarray, name: str) -> np.ndarray:
    """L of a dense Φ = L Lᵀ, which is refused by its name where it is not positive definite."""
    chol, failed = dpotrf(matrix, lower=1, clean=1)
    if failed or not np.all(chol.diagonal() > 0.0):
        raise InputError(f"{name} is not positive definite in double precision; increase its noise.")
    return np.ascontiguousarray(chol)


def column_variances(X: np.ndarray) -> np.ndarray:
    """Sample variances of the columns over the observed rows, each in its own unit; positive for constants too."""
    from pandas import DataFrame

    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        variances = np.asarray(DataFrame(X).var().fillna(0.0))  # 0 of a single value
        typical = float(np.mean(variances))
    varies = np.nanmax(X, axis=0) > np.nanmin(X, axis=0)
    if not typical < _MAX_VARIANCE or np.any(varies & (variances < 1.0 / _MAX_VARIANCE)):
        raise InputError("the values of X are too large, or differ too little, for their variances; rescale X.")
    # A constant column in the model has a millionth of the mean variance.
    return np.where(varies, variances, 1e-6 * typical if typical > 0 else 1.0)


def weak_inverse_gamma(variance: float | np.ndarray) -> InverseGamma:
    """The default prior of a variance: worth one observation of the data's own scale (scaled inverse χ², 1 d.f.)."""
    return InverseGamma(0.5, 0.5 * variance)


def draw_multiple(
    shape: float, rate: float, log_factor: Callable[[float], float] | None, rng: np.random.Generator
) -> float:
    """Draw c ~ c^(shape - 1) exp(-rate c) f(c), by a slice in log c around 1 where there is a log f."""
    if log_factor is None:
        return float(rng.standard_gamma(shape) / rate)

    def log_density(y: float) -> float:
        c = math.exp(min(y, 700.0))
        return float(shape * y - rate * c + log_factor(c))

    return math.exp(slice_sample(log_density, 0.0, 3.0 / math.sqrt(shape + 1.0), rng))


class Covariance:
    """A covariance Φ of d columns: an immutable value of which nothing, or some parameters, are learnt.

    Given a tree, the n - 1 contrasts u_k are i.i.d. N(0, Φ), so one Gibbs update of Φ is

        covariance = covariance.update(covariance.statistics(U), rng)          U: (n-1, d)
    """

    parameters: ClassVar[tuple[str, ...]] = ()
    shape: ClassVar[str] = ""  # the parameter, other than the amplitude, that Φ is a multiple of
    is_diagonal: ClassVar[bool] = False
    amplitude: float = 1.0
    learn: Any = False
    priors: Any = MappingProxyType({})

    @property
    def learnt(self) -> tuple[str, ...]:
        """Names of the parameters that `update` draws."""
        if isinstance(self.learn, bool | np.bool_):
            return self._learnt_by_default() if self.learn else ()
        return tuple(name for name in self.parameters if name in self.learn)

    def _learnt_by_default(self) -> tuple[str, ...]:
        return self.parameters

    @property
    def theta(self) -> dict[str, Any]:
        """The learnt parameters' values by name."""
        return {name: self._value(name) for name in self.learnt}

    def _value(self, name: str) -> Any:
        return getattr(self, name)

    def with_theta(self, theta: Mapping[str, Any]) -> Self:
        """The same covariance with these parameter values."""
        self._check_names("theta", theta)
        return self._replaced(**theta) if theta else self

    def known(self) -> "Covariance":
        """The same with nothing to learn."""
        return self._replaced(learn=False) if self.learnt else self

    def _check_names(self, where: str, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.parameters:
                known = ", ".join(self.parameters) or "none"
                raise InputError(f"{where}: {type(self).__name__} has no parameter {name!r}; its parameters: {known}.")

    def _replaced(self, **changes: Any) -> Self:
        return replace(self, **changes)  # type: ignore[type-var]

    def _with(self, **drawn: Any) -> Self:
        """The same with values that need no checks, which would take longer than to draw a small one."""
        for value in drawn.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, **drawn)
        return made

    def check(self, d: int) -> None:
        """Refuse a number of columns that this covariance cannot have."""

    @property
    def cannot_take(self) -> frozenset[str]:
        """What data must not have for a proper posterior: "constant" or "dependent" columns, "tied" values."""
        return frozenset()

    def matrix(self, d: int) -> np.ndarray:
        """Φ as a (d, d) array."""
        return np.diag(self.diagonal(d))

    def diagonal(self, d: int) -> np.ndarray:
        """(d,) the diagonal of Φ; one of this and `matrix` is each family's own."""
        return np.diagonal(self.matrix(d))

    def whitener(self, d: int, columns: np.ndarray | None = None) -> Whitener:
        """How rows are whitened, in all of d columns or in some alone."""
        if self.is_diagonal:
            return by_variances(self.diagonal(d) if columns is None else self.diagonal(d)[columns])
        Phi = self.matrix(d)
        return by_factor(factorized(Phi if columns is None else Phi[np.ix_(columns, columns)], type(self).__name__))

    def adapt(self, X: ArrayLike) -> "Covariance":
        """Fill in default priors, and starting values that were left open, from the data (NaN is missing)."""
        X = np.asarray(X, dtype=np.float64)
        self.check(X.shape[1])
        return self._adapted(column_variances(X))

    def _adapted(self, spread: np.ndarray) -> Self:
        """`adapt`, from the variances of the columns."""
        return self

    def _with_amplitude_of(self, scale: float) -> Self:
        """Give a learnt amplitude its default prior, and a start if it was left open, at the data's `scale`."""
        if "amplitude" not in self.learnt or "amplitude" in self.priors:
            return self
        start = scale if self.amplitude == 1.0 else self.amplitude
        return self._replaced(amplitude=start, priors={**self.priors, "amplitude": weak_inverse_gamma(scale)})

    def _prior(self, name: str) -> Any:
        if name not in self.priors:
            raise InputError(f"{type(self).__name__}: {name} has no prior; give one in priors or call adapt(X) first.")
        return self.priors[name]

    def log_prior(self) -> float:
        """log p(θ) of the learnt parameters, up to a constant where a prior is improper."""
        return float(sum(self._prior(name).log_density(self._value(name)) for name in self.learnt))

    def statistics(self, U: np.ndarray) -> Statistics:
        """What `update` needs of the contrasts U (n-1, d): UᵀU, or its diagonal where Φ is diagonal."""
        return Statistics(len(U), U.shape[1], np.einsum("ij,ij->j", U, U) if self.is_diagonal else U.T @ U)

    def update(self, statistics: Statistics, rng: np.random.Generator) -> "Covariance":
        """Draw the learnt parameters given the contrasts (one exact or slice sampling step each)."""
        return self

    def _draw_amplitude(self, statistics: Statistics, sum_of_squares: float, rng: np.random.Generator) -> Self:
        """The conjugate draw of the amplitude, from Σ uᵀ (Φ/amplitude)⁻¹ u over the contrasts."""
        posterior = self._prior("amplitude").updated(statistics.n * statistics.d, sum_of_squares)
        return self._replaced(amplitude=float(posterior.sample(rng)))

    @property
    def integrates(self) -> bool:
        """Whether `log_marginal` has a closed form."""
        return False

    def log_marginal(self, statistics: Statistics) -> float:
        """log ∫ p(U | Φ) p(Φ) dΦ up to a constant."""
        raise NotImplementedError

    def scale_move(
        self,
        total_rate_time: float,
        n_merges: int,
        rng: np.random.Generator,
        log_likelihood: Callable[[float], float] | None = None,
    ) -> tuple[float, "Covariance"]:
        """Multiply all times by c and divide Φ by c, with c drawn from its exact conditional; 1 if no scale is learnt.

        The likelihood of the tree does not change, so with A = Σ λ_k Δ_k and the prior's terms (α, b)

            p(c) ∝ c^(n_merges + α - 1) exp(-(A + b) c) .

        With a leaf variance the likelihood does change: `log_likelihood(c)` is then added, and log c slice-sampled.
        """
        name = next((name for name in (self.shape, "amplitude") if name in self.learnt), None)
        if name is None:
            return 1.0, self
        alpha, b = self._prior(name).scale_terms(self._value(name))
        c = draw_multiple(n_merges + alpha, total_rate_time + b, log_likelihood, rng)
        return c, self._with(**{name: self._value(name) / c})


@dataclass(frozen=True, eq=False)
class LearnableCovariance(Covariance):
    """A covariance with an overall factor and parameters to learn.

    amplitude : overall factor of Φ. Where it is learnt and left at 1.0, `fit` starts it at the data's own scale.
    learn : True (everything), False (nothing), or the names of the parameters to learn.
    priors : {name: prior} for learnt parameters; those not named get the family's weak default, scaled to the data.
    """

    amplitude: float = field(default=1.0, kw_only=True)
    learn: Any = field(default=True, kw_only=True)
    priors: Any = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        self._store("amplitude", check_positive("amplitude", self.amplitude))
        if not isinstance(self.learn, bool | np.bool_ | Iterable):
            raise InputError(f"learn must be True, False or names of parameters, not {self.learn!r}.")
        if isinstance(self.learn, Iterable):
            self._store("learn", (self.learn,) if isinstance(self.learn, str) else tuple(self.learn))
            self._check_names("learn", self.learn)
        priors = {} if self.priors is None else self.priors
        if not isinstance(priors, Mapping):
            raise InputError(f"priors must be a dict such as {{'amplitude': InverseGamma(2, 1)}}, not {priors!r}.")
        self._store("priors", dict(priors))
        self._check_names("priors", self.priors)
        for name, prior in self.priors.items():
            kind = _CONJUGATE.get(name, Prior)
            if not isinstance(prior, kind):
                raise InputError(f"priors: the prior of {name} must be of type {kind.__name__}, not {prior!r}.")

    def _store(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
