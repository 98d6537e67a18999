"""The generalized inverse Gaussian: normalisers against interval arithmetic, draws against their distribution."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import example, given
from hypothesis import strategies as st

from coaltree._runtime.jit import jit
from coaltree._runtime.random_streams import make_streams
from coaltree.numerics import gig
from tests.reference import special as reference

DIMENSIONS = (1, 2, 3, 4, 5, 16, 33, 100, 256, 1000, 10_000)


def spread_of(p, chi, psi):
    """The mode of v's logarithm as a value of v, and the width of its peak."""
    return gig.mode_of_log(p, chi, psi), 1.0 / math.sqrt(math.hypot(p, math.sqrt(chi * psi)) + 1e-3)


def random_law(rng, p):
    """χ and ψ over many decades."""
    return 10.0 ** rng.uniform(-12.0, 6.0), 10.0 ** rng.uniform(-6.0, 6.0)


def random_cut(rng, peak, width):
    """A cut near the peak, in its tails, or anywhere."""
    shifts = (2.0 * width * rng.normal(), 8.0 * width * rng.normal(), 5.0 * rng.normal(), rng.uniform(-40.0, 40.0))
    return peak * math.exp(shifts[rng.integers(4)])


def relative_error(found, expected):
    return abs(found - expected) / max(1.0, abs(expected))


# --- normalisers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", DIMENSIONS)
def test_cut_normaliser_against_its_integral(d):
    p = 1.0 - 0.5 * d
    rng = np.random.default_rng(d)
    for _ in range(10):  # 5,000 of any order below
        chi, psi = random_law(rng, p)
        r = random_cut(rng, *spread_of(p, chi, psi))
        expected = reference.log_gig_cut_normaliser(p, chi, psi, r)
        assert relative_error(gig.log_normaliser(p, chi, psi, r), expected) < 2e-12


def test_cut_normaliser_of_any_order():
    rng = np.random.default_rng(7)
    for _ in range(80):
        p = rng.normal() * 10.0 ** rng.uniform(-2.0, 4.0)
        chi, psi = random_law(rng, p)
        r = random_cut(rng, *spread_of(p, chi, psi)) if rng.random() < 0.8 else 0.0
        expected = reference.log_gig_cut_normaliser(p, chi, psi, r)
        assert relative_error(gig.log_normaliser(p, chi, psi, r), expected) < 2e-12


@pytest.mark.slow
def test_cut_normaliser_and_survival_on_a_dense_grid():
    rng = np.random.default_rng(99)
    for _ in range(5000):
        p = 1.0 - 0.5 * rng.integers(1, 10.0 ** rng.uniform(0.5, 4.0))
        chi, psi = random_law(rng, p)
        r, late = sorted(random_cut(rng, *spread_of(p, chi, psi)) for _ in range(2))
        expected = reference.log_gig_cut_normaliser(p, chi, psi, r)
        assert relative_error(gig.log_normaliser(p, chi, psi, r), expected) < 2e-12
        expected = reference.log_gig_survival(p, chi, psi, r, late)
        if expected < -1e-280:
            assert gig.log_survival(p, chi, psi, r, late) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_cut_normaliser_at_distance_zero(d):
    # χ = 0: an incomplete gamma function, of negative order for d >= 3; and the way there.
    p = 1.0 - 0.5 * d
    rng = np.random.default_rng(d)
    for _ in range(8):
        psi, r = 10.0 ** rng.uniform(-6.0, 6.0), 10.0 ** rng.uniform(-9.0, 3.0)
        expected = reference.log_gig_cut_normaliser(p, 0.0, psi, r)
        assert relative_error(gig.log_normaliser(p, 0.0, psi, r), expected) < 2e-12
        assert relative_error(gig.log_normaliser(p, 1e-14 * r, psi, r), expected) < 1e-9
        assert relative_error(gig.log_normaliser(p, 1e-300, psi, r), expected) < 2e-12


