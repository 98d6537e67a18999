"""Settings of a run, checked, and the limits that follow from the size of the table."""

from typing import Any

from .._runtime.validation import MAX_COUNT, check_count, check_positive
from ..errors import InputError
from ..samplers import as_sampler

AUTO = "auto"
CONVERGED, ITERATIONS_SPENT, SECONDS_SPENT, INTERRUPTED = "converged", "max_iterations", "max_seconds", "interrupted"
DEFAULT_WARMUP = 100  # iterations, where the number of samples is a number
FIRST_CHECK, FIRST_CHECK_IN_WARMUP = 100, 20  # iterations: R-hat and ESS of fewer say little
MAX_CHAINS = 10**4  # beyond, a number is a slip of the pen
WARMUP_SHARE = 0.25  # of the iterations, at most
MAX_ITERATIONS, MIN_ITERATIONS, MAX_LEAF_ITERATIONS = 2_000, 60, 2_400_000  # some ten minutes of any table
MAX_DRAWS, MIN_DRAWS, MAX_BYTES = 1_000, 100, 1e9  # of each chain, and of the draws of all chains


def check_settings(sampler: Any, n_samples: Any, n_warmup: Any, n_chains: Any, max_seconds: Any) -> dict[str, Any]:
    """Arguments of `Run`, checked before any work is done; None in place of "auto"."""
    samples = None if _is_auto("n_samples", n_samples) else check_count("n_samples", n_samples, 1, MAX_COUNT)
    warmup = None if _is_auto("n_warmup", n_warmup) else check_count("n_warmup", n_warmup, 0, MAX_COUNT)
    if samples is not None:
        warmup = DEFAULT_WARMUP if warmup is None else warmup
        if max_seconds is not None:
            raise InputError(f'max_seconds is for n_samples="auto", not for n_samples={n_samples}.')
    return {
        "sampler": as_sampler(sampler),
        "n_samples": samples,
        "n_warmup": warmup,
        "n_chains": check_count("n_chains", n_chains, 1, MAX_CHAINS),
        "max_seconds": None if max_seconds is None else check_positive("max_seconds", max_seconds),
    }


def _is_auto(name: str, value: Any) -> bool:
    if value is None or (isinstance(value, str) and value != AUTO):
        raise InputError(f'{name} must be "{AUTO}" (as long as needed) or a whole number, not {value!r}.')
    return isinstance(value, str)


def default_max_iterations(n: int) -> int:
    """Iterations of each chain that n leaves may take; fewer for many, whose iterations take longer."""
    return int(min(max(MAX_LEAF_ITERATIONS // n, MIN_ITERATIONS), MAX_ITERATIONS))


def default_max_draws(bytes_per_draw: float, max_iterations: int) -> int:
    """Draws of each chain that are kept, where a draw of all chains takes so many bytes; longer runs are thinned."""
    return int(min(max(MAX_BYTES / bytes_per_draw, MIN_DRAWS), MAX_DRAWS, max_iterations))
