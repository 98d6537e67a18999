"""Predictive comparison, from given densities."""

from types import SimpleNamespace

import numpy as np
import pytest

import coaltree as ct
from coaltree.inference.compare import stacking_weights
from tests.posteriors import random_posterior


class Fixed(ct.Posterior):
    """A posterior that knows its answer."""

    def __init__(self, log_density):
        self._set(model=random_posterior(1, X=np.eye(7, 2), covariance=ct.Spherical(), noise=0.1).model)
        self.log_density = np.array(log_density)

    def place(self, X, n_clades):
        assert len(X) == len(self.log_density)
        return SimpleNamespace(log_density=self.log_density)


def test_compare_pairs_differences():
    posteriors = {"bad": Fixed([-5.0, -9.0, -2.0]), "good": Fixed([-4.0, -8.5, -1.0]), "mid": Fixed([-4.5, -8.0, -2.0])}
    found = ct.compare(posteriors, np.zeros((3, 2)))
    assert found.names == ("good", "mid", "bad")
    np.testing.assert_allclose(found.log_density, [-13.5, -14.5, -16.0])
    np.testing.assert_allclose(found.difference, [0.0, -1.0, -2.5])
    expected = [0.0] + [np.sqrt(3) * np.std(d, ddof=1) for d in ([-0.5, 0.5, -1.0], [-1.0, -0.5, -1.0])]
    np.testing.assert_allclose(found.standard_error, expected)
    np.testing.assert_allclose(found.rows[1], [-4.5, -8.0, -2.0])
    lines = str(found).splitlines()
    assert [line.split()[0] for line in lines] == ["name", "good", "mid", "bad"]
    assert lines[2].split()[1:3] == ["-14.50", "-1.00"]


def test_stacking_weights_are_those_of_the_best_mixture():
    """Two models that each know half of the rows share the weight; one that never knows better has none."""
    a, b = np.array([-1.0, -1.0, -5.0, -5.0]), np.array([-5.0, -5.0, -1.0, -1.0])
    found = ct.compare({"a": Fixed(a), "b": Fixed(b), "worse": Fixed(a - 1.0)}, np.zeros((4, 2)))
    weights = dict(zip(found.names, found.weights, strict=True))
    assert weights["a"] == pytest.approx(0.5, abs=1e-3) and weights["worse"] < 1e-3
    assert found.weights.sum() == pytest.approx(1.0) and found.basis == "held-out rows"


def test_stacking_is_arviz_s():
    az = pytest.importorskip("arviz")
    rng = np.random.default_rng(0)
    draws = [rng.normal(-2.0, 0.3, (2, 100, 40)) + rng.normal(0.0, 1.0, 40) for _ in range(3)]
    data = {
        str(k): az.from_dict(posterior={"a": np.zeros((2, 100))}, log_likelihood={"x": x}) for k, x in enumerate(draws)
    }
    theirs = az.compare(data, method="stacking")
    rows = np.array([az.loo(data[str(k)], pointwise=True).loo_i.values for k in range(3)])
    np.testing.assert_allclose(stacking_weights(rows), theirs.loc[["0", "1", "2"], "weight"], atol=0.01)


@pytest.fixture(scope="module")
def fitted():
    """Rows whose columns have different variances along the tree, known to one model and not to the other."""
    X, _ = ct.simulate(30, 4, ct.Fixed(np.diag([1.0, 1.0, 0.01, 0.01])), noise=0.1, random_state=0)
    settings = {"n_samples": 20, "n_warmup": 12, "random_state": 0, "progress": False}
    return {name: ct.fit(X, name, **settings) for name in ("spherical", "diagonal")}


@pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")
def test_compare_leaves_one_out_without_held_out_rows(fitted):
    found = ct.compare(fitted, progress=False)
    assert found.names == ("diagonal", "spherical") and found.basis == "leave-one-out"
    assert found.difference[1] < -4 * found.standard_error[1]
    assert found.log_density[0] == pytest.approx(fitted["diagonal"].loo(progress=False).elpd)
    assert found.rows.shape == (2, 30)
    assert "weight" in str(found)


def test_compare_refuses_other_rows_or_columns(fitted):
    X = np.array(fitted["diagonal"].model.X)
    settings = {"n_samples": 5, "n_warmup": 2, "random_state": 0, "progress": False}
    other = ct.fit(X[:29], "diagonal", **settings)
    with pytest.raises(ct.InputError, match="'diagonal' and 'less' are of different rows"):
        ct.compare({"diagonal": fitted["diagonal"], "less": other})
    X[:, 3] = 1.0
    with pytest.warns(ct.CoaltreeWarning, match="left out"):
        without = ct.fit(X, "scaled", **settings)
    with pytest.raises(ct.InputError, match="only one of posteriors 'all' and 'without' has '3' in its model"):
        ct.compare({"all": ct.fit(X, "spherical", **settings), "without": without})
    with pytest.raises(ct.InputError, match="'b' is of type SimpleNamespace"):
        ct.compare({"a": without, "b": SimpleNamespace()})
