"""Run settings: what was asked of a fit, checked, and the limits that follow from the size of the table."""

from typing import Any, NamedTuple

from .._runtime.validation import MAX_COUNT, check_count, check_positive
from ..errors import InputError
from ..samplers import as_sampler
from ..samplers.base import Sampler
from .chains.tempering import tempered_iterations

AUTO = "auto"
CONVERGED, ITERATIONS_SPENT, SECONDS_SPENT, INTERRUPTED = "converged", "max_iterations", "max_seconds", "interrupted"
DEFAULT_WARMUP = 100  # iterations, where the number of samples is given
FIRST_LOOK = 100  # iterations after the warm-up
FIRST_LOOK_IN_WARMUP = 20
MAX_CHAINS = 10**4
WARMUP_SHARE = 0.25  # of the iterations, at most
MAX_ITERATIONS, MIN_ITERATIONS, MAX_LEAF_ITERATIONS = 2_000, 60, 2_400_000
MAX_DRAWS, MIN_DRAWS, MAX_BYTES = 1_000, 100, 1e9  # of each chain, and of the draws of all chains


class RunSettings(NamedTuple):
    """What was asked of a run, and what all its chains share."""

    sampler: Sampler
    n_samples: int | None = None  # draws of each chain; None: until they have converged
    n_warmup: int | None = 0  # iterations; None: until the log joint has settled
    n_chains: int = 2
    max_iterations: int = MAX_COUNT  # of each chain, warm-up included; see `with_limits`
    max_seconds: float | None = None
    max_draws: int = MAX_DRAWS  # of each chain; longer runs are thinned
    n_tempered: int = 0  # first iterations, with a tempered likelihood
    n_threads: int | None = None  # of a sampler; changes no draw

    @property
    def is_auto(self) -> bool:
        """Whether the draws say when to stop."""
        return self.n_samples is None

    @property
    def max_warmup(self) -> int:
        """Iterations after which the warm-up ends at the latest."""
        return int(WARMUP_SHARE * self.max_iterations) if self.n_warmup is None else self.n_warmup

    @property
    def first_look(self) -> int:
        """Iteration at which a run looks at itself for the first time: a fixed one at its end."""
        if self.n_samples is not None:
            return self.max_iterations
        first = min(self.max_warmup, FIRST_LOOK_IN_WARMUP) if self.n_warmup is None else self.n_warmup + FIRST_LOOK
        return min(first, self.max_iterations)


def check_settings(sampler: Any, n_samples: Any, n_warmup: Any, n_chains: Any, max_seconds: Any) -> RunSettings:
    """What was given to `fit`, checked before any work is done."""
    samples = None if _is_auto("n_samples", n_samples) else check_count("n_samples", n_samples, 1, MAX_COUNT)
    warmup = None if _is_auto("n_warmup", n_warmup) else check_count("n_warmup", n_warmup, 0, MAX_COUNT)
    if samples is not None:
        warmup = DEFAULT_WARMUP if warmup is None else warmup
        if max_seconds is not None:
            raise InputError(f'max_seconds is for n_samples="auto", not for n_samples={n_samples}.')
    if max_seconds is not None:
        max_seconds = check_positive("max_seconds", max_seconds)
    chains = check_count("n_chains", n_chains, 1, MAX_CHAINS)
    return RunSettings(as_sampler(sampler), samples, warmup, chains, max_seconds=max_seconds)


def _is_auto(name: str, value: Any) -> bool:
    if value is None or (isinstance(value, str) and value != AUTO):
        raise InputError(f'{name} must be "{AUTO}" (as long as needed) or a whole number, not {value!r}.')
    return isinstance(value, str)


def default_max_iterations(n: int) -> int:
    """Iterations of each chain that n leaves may take; fewer for many, whose iterations take longer."""
    return int(min(max(MAX_LEAF_ITERATIONS // n, MIN_ITERATIONS), MAX_ITERATIONS))


def with_limits(settings: RunSettings, n: int, d: int, bytes_per_draw: float, is_given_start: bool) -> RunSettings:
    """Settings for n leaves of d columns, of which a draw of all chains takes so many bytes."""
    if settings.n_samples is not None:
        settings = settings._replace(
            max_iterations=settings.max_warmup + settings.n_samples, max_draws=settings.n_samples
        )
    else:
        max_iterations = (settings.n_warmup or 0) + default_max_iterations(n)
        max_draws = int(min(max(MAX_BYTES / bytes_per_draw, MIN_DRAWS), MAX_DRAWS, max_iterations))
        settings = settings._replace(max_iterations=max_iterations, max_draws=max_draws)
    if settings.sampler.is_chain and not is_given_start:  # who gives a start wants it kept
        settings = settings._replace(n_tempered=tempered_iterations(n, d, settings.max_warmup))
    return settings
