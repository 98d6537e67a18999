"""Missing entries by brute force: the whole data set as one Gaussian vector, conditioned by its precision matrix."""

import numpy as np


def leaf_covariance(children, times, leaf_var=0.0):
    """C (n, n) with C_ij = time from the root to where i and j part; under a flat root only differences matter."""
    n = len(times) + 1
    below = [{i} for i in range(n)]
    C = (times[-1] + leaf_var) * np.eye(n)
    for k, (a, b) in enumerate(children):
        for i in below[a]:
            for j in below[b]:
                C[i, j] = C[j, i] = times[-1] - times[k]
        below.append(below[a] | below[b])
    return C


def conditional_of_missing(children, times, X, missing, Phi, leaf_var=0.0):
    """Mean and covariance of X[missing] given the other entries, the tree and Φ, with a flat root."""
    inverse = np.linalg.inv(leaf_covariance(children, times, leaf_var))
    one = np.ones(len(X))
    among_rows = inverse - np.outer(inverse @ one, one @ inverse) / (one @ inverse @ one)
    Q = np.kron(among_rows, np.linalg.inv(Phi))
    m = missing.ravel()
    covariance = np.linalg.inv(Q[np.ix_(m, m)])
    return -covariance @ Q[np.ix_(m, ~m)] @ X.ravel()[~m], covariance
