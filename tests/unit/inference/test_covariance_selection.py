"""`covariance="best"`: what is tried, what wins, the same bits however it is run, and what it says of it."""

import joblib
import numpy as np
import pytest

import coaltree as ct
from coaltree.inference import covariance_selection
from coaltree.inference.covariance_selection import short_iterations
from coaltree.inference.fit_data import families_to_compare
from coaltree.posterior.diagnostics.covariance_selection import in_a_line
from coaltree.report.page import report_html

pytestmark = [pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning"), pytest.mark.usefixtures("few_trials")]
SHORT = {"n_samples": 6, "n_warmup": 4, "random_state": 0, "progress": False}
FITTED = []  # once for all tests


def correlated(n=24, seed=0):
    """Rows of a tree along which two columns change together."""
    Phi = np.array([[1.0, 0.98, 0.0], [0.98, 1.0, 0.0], [0.0, 0.0, 1.0]])
    return np.asarray(ct.simulate(n, 3, ct.Fixed(Phi), noise=0.05, random_state=seed)[0])


@pytest.fixture
def fitted(few_trials):
    if not FITTED:
        FITTED.append(ct.fit(correlated(), "best", **SHORT))
    return FITTED[0]


def test_best_of_correlated_columns_is_full(fitted):
    choice = fitted.info["choice"]
    assert choice["covariance"] == "full" and isinstance(fitted.covariance, ct.Full)
    assert sorted(choice["names"]) == ["diagonal", "full", "scaled", "spherical"]
    assert choice["names"][0] == "full" and choice["difference"][0] == 0.0
    assert max(choice["difference"][1:]) < -10.0
    assert choice["n_rows"] == 24
    line = in_a_line(choice)
    assert line.startswith("full, best of 4 by leave-one-out of 24 rows: ") and line.endswith("nats")
    assert len(fitted) == 12 and fitted.info["n_warmup"] == 4


def test_best_of_equal_columns_has_no_correlations():
    X = np.asarray(ct.simulate(24, 8, ct.Spherical(amplitude=1.0), noise=0.05, random_state=1)[0])
    post = ct.fit(X, "best", **SHORT)
    assert post.info["choice"]["covariance"] in ("scaled", "spherical", "diagonal")


def test_best_is_repeated_by_a_seed_with_any_jobs(fitted):
    with joblib.parallel_config("threading"):
        again = ct.fit(correlated(), "best", n_jobs=2, **SHORT)
    np.testing.assert_array_equal(again.times, fitted.times)
    same = [name for name in fitted.info["choice"] if name != "seconds"]
    assert all(again.info["choice"][name] == fitted.info["choice"][name] for name in same)


def test_best_is_remembered_by_a_checkpoint(fitted, tmp_path, monkeypatch):
    from coaltree.inference.control.run import Run

    path, real = tmp_path / "run.npz", Run._take_block
    blocks = []

    def stop_in_the_last_run(run, *options):
        if run.state.selection is not None:
            blocks.append(1)
            if len(blocks) > 4:
                raise KeyboardInterrupt
            monkeypatch.setattr("coaltree.inference.control.run.SECONDS_PER_BLOCK", 0.0)
        return real(run, *options)

    monkeypatch.setattr(Run, "_take_block", stop_in_the_last_run)
    part = ct.fit(correlated(), "best", checkpoint=path, **SHORT)
    assert part.info["interrupted"]
    monkeypatch.undo()
    monkeypatch.setattr(covariance_selection, "select", None)  # not again
    whole = ct.fit(correlated(), "best", checkpoint=path, **SHORT)
    np.testing.assert_array_equal(whole.times, fitted.times)
    assert whole.info["choice"]["covariance"] == "full"
    with pytest.raises(ct.InputError, match="belongs to other data or settings"):
        ct.fit(correlated(), "full", checkpoint=path, **SHORT)


def test_best_that_is_interrupted_while_it_selects_begins_again(fitted, tmp_path, monkeypatch):
    """Nothing of a selection is saved: it takes less than the fit, and is the same when it is repeated."""
    path, real = tmp_path / "run.npz", covariance_selection._leave_one_out
    candidates = []

    def stop_at_the_third(data, run, *options):
        candidates.append(run)
        if len(candidates) == 3:
            raise KeyboardInterrupt
        return real(data, run, *options)

    monkeypatch.setattr(covariance_selection, "_leave_one_out", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        ct.fit(correlated(), "best", checkpoint=path, **SHORT)
    assert not list(tmp_path.iterdir())
    whole = ct.fit(correlated(), "best", checkpoint=path, **SHORT)
    np.testing.assert_array_equal(whole.times, fitted.times)


def test_families_to_compare_suit_the_table():
    rng = np.random.default_rng(0)
    assert list(families_to_compare(rng.normal(size=(20, 8)), False, None)) == [
        "scaled",
        "spherical",
        "diagonal",
        "full",
    ]
    assert list(families_to_compare(rng.normal(size=(10, 8)), False, None)) == ["scaled", "spherical", "diagonal"]
    assert "squared_exponential" in families_to_compare(rng.normal(size=(10, 8)), True, None)
    smooth = families_to_compare(rng.normal(size=(10, 3)), False, [0.0, 1.0, 5.0])["squared_exponential"]
    assert smooth.inputs.ravel().tolist() == [0.0, 1.0, 5.0]
    with pytest.raises(ct.InputError):
        families_to_compare(rng.normal(size=(10, 3)), False, [0.0, 1.0])


def test_short_iterations_are_a_share_of_the_whole(monkeypatch):
    """Three losers of four and all leave-one-outs must not cost more than the fit: 600 iterations of each chain."""
    monkeypatch.undo()  # what shortens them elsewhere
    assert short_iterations(600, 500) == (60, 24)
    assert short_iterations(600, 4000)[0] < 40
    assert short_iterations(30, 20) == (30, 12)


def test_best_takes_hard_tables():
    """Constant, nearly constant and repeated columns, and fewer rows than columns."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(4, 3)) * 4, 8, axis=0) + rng.normal(size=(32, 3))
    rare = np.zeros((32, 2))
    rare[[3, 17], [0, 1]] = 1.0
    hard = np.column_stack([X, np.ones(32), rare, X[:, 1]])
    post = ct.fit(hard, "best", **SHORT)
    assert post.used.tolist() == [0, 1, 2, 4, 5]
    assert np.isfinite(post.info["choice"]["elpd"]).all() and 0.01 < np.median(post.times[:, -1]) < 100.0
    wide = ct.fit(rng.normal(size=(8, 20)), "best", **SHORT)
    assert "full" not in wide.info["choice"]["names"]


def test_best_of_curves_is_smooth():
    X = np.asarray(ct.simulate(30, 10, ct.SquaredExponential(length2=9.0, noise=0.05), random_state=0)[0])
    post = ct.fit(X, "best", ordered=True, **SHORT)
    assert post.info["choice"]["covariance"] == "squared_exponential"


def test_best_is_taken_by_the_estimator():
    model = ct.CoalescentClustering(2, covariance="best", n_samples=10, n_warmup=5, random_state=0).fit(correlated())
    assert model.posterior_.info["choice"]["covariance"] == "full"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"covariance": "full", "ordered": True}, "ordered and inputs need"),
        ({"covariance": "best", "sampler": "mgreedy"}, 'sampler="regraft"'),
    ],
)
def test_best_refuses_what_it_cannot_select(settings, message):
    with pytest.raises(ct.InputError, match=message):
        ct.fit(correlated(), n_samples=2, **settings)
    with pytest.raises(ct.InputError, match="name one or give"):
        ct.sample_trees(correlated(), "best")


def test_best_begins_anew(fitted):
    with pytest.raises(ct.InputError, match="begins anew"):
        ct.fit(correlated(), "best", start=fitted, **SHORT)


def test_best_is_shown_by_files_report_and_info(fitted, tmp_path, capsys):
    from coaltree.cli import main

    path = tmp_path / "p.npz"
    fitted.save(path)
    assert ct.load(path).info["choice"] == fitted.info["choice"]
    assert main(["info", str(path)]) == 0
    assert "Full (full, best of 4 by leave-one-out of 24 rows" in capsys.readouterr().out
    assert "<code>full</code> was selected: it predicts each row best from all" in report_html(fitted)
