"""Numbers as people write them, column by column."""

import numpy as np
import pytest

from coaltree.cli.tables.numbers import number, read_numbers

nan = np.nan


@pytest.mark.parametrize(
    ("cells", "decimal", "values", "how"),
    [
        (["1", "-2.5e1", ""], ".", [1.0, -25.0, nan], ""),
        (["yes", "No", "", "YES"], ".", [1.0, 0.0, nan, 1.0], "yes as 1, no as 0"),
        (["True", "false"], ".", [1.0, 0.0], "true as 1, false as 0"),
        (["y", "n", "NA"], ".", [1.0, 0.0, nan], "y as 1, n as 0"),
        (["10 %", "2.5%", "-3 %"], ".", [10.0, 2.5, -3.0], "numbers with %"),
        (["1,5 %", "2 %"], ",", [1.5, 2.0], "numbers with %"),
        (["$1", "-$2.50", "n/a"], ".", [1.0, -2.5, nan], "numbers with $"),
        (["$1,200", "$15"], ".", [1200.0, 15.0], "numbers with $"),
        (["12 €", "1 200 €"], ".", [12.0, 1200.0], "numbers with €"),
        (["1.200,50 €", "3 €"], ",", [1200.5, 3.0], "numbers with €"),
        (["1,234", "999", "12,345,678"], ".", [1234.0, 999.0, 12345678.0], "thousands set apart"),
        (["1,234.5", "2,345.75"], ".", [1234.5, 2345.75], "thousands set apart"),
        (["1.234,5", "2,75"], ",", [1234.5, 2.75], "thousands set apart"),
        (["1970-01-02", "", "1970-01-31 12:00:00"], ".", [1.0, nan, 30.5], "dates as days since 1970-01-01"),
        (["2.1.1970", "31.12.1970"], ".", [1.0, 364.0], "dates as days since 1970-01-01"),
        (["1970/01/02"], ".", [1.0], "dates as days since 1970-01-01"),
    ],
)
def test_consistent_columns_are_read(cells, decimal, values, how):
    numbers, way = read_numbers(cells, decimal)
    np.testing.assert_array_equal(numbers, values)
    assert way == how


@pytest.mark.parametrize(
    "cells",
    [
        ["yes", "maybe"],
        ["10 kg", "3 kg"],
        ["10 %", "0.1"],
        ["$1", "€2"],
        ["$1", "2"],
        ["1,234", "2,345"],  # thousands, or three decimals
        ["red", "blue"],
        ["2024-02-31", "2024-02-01"],
        ["2024-02-01", "1"],
        ["1.2.2024", "3.4.2024"],  # February, or the second of January
        ["1.2.2024", "3.14.2024"],
    ],
)
def test_other_columns_keep_what_is_plain(cells):
    values, how = read_numbers(cells, None)
    assert how == ""
    assert np.isnan(values).tolist() == [number(cell) is None for cell in cells]


def test_cells_that_can_be_read_in_two_ways_need_the_decimal_mark():
    for cells, point, comma in [
        (["1.500", "2300"], [1.5, 2300.0], [1500.0, 2300.0]),
        (["1,234 %"], [1234.0], [1.234]),
        (["1,234", "2345"], [1234.0, 2345.0], [1.234, 2345.0]),
    ]:
        assert np.isnan(read_numbers(cells, None)[0][0])
        assert read_numbers(cells, ".")[0].tolist() == point and read_numbers(cells, ",")[0].tolist() == comma
    assert read_numbers(["1.500", "2.300"], None)[0].tolist() == [1.5, 2.3]
