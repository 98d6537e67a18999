"""Tempered likelihood in the first iterations, where columns are many more than rows.

Thousands of columns fix every branch so firmly that a chain hardly ever leaves the tree it started from; four chains
then stay at four trees. The likelihood of d whitened columns to the power β is, up to a constant, that of β d columns
whose squared distances are β times as large, so that a tempered `Problem` is a `Problem`, and tempering costs nothing.
"""

import math

from ...model.process.whitened import Problem

MAX_COLUMNS_UNTEMPERED = 128  # chains of so many columns agree without it
MIN_COLUMNS_PER_ROW = 2
FIRST_COLUMNS = 16.0  # worth of the data in the first iteration
MAX_TEMPERED = 40  # iterations


def tempered_iterations(n: int, d: int, max_warmup: int) -> int:
    """Number of tempered iterations for n rows of d columns: at most half of the warm-up."""
    if d <= MAX_COLUMNS_UNTEMPERED or d < MIN_COLUMNS_PER_ROW * n:
        return 0
    return min(MAX_TEMPERED, max_warmup // 2)


def tempered(problem: Problem, iteration: int, n_tempered: int) -> Problem:
    """The problem as iteration 0, 1, … sees it: each adds the same percentage of columns, until all count."""
    if iteration >= n_tempered or problem.d <= FIRST_COLUMNS:
        return problem
    d = int(FIRST_COLUMNS * (problem.d / FIRST_COLUMNS) ** (iteration / n_tempered))
    return problem._replace(W=problem.W * math.sqrt(d / problem.d), d=d)
