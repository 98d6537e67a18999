"""Tied values of a column, spread over the interval that they are rounded from.

A column that repeats itself was recorded in steps: 3 stands for all numbers that are written 3. Taken as points, equal
values make the posterior improper: where a variance is learnt for each column, times divided by s and the variances of
the other columns multiplied by s gain s^½ at each merge of equal values. So each of the c > 1 rows of n that share a
value x gets a number of its own, drawn evenly from

    x - ½ gap below  …  x + ½ gap above ,

the gaps being those to the neighbouring values (at the ends the one that there is). Where most values of a column
occur once there is no step, as in measurements of which many are 0: then it is at least h = √3 (c/n) sd to either side,
about as far as c rows would lie apart in a normal column. Values that occur once stay as they are.

The draws depend on the numbers of row and column alone, so that the same table is spread in the same way by every
chain, in every process and in every unit, and rows that are added later change nothing before them.
"""

import math

import numpy as np


def spread_ties(values: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the values (n, k) with ties spread, and (k,) which columns had any; NaN stays.

    `rows` (n,) and `columns` (k,) are the numbers of rows and columns in the user's table. Without ties it is the table
    itself that is returned.
    """
    tied = np.zeros(len(columns), dtype=bool)
    for j, number in enumerate(columns):
        seen = np.flatnonzero(~np.isnan(values[:, j]))
        x = values[seen, j]
        levels, level_of, counts = np.unique(x, return_inverse=True, return_counts=True)
        if len(levels) in (1, len(x)):
            continue
        if not tied.any():
            values = np.array(values)
        tied[j] = True
        u = np.random.default_rng([20121, int(number)]).random(int(rows.max()) + 1)[rows[seen]]
        half_gaps = 0.5 * np.diff(levels)
        has_step = 2 * np.count_nonzero(counts == 1) <= len(levels)
        least = np.zeros(len(levels)) if has_step else math.sqrt(3.0) * counts / len(x) * x.std()
        below = np.maximum(np.append(half_gaps[0], half_gaps), least)[level_of]
        above = np.maximum(np.append(half_gaps, half_gaps[-1]), least)[level_of]
        values[seen, j] = np.where(counts[level_of] > 1, x + (u * (below + above) - below), x)
    return values, tied
