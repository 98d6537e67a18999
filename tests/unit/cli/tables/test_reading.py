"""Roles of the columns of a table, and cells that are refused with their place."""

import numpy as np
import pytest

from coaltree import InputError
from coaltree.cli.tables.reading import TableOptions, read_file


def test_read_file_follows_options_rather_than_the_rule(table, refused):
    text = "name,code,kind,a,b\np,10,x,1,2\nq,11,x,3,4\n"
    assert table(text, drop=("kind",)).features == ("code", "a", "b")
    frame = table(text, names="code", columns=("b", "a"))
    assert (frame.labels, frame.features) == (("10", "11"), ("b", "a"))
    np.testing.assert_array_equal(frame.values, [[2, 1], [4, 3]])
    frame = table(text, drop=("name", "kind", "code"))
    assert (frame.labels, frame.features) == (("0", "1"), ("a", "b"))
    assert table("1,2\n3,4\n", header=True).features == ("1", "2")
    assert table("1,2\n3,4\n", header=False).values.tolist() == [[1, 2], [3, 4]]
    assert table("gene,2019,2020\np,1,2\nq,3,4\n", header=True).features == ("2019", "2020")
    assert table("gene,2019,2020\np,1,2\nq,3,4\n", header=False).labels == ("gene", "p", "q")
    assert table("2020-01-01,2.5\n2020-01-02,3.5\n", names="0").labels == ("2020-01-01", "2020-01-02")
    assert "column '0' contains text" in refused("a,b\nc,d\n1,2\n", header=False, columns=("0",))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n3,tall\n5,6\n", "data.csv, line 3, column 'b': 'tall' is not a number; correct it, or leave"),
        ("a,b\n1,2\n3,x\n5,y\n7,8\n9,8\n", "line 3, column 'b': 'x' is not a number (one of 2 such cells)"),
        ("a,b\n1,2\n3,inf\n5,6\n", "line 3, column 'b': 'inf' is not a number; values must be finite"),
        ("a,b\n1,2\n3,1_0\n4,5\n", "'1_0' is not a number"),
        ("a;b\n1,5;2\n3,5;4\n", "line 2, column 'a': '1,5' is not a number (one of 2 such cells); give --decimal ,"),
        (
            "a,kind\n1,red\n2,red\n",
            "column 'kind' contains text ('red' in line 2); leave it out with --drop kind, or",
        ),
        ("a,k 1\n1,red\n2,blue\n", "leave it out with --drop 'k 1', or use 'k 1' as row names with --names 'k 1'."),
        (
            "a,k,m\n1,r,s\n2,r,s\n",
            "columns k, m contain text ('r' in line 2); leave them out with --drop k --drop m, or",
        ),
        (
            "kind,a\nred,1\nred,2\n",
            "column 'kind' contains text ('red' in line 2); leave it out with --drop kind, or",
        ),
        ("name,a\np,1\nq,2\np,3\n", "but 'p' is in line 2 and again in line 4; make the names unique"),
        ("name,a\np,1\n,2\n", "line 3: the row has no name in column 'name'"),
        ("a,b\n1,2\n3\n", "line 3: the header has 2 cells, but this line has 1."),
        ("1.5,2\n3,4,5\n", "line 2: line 1 has 2 cells, but this line has 3."),
        ("a,a\n1,2\n", "2 columns are called 'a'"),
        ("a,b\n", "a header but no rows"),
        ("\n\n", "is empty"),
        (b"a,b\n1,2\n\xff,3\n", "line 3: not UTF-8 text"),
        (b"a,b\n1,\0\n", "zero bytes"),
    ],
)
def test_read_file_refuses_with_the_place(refused, text, said):
    assert said in refused(text)


