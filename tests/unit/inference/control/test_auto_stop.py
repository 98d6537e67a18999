"""``n_samples="auto"``: when a run stops, that only its draws decide, and that it is the same however it is cut up."""

import contextlib
import math
import warnings

import joblib
import numpy as np
import pytest

import coaltree as ct
from coaltree._runtime import archive
from coaltree.errors import ConvergenceWarning, InputError, InterruptedWarning
from coaltree.inference.chains.chain import Plan, Rounds
from coaltree.inference.control import auto_stop, run
from coaltree.inference.control import checkpoint as checkpoint_file
from coaltree.posterior.diagnostics import convergence
from tests import hostile
from tests.unit.inference.test_fit import Interruptible, assert_same, data, pressing_ctrl_c, with_missing

QUICK = {"sampler": ct.MPost2(n_particles=3), "random_state": 0, "progress": False}


def auto_fit(X, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return ct.fit(X, *args, **(QUICK | options))


@pytest.fixture
def _short(monkeypatch):
    """Looks after few rounds, targets out of reach, and few draws kept: runs that use all of the machinery."""
    monkeypatch.setattr(auto_stop, "_FIRST_LOOK", 5)
    monkeypatch.setattr(auto_stop, "_FIRST_IN_WARMUP", 4)
    monkeypatch.setattr(auto_stop, "_KEPT_AT_MOST", 8)
    monkeypatch.setattr(auto_stop, "_KEPT_AT_LEAST", 8)
    monkeypatch.setattr(auto_stop, "ESS_TARGET", 10_000)


# --- when it stops --------------------------------------------------------------------------------------------------


def test_it_stops_when_the_targets_are_met_and_says_so():
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)  # the warnings agree with the rule
        post = ct.fit(data(), "spherical", **QUICK)
    said, found = post.info["stopping"], post.info["convergence"]
    assert said["reason"] == "converged"
    assert said["rounds"] == post.info["n_warmup"] + len(post) // 2
    scalars = [found[name] for name in ("log_joint", "root_time", "amplitude")]
    assert max(one["r_hat"] for one in scalars) == said["r_hat"] <= auto_stop.R_HAT_TARGET
    assert min(one["ess"] for one in scalars) == said["ess"] >= auto_stop.ESS_TARGET
    assert post.topology_ess == pytest.approx(said["topology_ess"])
    assert said["topology_ess"] >= auto_stop.ESS_TARGET
    assert said["split_frequency_sd"] == found["split_frequency_sd"] <= convergence.SPLIT_SD_ABOVE


@pytest.mark.parametrize("n_chains", [1, 2])
def test_figures_of_few_draws_are_no_proof(n_chains):
    post = auto_fit(data(), "spherical", max_iterations=3, n_chains=n_chains)
    assert post.info["stopping"]["reason"] == "max_iterations"


def test_chains_that_never_move_are_not_enough():
    figures = auto_stop.Figures(100, math.inf, "root_time", 500.0, "root_time", 500.0, 0.0)
    assert not figures.are_enough
    assert figures._replace(r_hat=math.nan).are_enough


@pytest.mark.parametrize("given", [{"n_samples": "AUTO"}, {"n_samples": None}, {"n_warmup": "as needed"}])
def test_a_slip_of_the_pen_is_told_of_auto(given):
    with pytest.raises(InputError, match='"auto"'):
        auto_fit(data(), "spherical", **given)


def test_it_is_a_run_of_given_length_once_its_length_is_known():
    post = auto_fit(data(), "diagonal", max_iterations=60)
    assert post.info["stopping"]["reason"] == "max_iterations"
    assert post.info["stopping"]["rounds"] == 60
    n_warmup = post.info["n_warmup"]
    assert_same(post, auto_fit(data(), "diagonal", n_samples=60 - n_warmup, n_warmup=n_warmup))


