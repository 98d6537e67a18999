"""Bessel functions and the generalized inverse Gaussian: ns an evaluation, draws a second, beside SciPy.

`python -m benchmarks special`, or `python benchmarks/bench_special.py`.
"""

import math
import sys
import warnings
from pathlib import Path

import numpy as np
import scipy.special

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.timing import best_of, table
from coaltree._runtime.jit import jit
from coaltree._runtime.random_streams import make_streams
from coaltree.numerics import gig
from coaltree.numerics.exponential import fast_exp
from coaltree.numerics.full_integral import full_integral_table, tabled_integral

N = 20_000
DIMENSIONS = (1, 2, 3, 8, 16, 32, 64, 256, 2048, 10_000)


@jit
def _exp_by_libm(x):
    total = 0.0
    for i in range(x.size):
        total += math.exp(x[i])
    return total


@jit(fastmath={"reassoc", "contract"})
def _exp_by_fast_exp(x):
    total = 0.0
    for i in range(x.size):
        total += fast_exp(x[i])
    return total


@jit
def _exact_full(x, d, out):
    for i in range(x.size):
        out[i] = gig.log_normaliser(1.0 - 0.5 * d, x[i], 1.0, 0.0)


@jit
def _tabled_full(x, tabled, out):
    for i in range(x.size):
        out[i] = tabled_integral(tabled, x[i])


@jit
def _cut(eps, r, d, out):
    for i in range(eps.size):
        out[i] = gig.log_normaliser(1.0 - 0.5 * d, eps[i], 1.0, r[i])


@jit
def _survival(eps, r, d, out):
    for i in range(eps.size):
        out[i] = gig.log_survival(1.0 - 0.5 * d, eps[i], 1.0, r[i], 1.2 * r[i])


@jit
def _draw(eps, r, d, state, out):
    for i in range(eps.size):
        out[i] = gig.draw_cut_gig(1.0 - 0.5 * d, eps[i], 1.0, r[i], state)


@jit
def _exact_chain(p, chi, psi, r, state, out):
    for i in range(out.size):
        out[i] = gig.draw_cut_gig(p, chi, psi, r, state)


def _ns(work, size=N):
    return best_of(work) / size * 1e9


def _pairs(d, rng):
    """Distances as a sampler meets them at rate 1: ε around its mean d·v, v spread over three decades."""
    return d * 10.0 ** rng.uniform(-1.5, 1.5, N)


def _exponentials(rng):
    x = rng.uniform(-30.0, 0.0, N)
    rows = [
        ("math.exp in a kernel", _ns(lambda: _exp_by_libm(x))),
        ("fast_exp in a kernel", _ns(lambda: _exp_by_fast_exp(x))),
        ("numpy.exp", _ns(lambda: np.exp(x))),
    ]
    table(("exponentials", "ns"), rows)


def _bessel(rng):
    rows = []
    out = np.empty(N)
    for d in DIMENSIONS:
        x = _pairs(d, rng)
        z, nu = np.sqrt(x), abs(1.0 - 0.5 * d)
        tabled = full_integral_table(d, x.min(), x.max())
        with np.errstate(all="ignore"):
            finite = np.isfinite(np.log(scipy.special.kve(nu, z))).mean()
            scipy_ns = _ns(lambda z=z, nu=nu: np.log(scipy.special.kve(nu, z)) - z)
        rows.append(
            (
                d,
                _ns(lambda x=x, d=d: _exact_full(x, float(d), out)),
                _ns(lambda x=x, tabled=tabled: _tabled_full(x, tabled, out)),
                scipy_ns,
                f"{finite:.0%}",
            )
        )
    table(("ns at dimension d", "G exact", "G from table", "log scipy kve", "finite"), rows)


def _cuts(rng):
    rows = []
    out = np.empty(N)
    for d in DIMENSIONS:
        eps = _pairs(d, rng)
        peak = np.array([gig.mode_of_log(1.0 - 0.5 * d, e, 1.0) for e in eps])
        spread = 1.0 / math.sqrt(0.5 * d + 1.0)
        row = [d]
        for r in (1e-3 * peak, peak * np.exp(-spread), peak * np.exp(spread), peak * math.exp(6.0 * spread)):
            row.append(_ns(lambda eps=eps, r=r, d=d: _cut(eps, r, float(d), out)))
        near = peak * np.exp(rng.normal(scale=2.0 * spread, size=N))
        row.append(_ns(lambda eps=eps, r=near, d=d: _cut(eps, r, float(d), out)))
        row.append(_ns(lambda eps=eps, r=near, d=d: _survival(eps, r, float(d), out)))
        rows.append(row)
    table(("cut at, ns", "far below", "below", "above", "far above", "near", "survival"), rows)


def _draws(rng):
    state = make_streams(rng, 1)[0]
    rows = []
    out = np.empty(N)
    for d in DIMENSIONS:
        eps = _pairs(d, rng)
        p = 1.0 - 0.5 * d
        peak = np.array([gig.mode_of_log(p, e, 1.0) for e in eps])
        uncut, cut = np.zeros(N), peak
        whole = _ns(lambda eps=eps, r=uncut, d=d: _draw(eps, r, float(d), state, out))
        half = _ns(lambda eps=eps, r=cut, d=d: _draw(eps, r, float(d), state, out))
        parameters = (p, float(d), 1.0, float(peak[0]))
        exact_ns = _ns(lambda a=parameters: _exact_chain(*a, state, out))
        rows.append((d, 1e3 / whole, 1e3 / half, 1e3 / exact_ns, _geninvgauss(p)))
    header = (
        "million draws a second",
        "exact, whole",
        "exact, cut",
        "exact, one law",
        "scipy geninvgauss, whole",
    )
    table(header, rows)


def _geninvgauss(p):
    """Millions of draws a second when the parameters change with every draw; 0 where it fails."""
    import scipy.stats

    rng = np.random.default_rng(0)
    scale = max(1.0, abs(p))

    def work():
        for omega in np.linspace(0.5, 2.0, 20) * scale:
            scipy.stats.geninvgauss.rvs(p, omega, random_state=rng)

    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return 1e3 / _ns(work, 20)
    except (ValueError, RuntimeError, ZeroDivisionError, OverflowError):
        return 0.0


def run():
    rng = np.random.default_rng(0)
    for part in (_exponentials, _bessel, _cuts, _draws):
        part(rng)
        print(flush=True)


if __name__ == "__main__":
    run()
