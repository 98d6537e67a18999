"""Numbers as people write them, column by column."""

import pytest

from coaltree.cli.tables.written_numbers import are_dates, days, understand


@pytest.mark.parametrize(
    ("cells", "values", "how"),
    [
        (["yes", "No", "", "YES"], [1.0, 0.0, None, 1.0], "yes as 1, no as 0"),
        (["True", "false"], [1.0, 0.0], "true as 1, false as 0"),
        (["y", "n", "NA"], [1.0, 0.0, None], "y as 1, n as 0"),
        (["10 %", "2.5%", "-3 %"], [10.0, 2.5, -3.0], "per cent"),
        (["$1", "-$2.50", "($3)", "n/a"], [1.0, -2.5, -3.0, None], "amounts in $"),
        (["$1,200", "$15"], [1200.0, 15.0], "amounts in $, thousands set apart"),
        (["$1,200", "$2,300"], [1200.0, 2300.0], "amounts in $, thousands set apart"),
        (["12 €", "1 200 €"], [12.0, 1200.0], "amounts in €, thousands set apart"),
        (["1,234", "999", "12,345,678"], [1234.0, 999.0, 12345678.0], "thousands set apart"),
        (["1,234.5", "2,345.75"], [1234.5, 2345.75], "thousands set apart"),
        (["10.5 kg", "", "-3 kg"], [10.5, None, -3.0], "in kg"),
        (["10mm", "3mm"], [10.0, 3.0], "in mm"),
        (["1.5 °C", "2 °C"], [1.5, 2.0], "in °C"),
    ],
)
def test_consistent_columns_are_understood(cells, values, how):
    assert understand(cells, ".") == (values, how)


@pytest.mark.parametrize(
    "cells",
    [
        ["yes", "maybe"],
        ["10 kg", "3 g"],
        ["5A", "7A"],
        ["kg 5", "kg 7"],
        ["10 %", "0.1"],
        ["$1", "€2"],
        ["$1", "2"],
        ["$1$", "$2"],
        ["1,234", "2,345"],  # thousands, or three decimals
        ["1,234", "2345"],
        ["0,123", "5"],
        ["12,34", "5"],
        ["red", "blue"],
        ["1", "2"],  # plain numbers need no words
        ["", "NA"],
    ],
)
def test_other_columns_are_not(cells):
    assert understand(cells, ".") is None


def test_a_decimal_comma_leaves_no_room_for_thousands():
    assert understand(["1,5 %", "2 %"], ",")[0] == [1.5, 2.0]
    assert understand(["1,234", "5"], ",") is None


def test_dates_are_days_since_1970():
    assert days(["1970-01-02", "", "1970-01-31 12:00:00"]) == ([1.0, None, 30.5], "dates as days since 1970-01-01")
    assert days(["2.1.1970", "31.12.1970"])[0] == [1.0, 364.0]
    assert days(["1970/01/02"])[0] == [1.0]
    assert days(["2024-02-31"]) is None and days(["soon"]) is None and not are_dates([""])
