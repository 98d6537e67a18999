"""What is misprinted in Henao & Lucas (2012), each with the numbers that show it; ``python -m experiments.errata``.

One function per misprint prints a small table: what the paper's formula gives, what the corrected one gives, and what
brute force (quadrature, a fine grid, simulation) says.
"""

import numpy as np
from scipy import integrate
from scipy.special import kv

import coaltree as ct
from coaltree.model.process.diffusion import messages
from tests.reference.evidence import exact_posterior


def evidence(n=3, d=8, n_particles=40_000):
    """Z integrates over v > 0 in the paper; a merge cannot lie in the future, so it is v > r."""
    X, _ = ct.simulate(n, d, random_state=1)
    print(f"log p(X), n = {n}, d = {d}")
    print(f"  quadrature over all trees and times   {exact_posterior(X).log_evidence:8.2f}")
    for weights in ("exact", "printed"):
        for sampler in (ct.MPost1, ct.MPost2):
            chosen = sampler(n_particles=n_particles, resample_below=0.0, weights=weights)
            post = ct.sample_trees(X, np.eye(d), chosen, random_state=0, progress=False)
            print(f"  {sampler.__name__}, {weights:7} weights             {post.log_evidence:8.2f}")


def merge_times(n=32, d=32, n_particles=100, n_replicates=8):
    """The same misprint, seen in the merge times."""
    print(f"mean absolute error of log merge times, n = d = {n}, {n_particles} particles, {n_replicates} data sets")
    for weights in ("exact", "printed"):
        errors = []
        for seed in range(n_replicates):
            X, tree = ct.simulate(n, d, random_state=seed)
            sampler = ct.MPost1(n_particles=n_particles, weights=weights)
            post = ct.sample_trees(X, np.eye(d), sampler, random_state=seed, progress=False)
            errors.append(ct.metrics.time_errors(post, tree).mae)
        print(f"  MPost1, {weights:7} weights   {np.mean(errors):.2f}")


def mode(d=4, lam=6.0, eps=10.0):
    """The greedy duration maximises the density of log v, not of v; Teh et al.'s own formula does the latter."""
    v = np.linspace(1e-3, 10, 1_000_001)
    log_density = -d / 2 * np.log(v) - eps / (2 * v) - lam * v / 2
    p = 1 - d / 2
    print(f"most likely v, d = {d}, λ = {lam:g}, ε = {eps:g}")
    print(f"  mode of v, on a fine grid                        {v[log_density.argmax()]:.4f}")
    print(f"  (-d + √(d² + 4λε)) / 2λ        GreedyTeh         {(-d + np.sqrt(d * d + 4 * lam * eps)) / (2 * lam):.4f}")
    print(f"  mode of log v, on a fine grid                    {v[(log_density + np.log(v)).argmax()]:.4f}")
    print(f"  (p + √(p² + λε)) / λ           MGreedy, printed  {(p + np.sqrt(p * p + lam * eps)) / lam:.4f}")
    print(f"  (-d + √(d² + 2λε)) / λ         Greedy, printed   {(-d + np.sqrt(d * d + 2 * lam * eps)) / lam:.4f}")


def lemma(lam=6.0, eps=10.0):
    """Lemma, part 3: the difference of the two printed durations falls as ε/d², without 2λ."""
    print(f"difference of the two printed durations, λ = {lam:g}, ε = {eps:g}")
    print("       d    difference    ε/d²        printed 2λε/d²")
    for d in (100, 1000, 10_000):
        p = 1 - d / 2
        # ε/(√… - p) and so on: the same durations, written so that nothing cancels
        ours = eps / (np.sqrt(p * p + lam * eps) - p) / 2
        prev = 2 * eps / (np.sqrt(d * d + 2 * lam * eps) + d) / 2
        print(f"  {d:6}    {ours - prev:.3e}     {eps / d**2:.3e}   {2 * lam * eps / d**2:.3e}")


def bessel(d=12, lam=6.0, near=40.0, far=80.0):
    """The exponents of the Bessel form and of its large-argument limit."""

    def by_quadrature(eps):
        area = integrate.quad(lambda v: v ** (-d / 2) * np.exp(-eps / (2 * v) - lam * v / 2), 0, np.inf)[0]
        return np.log(area)

    def log_k(eps):
        return np.log(kv(d / 2 - 1, np.sqrt(lam * eps)))

    forms = {
        "quadrature": by_quadrature,
        "(ε/λ)^((2-d)/4) K": lambda eps: (2 - d) / 4 * np.log(eps / lam) + log_k(eps),
        "K / (ε/λ)^(-(d-4)/4), printed": lambda eps: (d - 4) / 4 * np.log(eps / lam) + log_k(eps),
        "ε^(-(d-1)/4) exp(-√(λε)), large argument": lambda eps: -(d - 1) / 4 * np.log(eps) - np.sqrt(lam * eps),
        "ε^(-(d-1)/4) exp(-√λ ε), printed": lambda eps: -(d - 1) / 4 * np.log(eps) - np.sqrt(lam) * eps,
    }
    print(f"log weight of a pair at ε = {far:g} less that at ε = {near:g}; d = {d}, λ = {lam:g}")
    for name, log_weight in forms.items():
        print(f"  {name:42} {log_weight(far) - log_weight(near):9.3f}")


