"""Data tempered in the first rounds, where columns are many more than rows.

Thousands of columns say so much about every branch that a chain hardly ever leaves the tree it started from; four
chains then stay at four trees. In the first rounds the sampler is told less, and little by little all of it. Tempering
costs nothing: the likelihood of d whitened columns to the power β is, up to a constant, that of β d columns whose
squared distances are β times as large, so that a tempered `Problem` is a `Problem`.
"""

import math

from ...model.process.whitened import Problem

_FEW = 128  # columns: chains of so many agree without it
_COLUMNS_A_ROW = 2
_FIRST = 16.0  # columns' worth of the data in the first round
_ROUNDS = 40


def tempered_rounds(n: int, d: int, longest_warmup: int) -> int:
    """How many rounds are tempered for n rows of d columns: at most half of the warm-up."""
    return 0 if d <= _FEW or d < _COLUMNS_A_ROW * n else min(_ROUNDS, longest_warmup // 2)


def tempered(problem: Problem, round: int, n_rounds: int) -> Problem:
    """The problem as the round that follows `round` others sees it: growing in worth, and whole after `n_rounds`."""
    if round >= n_rounds or problem.d <= _FIRST:
        return problem
    d = round_to_columns(problem.d, round / n_rounds)
    assert problem.W is not None
    return problem._replace(W=problem.W * math.sqrt(d / problem.d), d=d)


def round_to_columns(d: int, share: float) -> int:
    """Columns' worth after a share of the rounds: each round adds the same percentage."""
    return int(_FIRST * (d / _FIRST) ** share)
