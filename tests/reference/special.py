"""Special functions from arbitrary-precision interval arithmetic (python-flint), by their defining integrals.

Slow, and written without a thought for overflow: exponents are not limited here. Every answer is a rigorous
enclosure, asked for again with more bits until it is narrower than a double.
"""

import math

import flint
import mpmath
from flint import acb, arb

_PRECISIONS = (128, 256, 512, 1024, 2048, 4096)


def _settled(compute, relative=1e-15, extra_bits=0):
    """The value x of `compute()` at the first precision where its error bound is below `relative` times max(1, x)."""
    before = flint.ctx.prec
    try:
        for precision in _PRECISIONS:
            flint.ctx.prec = precision + extra_bits
            value = compute()
            if value.is_finite() and float(value.rad()) <= relative * max(1.0, abs(float(value.mid()))):
                return float(value.mid())
    finally:
        flint.ctx.prec = before
    raise ArithmeticError("no precision was enough")


def log_bessel_k(nu, z):
    """Log K_ν(z)."""
    return _settled(lambda: arb(float(z)).bessel_k(arb(float(nu))).log())


def log_bessel_k_by_integral(nu, z):
    """Log K_ν(z) from K_ν(z) = ∫_0^∞ exp(-z cosh t) cosh(νt) dt, by mpmath: independent of flint."""
    with mpmath.workdps(30):
        nu, z = mpmath.mpf(float(nu)), mpmath.mpf(float(z))
        peak = mpmath.asinh(nu / z)
        shift = nu * peak - z * mpmath.cosh(peak)
        width = 1 / mpmath.sqrt(mpmath.sqrt(nu * nu + z * z) + 1)
        end = peak + 12 * width + 6
        points = sorted({mpmath.mpf(0), *(max(mpmath.mpf(0), peak + j * width) for j in (-12, -4, 0, 4, 12)), end})

        def integrand(t):
            tail = -z * mpmath.cosh(t) - shift
            return (mpmath.exp(nu * t + tail) + mpmath.exp(-nu * t + tail)) / 2

        return float(shift + mpmath.log(mpmath.quad(integrand, points)))


def _log_density(y, p, chi, psi):
    """p y - (χ/2) e^{-y} - (ψ/2) e^{y}: the log density of y = log v up to a constant."""
    return p * y - chi * (-y).exp() / 2 - psi * y.exp() / 2


def _walk(start, step, limit, has_fallen):
    """Go from `start` in growing steps until `has_fallen`, or to `limit` (None: as far as it takes)."""
    y = start
    while not has_fallen(y):
        y = start + step
        if limit is not None and abs(y - start) > abs(limit - start):
            return limit
        step *= 2
    return y


def _log_gig_integral(p, chi, psi, lower, upper):
    """Log ∫_lower^upper v^{p-1} exp(-χ/(2v) - ψv/2) dv; lower may be 0, upper None for ∞. One enclosure."""
    p, chi, psi = arb(float(p)), arb(float(chi)), arb(float(psi))
    root = (p * p + chi * psi).sqrt()
    if p > 0:
        peak = ((p + root) / psi).log() if psi > 0 else None
    else:
        peak = (chi / (root - p)).log() if chi > 0 else None
    left = arb(float(lower)).log() if lower > 0 else None
    right = arb(float(upper)).log() if upper is not None else None
    if peak is None:
        # Monotone: falling if χ = 0 (then there is a cut below), rising if ψ = 0 (then there is one above).
        peak = left if chi == 0 else right
    if left is not None and left > peak:
        peak = left
    if right is not None and right < peak:
        peak = right
    peak = peak.mid()
    top = _log_density(peak, p, chi, psi)

    def has_fallen(y):
        return _log_density(y, p, chi, psi) < top - 60

    a, b = chi * (-peak).exp() / 2, psi * peak.exp() / 2
    step = 4 / (abs(p + a - b) + (a + b).sqrt() + arb("0.01"))
    right = _walk(peak, step.mid(), right, has_fallen)
    left = _walk(peak, -step.mid(), left, has_fallen)

    def integrand(y, _):
        if a + b < 1000:
            return (_log_density(y, acb(p), acb(chi), acb(psi)) - acb(top)).exp()
        # The same, written so that intervals stay narrow around a sharp peak.
        u = y - peak
        return (p * u - 2 * (a + b) * (u / 2).sinh() ** 2 - (b - a) * u.sinh()).exp()

    total = acb(0)
    for start, end in ((left, peak), (peak, right)):
        if start < end:
            error = arb(2) ** -60 * min(step, end - start)
            total += acb.integral(integrand, acb(start), acb(end), abs_tol=error)
    return total.real.log() + top


def _lost_bits(p, chi, psi, r):
    """How many bits the cancellation of large terms in the log density costs."""
    terms = [1.0, 1e3 * abs(p), math.sqrt(chi) * math.sqrt(psi), psi * r, chi / r if r > 0 else 0.0]
    return math.ceil(math.log2(max(terms)))


def log_gig_normaliser(p, chi, psi):
    """Log ∫_0^∞ v^{p-1} exp(-χ/(2v) - ψv/2) dv."""
    return log_gig_cut_normaliser(p, chi, psi, 0.0)


def log_gig_cut_normaliser(p, chi, psi, r):
    """Log ∫_r^∞ v^{p-1} exp(-χ/(2v) - ψv/2) dv."""
    return _settled(lambda: _log_gig_integral(p, chi, psi, r, None), 1e-13, _lost_bits(p, chi, psi, r))


def log_gig_survival(p, chi, psi, r, r_late):
    """Log [∫_{r_late}^∞ / ∫_r^∞], or, where it is nearly 0, from what lies between the cuts; relative to itself."""

    def compute():
        whole = _log_gig_integral(p, chi, psi, r, None)
        between = (_log_gig_integral(p, chi, psi, r, r_late) - whole).exp()
        if between < 0.5:
            return (-between).log1p()
        return _log_gig_integral(p, chi, psi, r_late, None) - whole

    before = flint.ctx.prec
    try:
        flint.ctx.prec = 256 + _lost_bits(p, chi, psi, r_late)
        value = compute()
        if float(value.rad()) > 1e-11 * abs(float(value.mid())):
            raise ArithmeticError("256 bits were not enough")
        return float(value.mid())
    finally:
        flint.ctx.prec = before
