"""Student's noise as a mixture: a scale for each row, drawn given the tree, or integrated out (from a table)."""

import math
from functools import lru_cache

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.random_streams import exponential, make_streams, uniform
from .diffusion import squared_distance
from .leaf_messages import Walk, begin_walk, expected_var, next_leaf

# Octaves of v / λ, from 2^-18 on, and of q + 2, from 2 on, and cells in each: near q = d columns are no wider than the
# turn from a normal into its tail. Densities are right to a hundredth of a nat from 1 to 300 columns.
_FIRST_OCTAVE, _ROW_OCTAVES, _ROW_CELLS = -18, 36, 3
_COLUMN_OCTAVES, _COLUMN_CELLS = 20, 32


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


@jit(inline="always")
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


@lru_cache(maxsize=16)
def student_table(half_d: float, half_df: float) -> np.ndarray:
    """The density of a row whose scale is integrated out, as `student_density` reads it; not to be changed.

    With V = v + λ, u = λ / V and q = ε / V the row has variance V r(s), r = 1 - u + u s, and

        f(u, q) = log ∫ p(s) r^(-d/2) exp(-q / (2r)) ds ,

    by the trapezoidal rule over log s. A row of the table is a value of v / λ, a column one of q + 2; kept are f, its
    slope along v / λ, E[1/r], of which half is its slope along q, and E[1/r²] / E[1/r]².
    """
    h, total = half_df, half_df + half_d
    columns = 2.0 * _octaves(_COLUMN_OCTAVES, max(_COLUMN_CELLS, math.ceil(0.5 * half_d))) - 2.0
    u = 1.0 / (1.0 + 2.0**_FIRST_OCTAVE * _octaves(_ROW_OCTAVES, _ROW_CELLS)[:, None])
    step = 1.0 / math.sqrt(total)
    first = -math.log1p(half_d / h) - math.log1p(8.0 / math.sqrt(total) + 30.0 / total)  # e^-30 of the mass is below
    table = np.empty((len(u), len(columns), 4))
    for j, q in enumerate(columns):
        y = np.arange(first, math.log1p((h + 0.5 * q) / total) - math.log(u[-1, 0]) + 20.0 / h, step)
        r = 1.0 - u + u * np.exp(y)
        level = -h * (y + np.exp(-y)) - half_d * np.log(r) - 0.5 * q / r
        top = level.max(axis=1)
        mass = np.exp(level - top[:, None])
        one, square = ((mass / power).sum(axis=1) / mass.sum(axis=1) for power in (r, r * r))
        table[:, j, 0] = top + np.log(mass.sum(axis=1) * step) + h * math.log(h) - math.lgamma(h)
        table[:, j, 1] = u[:, 0] * (0.5 * q * (square - one) - half_d * (one - 1.0))
        table[:, j, 2], table[:, j, 3] = one, square / one**2
    return table


def _octaves(n: int, cells: int) -> np.ndarray:
    """From 1 to 2^n, each octave in so many equal cells."""
    octave, cell = np.divmod(np.arange(n * cells + 1), cells)
    return 2.0**octave * (1.0 + cell / cells)


@jit(inline="always")
def _cell(x: float, first: int, cells: int, n: int) -> tuple[int, float, float]:
    """The cell of `_octaves`, from 2^first on, in which x lies, how far into it, and its width; within the n cells."""
    bits = np.float64(x).view(np.int64)
    place = min(max((bits * 2.0**-52 - (1023.0 + first)) * cells, 0.0), float(n))
    i = min(int(place), n - 1)
    width = np.int64(bits & np.int64(0x7FF0000000000000)).view(np.float64) / cells
    return i, place - i, width


@jit
def student_density(table: np.ndarray, v: float, unit: float, half_d: float, eps: float) -> tuple[float, float, float]:
    """Log density of a row at squared distance ε, less (d/2) log 2π, 1 / E[1/(v + λs)], and E[1/r²] / E[1/r]²."""
    total = v + unit
    n_rows, n_columns = table.shape[0] - 1, table.shape[1] - 1
    i, x, height = _cell(v / unit, _FIRST_OCTAVE, _ROW_CELLS, n_rows)
    j, z, width = _cell(eps / total + 2.0, 1, n_columns // _COLUMN_OCTAVES, n_columns)
    f = _cubic(x, table[i, j, 0], table[i + 1, j, 0], height * table[i, j, 1], height * table[i + 1, j, 1])
    g = _cubic(
        x, table[i, j + 1, 0], table[i + 1, j + 1, 0], height * table[i, j + 1, 1], height * table[i + 1, j + 1, 1]
    )
    one = (1.0 - x) * table[i, j, 2] + x * table[i + 1, j, 2]
    next_one = (1.0 - x) * table[i, j + 1, 2] + x * table[i + 1, j + 1, 2]
    ratio = (1.0 - x) * table[i, j, 3] + x * table[i + 1, j, 3]
    next_ratio = (1.0 - x) * table[i, j + 1, 3] + x * table[i + 1, j + 1, 3]
    f = _cubic(z, f, g, -0.5 * width * one, -0.5 * width * next_one)
    one, ratio = one + z * (next_one - one), ratio + z * (next_ratio - ratio)
    beyond = (eps / total + 2.0) / 2.0 ** (_COLUMN_OCTAVES + 1)
    if beyond > 1.0:  # log f is linear in log q there
        f, one = f - 2.0**_COLUMN_OCTAVES * one * math.log(beyond), one / beyond
    return f - half_d * math.log(total), total / one, ratio


@jit(inline="always")
def _cubic(x: float, f: float, g: float, slope: float, next_slope: float) -> float:
    """Between f at 0 and g at 1, with these slopes."""
    return f + x * (slope + x * (3.0 * (g - f) - 2.0 * slope - next_slope + x * (2.0 * (f - g) + slope + next_slope)))
