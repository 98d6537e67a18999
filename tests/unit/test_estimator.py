"""The scikit-learn estimator: what it keeps of fit, names, new rows, pipelines and searches."""

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV

import coaltree as ct

pytestmark = pytest.mark.filterwarnings("ignore::coaltree.ConvergenceWarning")
SHORT = {"n_samples": 6, "n_warmup": 4, "random_state": 0}


def groups(n=24, d=3, seed=0):
    """Three well separated groups in turn, and which row is of which."""
    rng = np.random.default_rng(seed)
    of = np.arange(n) % 3
    return rng.standard_normal((n, d)) + 12.0 * np.eye(3, d)[of], of


@pytest.fixture(scope="module")
def fitted():
    X, of = groups()
    return ct.CoalescentClustering(3, **SHORT).fit(X), X, of


def test_estimator_has_the_posterior_of_fit(fitted):
    model, X, of = fitted
    post = ct.fit(X, **SHORT)
    np.testing.assert_array_equal(model.posterior_.log_joint, post.log_joint)
    assert model.tree_ == post.mean_tree()
    np.testing.assert_array_equal(model.children_, model.tree_.children)
    np.testing.assert_array_equal(model.linkage_, model.tree_.to_linkage())
    np.testing.assert_array_equal(model.support_, post.clade_support(model.tree_, kind="transfer"))
    np.testing.assert_array_equal(model.labels_, post.cut(3))
    assert adjusted_rand_score(model.labels_, of) == 1.0
    assert model.labels_[model.tree_.leaf_order()].tolist() == sorted(of)  # numbered as the figure shows them
    assert (model.n_clusters_, model.n_features_in_) == (3, 3)
    assert not hasattr(model, "feature_names_in_")


def test_estimator_passes_every_setting_to_fit(monkeypatch):
    X, _ = groups()
    seen = {}
    home = inspect.getmodule(ct.CoalescentClustering)
    real = home.fit

    def spy(X, covariance, sampler, **settings):
        seen.update(settings, covariance=covariance, sampler=sampler)
        return real(X, "spherical", "regraft", n_samples=2, n_warmup=0)

    monkeypatch.setattr(home, "fit", spy)
    settings = {
        "covariance": "full", "sampler": "greedy", "n_samples": 7, "n_warmup": 3, "n_chains": 5, "noise": 0.5,
        "random_state": 11, "n_jobs": 2, "preprocess": ct.Preprocessor(log=True), "max_seconds": 60.0,
    }  # fmt: skip
    model = ct.CoalescentClustering(2, **settings)
    assert model.get_params() == {"n_clusters": 2, **settings}
    model.fit(X)
    settings["transform"] = settings.pop("preprocess")
    assert seen == {**settings, "progress": False, "errors": None}


def test_estimator_keeps_names_of_rows_and_columns():
    X, _ = groups()
    frame = pd.DataFrame(X, index=[f"wine {i}" for i in range(24)], columns=["a", "b", "ü"])
    model = ct.CoalescentClustering(3, **SHORT).fit(frame)
    assert model.tree_.labels == tuple(frame.index)
    assert list(model.feature_names_in_) == ["a", "b", "ü"]
    assert model.posterior_.model.columns == ("a", "b", "ü")
    np.testing.assert_array_equal(model.predict(frame), model.labels_)
    with pytest.raises(ValueError, match=r"(?s)feature names.*unseen at fit time.*\n- c"):
        model.predict(frame.rename(columns={"ü": "c"}))
    with pytest.raises(ValueError, match="order"):
        model.predict(frame[["b", "a", "ü"]])
    with pytest.raises(ValueError, match=r"(?s)feature names.*yet now missing.*\n- ü"):
        model.predict(frame[["a", "b"]])


def test_predict_puts_new_rows_into_their_group(fitted):
    model, X, _ = fitted
    new, of = groups(30, seed=5)
    of = model.labels_[of]  # the first three rows are one of each group
    np.testing.assert_array_equal(model.predict(new), of)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    probability = model.predict_proba(new)
    assert probability.shape == (30, 3)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(probability.argmax(axis=1), of)
    assert (model.predict_proba([[12.0, 6.0, 0.0]]) < 0.999).all()  # between two groups it is not sure


def test_estimator_with_missing_entries_of_fitted_and_new_rows():
    X, of = groups()
    X[0, 1] = X[4, 2] = np.nan
    model = ct.CoalescentClustering(3, **SHORT).fit(X)
    assert adjusted_rand_score(model.labels_, of) > 0.8
    new, of_new = groups(9, seed=6)
    new[np.arange(9), (of_new + 1) % 3] = np.nan
    assert adjusted_rand_score(model.predict(new), of_new) == 1.0
    assert np.isfinite(model.score(new))


def test_score_is_the_mean_log_density_of_new_rows(fitted):
    model, X, _ = fitted
    new, _ = groups(6, seed=7)
    assert model.score(new) == pytest.approx(model.posterior_.place(new).log_density.mean())
    assert model.score(new + 100.0) < model.score(new)
    assert np.isfinite(model.score(X[:1]))  # with noise a row that was fitted has a density


def test_grid_search_finds_the_covariance_that_explains_new_rows():
    truth = np.diag([1.0, 400.0, 0.0025])
    X, _ = ct.simulate(40, 3, ct.Fixed(truth), random_state=2)
    search = GridSearchCV(
        ct.CoalescentClustering(2, n_samples=12, n_warmup=8, n_chains=1, random_state=0),
        {"covariance": ["spherical", "diagonal"]},
        cv=2,
    )
    with pytest.warns(ct.CoaltreeWarning, match="differ in scale"):
        search.fit(X)
    assert search.best_params_ == {"covariance": "diagonal"}
    spherical, diagonal = search.cv_results_["mean_test_score"]
    assert diagonal - spherical > 2.0
    assert search.best_estimator_.labels_.shape == (40,)


def test_estimator_passes_errors_of_rows_to_fit():
    X, _ = groups()
    errors = np.linspace(0.5, 2.0, len(X))
    model = ct.CoalescentClustering(3, **SHORT)
    labels = model.fit_predict(X, errors=errors)
    np.testing.assert_array_equal(model.posterior_.log_joint, ct.fit(X, errors=errors, **SHORT).log_joint)
    np.testing.assert_array_equal(labels, model.labels_)
    with pytest.raises(ct.InputError, match="errors must have one standard error for each of the 24 rows"):
        model.fit(X, errors=[1.0])


def test_messages_name_the_parameters_of_the_estimator():
    X, _ = groups()
    with pytest.raises(ct.InputError, match="preprocess"):
        ct.CoalescentClustering(3, preprocess="squares", **SHORT).fit(X)
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        ct.CoalescentClustering(3, n_samples=8, n_warmup=1, n_chains=2, random_state=0).fit(X)
    (message,) = [str(one.message) for one in raised if issubclass(one.category, ct.ConvergenceWarning)]
    assert "increase n_warmup and n_samples" in message
    assert "start=" not in message
