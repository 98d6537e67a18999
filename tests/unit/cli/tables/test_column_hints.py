"""Columns that are probably no measurements."""

import numpy as np

from coaltree.cli.tables.column_hints import column_hints
from coaltree.model.data.table import Table


def suspected(**columns):
    values = np.column_stack([np.asarray(column, dtype=float) for column in columns.values()])
    table = Table(values, tuple(map(str, range(len(values)))), tuple(columns))
    return [sentence.split("'")[1] for sentence in column_hints(table)]


def test_column_hints_find_classes_and_row_numbers():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 30))
    assert suspected(x=x, y=y) == []
    assert suspected(x=x, no=np.arange(30), z=y) == ["no"]
    assert suspected(x=x, back=np.arange(30)[::-1] + 7) == ["back"]
    assert suspected(x=x, last=np.arange(30) % 3) == ["last"]  # the only whole numbers
    assert suspected(a=rng.integers(0, 5, 30), b=rng.integers(0, 5, 30)) == []  # counts
    assert suspected(a=rng.integers(0, 5, 30), target=np.arange(30) % 2) == ["target"]
    assert suspected(x=x, patient_id=1000 + rng.permutation(30) * 7) == ["patient_id"]
    assert suspected(x=x, count=rng.integers(0, 12, 30)) == []  # too many values for so few rows


def test_column_hints_find_codes_from_1():
    """As Diet and Chick in a table of growing chickens."""
    rng = np.random.default_rng(1)
    chick, weight = np.repeat(np.arange(1, 51), 12), rng.integers(35, 300, 600)
    time = np.tile(np.arange(0, 24, 2), 50)
    diet = 1 + (chick > 20) + (chick > 30) + (chick > 40)
    assert suspected(weight=weight, Time=time, Chick=chick, Diet=diet) == ["Chick", "Diet"]
    answers = {f"q{i}": rng.integers(1, 6, 60) for i in range(4)}
    assert suspected(**answers) == []  # most columns are such: a questionnaire
    assert suspected(x=rng.standard_normal(60), y=weight[:60], cyl=np.repeat([4, 6, 8], 20)) == []
