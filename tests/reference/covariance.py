"""Covariances written out entry by entry, and densities straight from their textbooks."""

import math

import numpy as np


def squared_exponential(d, amplitude, length2, noise, inputs=None):
    t = [[float(j)] for j in range(d)] if inputs is None else [list(np.atleast_1d(row)) for row in inputs]
    Phi = np.empty((d, d))
    for i in range(d):
        for j in range(d):
            squared = sum((a - b) ** 2 for a, b in zip(t[i], t[j], strict=True))
            Phi[i, j] = amplitude * (math.exp(-squared / (2 * length2)) + (noise if i == j else 0.0))
    return Phi


def matern32_grid(grid, amplitude, lengths, noise):
    """Cells in row-major order; one factor (1 + √3 δ/ℓ) exp(-√3 δ/ℓ) per axis."""
    cells = list(np.ndindex(*grid))
    Phi = np.empty((len(cells), len(cells)))
    for i, a in enumerate(cells):
        for j, b in enumerate(cells):
            value = 1.0
            for x, y, length in zip(a, b, lengths, strict=True):
                delta = math.sqrt(3.0) * abs(x - y) / length
                value *= (1.0 + delta) * math.exp(-delta)
            Phi[i, j] = amplitude * (value + (noise if i == j else 0.0))
    return Phi


def log_normal_rows(U, Phi):
    """Σ_k log N(u_k | 0, Φ), by inverse and determinant."""
    inverse, d = np.linalg.inv(Phi), len(Phi)
    constant = -0.5 * d * math.log(2 * math.pi) - 0.5 * math.log(np.linalg.det(Phi))
    return sum(constant - 0.5 * float(u @ inverse @ u) for u in U)


def log_inverse_gamma(x, shape, scale):
    return shape * math.log(scale) - math.lgamma(shape) - (shape + 1) * math.log(x) - scale / x


def log_normal_of_log(x, median, sd):
    """Density of x where log x ~ N(log median, sd²)."""
    z = (math.log(x) - math.log(median)) / sd
    return -0.5 * z * z - math.log(x * sd * math.sqrt(2 * math.pi))


def log_inverse_wishart(Phi, df, scale):
    d = len(Phi)
    log_gamma_d = d * (d - 1) / 4 * math.log(math.pi) + sum(math.lgamma(df / 2 - i / 2) for i in range(d))
    constant = df / 2 * math.log(np.linalg.det(scale)) - df * d / 2 * math.log(2) - log_gamma_d
    log_det = math.log(np.linalg.det(Phi))
    return constant - (df + d + 1) / 2 * log_det - 0.5 * float(np.trace(scale @ np.linalg.inv(Phi)))


def grid_moments(log_density, axes):
    """Means and standard deviations of each coordinate of a density given on a product of equidistant axes."""
    mesh = np.array(
        [log_density(*point) for point in np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(axes))]
    )
    p = np.exp(mesh - mesh.max()).reshape([len(axis) for axis in axes])
    p /= p.sum()
    moments = []
    for a, axis in enumerate(axes):
        marginal = p.sum(axis=tuple(b for b in range(len(axes)) if b != a))
        mean = float(marginal @ axis)
        moments.append((mean, math.sqrt(float(marginal @ (axis - mean) ** 2))))
    return moments
