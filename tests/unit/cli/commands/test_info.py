"""`coaltree info`."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.cli import main
from coaltree.posterior.diagnostics.model_checks import check_or_reason


def lines_of(capsys):
    """What was printed, by the word in front."""
    lines = (line.split("  ", 1) for line in capsys.readouterr().out.splitlines())
    return {name: value.strip() for name, value in lines}


def test_info_lists_contents_and_convergence(folder, capsys):
    assert main(["info", str(folder)]) == 0
    shown = lines_of(capsys)
    assert shown["leaves"] == "12: row é0, row é1, row é2, row é3 and 8 more"
    assert shown["columns"] == "3: a, b, c"
    assert shown["missing values"] == "1"
    assert shown["trees"] == "30 from 2 chains"
    assert shown["seed"] == "0"
    assert shown["warmup"] == "5"
    assert shown["covariance"] == "Diagonal"
    assert "convergence" in shown
    assert shown["model"] == check_or_reason(ct.load(folder)).headline
    suggestion = ct.load(folder).suggest_n_clusters()
    numbers = [part.split(":")[0] for part in shown["least stability"].split(", ")]
    assert numbers == [f"{number} clusters" for number in suggestion.candidates["n_clusters"]]
    variances = ct.load(folder / "posterior.npz").theta["variances"][:, 1]
    middle = float(shown["variances, b"].split()[0])
    assert np.mean(variances < middle) == pytest.approx(0.5, abs=0.05)
    assert main(["info", str(folder / "posterior.npz")]) == 0
    assert lines_of(capsys) == shown


def test_info_lists_rows_of_leaves_and_outliers(grouped, capsys):
    assert main(["info", str(grouped)]) == 0
    shown = lines_of(capsys)
    assert shown["leaves"] == "5: no. 0, no. 1, no. 2, no. 3 and 1 more"
    assert shown["rows"] == "12, 1 to 4 of each leaf"
    assert shown["errors"] == "0.5 to 1.6, standard errors of the rows"
    assert shown["missing values"] == "1"
    assert shown["noise"].startswith("learnt, ") and shown["noise"].endswith("heavy tails (Student's t with 4 df)")
    assert shown["outlier"].startswith("8 (no. 3): about ") and shown["outlier"].endswith(" % sure")
    assert "90 %" in shown["noise level"]


def test_info_says_how_well_groups_are_supported(folder, capsys, only_line):
    post = ct.load(folder / "posterior.npz")
    even, odd = ([f"row é{i}" for i in range(first, 12, 2)] for first in (0, 1))
    assert main(["info", str(folder), "--group", ",".join(even), "--group", ", ".join(odd[:2])]) == 0
    assert capsys.readouterr().out == f"{post.support(even)}\n\n{post.support(odd[:2])}\n"
    assert main(["info", str(folder), "--group", "row é1,row é99"]) == 2
    assert only_line().endswith("must be names of leaves, such as row é0, row é1, row é2, not 'row é99'.")
    assert main(["info", str(folder), "--group", ""]) == 2
    assert only_line().endswith("at least two different leaves, not 0.")
