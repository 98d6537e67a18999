"""``n_samples="auto"``: when a run stops, that only its draws decide, and that it is the same however it is cut up."""

import warnings

import joblib
import numpy as np
import pytest

import coaltree as ct
from coaltree.errors import ConvergenceWarning, InterruptedWarning
from coaltree.inference import settings
from coaltree.inference.control import auto_stop, run
from coaltree.model.covariance import Spherical
from coaltree.model.draws import Draws
from coaltree.model.model import Model
from coaltree.model.process.noise import Noise
from coaltree.posterior.diagnostics import convergence
from coaltree.posterior.diagnostics.convergence import chains_agree
from tests.fits import assert_same, at_most_iterations, data, with_missing

QUICK = {"sampler": ct.MPost2(n_particles=3), "random_state": 0, "progress": False}


def auto_fit(X, *args, max_iterations=settings.MAX_ITERATIONS, **options):
    with warnings.catch_warnings(), at_most_iterations(max_iterations):
        warnings.simplefilter("ignore", ConvergenceWarning)
        return ct.fit(X, *args, **(QUICK | options))


@pytest.fixture
def _short(monkeypatch):
    """Checks after few iterations, targets out of reach, and few draws kept: runs that use all of the machinery."""
    monkeypatch.setattr(run, "FIRST_CHECK", 5)
    monkeypatch.setattr(run, "FIRST_CHECK_IN_WARMUP", 4)
    monkeypatch.setattr(settings, "MAX_DRAWS", 8)
    monkeypatch.setattr(settings, "MIN_DRAWS", 8)
    monkeypatch.setitem(convergence.LIMITS, "ess", convergence.LIMITS["ess"]._replace(limit=10_000))


# --- when it stops --------------------------------------------------------------------------------------------------


def test_auto_stops_when_the_targets_are_met():
    with warnings.catch_warnings(record=True) as caught:
        post = ct.fit(data(), "spherical", **QUICK)
    assert not any(one.category is ConvergenceWarning for one in caught)  # the warnings agree with the rule
    said, found = post.info["stopping"], post.info["convergence"]
    assert said["reason"] == "converged"
    assert said["iterations"] == post.info["n_warmup"] + len(post) // 2
    scalars = found.values()
    assert max(one["r_hat"] for one in scalars) == said["r_hat"] <= convergence.LIMITS["r_hat"].limit
    assert min(one["ess"] for one in scalars) == said["ess"] >= convergence.LIMITS["ess"].limit
    agreement = chains_agree(post)
    assert (said["n_clusters"], said["stability_difference"]) == agreement


def test_auto_equals_a_run_of_the_same_length():
    post = auto_fit(data(), "diagonal", max_iterations=60)
    assert post.info["stopping"]["reason"] == "max_iterations"
    assert post.info["stopping"]["iterations"] == 60
    n_warmup = post.info["n_warmup"]
    assert_same(post, auto_fit(data(), "diagonal", n_samples=60 - n_warmup, n_warmup=n_warmup))


@pytest.mark.usefixtures("_short")
def test_auto_thins_draws_by_doubling():
    post = auto_fit(data(), "diagonal", max_iterations=70)
    thin, n_warmup = post.info["stopping"]["thin"], post.info["n_warmup"]
    assert thin in (8, 16)  # by when the warm-up ends
    assert len(post) / 2 == (70 - n_warmup) // thin <= 8
    every = auto_fit(data(), "diagonal", n_samples=70 - n_warmup, n_warmup=n_warmup)
    places = np.arange(len(every)) % (70 - n_warmup)
    assert_same(post, every[np.flatnonzero((places + 1) % thin == 0)])


def test_auto_stops_at_max_seconds_with_some_draws():
    post = auto_fit(data(), max_seconds=1e-6)
    assert post.info["stopping"]["reason"] == "max_seconds"
    assert len(post) >= 2
    assert post.info["n_warmup"] >= 1


# --- the rules ------------------------------------------------------------------------------------------------------


def test_has_settled_sees_a_rising_log_joint():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(200, 2, 40))
    settled = [auto_stop.has_settled(one) for one in noise]
    rises = [auto_stop.has_settled(one + 0.3 * np.arange(40)) for one in noise]  # by 6 standard deviations
    one_rises = [auto_stop.has_settled(one + 0.3 * np.arange(40) * [[1], [0]]) for one in noise]
    assert np.mean(settled) > 0.8  # 0.89 ± 0.02 measured
    assert np.mean(rises) < 0.05
    assert np.mean(one_rises) < 0.05
    assert auto_stop.has_settled(np.ones((2, 40)))


