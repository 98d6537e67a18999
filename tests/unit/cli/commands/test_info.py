"""`coaltree info`."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.cli import main
from coaltree.posterior.of_trees import posterior_of_trees


def test_info_lists_contents_and_convergence(folder, capsys):
    assert main(["info", str(folder)]) == 0
    out = capsys.readouterr().out
    said = dict(line.split("  ", 1) for line in out.splitlines())
    said = {name: value.strip() for name, value in said.items()}
    assert said["leaves"] == "12: row é0, row é1, row é2, row é3 and 8 more"
    assert said["columns"] == "3: a, b, c"
    assert said["missing values"] == "1"
    assert said["trees"] == "30 from 2 chains"
    assert said["seed"] == "0"
    assert said["warmup"] == "5"
    assert said["covariance"] == "Diagonal"
    assert "convergence" in said
    variances = ct.load(folder / "posterior.npz").theta["variances"][:, 1]
    middle = float(said["variances, b"].split()[0])
    assert np.mean(variances < middle) == pytest.approx(0.5, abs=0.05)
    assert main(["info", str(folder / "posterior.npz")]) == 0
    assert capsys.readouterr().out == out


def test_info_names_rows_that_are_more_probable_in_another_cluster(folder, capsys, monkeypatch):
    assert main(["info", str(folder)]) == 0
    assert "more probable in another cluster" not in capsys.readouterr().out
    flipped = property(lambda answer: 1 - answer.labels)
    monkeypatch.setattr("coaltree.posterior.clusters.answer.ClusterAnswer.most_probable", flipped)
    assert main(["info", str(folder)]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("uncertain ")
    assert "12 rows are more probable in another cluster: row é" in last
    assert last.endswith("and 8 more")


def test_info_of_weighted_particles(tmp_path, capsys):
    X, _ = ct.simulate(8, 3, random_state=0)
    ct.sample_trees(X, np.eye(3), ct.MPost1(n_particles=20), random_state=0).save(tmp_path / "p.npz")
    assert main(["info", str(tmp_path / "p.npz")]) == 0
    assert "log evidence" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")
def test_info_lists_the_selected_covariance_and_columns_left_out(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(20, 2)), np.ones(20), rng.integers(0, 3, 20)])
    ct.fit(X, n_samples=4, n_warmup=0, random_state=0).save(tmp_path / "p.npz")
    assert main(["info", str(tmp_path / "p.npz")]) == 0
    said = {
        name.strip(): value.strip()
        for name, value in (line.split("  ", 1) for line in capsys.readouterr().out.splitlines())
    }
    assert said["covariance"] == "auto: full (20 rows are enough for 3 columns)"
    assert said["left out"].endswith("column 2 (constant)")
    assert said["ties"].endswith("column 3")


def test_info_lists_rows_of_leaves_and_outliers(grouped, capsys):
    assert main(["info", str(grouped)]) == 0
    said = {
        name.strip(): value.strip()
        for name, value in (line.split("  ", 1) for line in capsys.readouterr().out.splitlines())
    }
    assert said["leaves"] == "5: no. 0, no. 1, no. 2, no. 3 and 1 more"
    assert said["rows"] == "12, 1 to 4 of each leaf"
    assert said["errors"] == "0.5 to 1.6, standard errors of the rows"
    assert said["missing values"] == "1"
    assert said["noise"].startswith("learnt, ") and said["noise"].endswith("Student's t with 4 df")
    assert said["outlier"].startswith("8 (no. 3): about ") and said["outlier"].endswith(" % sure")
    assert "90 %" in said["noise level"]


def test_info_says_whether_the_model_describes_the_data(folder, capsys):
    assert main(["info", str(folder)]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("model")]
    assert "Supports are likely to be too high" in line and "(correlation)" in line


def test_info_says_how_well_groups_are_supported(folder, capsys, only_line):
    post = ct.load(folder / "posterior.npz")
    even, odd = ([f"row é{i}" for i in range(first, 12, 2)] for first in (0, 1))
    assert main(["info", str(folder), "--group", ",".join(even), "--group", ", ".join(odd[:2])]) == 0
    assert capsys.readouterr().out == f"{post.support(even)}\n\n{post.support(odd[:2])}\n"
    assert main(["info", str(folder), "--group", "row é1,row é99"]) == 2
    assert only_line().endswith("must be names of leaves, such as row é0, row é1, row é2, not 'row é99'.")
    assert main(["info", str(folder), "--group", ""]) == 2
    assert only_line().endswith("at least two different leaves, not 0.")


def test_info_group_takes_quoted_names_and_new_lines(tmp_path, capsys):
    labels = ["Doe, J.", "b", "c d", "e"]
    posterior_of_trees([[[0, 1], [4, 2], [5, 3]]], [[1.0, 2.0, 3.0]], labels=labels).save(tmp_path / "p.npz")
    for given in ('"Doe, J.",c d', 'c d\n"Doe, J."\n', 'c d, "Doe, J.",'):
        assert main(["info", str(tmp_path / "p.npz"), "--group", given]) == 0
        assert capsys.readouterr().out.startswith("group        2 of 4 leaves: Doe, J., c d\n")


def test_info_lists_every_number_of_clusters_and_no_symbols(folder, capsys):
    assert main(["info", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    (candidates,) = [line for line in lines if line.startswith("similarity")]
    suggestion = ct.load(folder).suggest_n_clusters()
    assert [part.split(":")[0] for part in candidates.split("  ", 1)[1].strip().split(", ")] == [
        f"{number} clusters" for number in suggestion.candidates["n_clusters"]
    ]
    assert not any("Phi" in line for line in lines)