@pytest.mark.usefixtures("_short")
def test_draws_that_do_not_fit_are_thinned_by_doubling():
    post = auto_fit(data(), "diagonal", max_iterations=70)
    thin, n_warmup = post.info["stopping"]["thin"], post.info["n_warmup"]
    assert thin == 8
    assert len(post) / 2 == (70 - n_warmup) // thin <= 8
    every = auto_fit(data(), "diagonal", n_samples=70 - n_warmup, n_warmup=n_warmup)
    places = np.arange(len(every)) % (70 - n_warmup)
    assert_same(post, every[np.flatnonzero((places + 1) % thin == 0)])


def test_a_given_warmup_is_kept_to():
    post = auto_fit(data(), n_warmup=7, max_iterations=30)
    assert post.info["n_warmup"] == 7
    assert len(post) == 2 * 23
    assert_same(post, auto_fit(data(), n_warmup=7, n_samples=23))
    assert auto_fit(data(), n_samples=3).info["n_warmup"] == 100  # as it always was


def test_what_never_changes_has_converged():
    fixed = ct.Spherical(learn=False)
    post = auto_fit(data(), fixed, sampler="mgreedy")
    assert post.info["stopping"]["reason"] == "converged"
    assert len(post) == 2 * auto_stop._FIRST_LOOK


def test_the_clock_ends_it_with_some_draws():
    post = auto_fit(data(), max_seconds=1e-6)
    assert post.info["stopping"]["reason"] == "max_seconds"
    assert len(post) >= 2
    assert post.info["n_warmup"] >= 1


def test_one_tiny_budget_after_another():
    for max_iterations in (1, 2, 5):
        post = auto_fit(data(), max_iterations=max_iterations)
        assert post.info["stopping"]["rounds"] == max_iterations
        assert post.info["n_warmup"] == max_iterations // 4


def test_few_rows_and_equal_rows_stop_too():
    assert len(auto_fit(data(2, 2))) > 0
    with pytest.warns(ct.CoaltreeWarning, match="duplicate row"):
        assert len(auto_fit(np.ones((4, 3)), "spherical", max_iterations=150)) > 0


def test_budgets_fall_with_the_number_of_leaves_and_draws_with_their_size():
    assert [auto_stop.default_max_iterations(n) for n in (2, 300, 2000, 10_000, 10**6)] == [4000, 4000, 600, 120, 60]
    length = auto_stop.check_length("auto", "auto", None, None)
    assert [auto_stop.begin_auto(length, 100, size).most_kept for size in (1e3, 5e6, 1e9)] == [1000, 200, 100]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"n_samples": "many"}, 'n_samples must be "auto"'),
        ({"n_warmup": "long"}, 'n_warmup must be "auto"'),
        ({"max_iterations": 0}, "max_iterations must be a whole number"),
        ({"max_iterations": 50, "n_warmup": 50}, "max_iterations must be a whole number from 51"),
        ({"max_seconds": 0}, "max_seconds must be a positive number"),
        ({"n_samples": 10, "max_iterations": 50}, 'are for n_samples="auto", not for n_samples=10'),
        ({"n_samples": 10, "max_seconds": 5.0}, 'are for n_samples="auto", not for n_samples=10'),
    ],
)
def test_bad_lengths_are_refused_in_one_sentence(options, says):
    with pytest.raises(InputError, match=says):
        auto_fit(data(), **options)


# --- the rules ------------------------------------------------------------------------------------------------------


def test_a_log_joint_that_still_rises_has_not_settled():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(200, 2, 40))
    settled = [auto_stop.has_settled(one) for one in noise]
    rises = [auto_stop.has_settled(one + 0.3 * np.arange(40)) for one in noise]  # by 6 standard deviations
    one_rises = [auto_stop.has_settled(one + 0.3 * np.arange(40) * [[1], [0]]) for one in noise]
    assert np.mean(settled) > 0.8  # 0.89 ± 0.02 measured
    assert np.mean(rises) < 0.05
    assert np.mean(one_rises) < 0.05
    assert auto_stop.has_settled(np.ones((2, 40)))