def constant(d=5, lam=6.0, eps=10.0):
    """The appendix's constant: ½ where λ²/4 is printed, and v^(-d/2) where |v|^(-1/2) is."""

    def integrand(delta, power):
        v = 2 * delta
        return np.exp(-lam * delta) * (2 * np.pi) ** (-d / 2) * v**power * np.exp(-eps / (2 * v)) if v > 0 else 0.0

    p = 1 - d / 2
    full = (2 * np.pi) ** (-d / 2) * 2 * kv(p, np.sqrt(lam * eps)) * (eps / lam) ** (p / 2)
    print(f"Z of a pair of leaves (r = 0, Φ = I), d = {d}, λ = {lam:g}, ε = {eps:g}")
    print(f"  quadrature                        {integrate.quad(integrand, 0, np.inf, args=(-d / 2,))[0]:.4e}")
    print(f"  with ½                            {0.5 * full:.4e}")
    print(f"  with λ²/4, as printed             {lam**2 / 4 * full:.4e}")
    print(f"  quadrature of |v|^(-1/2), printed {integrate.quad(integrand, 0, np.inf, args=(-0.5,))[0]:.4e}")


def proxy(n=24, d=24, length2=4.0, n_replicates=20):
    """Hyperparameters follow Σ log Z, the log likelihood, not Σ Z."""
    grid = np.geomspace(0.25, 64, 97)
    families = [ct.SquaredExponential(length2=value, noise=0.01) for value in grid]
    found = []
    for seed in range(n_replicates):
        X, tree = ct.simulate(n, d, ct.SquaredExponential(length2=length2, noise=0.01), random_state=seed)
        logs = np.array([_merge_logs(tree, X, family) for family in families])
        found.append((grid[logs.sum(axis=1).argmax()], grid[np.logaddexp.reduce(logs, axis=1).argmax()]))
    error = np.sqrt(np.mean(np.square(np.log(np.array(found) / length2)), axis=0))
    print(f"root mean square error of log length², the maximiser on the true tree, {n_replicates} data sets")
    print(f"  of Σ log Z            {error[0]:.2f}")
    print(f"  of Σ Z, as printed    {error[1]:.2f}")


def _merge_logs(tree, X, covariance):
    """log Z of each merge: the log density of the difference that its two sides show."""
    d = X.shape[1]
    whitener = covariance.whitener(d)
    up = messages(tree.children, tree.times, whitener.whiten(X))
    return -0.5 * (d * np.log(2 * np.pi * up.v) + whitener.log_det + up.eps / up.v)


def matern(length=3.0, side=4):
    """The Matérn covariance: both exponents are negative."""
    x, y = (axis.ravel() for axis in np.meshgrid(np.arange(side), np.arange(side), indexing="ij"))
    dx, dy = np.abs(x[:, None] - x), np.abs(y[:, None] - y)
    a, b = np.sqrt(3) / length * dx, np.sqrt(3) / length * dy
    print(f"covariance of pixels of a {side} x {side} image, lengths {length:g}")
    print("                       same pixel   3 apart along y   smallest eigenvalue")
    for name, exponent in (("exp(-… - …)", -a - b), ("exp(-… + …), printed", -a + b)):
        phi = (1 + a) * (1 + b) * np.exp(exponent)
        lowest = np.linalg.eigvalsh((phi + phi.T) / 2)[0]
        print(f"  {name:20} {phi[0, 0]:10.2f}   {phi[0, 3]:15.2f}   {lowest:19.3f}")
    ours = ct.Matern32(length=length, noise=0.0, grid=(side, side)).matrix(side * side)
    print(f"  coaltree.Matern32    {ours[0, 0]:10.2f}   {ours[0, 3]:15.2f}   {np.linalg.eigvalsh(ours)[0]:19.3f}")


def length():
    """ℓ in exp(-d²/2ℓ) is a squared length: the larger, the smoother."""
    print("correlation of two inputs at distance 2 under exp(-d²/2ℓ)")
    for value in (1.0, 4.0, 16.0):
        print(f"  ℓ = {value:4g}   {np.exp(-(2**2) / (2 * value)):.3f}")


def slice_interval(n=32, n_trees=20):
    """The printed slice interval for v/2, (r/2, Δ0 r/2), is empty at the first merge, where r = 0."""
    outside = []
    for seed in range(n_trees):
        _, tree = ct.simulate(n, 1, random_state=seed)
        v = messages(tree.children, tree.times, np.zeros((n, 1))).v
        r = v - 2 * np.diff(tree.times, prepend=0.0)
        outside.append(v >= 100 * r)
    print(f"share of {n_trees} trees drawn from the prior, {n} leaves, whose v lies outside (r, 100 r)")
    print(f"  first merge       {np.mean(outside, axis=0)[0]:4.0%}")
    print(f"  second merge      {np.mean(outside, axis=0)[1]:4.0%}")
    print(f"  later merges      {np.mean(outside, axis=0)[2:].mean():4.0%}")


SECTIONS = (evidence, merge_times, mode, lemma, bessel, constant, proxy, matern, length, slice_interval)

if __name__ == "__main__":
    for section in SECTIONS:
        print(f"\n{(section.__doc__ or '').strip().splitlines()[0]}")
        section()
