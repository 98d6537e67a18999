"""Tables that users hand in: arrays and data frames of every kind."""

import numpy as np
import pandas as pd
import pytest

import coaltree as ct
from coaltree.errors import InputError
from coaltree.model.data.table import aligned, read_table


@pytest.mark.parametrize("make", [np.asfortranarray, np.float32, lambda X: X[::-1][::-1], lambda X: X.astype(">f8")])
def test_table_never_writes_into_its_input(make):
    X = make(np.arange(12.0).reshape(4, 3) ** 2)
    X.flags.writeable = False
    values = read_table(X).values
    values[:] = 0.0
    assert X[3, 2] == 121.0


def test_equal_names_of_columns_are_numbered_and_of_rows_hint_at_groups():
    frame = pd.DataFrame(np.arange(8.0).reshape(2, 4), columns=["a", "a", "a.2", "a"])
    with pytest.warns(ct.CoaltreeWarning, match=r"columns of X have equal names, which are numbered: 'a\.3', 'a\.4'\."):
        assert read_table(frame).features == ("a", "a.3", "a.2", "a.4")
    rows = frame.set_axis(["p", "p"])
    with pytest.raises(InputError, match=r"'p' twice; .* groups=X\.index where rows of one name measure the same"):
        read_table(rows[["a.2"]])
    assert read_table(rows[["a.2"]], are_groups_named=True).labels == ("p", "p.2")


def test_aligned_puts_a_series_into_the_order_of_the_index():
    series = pd.Series([1.0, 2.0, 3.0], list("cab"))
    assert list(aligned("errors", series, pd.Index(list("abc")))) == [2.0, 3.0, 1.0]
    assert aligned("errors", series, None) is series  # rows of an array have no names
    assert aligned("errors", [1.0, 2.0], pd.Index(list("abc"))) == [1.0, 2.0]
    for other in (series.iloc[:2], pd.Series(range(3)), series.set_axis(list("aab"))):
        with pytest.raises(InputError, match="the index of errors must name the same as X does, each once"):
            aligned("errors", other, pd.Index(list("abc")))
