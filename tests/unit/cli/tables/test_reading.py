"""Roles of the columns of a table, and cells that are refused with their place."""

import time

import numpy as np
import pytest

from coaltree import CoaltreeWarning, InputError
from coaltree.cli.tables.reading import TableOptions, column_hints, read_file
from coaltree.model.data.table import Table


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
    assert "line 1, column '0': 'a' is not a number" in refused("a,b\nc,d\n1,2\n", header=False, columns=("0",))


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b\n1,2\n3,tall\n5,6\n", {}, "data.csv: line 3, column 'b': 'tall' is not a number; correct it"),
        ("a,b\n1,2\n\n3,x\n5,y\n7,8\n9,8\n", {}, "line 4, column 'b': 'x' is not a number"),
        ("a,b\n1,2\n3,inf\n5,6\n", {}, "line 3, column 'b': 'inf' is not a number; correct it"),
        ("a;b\n1,5;2\n3,5;4\n", {}, "line 2, column 'a': '1,5' is not a number; give --decimal ,"),
        ("a,kind\n1,red\n2,red\n", {}, "line 2, column 'kind': 'red' is not a number; correct it, leave text out with"),
        ("a,k 1\n1,red\n2,blue\n", {}, "--drop 'k 1', or compare it with the clusters with --label 'k 1'."),
        ("a,k,m\n1,r,s\n2,r,s\n", {}, "leave text out with --drop k --drop m, or compare it with the clusters with"),
        ("name,a\np,1\nq,2\np,3\n", {}, "but 'p' is in line 2 and again in line 4; name the rows by another"),
        ("name,a\np,1\nq,2\np,3\n", {}, "or --groups name where rows of one name measure the same thing"),
        ("name,a\np,1\n,2\n", {}, "line 3 has no name in column 'name'"),
        ("a,b\n1,2\n3\n4,5,6\n", {}, "line 4 has more cells than line 1, which has 2;"),
        ("a,b\n1,2\n3,4,5,6\n", {}, "not a readable .csv file ("),
        ("a,b\n", {}, "a header but no rows"),
        ("Table 3: trees\nname,a,b\np,1,2\nq,3,4\n", {}, "Expected 2 fields in line 2, saw 3"),
        ("\n\n", {}, "is empty"),
        ("", {}, "is empty"),
        (b"a,b\n1,2\n\xff,3\n", {}, "not UTF-8 text"),
        (b"a,b\n1,\0\n", {}, "is not a number"),
        ("a,b\n1,2\n3,4\n", {"drop": ("c",)}, "there is no column 'c'; the columns are a, b."),
        ("a,b\n1,2\n3,4\n", {"drop": ("a", "b")}, "no column of numbers is left"),
        ("a,k\n1,x\n2,y\n", {"label": ("k",), "transpose": True}, "which --transpose makes columns"),
        ("a,k\n1,\n2,\n", {"label": ("k",)}, "column 'k' has only missing values"),
    ],
)
def test_read_file_refuses_with_the_place(refused, text, options, message):
    assert message in refused(text, **options)


def test_read_file_describes_how_it_read(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("name;Höhe;Gewicht\nanna;1,72;63\nbo;1,8;70,5\n", encoding="utf-8")
    assert read_file(path, TableOptions(decimal=",")).description.splitlines() == [
        "x.csv: 2 rows, 2 columns",
        "  columns    Höhe, Gewicht",
        "  first row  anna: 1.72, 63",
        "  read with  separator ';', header in line 1, rows named by the column 'name'",
    ]
    path.write_text('price,share,open,a,b\n"$1,200",10 %,yes,1,\n$15,5 %,no,2,NA\n\n')
    source = read_file(path, TableOptions())
    assert source.table.values.tolist() == [[1200.0, 10.0, 1.0, 1.0], [15.0, 5.0, 0.0, 2.0]]
    assert source.description.splitlines()[3:] == [
        "  read with  separator ',', header in line 1, 1 empty line skipped, rows named by their number, from 0",
        "  numbers    price: numbers with $; share: numbers with %; open: yes as 1, no as 0",
        "  left out   b (no values)",
    ]


def test_columns_become_rows_and_labels_stay_beside_them(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("name,x,y,k\na,1,2,12\nb,3,,2\nc,5,6,12\n")
    source = read_file(path, TableOptions(drop=("k",), transpose=True))
    assert source.table.labels == ("x", "y") and source.table.features == ("a", "b", "c")
    np.testing.assert_array_equal(source.table.values, [[1, 3, 5], [2, np.nan, 6]])
    source = read_file(path, TableOptions(label=("k",)))
    assert source.annotations == {"k": ["12", "2", "12"]}
    with pytest.raises(InputError, match="which --transpose makes columns"):
        read_file(path, TableOptions(groups="k", transpose=True))


def test_equal_names_of_columns_are_numbered_and_each_is_fitted_once(table):
    with pytest.warns(CoaltreeWarning, match="columns have equal names, which are numbered: 'a.2'"):
        assert table("a,a,b\n1,2,3\n4,5,6\n", columns=("a", "a.2", "a")).values.tolist() == [[1, 2], [4, 5]]


def test_a_table_of_text_is_refused_at_once_and_in_few_words(refused):
    text = "\n".join(",".join(f"{word}{j}" for j in range(800)) for word in ["column", *["cell"] * 50])
    began = time.process_time()
    message = refused(text)
    assert time.process_time() - began < 10.0 and len(message) < 600 and "and 794 more" in message


def hinted(**columns):
    values = np.column_stack([np.asarray(column, dtype=float) for column in columns.values()])
    table = Table(values, tuple(map(str, range(len(values)))), tuple(columns))
    return [sentence.split("'")[1] for sentence in column_hints(table)]


def test_column_hints_are_of_whole_numbers_under_a_heading_of_names_or_classes():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 30))
    assert hinted(x=x, target=y) == []
    assert hinted(x=x, no=np.arange(30), target=np.where(np.arange(30) == 3, np.nan, 1)) == ["no", "target"]
    assert hinted(x=x, patient_id=1000 + rng.permutation(30) * 7) == ["patient_id"]
    assert hinted(a=rng.integers(0, 5, 30), b=np.arange(30)) == []  # counts
