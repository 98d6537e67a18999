"""Components as one Gaussian vector: all cells of the table at once, from the tree's covariance, V, Φ and σ²."""

import numpy as np

from .missing import leaf_covariance


def precision_of_cells(children, times, V, Phi, variance, scale, leaf_var=0.0):
    """Precision (n d, n d), singular by the flat means, of x_i = c + s (V y_i + e_i), row after row."""
    n, d = len(times) + 1, len(V)
    centred = np.eye(n) - np.ones((n, n)) / n
    inverse = np.linalg.inv(leaf_covariance(children, times, leaf_var))
    one = np.ones(n)
    among_rows = inverse - np.outer(inverse @ one, one @ inverse) / (one @ inverse @ one)
    along = V @ np.linalg.inv(Phi) @ V.T
    beside = (np.eye(d) - V @ V.T) / variance
    Q = np.kron(among_rows, along) + np.kron(centred, beside)
    units = np.tile(1.0 / scale, n)
    return Q * np.outer(units, units)


def log_likelihood(children, times, X, V, Phi, variance, scale, leaf_var=0.0):
    """Log density of the n - 1 differences of the rows from the last one, of which n d - d cells are left."""
    n, d = X.shape
    Q = precision_of_cells(children, times, V, Phi, variance, scale, leaf_var)
    free = np.arange((n - 1) * d)
    x = (X - X[-1]).ravel()[free]
    return float(0.5 * (np.linalg.slogdet(Q[np.ix_(free, free)])[1] - x @ Q[np.ix_(free, free)] @ x)) - 0.5 * len(
        free
    ) * np.log(2 * np.pi)


def conditional_of_missing(children, times, X, missing, V, Phi, variance, scale, centre, leaf_var=0.0):
    """Mean and covariance of X[missing] given all other entries and the tree."""
    Q = precision_of_cells(children, times, V, Phi, variance, scale, leaf_var)
    m = missing.ravel()
    covariance = np.linalg.inv(Q[np.ix_(m, m)])
    x = (X - centre).ravel()
    return np.tile(centre, len(X))[m] - covariance @ Q[np.ix_(m, ~m)] @ x[~m], covariance
