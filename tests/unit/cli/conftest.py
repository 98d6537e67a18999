"""What the tests of several commands share: a saved posterior, and the one line of a refusal."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.model.table import Table


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


@pytest.fixture
def only_line(capsys):
    """What was said on stderr, which must be one line."""

    def read():
        err = capsys.readouterr().err
        assert err.count("\n") == 1, err
        return err.rstrip()

    return read
