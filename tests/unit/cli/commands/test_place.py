"""`coaltree place`."""

import csv

import numpy as np
import pytest

import coaltree as ct
from coaltree.cli import main


def test_place_writes_a_table(folder, tmp_path, capsys, only_line):
    # Columns in another order, one that was not fitted, an empty cell.
    rows = tmp_path / "new.csv"
    rows.write_text("name,c,kind,a,b\nnew ü,0.1,x,0.2,0.3\nfar,8.1,y,,7.9\n", encoding="utf-8")
    assert main(["place", str(folder), str(rows), "--clusters", "2"]) == 0
    out = capsys.readouterr().out
    lines = list(csv.DictReader(out.splitlines()))
    assert [line["row"] for line in lines] == ["new ü", "far"]
    post = ct.load(folder / "posterior.npz")
    labels = post.cut(2)
    placed = post.place(np.array([[0.2, 0.3, 0.1], [np.nan, 7.9, 8.1]]), classes=labels)
    assert [int(line["cluster"]) for line in lines] == [labels[0] + 1, labels[1] + 1]
    for i, line in enumerate(lines):
        assert float(line["log_density"]) == pytest.approx(placed.log_density[i], rel=1e-5)
        assert float(line["probability"]) == pytest.approx(placed.class_probability[i].max(), rel=1e-5)
        share, leaves = placed.nearest_clades(i)[0]
        assert float(line["clade_probability"]) == pytest.approx(share, rel=1e-5)
        assert int(line["clade_size"]) == len(leaves)
        assert line["clade"].split("; ")[:5] == list(leaves[:5])
        assert 0 <= float(line["time_low"]) <= float(line["time_high"])

    path = tmp_path / "placed.csv"
    args = ["place", str(folder), str(rows), "--clusters", "2", "-o", str(path)]
    assert main(args) == 0
    assert capsys.readouterr().out == f"{path}\n"
    assert path.read_text(encoding="utf-8") == out
    assert main(args) == 2
    assert "--force" in only_line()
    assert main([*args, "--force"]) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,a,b\np,1,2\n", "new.csv: there is no column 'c'; the columns are name, a, b."),
        ("name,a,b,c\np,1,2,three\n", "column 'c': 'three' is not a number"),
        ("name,a,b,c\np,1,2,3\np,1,2,3\n", "'p' is in line 2 and again in line 3"),
    ],
)
def test_place_refuses_rows_with_other_columns(folder, tmp_path, text, message, only_line):
    (tmp_path / "new.csv").write_text(text)
    assert main(["place", str(folder), str(tmp_path / "new.csv")]) == 2
    assert message in only_line()
