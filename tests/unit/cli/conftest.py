"""What the tests of several commands share: a saved posterior, and the one line of a refusal."""

from unittest import mock

import numpy as np
import pytest

import coaltree as ct
from coaltree.cli import main
from coaltree.model.data.table import Table


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with a posterior of twelve named rows in two groups, one value of which is missing."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 3)) + 8.0 * (np.arange(12) % 2)[:, None]
    X[0, 1] = np.nan
    frame = Table(X, tuple(f"row é{i}" for i in range(12)), ("a", "b", "c"))
    path = tmp_path_factory.mktemp("posterior")
    with pytest.warns(ct.ConvergenceWarning):
        ct.fit(frame, "diagonal", n_samples=15, n_warmup=5, random_state=0).save(path / "posterior.npz")
    return path


@pytest.fixture(scope="session")
def repeats(tmp_path_factory):
    """A CSV of twelve rows that measure five compounds, with an outlier, standard errors and a missing cell."""
    rng = np.random.default_rng(2)
    compound = [0, 0, 0, 1, 2, 2, 3, 3, 3, 3, 4, 4]
    X = 4.0 * rng.standard_normal((5, 3))[compound] + 0.1 * rng.standard_normal((12, 3))
    X[8] += [9.0, -9.0, 9.0]
    lines = ["compound,a,b,c,sd"]
    for i, row in enumerate(X):
        cells = ["" if (i, j) == (5, 1) else f"{value:.4f}" for j, value in enumerate(row)]
        lines.append(f"no. {compound[i]},{','.join(cells)},{0.5 + 0.1 * i:.1f}")
    path = tmp_path_factory.mktemp("repeats") / "assay.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="session")
def grouped(repeats, tmp_path_factory):
    """The folder that a short run over these groups leaves."""
    out = tmp_path_factory.mktemp("grouped") / "out"
    given = ["fit", str(repeats), "--groups", "compound", "--errors", "sd", "--covariance", "scaled"]
    assert main([*given, "--out", str(out), "--clusters", "2", "--samples", "20", "--warmup", "20"]) == 0
    return out


@pytest.fixture
def blank_pages(monkeypatch):
    """Figures and report pages are empty files: for tests of a run that look at neither."""
    monkeypatch.setattr("coaltree.plotting.dendrogram", mock.Mock())
    monkeypatch.setattr("coaltree.cli.outputs.save_figure", lambda figure, paths: [path.touch() for path in paths])
    monkeypatch.setattr("coaltree.report.write_report", lambda post, path, **options: path.touch())


@pytest.fixture
def only_line(capsys):
    """What was said on stderr, which must be one line."""

    def read():
        err = capsys.readouterr().err
        assert err.count("\n") == 1, err
        return err.rstrip()

    return read