def test_cut_normaliser_at_rate_zero():
    rng = np.random.default_rng(3)
    for d in DIMENSIONS[2:]:
        p = 1.0 - 0.5 * d
        chi = 10.0 ** rng.uniform(-6.0, 6.0)
        r = chi / -p * math.exp(rng.normal() / math.sqrt(-p))
        expected = reference.log_gig_cut_normaliser(p, chi, 0.0, r)
        assert relative_error(gig.log_normaliser(p, chi, 0.0, r), expected) < 2e-12
    # Without a cut: Γ(-p) (χ/2)^p, and for χ = 0 Γ(p) (ψ/2)^-p.
    assert gig.log_normaliser(-2.5, 3.0, 0.0, 0.0) == pytest.approx(math.lgamma(2.5) - 2.5 * math.log(1.5))
    assert gig.log_normaliser(0.3, 0.0, 3.0, 0.0) == pytest.approx(math.lgamma(0.3) - 0.3 * math.log(1.5))
    assert gig.log_normaliser(7.0, 0.0, 3.0, 0.0) == pytest.approx(math.lgamma(7.0) - 7.0 * math.log(1.5))


def test_cut_normaliser_at_extreme_scales():
    rng = np.random.default_rng(12)
    for _ in range(60):
        p = 1.0 - 0.5 * rng.choice(DIMENSIONS)
        chi, psi = 10.0 ** rng.uniform(-100.0, 100.0, 2)
        r = random_cut(rng, *spread_of(p, chi, psi))
        expected = reference.log_gig_cut_normaliser(p, chi, psi, r)
        assert relative_error(gig.log_normaliser(p, chi, psi, r), expected) < 1e-11


def test_cut_normaliser_that_diverges_is_infinite():
    assert gig.log_normaliser(0.0, 0.0, 1.0, 0.0) == gig.log_normaliser(-1.0, 0.0, 1.0, 0.0) == math.inf
    assert gig.log_normaliser(0.0, 1.0, 0.0, 0.0) == gig.log_normaliser(2.0, 1.0, 0.0, 0.0) == math.inf
    assert gig.log_normaliser(0.0, 1.0, 0.0, 1.0) == math.inf


@pytest.mark.parametrize("d", [2, 3, 4])
def test_cut_normaliser_of_long_plateaus(d):
    # χψ tiny: log v is nearly uniform (d = 2) or exponential over hundreds of nats between two cliffs.
    p = 1.0 - 0.5 * d
    for chi, psi in [(1e-60, 1e-60), (1e-200, 1.0), (1e-150, 1e-150)]:
        for share in (-0.1, 0.0, 0.2, 0.5, 0.98, 1.0):
            r = chi * (1.0 / psi / chi) ** share
            expected = reference.log_gig_cut_normaliser(p, chi, psi, r)
            assert relative_error(gig.log_normaliser(p, chi, psi, r), expected) < 2e-12


@example(0.5, 120.0, 120.0, 0.0)  # the computed mode lies a rounding below the cut
@given(
    st.one_of(st.integers(1, 20_000).map(lambda d: 1.0 - 0.5 * d), st.floats(-1e4, 1e4)),
    st.floats(-300.0, 300.0),
    st.floats(-300.0, 300.0),
    st.floats(-300.0, 300.0),
)
def test_gig_of_extreme_parameters_gives_numbers(p, log_chi, log_psi, log_r):
    chi, psi, r = 10.0**log_chi, 10.0**log_psi, 10.0**log_r
    full, cut = gig.log_normaliser(p, chi, psi, 0.0), gig.log_normaliser(p, chi, psi, r)
    assert math.isfinite(full)
    assert not math.isnan(cut)
    assert cut <= full + 1e-12 * max(1.0, abs(full))
    survival = gig.log_survival(p, chi, psi, r, 1.5 * r)
    assert survival <= 0.0
    state = make_streams(np.random.default_rng(0), 1)[0]
    for cut_at in (0.0, r):
        draw = gig.draw_cut_gig(p, chi, psi, cut_at, state)
        assert draw >= 0.0
        assert math.isfinite(draw)


