"""Covariances given by a kernel over the columns' inputs: `SquaredExponential`, `Kernel`; dense, O(d³) each time."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from ..._runtime.validation import as_array, check_positive
from ...errors import InputError
from ...numerics.slice_sampling import slice_sample
from .base import NOISE_FLOOR, Covariance, LearnableCovariance, Statistics
from .priors import LogNormal, LogUniform, Prior, read_only

DEFAULT_NOISE = LogNormal(0.1, math.log(10.0))  # the prior of a noise share: a tenth, give or take a decade

Theta = Mapping[str, Any]  # all parameters but the amplitude
Terms = Callable[[Theta], tuple[float, float]]


class KernelCovariance(LearnableCovariance):
    """Φ = amplitude · K(θ), learnt from log|K| and tr(K⁻¹S), S = UᵀU of the contrasts.

    The amplitude ~ InverseGamma(α, β) integrates out of the likelihood,

        log p(U | θ) = -(n/2) log|K| - (α + nd/2) log(β + ½ tr(K⁻¹S)) + const ,

    so log θ is slice-sampled coordinate by coordinate with the amplitude out of the way, and the amplitude drawn after.
    """

    inputs: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._store("inputs", _checked_inputs(self.inputs))
        if hasattr(self, "noise"):
            self._store("noise", check_positive("noise", self.noise, zero=True))
            if self.noise == 0 and "noise" in self.learnt:
                raise InputError("noise=0 cannot be learnt; start it at a positive value, or leave it out of learn.")

    def _inputs(self, d: int) -> np.ndarray:
        """(d, q) the inputs of the columns, by default 0 … d-1."""
        if self.inputs is None:
            return np.arange(d, dtype=np.float64)[:, None]
        if len(self.inputs) != d:
            raise InputError(f"inputs has {len(self.inputs)} rows, but the data have {d} columns; give one per column.")
        return np.asarray(self.inputs)

    def check(self, d: int) -> None:
        self._inputs(d)

    def _kernel(self, d: int) -> Callable[[Theta], np.ndarray]:
        """K (d, d) as a function of θ."""
        raise NotImplementedError

    def matrix(self, d: int) -> np.ndarray:
        return self.amplitude * self._kernel(d)(self._own_theta())

    def _terms(self, statistics: Statistics) -> Terms:
        """A function of θ that returns (log|K|, tr(K⁻¹S)), infinite or NaN where K fails."""
        kernel = self._kernel(statistics.d)
        return lambda theta: _dense_terms(kernel(theta), statistics)

    def _default_priors(self, d: int) -> dict[str, Prior]:
        """Weak priors of θ, scaled to the inputs."""
        raise NotImplementedError

    def _learnt_by_default(self) -> tuple[str, ...]:
        """Everything, but noise=0 means that there is none."""
        return tuple(name for name in self.parameters if name != "noise" or getattr(self, name) > 0)

    def _own_theta(self) -> dict[str, Any]:
        """The values of all parameters but the amplitude."""
        return {name: self._value(name) for name in self.parameters if name != "amplitude"}

    def _adapted(self, spread: np.ndarray) -> Self:
        own = float(np.mean(self.diagonal(len(spread)))) / self.amplitude  # of K: 1 and the noise, but for `Kernel`
        adapted = self._with_amplitude_of(float(np.mean(spread)) / own)
        defaults = {name: prior for name, prior in self._default_priors(len(spread)).items() if name in self.learnt}
        return adapted._replaced(priors={**defaults, **adapted.priors})

    def update(self, statistics: Statistics, rng: np.random.Generator) -> Covariance:
        terms = self._terms(statistics)
        values = {name: np.array(value, dtype=np.float64) for name, value in self._own_theta().items()}

        def log_density(name: str, index: tuple[int, ...], y: float) -> float:
            trial = {**values, name: values[name].copy()}
            trial[name][index] = math.exp(y)
            log_prior: float = self._prior(name).log_density(trial[name]) + y
            if not math.isfinite(log_prior):
                return -math.inf
            return self._log_likelihood(statistics, *terms(trial)) + log_prior

        width = max(0.05, min(2.0, 4.0 / math.sqrt(statistics.n + 1)))
        learnt = [name for name in self.learnt if name != "amplitude"]
        coordinates = [(name, index) for name in learnt for index in np.ndindex(np.shape(values[name]))]
        for name, index in coordinates:
            start = math.log(values[name][index])
            try:
                y = slice_sample(partial(log_density, name, index), start, width, rng)
            except InputError:
                where = ", ".join(f"{name}={value}" for name, value in values.items())
                why = "it is not positive definite there, or its prior is 0"
                raise InputError(f"{type(self).__name__} cannot start at {where}: {why}.") from None
            values[name][index] = math.exp(y)
        updated = self._replaced(**{name: values[name][()] for name in learnt})
        if "amplitude" not in self.learnt:
            return updated
        return updated._draw_amplitude(statistics, terms(values)[1], rng)

    def _log_likelihood(self, statistics: Statistics, log_det: float, trace: float) -> float:
        """Log p(U | θ), from log|K| and tr(K⁻¹S)."""
        log_density = -0.5 * trace / self.amplitude
        if "amplitude" in self.learnt:
            log_density = self._prior("amplitude").log_marginal(statistics.n * statistics.d, trace)
        return float(log_density - 0.5 * statistics.n * log_det)


def log_normal_between(low: Any, high: Any) -> LogNormal:
    """About the geometric mean, with the bounds at -2 and +2 standard deviations, or nearer."""
    low, high = np.log(low), np.log(high)
    return LogNormal(np.exp(0.5 * (low + high)), np.maximum(1.0, 0.25 * (high - low)))


def _dense_terms(K: np.ndarray, statistics: Statistics) -> tuple[float, float]:
    """(log|K|, tr(K⁻¹S)) by Cholesky; infinite or NaN where K is not positive definite."""
    chol, failed = dpotrf(K, lower=1, clean=1)
    if failed:
        return math.inf, math.inf
    log_det = 2.0 * float(np.log(chol.diagonal()).sum())
    half, _ = dpotri(chol, lower=1, overwrite_c=1)  # K⁻¹, zeros above its diagonal
    return log_det, float(2.0 * np.vdot(half.T, statistics.value) - half.diagonal() @ statistics.value.diagonal())


def _checked_inputs(values: Any) -> np.ndarray | None:
    """Inputs as (d, q) floats, or None for 0 … d-1."""
    if values is None:
        return None
    inputs = read_only(as_array("inputs", values, np.float64))
    has_squares = np.all(np.abs(inputs) <= 1e150)
    if inputs.ndim not in (1, 2) or inputs.size == 0 or not has_squares:
        raise InputError("inputs must be numbers up to 1e150, one number or one row of them per column of the data.")
    return inputs.reshape(len(inputs), -1)


@dataclass(frozen=True, eq=False)
class SquaredExponential(KernelCovariance):
    """Φ_ij = amplitude · [exp(-‖t_i - t_j‖² / (2 length2)) + noise · δ_ij], with t_j = inputs[j] (0 … d-1 if None).

    `length2` is a squared length, `noise` a share of the amplitude, no lower than 1e-10 in the matrix; noise=0 is not
    learnt. Default priors: length2 log-normal about the geometric mean of the smallest and the largest squared
    distance between inputs, these two lying at -2 and +2 standard deviations (no less than 1 on the log scale); noise
    log-normal about 0.1, a decade for a standard deviation; amplitude InverseGamma(½, ½ · mean column variance).
    This noise is part of Φ and diffuses along the tree; measurement noise of rows is `fit`'s ``noise=``, a `Noise`.

    Examples
    --------
    >>> ct.SquaredExponential(length2=2.0, noise=0.1).learnt
    ('amplitude', 'length2', 'noise')
    """

    parameters: ClassVar[tuple[str, ...]] = ("amplitude", "length2", "noise")

    length2: float = 1.0
    noise: float = 0.1
    inputs: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._store("length2", check_positive("length2", self.length2))

    def _kernel(self, d: int) -> Callable[[Theta], np.ndarray]:
        distances = self._distances(d)
        return lambda theta: with_noise(np.exp(distances / (-2.0 * theta["length2"])), theta["noise"])

    def _distances(self, d: int) -> np.ndarray:
        """(d, d) squared distances between inputs."""
        inputs = self._inputs(d)
        return np.asarray(np.square(inputs[:, None] - inputs).sum(axis=2))

    def _default_priors(self, d: int) -> dict[str, Prior]:
        apart = self._distances(d)
        apart = apart[apart > 0] if apart.any() else np.array([self.length2])
        return {"length2": log_normal_between(float(apart.min()), float(apart.max())), "noise": DEFAULT_NOISE}


def with_noise(K: np.ndarray, noise: float) -> np.ndarray:
    """K + noise · I, in place."""
    K.ravel("K")[:: len(K) + 1] += max(noise, NOISE_FLOOR)
    return K


@dataclass(frozen=True, eq=False)
class Kernel(KernelCovariance):
    """Φ = amplitude · [k(inputs, inputs) + 1e-10 · (mean of its diagonal) · I], k any scikit-learn GP kernel.

    The free hyperparameters of k are learnt under its own names, log-uniform within its own bounds unless `priors`
    says otherwise. An overall factor inside k would repeat the amplitude: leave it out, or make it fixed. inputs=None
    means 0 … d-1.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF, WhiteKernel
    >>> ct.Kernel(RBF(1.5) + WhiteKernel(0.2)).learnt
    ('amplitude', 'k1__length_scale', 'k2__noise_level')
    """

    k: Any
    inputs: Any = None

    def __post_init__(self) -> None:
        is_kernel = hasattr(self.k, "clone_with_theta") and hasattr(self.k, "hyperparameters")
        if not is_kernel or isinstance(self.k, type) or type(self.k).__name__ == "CompoundKernel":
            raise InputError(f"Kernel needs one scikit-learn Gaussian-process kernel object, not {self.k!r}.")
        super().__post_init__()

    @property
    def parameters(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("amplitude", *(h.name for h in self._free))

    def _value(self, name: str) -> Any:
        return self.amplitude if name == "amplitude" else self.k.get_params()[name]

    def _replaced(self, **changes: Any) -> Self:
        from sklearn.base import clone

        own = {name: value for name, value in changes.items() if name in ("amplitude", "priors", "learn")}
        theta = {name: value for name, value in changes.items() if name not in own}
        # Not by clone_with_theta, which takes logarithms: values must survive to the last bit.
        return super()._replaced(**own, k=clone(self.k).set_params(**theta) if theta else self.k)

    @cached_property
    def _free(self) -> list[Any]:
        """The hyperparameters that are not fixed, in the order of k.theta."""
        return [h for h in self.k.hyperparameters if not h.fixed]

    def check(self, d: int) -> None:
        inputs = self._inputs(d)
        try:
            self.k(inputs[:1])
        except (TypeError, ValueError) as error:
            n_columns = inputs.shape[1]
            raise InputError(f"Kernel: k cannot be applied to inputs of {n_columns} column(s): {error}.") from None

    def _kernel(self, d: int) -> Callable[[Theta], np.ndarray]:
        inputs, k = self._inputs(d), self.k.clone_with_theta(self.k.theta)  # one of our own, to change

        def matrix(theta: Theta) -> np.ndarray:
            K = np.array(k.set_params(**theta)(inputs), dtype=np.float64)
            K[np.diag_indices(d)] += NOISE_FLOOR * float(np.mean(np.diag(K)))
            return K

        return matrix

    def _default_priors(self, d: int) -> dict[str, Prior]:
        needed = [h for h in self._free if h.name in self.learnt and h.name not in self.priors]
        for h in needed:
            if not np.all(np.isfinite(h.bounds)):
                raise InputError(f"Kernel: {h.name} has no finite bounds; give it some, or a prior in priors.")
        bounds = {h.name: h.bounds[0] if len(h.bounds) == 1 else np.transpose(h.bounds) for h in needed}
        return {name: LogUniform(low, high) for name, (low, high) in bounds.items()}