def rounds_of(log_joint):
    """Rounds of a chain that has only a log joint to show; its trees of three leaves come in any shape."""
    T = len(log_joint)
    rng = np.random.default_rng(int(abs(log_joint[0]) * 1e6))
    first = np.array([[[0, 1], [2, 3]], [[0, 2], [1, 3]], [[1, 2], [0, 3]]])[rng.integers(3, size=T)]
    times = np.sort(rng.exponential(size=(T, 2)), axis=1)
    return Rounds(first.astype(np.int32), times, log_joint, {}, np.empty((T, 0)), np.empty((T, 0)), {})


def decided(log_joints, **changes):
    plan = Plan(None, None, None, None, n_warmup=20)
    T = len(log_joints[0])
    length = auto_stop.check_length("auto", "auto", 1000, None)
    auto = auto_stop.begin_auto(length, 10, 1.0)._replace(next_look=20 + T, **changes)
    return auto_stop.decide(auto, plan, 20 + T, [[rounds_of(trace)] for trace in log_joints])


def test_first_draws_that_were_warmup_are_dropped():
    rng = np.random.default_rng(1)
    good = rng.normal(size=(2, 200))
    auto, plan, kept = decided(good)
    assert (auto.reason, plan.n_warmup, len(kept[0][0].times)) == ("converged", 20, 200)
    late = good - 6.0 * np.maximum(1.0 - np.arange(200) / 45, 0.0)
    auto, plan, kept = decided(late)
    assert (auto.reason, plan.n_warmup, len(kept[0][0].times)) == ("converged", 70, 150)
    np.testing.assert_array_equal(kept[1][0].log_joint, late[1, 50:])
    _, plan, _ = decided(late, given_warmup=20)
    assert plan.n_warmup == 20
    auto, plan, _ = decided(good + np.array([[0.0], [5.0]]))  # apart to the end: nothing is gained by dropping
    assert (auto.reason, plan.n_warmup) == ("", 20)
    assert auto.next_look == 20 + 250


def test_figures_say_how_much_more_is_needed():
    met = auto_stop.Figures(100, 1.01, "a", 150.0, "a", 120.0, 0.03)
    assert met.are_enough
    for change, factor in (({"r_hat": 1.06}, 3.0), ({"ess": 50.0}, 2.0), ({"topology_ess": 25.0}, 4.0)):
        assert not met._replace(**change).are_enough
        assert met._replace(**change).still_needed == pytest.approx(factor)
    assert met._replace(split_frequency_sd=0.1).still_needed == pytest.approx(4.0)
    assert met._replace(r_hat=math.nan, ess=math.nan, topology_ess=math.nan, split_frequency_sd=math.nan).are_enough


# --- the same however it is cut up ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("_short")
def test_blocks_and_threads_make_no_difference(monkeypatch):
    X = with_missing(data(8, 4))
    whole = auto_fit(X, "full", max_iterations=50)
    with joblib.parallel_config("threading"):
        assert_same(auto_fit(X, "full", max_iterations=50, n_jobs=2), whole)
    monkeypatch.setattr(run, "_SECONDS_A_BLOCK", 0.0)
    again = auto_fit(X, "full", max_iterations=50)
    assert_same(again, whole)
    assert again.info["stopping"] == whole.info["stopping"]


CASES = {
    "missing": (with_missing(data(8, 4)), {"covariance": "diagonal"}),
    "groups": (data(8, 4), {"sampler": ct.Regraft(), "covariance": "scaled", "groups": list("aabbcdef")}),
    "best": (data(9, 2), {"sampler": ct.Regraft(), "covariance": "best"}),
    "noise": (data(10, 3), {"sampler": ct.Regraft(), "covariance": "scaled", "noise": "student"}),
}
WHOLE = {}  # runs that were never stopped