@pytest.mark.parametrize(
    "law",
    [
        (0.0, 0.0, 0.137, 2.3e-308),  # ψr/2 is below the least normal double: a plateau of 700 nats
        (0.0, 0.0, 1e-30, 1e-300),  # and below the least double
        (2e-16, 2.5e-12, 1e-310, 1.0),  # the reach of a cliff overflows
        (-2e-17, 1e-60, 1.5e-275, 2.4e-44),  # a cliff where e^u is no double
        (0.5, 2.3e-173, 2.4e-149, 1e-200),
        (-3038.0, 5e-324, 5e-324, 0.0),  # the mode is no double
        (-73.3, 1.7e308, 1.7e308, 1.0),  # a + b is none
    ],
)
def test_gig_at_the_ends_of_the_doubles_gives_numbers(law):
    assert math.isfinite(gig.log_normaliser(*law[:3], 0.0)) or law[1] == 0.0
    assert not math.isnan(gig.log_normaliser(*law))
    for late in (np.nextafter(law[3], 1.0), 1.5 * law[3], 1.0, 1e300):
        assert gig.log_survival(*law, late) <= 0.0
    out = np.empty(100)
    _excesses(*law, make_streams(np.random.default_rng(0), 1)[0], out)
    assert np.all((out >= 0.0) & np.isfinite(out))


def test_gig_of_a_plateau_of_seven_hundred_nats():
    # E_1(x) = -γ - log x for small x.
    assert gig.log_normaliser(0.0, 0.0, 1.0, 1e-300) == pytest.approx(
        math.log(-np.euler_gamma - math.log(5e-301)), rel=1e-12
    )


def test_mode_of_log_is_where_the_density_is_highest():
    rng = np.random.default_rng(0)
    for p in (-4999.0, -3.0, -0.5, 0.0, 0.5, 1.0, 2.7, 300.0):
        for _ in range(5):
            chi, psi = random_law(rng, p)
            v = gig.mode_of_log(p, chi, psi)
            # The slope of p log v - χ/(2v) - ψv/2, times v, vanishes.
            terms = np.array([p, 0.5 * chi / v, -0.5 * psi * v])
            assert abs(terms.sum()) < 1e-12 * np.abs(terms).max()
    assert gig.mode_of_log(-3.0, 12.0, 0.0) == 2.0


# --- survival -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", DIMENSIONS)
def test_log_survival_is_right_relative_to_itself(d):
    # Nearly 0 where almost nothing lies between the cuts, huge where both are far in the tail: both must be right.
    p = 1.0 - 0.5 * d
    rng = np.random.default_rng(d)
    for k in range(16):
        chi, psi = random_law(rng, p)
        peak, width = spread_of(p, chi, psi)
        r, late = sorted(random_cut(rng, peak, width) for _ in range(2))
        if k % 4 == 1:
            late = r * math.exp(width * 10.0 ** rng.uniform(-6.0, 0.0))
        if k % 4 == 2:
            r = 0.0
        expected = reference.log_gig_survival(p, chi, psi, r, late)
        if expected < -1e-280:
            assert gig.log_survival(p, chi, psi, r, late) == pytest.approx(expected, rel=1e-11)


def test_log_survival_is_better_than_a_difference():
    # The negative control: the difference of two normalisers has no correct digit here.
    p, chi, psi, r = -127.0, 200.0, 3.0, 0.5
    late = r * (1.0 + 1e-13)
    expected = reference.log_gig_survival(p, chi, psi, r, late)
    assert gig.log_survival(p, chi, psi, r, late) == pytest.approx(expected, rel=1e-11)
    difference = gig.log_normaliser(p, chi, psi, late) - gig.log_normaliser(p, chi, psi, r)
    assert abs(difference - expected) > 0.01 * abs(expected)


def test_log_survival_at_the_ends():
    assert gig.log_survival(-1.0, 1.0, 1.0, 0.5, 0.5) == 0.0
    assert gig.log_survival(-1.0, 1.0, 1.0, 0.5, 1e300) == pytest.approx(-0.5e300)
    assert gig.log_survival(-1.0, 1.0, 10.0, 0.5, 1e308) == -math.inf
    assert gig.log_survival(1.0, 1.0, 0.0, 0.5, 0.7) == 0.0  # all the mass at infinity
    assert gig.log_survival(-1.0, 0.0, 1.0, 0.0, 0.7) == -math.inf  # all of it at 0
    assert gig.log_survival(-1.0, 0.0, 1.0, 0.5, 0.7) == pytest.approx(
        reference.log_gig_survival(-1.0, 0.0, 1.0, 0.5, 0.7), rel=1e-12
    )


# --- draws --------------------------------------------------------------------------------------------------------