def draws_of(log_joint):
    """Draws of a chain that has only a log joint to show; its trees of three leaves come in any shape."""
    T = len(log_joint)
    rng = np.random.default_rng(int(abs(log_joint[0]) * 1e6))
    first = np.array([[[0, 1], [2, 3]], [[0, 2], [1, 3]], [[1, 2], [0, 3]]])[rng.integers(3, size=T)]
    times = np.sort(rng.exponential(size=(T, 2)), axis=1)
    return Draws(first.astype(np.int32), times, np.zeros(T), log_joint)


def checked(log_joints, n_warmup=None):
    """A run of three leaves with these draws, after its check."""
    T = len(log_joints[0])
    model = Model.of(data(3, 2), Spherical(learn=False), Noise(0.0))
    one = run.Run(model, ct.Regraft(), n_warmup=n_warmup)
    one.n_warmup, one.next_check = 20, 20 + T
    one.chains = (ChainAt(20 + T),) * len(log_joints)
    one.blocks = tuple((draws_of(trace),) for trace in log_joints)
    one._check()
    return one


class ChainAt:
    """A chain that only knows how far it is."""

    def __init__(self, iteration):
        self.iteration = iteration


def test_check_drops_first_draws_that_were_warmup():
    rng = np.random.default_rng(1)
    good = rng.normal(size=(2, 200))
    one = checked(good)
    assert (one.reason, one.n_warmup, one.n_draws) == ("converged", 20, 200)
    late = good - 6.0 * np.maximum(1.0 - np.arange(200) / 45, 0.0)
    one = checked(late)
    assert (one.reason, one.n_warmup, one.n_draws) == ("converged", 70, 150)
    np.testing.assert_array_equal(one.blocks[1][0].log_joint, late[1, 50:])
    assert checked(late, n_warmup=20).n_warmup == 20
    one = checked(good + np.array([[0.0], [5.0]]))  # apart to the end: nothing is gained by dropping
    assert (one.reason, one.n_warmup) == ("", 20)
    assert one.next_check == 20 + 250


# --- the same however it is cut up ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("_short")
def test_auto_is_the_same_in_blocks_and_threads(monkeypatch):
    X = with_missing(data(8, 4))
    whole = auto_fit(X, "full", max_iterations=50)
    with joblib.parallel_config("threading"):
        assert_same(auto_fit(X, "full", max_iterations=50, n_jobs=2), whole)
    monkeypatch.setattr(run, "SECONDS_PER_BLOCK", 0.0)
    again = auto_fit(X, "full", max_iterations=50)
    assert_same(again, whole)
    assert again.info["stopping"] == whole.info["stopping"]


CASES = {
    "missing": (with_missing(data(8, 4)), {"covariance": "diagonal"}),
    "groups": (data(8, 4), {"sampler": ct.Regraft(), "covariance": "scaled", "groups": list("aabbcdef")}),
    "noise": (data(10, 3), {"sampler": ct.Regraft(), "covariance": "scaled", "noise": "student"}),
}
WHOLE = {}  # runs that were never stopped


@pytest.mark.usefixtures("_short")
@pytest.mark.parametrize(  # in the warm-up, before and after draws were thinned
    ("case", "n_before"),
    [
        ("missing", 3),
        ("missing", 13),
        ("noise", 33),
        *(pytest.param("groups", k, marks=pytest.mark.slow) for k in (3, 13, 33)),
    ],
)
def test_auto_resumes_to_the_same_bits(case, n_before, tmp_path, monkeypatch):
    X, options = CASES[case]
    if case not in WHOLE:
        WHOLE[case] = auto_fit(X, max_iterations=40, **options)
    whole = WHOLE[case]
    assert whole.info["stopping"]["thin"] > 1
    monkeypatch.setattr(run, "SECONDS_PER_BLOCK", 0.0)
    monkeypatch.setattr(run, "SECONDS_BETWEEN", 0.0)
    path = tmp_path / "run.checkpoint"
    settings = {"max_iterations": 40, "checkpoint": path, **options}
    with monkeypatch.context() as patch:
        patch.setattr(run, "require_sane", interrupts_after(n_before))
        if n_before == 3:
            with pytest.raises(KeyboardInterrupt):
                auto_fit(X, **settings)
        else:
            with pytest.warns(InterruptedWarning, match=r"interrupted: the posterior holds \d+ trees of each chain"):
                part = auto_fit(X, **settings)
            assert part.info["stopping"]["reason"] == "interrupted"
            assert len(part) > 0
    for _ in range(2):  # a finished checkpoint is the result itself
        resumed = auto_fit(X, **settings)
        assert_same(resumed, whole)
        assert resumed.info["stopping"] == whole.info["stopping"]


def interrupts_after(n_iterations):
    def press(chains, blocks):
        if chains[0].iteration == n_iterations:
            raise KeyboardInterrupt

    return press
