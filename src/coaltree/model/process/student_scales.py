"""Student's noise as a mixture: a scale for each row, drawn given the tree."""

import math

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.random_streams import exponential, make_streams, uniform
from .diffusion import squared_distance
from .leaf_messages import Walk, begin_walk, expected_var, next_leaf


def draw_scales(
    tree: tuple[np.ndarray, np.ndarray],
    W: np.ndarray,
    d: int,
    unit: np.ndarray,
    tail_scale: np.ndarray,
    half_df: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """New scales (N,), each given all others and whitened rows W (N, p); `unit` (N,) are the variances λ r_i.

    Given everything but row i, its leaf's value is N(m, v Φ), so that

        x_i ~ N(m, (v + λ r_i s_i) Φ) ,    s_i ~ InverseGamma(df/2, df/2) :

    one univariate slice in log s_i from the squared distance ‖x_i - m‖² of whitened rows.
    """
    scales = np.array(tail_scale, dtype=np.float64)
    _draw_scales(begin_walk(*tree, W, unit * scales), unit, scales, 0.5 * d, half_df, make_streams(rng, 1)[0])
    return scales


@jit
def _draw_scales(
    walk: Walk, unit: np.ndarray, scales: np.ndarray, half_d: float, half_df: float, state: np.ndarray
) -> None:
    i = next_leaf(walk)
    while i >= 0:
        eps = squared_distance(walk.mean[i], walk.outward[walk.depth[0]])
        scales[i] = draw_scale(scales[i], expected_var(walk), unit[i], half_d, half_df, eps, state)
        walk.var[i] = unit[i] * scales[i]
        i = next_leaf(walk)


@jit(inline="always")
def _log_density(y: float, v: float, unit: float, half_d: float, half_df: float, eps: float) -> float:
    """Log density of y = log s of a row at squared distance eps, up to a constant."""
    s = math.exp(y)
    total = v + unit * s
    return -half_df * (y + 1.0 / s) - half_d * math.log(total) - 0.5 * eps / total


@jit
def draw_scale(s: float, v: float, unit: float, half_d: float, half_df: float, eps: float, state: np.ndarray) -> float:
    """One slice sampling update of s; stepping out ends, since the density falls on both sides."""
    y = math.log(s)
    level = _log_density(y, v, unit, half_d, half_df, eps) - exponential(state)
    left = y - uniform(state)
    right = left + 1.0
    while _log_density(left, v, unit, half_d, half_df, eps) > level:
        left -= 1.0
    while _log_density(right, v, unit, half_d, half_df, eps) > level:
        right += 1.0
    for _ in range(200):
        new = left + (right - left) * uniform(state)
        if _log_density(new, v, unit, half_d, half_df, eps) > level:
            return math.exp(new)
        if new < y:
            left = new
        else:
            right = new
    return s


@jit
def scale_mode(v: float, unit: float, half_d: float, half_df: float, eps: float) -> tuple[float, float]:
    """Mode of log s, and its standard deviation by the curvature there; the density may be flat, but has one top.

    With u the noise's share of the variance, u = λ s / (v + λ s), q = ε / (v + λ s) and h = df/2:

        slope = -h + h / s - u (d - q) / 2 ,   curvature = -h / s - u (1 - u) (d - q) / 2 - u² q / 2 .
    """
    low, high = -40.0, 40.0 + math.log(1.0 + eps / unit)
    y = 0.0
    while high - low > 1e-6:
        y = 0.5 * (low + high)
        s = math.exp(y)
        total = v + unit * s
        if -half_df + half_df / s - unit * s / total * (half_d - 0.5 * eps / total) > 0.0:
            low = y
        else:
            high = y
    s = math.exp(y)
    total = v + unit * s
    u, q = unit * s / total, eps / total
    curvature = -half_df / s - u * (1.0 - u) * (half_d - 0.5 * q) - 0.5 * u * u * q
    return y, 1.0 / math.sqrt(max(-curvature, 0.25 * half_df))