LAWS = [
    # p, χ, ψ, r: whole, cut far below, below, at, above, far above the mode, for small and large d
    (0.5, 1.0, 2.0, 0.0),
    (0.5, 0.0, 2.0, 0.0),
    (0.0, 1e-9, 1e-9, 1.0),
    (0.0, 1e-40, 1.0, 1e-30),
    (0.0, 1.0, 1.0, 0.7),
    (-0.5, 1e-6, 1.0, 1e-3),
    (-0.5, 0.0, 1.0, 1e-3),
    (-1.5, 2.0, 0.0, 0.1),
    (-3.0, 8.0, 3.0, 0.5),
    (-3.0, 8.0, 3.0, 40.0),
    (-15.0, 30.0, 496.0, 0.2),
    (-127.0, 256.0, 1.0, 0.9),
    (-127.0, 256.0, 1.0, 1.0),
    (-127.0, 256.0, 1.0, 1.6),
    (-4999.0, 1e4, 1e4, 0.6),
    (-4999.0, 0.0, 1.0, 2.0),
    (-0.02, 1e-12, 1e-6, 1e-11),
    (40.0, 3.0, 5.0, 17.0),
]


@jit
def _excesses(p, chi, psi, r, state, out):
    for i in range(out.size):
        out[i] = gig.draw_cut_gig(p, chi, psi, r, state)


def draws_of(law, size=20_000, seed=11):
    out = np.empty(size)
    _excesses(*law, make_streams(np.random.default_rng(seed), 1)[0], out)
    return law[3] + out


def uniform_ranks(law, values):
    """P(V > v) at each value: uniform if the values come from the law."""
    return np.exp([gig.log_survival(*law, value) for value in values.tolist()])


@pytest.mark.parametrize("law", LAWS)
def test_gig_draws_have_their_distribution(law):
    draws = draws_of(law)
    assert draws.min() >= law[3]
    assert scipy.stats.kstest(uniform_ranks(law, draws), "uniform").pvalue > 1e-4


def test_gig_draws_that_are_wrong_are_noticed():
    # Negative controls: another p, another χ, and forgetting the cut.
    right = (-15.0, 30.0, 10.0, 0.9)
    for other in [(-15.5, 30.0, 10.0, 0.9), (-15.0, 31.5, 10.0, 0.9), (-15.0, 30.0, 10.0, 0.89)]:
        assert scipy.stats.kstest(uniform_ranks(right, draws_of(other)), "uniform").pvalue < 1e-6


def test_gig_draws_agree_with_scipy_where_scipy_works():
    draws = draws_of((-2.0, 3.0, 2.0, 0.0), seed=5)
    theirs = scipy.stats.geninvgauss(-2.0, math.sqrt(6.0), scale=math.sqrt(1.5))
    assert scipy.stats.kstest(draws, theirs.cdf).pvalue > 1e-4


def test_gig_excess_is_precise_far_below_the_cut():
    # v - r is exponential with rate ψ/2 = 5e9 at r = 1e6: 16 digits of v hold none of it.
    out = np.empty(5000)
    _excesses(-15.0, 30.0, 1e10, 1e6, make_streams(np.random.default_rng(2), 1)[0], out)
    assert scipy.stats.kstest(out * 5e9, "expon").pvalue > 1e-4
    assert np.unique(out).size == 5000
    assert np.unique((1e6 + out) - 1e6).size < 50


@jit
def _acceptance(p, chi, psi, r, state, n):
    at = gig.anchor(p, chi, psi, r)
    tries = 0
    for _ in range(n):
        tries += gig.draw_from_anchor(at, state)[1]
    return n / tries


def test_gig_draws_accept_most_proposals_in_every_regime():
    rng = np.random.default_rng(4)
    state = make_streams(rng, 1)[0]
    rates = [_acceptance(*parameters, state, 2000) for parameters in LAWS]
    for _ in range(1500):
        p = rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-4.0, 4.0)
        if rng.random() < 0.5:
            p = 1.0 - 0.5 * rng.integers(1, 40)
        chi, psi = 10.0 ** rng.uniform(-30.0, 6.0), 10.0 ** rng.uniform(-30.0, 6.0)
        r = random_cut(rng, *spread_of(p, chi, psi)) if rng.random() < 0.9 else 0.0
        rates.append(_acceptance(p, chi, psi, r, state, 1000))
    assert min(rates) > 0.8
    assert max(rates) <= 1.0
