"""The likelihood of a tree from the full multivariate normal of its leaves.

Under Brownian motion from a root at time T the leaves have covariance (T - cophenetic_ij) ⊗ Φ, plus leaf noise on the
diagonal. Under a flat root only the n - 1 differences to the first leaf have a density.
"""

import mpmath
import numpy as np


def cophenetic(children, times):
    """Return the (n, n) matrix of the times at which two leaves' lineages merge, by listing leaf sets."""
    n = len(children) + 1
    leaves = {i: [i] for i in range(n)}
    result = np.zeros((n, n))
    for k, (a, b) in enumerate(children):
        for i in leaves[a]:
            for j in leaves[b]:
                result[i, j] = result[j, i] = times[k]
        leaves[n + k] = leaves[a] + leaves[b]
    return result


def log_likelihood(children, times, X, Phi, leaf_var=0.0):
    """Return log p(X | tree, Φ) as the density of the differences X[1:] - X[0]."""
    n = len(X)
    leaf_covariance = times[-1] - cophenetic(children, times) + leaf_var * np.eye(n)
    D = np.hstack([-np.ones((n - 1, 1)), np.eye(n - 1)])
    covariance = np.kron(D @ leaf_covariance @ D.T, Phi)
    y = (X[1:] - X[0]).ravel()
    sign, log_det = np.linalg.slogdet(covariance)
    assert sign > 0
    return -0.5 * (len(y) * np.log(2 * np.pi) + log_det + y @ np.linalg.solve(covariance, y))


def log_prior(times):
    """Return the coalescent's log density of merge times, term by term."""
    n = len(times) + 1
    total, before = 0.0, 0.0
    for k, time in enumerate(times):
        lineages = n - k
        total -= lineages * (lineages - 1) / 2 * (time - before)
        before = time
    return total


def log_likelihood_in_many_digits(children, times, X, leaf_var=0.0, digits=200):
    """Return log p(X | tree) under Φ = I, merge by merge with so many digits that none is lost."""
    n, d = np.shape(X)
    with mpmath.workdps(digits):
        said = {i: ([mpmath.mpf(float(x)) for x in row], mpmath.mpf(leaf_var)) for i, row in enumerate(X)}
        made = dict.fromkeys(range(n), mpmath.mpf(0))
        total = mpmath.mpf(0)
        for k, (a, b) in enumerate(children):
            time = mpmath.mpf(float(times[k]))
            (mean_a, var_a), (mean_b, var_b) = said[a], said[b]
            s_a, s_b = var_a + time - made[a], var_b + time - made[b]
            v = s_a + s_b
            eps = sum((p - q) ** 2 for p, q in zip(mean_a, mean_b, strict=True))
            total -= (d * mpmath.log(2 * mpmath.pi * v) + eps / v) / 2
            said[n + k] = [(s_b * p + s_a * q) / v for p, q in zip(mean_a, mean_b, strict=True)], s_a * s_b / v
            made[n + k] = time
        return float(total)