@pytest.mark.usefixtures("_short")
@pytest.mark.parametrize(  # in the warm-up, before and after draws were thinned
    ("case", "rounds_before"),
    [*(("missing", k) for k in (3, 13, 33)), *(("groups", k) for k in (3, 13, 33)), ("noise", 33)],
)
def test_a_run_that_goes_on_ends_as_if_it_had_never_stopped(case, rounds_before, tmp_path, monkeypatch):
    X, options = CASES[case]
    if case not in WHOLE:
        WHOLE[case] = auto_fit(X, max_iterations=40, **options)
    whole = WHOLE[case]
    assert whole.info["stopping"]["thin"] > 1
    monkeypatch.setattr(run, "_SECONDS_A_BLOCK", 0.0)
    monkeypatch.setattr(checkpoint_file, "SECONDS_BETWEEN", 0.0)
    path = tmp_path / "run.checkpoint"
    settings = {"max_iterations": 40, "checkpoint": path, **options}
    with monkeypatch.context() as patch:
        patch.setattr(run, "_require_sense", _interrupts_after(rounds_before))
        if rounds_before == 3:
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


@pytest.mark.usefixtures("_short")
@pytest.mark.parametrize("rounds_before", [3, 33])
def test_a_crafted_state_is_refused(rounds_before, tmp_path, monkeypatch):
    path = tmp_path / "run.checkpoint"
    monkeypatch.setattr(run, "_SECONDS_A_BLOCK", 0.0)
    with monkeypatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", InterruptedWarning)
        patch.setattr(run, "_require_sense", _interrupts_after(rounds_before))
        with contextlib.suppress(KeyboardInterrupt):
            auto_fit(data(), max_iterations=40, checkpoint=path)
    kind = ("coaltree checkpoint", checkpoint_file._VERSION)
    content = archive.read(path, *kind)
    assert (content["auto"]["n_warmup"] is None) == (rounds_before == 3)
    odd = [3, "max_seconds", 41, [np.zeros(3)], [np.zeros(2)] * 2, *hostile.ODD_VALUES[::3]]
    for name, right in content["auto"].items():
        if name == "next_look":  # where one round is as good as another
            odd.remove(3)
        for value in odd:
            if repr(value) != repr(right):
                archive.write(path, *kind, content | {"auto": content["auto"] | {name: value}})
                with pytest.raises(InputError, match="is damaged"):
                    auto_fit(data(), max_iterations=40, checkpoint=path)
    archive.write(path, *kind, content | {"auto": None})
    with pytest.raises(InputError, match="is damaged"):
        auto_fit(data(), max_iterations=40, checkpoint=path)


def _interrupts_after(n_rounds):
    def press(chains, results):
        if chains[0].round == n_rounds:
            raise KeyboardInterrupt

    return press


@pytest.mark.usefixtures("_short", "few_trials")
def test_the_chosen_family_goes_on_as_long_as_needed():
    X, options = CASES["best"]
    post = auto_fit(X, max_iterations=40, **options)
    assert post.info["stopping"]["rounds"] == 40
    assert "choice" in post.info


def test_a_run_stopped_by_the_clock_may_go_on(tmp_path):
    path = tmp_path / "run.checkpoint"
    auto_fit(data(), max_seconds=1e-6, checkpoint=path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        post = ct.fit(data(), checkpoint=path, **QUICK)
    assert post.info["stopping"]["reason"] == "converged"


def test_a_posterior_is_continued():
    first = auto_fit(data(), max_iterations=30)
    second = auto_fit(data(), start=first, max_iterations=30)
    assert not np.array_equal(first.times, second.times)
    assert second.info["stopping"]["rounds"] == 30


def test_an_interruption_keeps_what_there_is(monkeypatch):
    monkeypatch.setattr(run, "_SECONDS_A_BLOCK", 1e-9)  # blocks of one round, however fast the machine is
    X = data()
    whole = auto_fit(X, max_iterations=100)
    with pytest.warns(InterruptedWarning) as caught:
        part = auto_fit(X, max_iterations=100, sampler=pressing_ctrl_c(2 * 90))
    assert 0 < len(part) < len(whole)
    (warning,) = [one.message for one in caught if isinstance(one.message, InterruptedWarning)]
    assert warning.n_done == len(part) / 2
    assert Interruptible.steps == 2 * 90
