"""Streams: the generator itself, its distributions, and independence of slots."""

import numpy as np
import pytest

from coaltree._runtime.random_streams import (
    as_generator,
    exponential,
    integer_below,
    make_streams,
    next_uint64,
    standard_normal,
    uniform,
)
from coaltree.errors import InputError

MASK = (1 << 64) - 1


def xoshiro256pp(state, count):
    """The generator in plain integers."""

    def rotate(x, k):
        return ((x << k) | (x >> (64 - k))) & MASK

    s = [int(word) for word in state]
    out = []
    for _ in range(count):
        out.append((rotate((s[0] + s[3]) & MASK, 23) + s[0]) & MASK)
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotate(s[3], 45)
    return out


def test_next_uint64_is_xoshiro256_plus_plus():
    state = make_streams(np.random.default_rng(0), 1)[0]
    expected = xoshiro256pp(state, 50)
    assert [int(next_uint64(state)) for _ in range(50)] == expected


@pytest.mark.parametrize(
    ("draw", "mean", "variance"), [(uniform, 0.5, 1 / 12), (exponential, 1.0, 1.0), (standard_normal, 0.0, 1.0)]
)
def test_draws_have_their_moments(draw, mean, variance):
    state = make_streams(np.random.default_rng(1), 1)[0]
    x = np.array([draw(state) for _ in range(20_000)])
    assert abs(x.mean() - mean) < 4.5 * np.sqrt(variance / len(x))
    assert abs(x.var() / variance - 1) < 4.5 * np.sqrt(8 / len(x))  # kurtosis of an exponential is 9


def test_integer_below_covers_its_range_evenly():
    state = make_streams(np.random.default_rng(2), 1)[0]
    counts = np.bincount([integer_below(state, 7) for _ in range(14_000)], minlength=7)
    assert len(counts) == 7
    assert np.square(counts - 2000).sum() / 2000 < 27  # 6 degrees of freedom, p = 1e-4


def test_make_streams_differ_and_repeat_with_the_seed():
    streams = make_streams(np.random.default_rng(3), 1000)
    assert len(np.unique(streams)) == 4000
    assert np.array_equal(streams, make_streams(np.random.default_rng(3), 1000))


def test_as_generator_takes_an_int_a_generator_or_none():
    rng = np.random.default_rng(0)
    assert as_generator(rng) is rng
    assert as_generator(5).random() == np.random.default_rng(5).random()
    assert isinstance(as_generator(None), np.random.Generator)
    for bad in ("5", 1.5, True, -1, np.random.RandomState(0)):
        with pytest.raises(InputError, match="random_state"):
            as_generator(bad)
