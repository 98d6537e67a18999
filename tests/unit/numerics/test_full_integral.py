"""log K, the full merge integral and its table against interval arithmetic."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coaltree.numerics import gig
from coaltree.numerics.full_integral import full_integral_table, tabled_integral
from tests.reference import special as reference


def errors(found, expected):
    """Relative errors, absolute where the expected value is below 1."""
    found, expected = np.asarray(found), np.asarray(expected)
    return np.abs(found - expected) / np.maximum(1.0, np.abs(expected))


def log_bessel_k(nu, z):
    """Log K_ν(z), from the integral with χ = ψ = z."""
    return gig.log_normaliser(nu, z, z, 0.0) - math.log(2.0)


def full_integral(eps, lam, d):
    """G(ε, λ)."""
    return gig.log_normaliser(1.0 - 0.5 * d, eps, lam, 0.0)


def log_uniform(rng, low, high, size):
    return 10.0 ** rng.uniform(np.log10(low), np.log10(high), size)


GRIDS = {
    "small orders": (np.arange(0, 44) / 2.0, 1e-3, 1e2, 15),
    "small orders, tiny arguments": (np.arange(0, 44) / 2.0, 1e-300, 1e-3, 8),
    "middle orders": (np.arange(40, 600, 3) / 2.0, 1e-3, 1e4, 6),
    "large orders": (np.array([300.0, 511.5, 1000.0, 4999.0, 12345.5, 99999.5, 100000.0]), 1e-3, 1e6, 12),
    "large orders, tiny arguments": (np.array([300.0, 511.5, 2000.0, 4999.5]), 1e-300, 1e-3, 8),
    "large arguments": (np.arange(0, 200, 7) / 2.0, 1e2, 1e12, 8),
}


@pytest.mark.parametrize("name", GRIDS)
def test_log_bessel_k_against_interval_arithmetic(name):
    orders, low, high, count = GRIDS[name]
    rng = np.random.default_rng(1)
    nu = np.repeat(orders, count)
    z = log_uniform(rng, low, high, nu.size)
    expected = [reference.log_bessel_k(*pair) for pair in zip(nu, z, strict=True)]
    assert errors([log_bessel_k(*pair) for pair in zip(nu, z, strict=True)], expected).max() < 1e-12


@pytest.mark.parametrize("radius", [2.0, 20.0, 38.0, 120.0, 1000.0])
def test_log_bessel_k_at_the_edges_of_its_branches(radius):
    # The branches change with z = 2 and with s = √(ν² + z²); both sides of every edge, by a hair and by a little.
    for nu in [order for order in (0.0, 0.5, 1.0, 1.5, 7.0, 19.5, 20.0, 38.0, 110.5, 999.5) if order <= radius]:
        for shift in (-1e-3, -1e-15, 0.0, 1e-15, 1e-3):
            z = math.sqrt(max(radius**2 - (nu if radius > 2.0 else 0.0) ** 2, 1e-4)) * (1.0 + shift)
            assert errors(log_bessel_k(nu, z), reference.log_bessel_k(nu, z)) < 1e-12


def test_log_bessel_k_near_its_zero_is_right_absolutely():
    # The worst place: terms as large as ν cancel. 1e-10 is what is promised for the largest order.
    for nu in (0.0, 10.0, 500.0, 4999.0, 99999.5):
        low, high = 1e-6, 10.0 * nu + 10.0
        for _ in range(80):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if log_bessel_k(nu, middle) > 0.0 else (low, middle)
        assert abs(log_bessel_k(nu, low) - reference.log_bessel_k(nu, low)) < 1e-10


def test_log_bessel_k_of_two_oracles_agrees():
    for nu, z in [(0.0, 0.3), (0.5, 5.0), (3.0, 1.7), (31.0, 4.0), (127.0, 50.0), (511.5, 900.0)]:
        assert reference.log_bessel_k(nu, z) == pytest.approx(reference.log_bessel_k_by_integral(nu, z), rel=1e-13)


@pytest.mark.parametrize("nu", [0.0, 0.5, 1.0, 2.5, 15.0, 19.5, 20.0, 127.0, 4999.0, 1e5])
def test_log_bessel_k_at_the_ends_of_its_range(nu):
    # Leading terms: Γ(ν)/2 (2/z)^ν (or -log z for ν = 0), and √(π/2z) e^-z.
    z = 1e-300
    lead = math.log(-math.log(z) + math.log(2.0) - np.euler_gamma)
    if nu > 0.0:
        lead = math.lgamma(nu) - math.log(2.0) + nu * (math.log(2.0) - math.log(z))
    assert log_bessel_k(nu, z) == pytest.approx(lead, rel=1e-13)
    for z in (1e200, 1e300):
        assert log_bessel_k(nu, z) == pytest.approx(0.5 * math.log(0.5 * math.pi / z) - z, rel=1e-15)
    assert gig.log_normaliser(-nu, 0.0, 1.0, 0.0) == math.inf


@given(st.integers(1, 400), st.floats(-8.0, 5.0))
def test_log_bessel_k_satisfies_its_recurrence(twice_nu, log_z):
    # K_{ν+1} = K_{ν-1} + (2ν/z) K_ν, all three of them positive.
    nu, z = 0.5 * twice_nu, 10.0**log_z
    right = np.logaddexp(log_bessel_k(abs(nu - 1.0), z), math.log(2.0 * nu / z) + log_bessel_k(nu, z))
    assert log_bessel_k(nu + 1.0, z) == pytest.approx(right, rel=1e-13, abs=2e-12)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 7, 32, 33, 40, 256, 2048, 10_000])
def test_log_full_integral_against_its_integral(d):
    rng = np.random.default_rng(d)
    eps, lam = log_uniform(rng, 1e-9, 1e8, 15), log_uniform(rng, 1e-3, 1e10, 15)
    expected = [reference.log_gig_normaliser(1.0 - 0.5 * d, e, m) for e, m in zip(eps, lam, strict=True)]
    found = [full_integral(e, m, d) for e, m in zip(eps, lam, strict=True)]
    assert errors(found, expected).max() < 1e-12


@pytest.mark.parametrize("d", [1, 2, 3, 4, 64, 1000, 10_000])
def test_log_full_integral_never_overflows(d):
    for eps in (1e-320, 1e-300, 1e-160, 1.0, 1e160, 1e300):
        for lam in (1e-300, 1e-10, 1.0, 1e10, 1e300):
            assert math.isfinite(full_integral(eps, lam, d))
    assert full_integral(0.0, 3.0, d) == (pytest.approx(0.5 * math.log(2.0 * math.pi / 3.0)) if d == 1 else math.inf)


@pytest.mark.parametrize("d", [1, 2, 3, 8, 31, 64, 1000, 10_000])
def test_table_keeps_its_error_bound(d):
    p = 1.0 - 0.5 * d
    table = full_integral_table(d, 1e-9, 1e9)
    rng = np.random.default_rng(d)
    edges = 2.0 ** rng.integers(-29, 29, 50)
    x = np.concatenate([log_uniform(rng, 1e-9, 1e9, 2000), edges, np.nextafter(edges, 0.0), edges * 17 / 16])
    exact = np.array([full_integral(value, 1.0, d) for value in x])
    found = np.array([tabled_integral(table, value) for value in x])
    assert np.max(np.abs(found - exact) / np.maximum(max(1.0, abs(p)), np.abs(exact))) < 1e-13
    # G(ε, λ) = g(λε) - p log λ
    assert tabled_integral(table, 3.0 * 7.0) - p * math.log(7.0) == pytest.approx(
        full_integral(3.0, 7.0, d), rel=1e-13, abs=1e-12
    )


def test_table_hands_over_to_the_exact_integral_outside_its_range():
    table = full_integral_table(5, 1.0, 2.0)
    assert table.coefficients.shape == (17, 8)
    assert not table.coefficients.flags.writeable
    for x in (5e-324, 1e-300, 0.5, 0.999, 2.126, 3.0, 1e5, 1e300):
        assert tabled_integral(table, x) == full_integral(x, 1.0, 5)
    assert tabled_integral(table, 0.0) == math.inf
    whole = full_integral_table(5, 0.0, math.inf)
    assert whole.coefficients.shape[0] < 12_000