def test_read_file_describes_how_it_read(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("name;Höhe;Gewicht\nanna;1,72;63\nbo;1,8;70,5\n", encoding="utf-8")
    assert read_file(path, TableOptions(decimal=",")).description.splitlines() == [
        "x.csv: 2 rows, 2 columns",
        "  columns    Höhe, Gewicht",
        "  first row  anna: 1.72, 63",
        "  read with  separator ';', header in line 1, 3 lines, rows named by the column 'name'",
    ]
    path.write_text("\n".join(["1.5\t?" + "\t7" * 7] * 3), encoding="utf-8")
    assert read_file(path, TableOptions()).description.splitlines() == [
        "x.csv: 3 rows, 9 columns",
        "  columns    0, 1, 2, 3, 4, 5 and 3 more",
        "  first row  0: 1.5, –, 7, 7, 7, 7 and 3 more",
        "  read with  separator tab, no header, 3 lines, rows named by their number, from 0",
        "  missing    3 of 27 values",
    ]


def test_read_file_refuses_unknown_columns(refused):
    text = "a,b\n1,2\n3,4\n"
    assert "there is no column 'c' (--drop); the columns are a, b." in refused(text, drop=("c",))
    assert "there is no column 'c' (--columns)" in refused(text, columns=("c",))
    assert "there is no column 'c' (--names)" in refused(text, names="c")
    assert "no column of numbers is left" in refused(text, drop=("a", "b"))


def test_read_file_refuses_other_files(refused, read, tmp_path):
    assert "data.xls: unsupported file type; expected .csv" in refused("x", "data.xls")
    assert "not a readable NumPy file" in refused("x", "data.npy")
    assert "not a readable NumPy file" in refused("x", "data.npz")
    with pytest.raises(InputError, match="file not found"):
        read(tmp_path / "absent.csv")
    with pytest.raises(InputError, match="is a folder"):
        read(tmp_path)


def test_read_file_says_how_numbers_were_written(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('price,share,open,since,a\n"$1,200",10 %,yes,2024-01-31,1\n$15,5 %,no,2024-02-01,2\n')
    found = read_file(path, TableOptions(dates=("since",)))
    assert found.table.values.tolist() == [[1200.0, 10.0, 1.0, 19753.0, 1.0], [15.0, 5.0, 0.0, 19754.0, 2.0]]
    said = "price: amounts in $, thousands set apart; share: per cent; open: yes as 1, no as 0; since: dates as days"
    assert f"  numbers    {said}" in found.description


def test_read_file_names_every_text_column(refused):
    names = [f"t{i}" for i in range(9)]
    said = refused(",".join(["a", *names]) + "\n" + "".join(f"{i}," + ",".join(["red"] * 9) + "\n" for i in range(3)))
    assert " ".join(f"--drop {name}" for name in names) in said
    assert " ".join(f"--label {name}" for name in names) in said


def test_read_file_offers_days_for_dates(refused):
    text = "a,when\n1,2024-01-31\n2,2024-01-31\n"
    assert "leave it out with --drop when, or read dates as numbers of days with --dates when." in refused(text)
    assert "column 'a' (--dates) has cells that are no dates" in refused("a,b\n1,2\n3,4\n", dates=("a",))


def test_read_file_offers_dates_names_and_labels_for_what_each_column_is(refused):
    dates = "name,a,since\n" + "".join(f"p{i},{i},2024-01-{i + 1:02}\n" for i in range(4))
    assert refused(dates).endswith("--drop since, or read dates as numbers of days with --dates since.")
    text = "kind,plot,a,day\n" + "".join(f"{'xy'[i % 2]},p{i},{i},2024-01-0{i + 1}\n" for i in range(4))
    assert refused(text).endswith(
        "or use 'plot' as row names with --names plot, show and compare kind with --label kind and read dates as "
        "numbers of days with --dates day."
    )
    assert "--names" not in refused("name,city\na,x\nb,y\nc,z\n")  # rows have names


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Table 3: trees,,\nname,a,b\np,1,2\nq,3,4\n", "data.csv, line 1: 'Table 3: trees' looks like a title above"),
        ("site,temp,ph\n,°C,\np,1,2\nq,3,4\n", "data.csv, line 2: this line looks like a second header ('°C' in"),
        ("site,temp,ph\nname,°C,-\np,1,2\nq,3,4\n", "looks like a second header ('°C' in column 'temp'); remove it"),
    ],
)
def test_read_file_refuses_lines_that_are_no_rows_by_what_they_are(refused, text, said):
    assert said in refused(text)


def test_read_file_says_which_lines_and_columns_it_skipped(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text(",a,,b\np,1,,2\n,,,\n\nq,3,,4\n")
    lines = read_file(path, TableOptions()).description.splitlines()
    said = "header in line 1, 1 empty column skipped, 5 lines (2 empty), rows named by the first column, which has no"
    assert said in lines[3]


def test_read_file_knows_thousands_from_another_column(table, refused):
    rows = [("1,200.5", "1,234"), ("2,300.5", "5,678")]
    text = "a;b\n" + "".join(f"{a};{b}\n" for a, b in rows)
    np.testing.assert_array_equal(table(text).values, [[1200.5, 1234], [2300.5, 5678]])
    assert "remove thousands separators, or give --decimal ," in refused("a;b\n1;1,234\n2;5,678\n")


def test_read_file_lists_classes_that_are_numbers_by_size(tmp_path):
    path = tmp_path / "classes.csv"
    path.write_text("a,k\n" + "".join(f"{i},{i}\n" for i in range(1, 13)))
    assert "'k': 12 distinct values, 1, 2, 3, 4 and 8 more" in read_file(path, TableOptions(label=("k",))).description
