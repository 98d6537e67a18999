"""Independent random streams for kernels: one xoshiro256++ state per particle or chain.

A stream is a uint64[4] row. Streams belong to slots (particle 3, chain 1), never to threads, so the number of
threads, jobs or workers cannot change a draw. States are 256 random bits from a numpy Generator.
"""

import math

import numpy as np

from .jit import jit
from .typing import Int, RandomState
from .validation import is_whole, refusal


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Turn an int, a numpy Generator or None into a numpy Generator."""
    is_generator = isinstance(random_state, np.random.Generator)
    return np.random.default_rng(random_state if is_generator else seed_of(random_state))


def seed_of(random_state: RandomState) -> int:
    """Turn an int, a numpy Generator or None into one number, from which a run can be repeated."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return int.from_bytes(np.random.default_rng(random_state).bytes(16), "little")
    if not is_whole(random_state) or not 0 <= random_state < 2**1024:  # it is stored, and printed
        raise refusal("random_state", "an int from 0 to 2**1024 - 1, a numpy.random.Generator or None", random_state)
    return int(random_state)


def make_streams(rng: np.random.Generator, n_streams: int) -> np.ndarray:
    """Draw (n_streams, 4) uint64 states from `rng`; the generator moves on, so a second call gives other streams."""
    return rng.integers(0, 2**64, size=(n_streams, 4), dtype=np.uint64)


@jit(inline="always")
def _rotate_left(x: np.uint64, k: int) -> np.uint64:
    return (x << np.uint64(k)) | (x >> np.uint64(64 - k))


@jit(inline="always")
def next_uint64(state: np.ndarray) -> np.uint64:
    """Advance the stream and return 64 random bits."""
    result = _rotate_left(state[0] + state[3], 23) + state[0]
    t = state[1] << np.uint64(17)
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= t
    state[3] = _rotate_left(state[3], 45)
    return result


@jit
def uniform(state: np.ndarray) -> float:
    """Draw from the open interval (0, 1): its logarithm is always finite."""
    return (np.float64(next_uint64(state) >> np.uint64(11)) + 0.5) * (1.0 / 9007199254740992.0)


@jit
def exponential(state: np.ndarray) -> float:
    """Draw from the exponential distribution with rate 1."""
    return -math.log(uniform(state))


@jit
def standard_normal(state: np.ndarray) -> float:
    """Draw from N(0, 1): the distance from the origin and the direction of a point of the plane (Box and Muller)."""
    return math.sqrt(2.0 * exponential(state)) * math.cos(2.0 * math.pi * uniform(state))


@jit
def integer_below(state: np.ndarray, n: Int) -> int:
    """Draw from 0 … n-1; the bias for n far below 2^53 is below 1e-15 times n."""
    return min(np.int64(uniform(state) * n), np.int64(n) - 1)  # type: ignore[return-value]
