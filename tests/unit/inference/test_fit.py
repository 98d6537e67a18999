"""The outer loop: what it returns, what it refuses, and that a run is the same however it is cut up."""

import itertools
import os
import subprocess
import sys
import warnings
from dataclasses import dataclass
from typing import ClassVar

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.neighbors import kneighbors_graph

from coaltree._runtime import temp_memmap
from coaltree.errors import CoaltreeWarning, ConvergenceWarning, InputError, InterruptedWarning
from coaltree.inference.chains import chain as chain_of_fit
from coaltree.inference.chains.chain import Plan, Start, advance, begin, with_neighbors_of_many
from coaltree.inference.control import checkpoint as checkpoint_file
from coaltree.inference.control import run
from coaltree.inference.fit import fit
from coaltree.model.covariance import Diagonal, Full, Kernel, Matern32, Spherical, SquaredExponential
from coaltree.model.process.coalescent import simulate_tree
from coaltree.model.process.diffusion import simulate_data
from coaltree.model.process.noise import Noise, noise_model
from coaltree.posterior.diagnostics import convergence
from coaltree.samplers.merging.greedy import MGreedy
from coaltree.samplers.merging.mpost import MPost2
from coaltree.samplers.regraft.regraft import Regraft
from coaltree.tree import Tree

QUICK = MPost2(n_particles=3)
LOCAL = Regraft(candidates="local", n_neighbors=2)


def data(n=8, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return simulate_data(simulate_tree(n, rng), d, rng)


def quick_fit(X, *args, **options):
    settings = {"sampler": QUICK, "n_samples": 6, "n_warmup": 2, "random_state": 0} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit(X, *args, **settings)


def assert_same(a, b):
    """Every draw of two posteriors is the same, bit for bit."""
    np.testing.assert_array_equal(a.children, b.children)
    np.testing.assert_array_equal(a.times, b.times)
    np.testing.assert_array_equal(a.log_joint, b.log_joint)
    np.testing.assert_array_equal(a.chain, b.chain)
    assert a.theta.keys() == b.theta.keys()
    for name in a.theta:
        np.testing.assert_array_equal(a.theta[name], b.theta[name])
    if a.imputed is not None or b.imputed is not None:
        np.testing.assert_array_equal(a.imputed, b.imputed)


def with_missing(X, share=0.15, seed=1):
    X = X.copy()
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


# --- what it returns ------------------------------------------------------------------------------------------------


def test_a_posterior_has_a_tree_and_parameters_for_every_round():
    frame = pd.DataFrame(data(), index=list("abcdefgh"), columns=["x", "y", "z"])
    post = quick_fit(frame, n_chains=3)
    assert len(post) == 18
    assert post.labels == tuple("abcdefgh")
    assert post.columns == ("x", "y", "z")
    np.testing.assert_array_equal(post.chain, np.repeat([0, 1, 2], 6))
    np.testing.assert_allclose(post.weights, 1 / 18)
    assert post.theta["amplitude"].shape == (18,)
    assert np.all(np.isfinite(post.log_joint))
    assert post.trees[0].labels == tuple("abcdefgh")
    assert post.imputed is None
    assert post.info["seed"] == 0
    assert post.info["estimate"]["seconds"] > 0
    assert post.info["estimate"]["n_bytes"] > 0
    assert set(post.info["convergence"]) == {"log_joint", "root_time", "amplitude", "split_frequency_sd"}


def test_log_joint_is_the_density_of_what_is_returned():
    X = data()
    post = quick_fit(X, SquaredExponential(1.0, 0.1))
    for t in (0, 7):
        theta = {name: float(draws[t]) for name, draws in post.theta.items()}
        covariance = post.covariance.with_theta(theta)
        tree = post.trees[t]
        density = tree.log_prior() + tree.log_likelihood(X, covariance.matrix(3)) + covariance.log_prior()
        assert post.log_joint[t] == pytest.approx(density, rel=1e-9)


@pytest.mark.parametrize(
    ("covariance", "shapes"),
    [
        ("spherical", {"amplitude": ()}),
        ("diagonal", {"variances": (4,)}),
        ("full", {"Phi": (4, 4)}),
        ("squared_exponential", {"amplitude": (), "length2": (), "noise": ()}),
        (Matern32((1.0, 2.0), 0.1, (2, 2)), {"amplitude": (), "length": (2,), "noise": ()}),
        (SquaredExponential(1.0, 0.1, learn="length2"), {"length2": ()}),
        (np.eye(4), {}),
        (Spherical(learn=False), {}),
    ],
)
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_every_covariance_and_its_named_draws(covariance, shapes, noise):
    post = quick_fit(data(d=4), covariance, noise=noise)
    assert {name: draws.shape[1:] for name, draws in post.theta.items()} == shapes
    assert np.all(np.isfinite(post.log_joint))
    for draws in post.theta.values():
        assert len(np.unique(draws.reshape(len(draws), -1)[:, 0])) == len(draws)


def test_a_greedy_sampler_alternates_with_the_covariance():
    post = quick_fit(data(), Diagonal(), sampler=MGreedy(), n_chains=1)
    assert len(np.unique(post.theta["variances"][:, 0])) == 6


def test_copies_are_merged_at_time_0():
    X = data()
    X[5] = X[2]
    with pytest.warns(CoaltreeWarning, match="duplicate row"):
        post = quick_fit(X)
    assert post.n == 8
    assert np.all(post.times[:, 0] == 0)
    assert np.all(post.times[:, 1] > 0)


def test_rows_that_are_all_equal_end_in_a_tree():
    with pytest.warns(CoaltreeWarning, match="duplicate row"):
        post = quick_fit(np.ones((4, 3)), "spherical")
    assert np.all(post.times == 0)
    assert np.all(np.isfinite(post.log_joint))
    assert np.all(post.theta["amplitude"] > 0)


def test_two_rows_are_enough():
    post = quick_fit(data(2, 2))
    assert post.n == 2
    assert np.all(np.isfinite(post.log_joint))


def test_chains_start_apart():
    plan = Plan(QUICK, noise_model(Noise(0.0), data(30, 5)), None, None, 0)
    X = data(30, 5)
    covariance = Spherical().adapt(X)
    first, second, third = (begin(plan, X, covariance, Start(), 0, dispersed) for dispersed in (False, True, True))
    assert tree_distance(first, second) > 0
    np.testing.assert_array_equal(second.tree[1], third.tree[1])


def tree_distance(a, b):
    clades = [{tuple(key) for key in Tree(*chain.tree).clade_keys()} for chain in (a, b)]
    return len(clades[0] ^ clades[1])


@dataclass(frozen=True)
class Watched(Regraft):
    """Notes which lists of near leaves it is given."""

    candidates: str = "local"
    n_neighbors: int = 2
    made: ClassVar[list] = []
    used: ClassVar[list] = []

    def neighbors(self, problem, rng):
        self.made.append(super().neighbors(problem, rng))
        return self.made[-1]

    def step(self, problem, tree, rng, **options):
        self.used.append(options["neighbors"])
        return super().step(problem, tree, rng, **options)


def test_lists_of_near_leaves_are_frozen_after_the_warmup():
    Watched.made.clear()
    Watched.used.clear()
    plan = Plan(Watched(), noise_model(Noise(0.0), data(12, 4)), None, None, n_warmup=12)
    X = data(12, 4)
    chain = begin(plan, X, Diagonal().adapt(X), Start(), 0)
    chain, _ = advance(plan, chain, 5)
    chain, _ = advance(plan, chain, 20)
    assert len(Watched.made) == 3  # before rounds 0 and 10 of the warm-up, and at its end
    steps = Watched().steps_per_iteration(12, chain.neighbors)
    assert len(Watched.used) == 25 * steps
    for step, used in enumerate(Watched.used):
        round = step // steps
        np.testing.assert_array_equal(used, Watched.made[0 if round < 10 else 1 if round < 12 else 2])
    np.testing.assert_array_equal(chain.neighbors, Watched.made[2])
    constant = begin(plan, X, Spherical(learn=False), Start(), 0)
    advance(plan, constant, 15)
    assert len(Watched.made) == 5  # nothing changes but how far it looks
    assert [made.shape[2] for made in Watched.made] == [11, 11, 4, 11, 4]  # all others in the warm-up, then 2 · 2


@pytest.mark.parametrize(("n", "steps", "repeat"), [(12, 4, False), (600, 2, False), (1200, 1, True)])
def test_few_rows_have_several_trees_a_round_and_each_its_parameters(monkeypatch, n, steps, repeat):
    drawn = []

    def draw(known, times, covariance, noise, rng, repeat=True):
        drawn.append((len(times), repeat))
        return times, covariance, noise

    X = data(n, 2)
    plan = Plan(Regraft(), noise_model(Noise("learn"), X), None, None, n_warmup=0)
    chain = begin(plan, X, Spherical().adapt(X), Start(theta={"noise_level": 0.1}), np.random.SeedSequence(0))
    monkeypatch.setattr(chain_of_fit, "draw_parameters", draw)
    chain, kept = advance(plan, chain, 1)
    assert drawn == [(n - 1, repeat)] * steps
    assert chain.round == 1
    assert len(kept[0].times) == 1


class Counting(Regraft):
    """Says how many steps it has taken, and in every second one something else."""

    def step(self, problem, tree, rng, **options):
        count = next(self.counts)
        other = {"odd": 10.0 * count} if count % 2 else {}
        return *super().step(problem, tree, rng, **options)[:2], {"count": count, "words": "are left out", **other}


def test_what_a_sampler_says_is_averaged_over_the_steps_of_a_round():
    Counting.counts = itertools.count()
    X = data(12, 2)
    plan = Plan(Counting(), noise_model(Noise(0.0), X), None, None, n_warmup=0)
    _, (kept,) = advance(plan, begin(plan, X, Spherical().adapt(X), Start(), np.random.SeedSequence(0)), 2)
    assert {name: said.tolist() for name, said in kept.info.items()} == {"count": [1.5, 5.5], "odd": [20.0, 60.0]}


def test_lists_of_many_leaves_are_made_once(monkeypatch):
    monkeypatch.setattr(chain_of_fit, "_MANY", 10)
    Watched.made.clear()
    Watched.used.clear()
    X = data(12, 4)
    plan = Plan(Watched(), noise_model(Noise(0.0), X), None, None, n_warmup=3)
    begun = [begin(plan, X, Diagonal().adapt(X), Start(), seed) for seed in (0, 1)]
    chain, other = with_neighbors_of_many(plan, begun)
    advance(plan, chain, 1)  # as a round is timed
    advance(plan, chain, 6)
    advance(plan, other, 6)
    assert [made.shape[2] for made in Watched.made] == [11]
    assert all(used is not None and used.shape[2] == 11 for used in Watched.used)
    quick_fit(X, "diagonal", sampler=Watched(), n_chains=3, n_jobs=1)
    assert len(Watched.made) == 2  # one search for all chains
    with joblib.parallel_config(backend="threading"):  # other processes know nothing of the patch
        assert_same(*(quick_fit(X, "diagonal", sampler=LOCAL, n_jobs=n_jobs) for n_jobs in (1, 2)))


# --- neighbours that are given -------------------------------------------------------------------------------------


def test_neighbors_in_place_of_a_search():
    X = data(40, 3)
    given = kneighbors_graph(X, 6)
    post = quick_fit(X, "diagonal", sampler=LOCAL, neighbors=given)
    with joblib.parallel_config("threading"):
        assert_same(post, quick_fit(X, "diagonal", sampler=LOCAL, neighbors=given.astype(int), n_jobs=2))
    everything = np.ones((40, 40)) - np.eye(40)  # what a search would look at
    assert_same(
        quick_fit(X, "diagonal", sampler=LOCAL),
        quick_fit(X, "diagonal", sampler=LOCAL, neighbors=sparse.csr_array(everything)),
    )


def test_neighbors_go_with_regraft():
    with pytest.raises(InputError, match="MPost2"):
        quick_fit(data(), neighbors=kneighbors_graph(data(), 4))


# --- missing entries ------------------------------------------------------------------------------------------------


def test_missing_entries_are_drawn_and_kept():
    X = with_missing(data(12, 4))
    missing = np.isnan(X)
    assert missing.any()
    for covariance in ("spherical", "full", Matern32(1.0, 0.1, (2, 2))):
        post = quick_fit(X, covariance)
        assert post.imputed.shape == (12, missing.sum())
        assert np.all(np.isfinite(post.imputed))
        assert len(np.unique(post.imputed[:, 0])) == 12
        np.testing.assert_array_equal(post.X, X)
        filled = post.completed(3)
        np.testing.assert_array_equal(filled[missing], post.imputed[3])
        np.testing.assert_array_equal(filled[~missing], X[~missing])


def test_empty_rows_and_columns_are_refused():
    X = data()
    X[4] = np.nan
    with pytest.raises(InputError, match="row '4' of X has only missing values"):
        quick_fit(X)
    X = data()
    X[:, 1] = np.nan
    with pytest.raises(InputError, match="column 1 of X has only missing values"):
        quick_fit(X)


# --- the same run, however it is cut up -----------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", ["spherical", Matern32((1.0, 2.0), 0.1, (2, 2))], ids=["spherical", "matern32"])
def test_same_seed_same_bits(covariance):
    X = with_missing(data(8, 4))
    first = quick_fit(X, covariance)
    assert_same(first, quick_fit(X, covariance))
    other = quick_fit(X, covariance, random_state=1)
    assert not np.array_equal(first.log_joint, other.log_joint)


def test_blocks_make_no_difference(monkeypatch):
    X = with_missing(data(8, 4))
    whole = quick_fit(X, "diagonal")
    monkeypatch.setattr(run, "_SECONDS_A_BLOCK", 0.0)
    assert_same(whole, quick_fit(X, "diagonal"))


def test_draws_in_a_file_are_the_same_draws(monkeypatch, tmp_path):
    X = data(60)
    options = {"sampler": LOCAL, "n_samples": 20, "noise": "student"}
    expected = quick_fit(X, **options)
    monkeypatch.setattr(temp_memmap, "LARGE", 1)
    post = quick_fit(X, checkpoint=tmp_path / "state", **options)
    assert_same(post, expected)
    np.testing.assert_array_equal(post.cut(2), expected.cut(2))
    assert_same(quick_fit(X, start=post, **options), quick_fit(X, start=expected, **options))


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, marks=pytest.mark.slow),
        {"max_nbytes": 1},
        {"backend": "threading"},
        {"backend": "multiprocessing"},
    ],
    ids=["loky", "memmap", "threading", "multiprocessing"],
)
def test_two_jobs_give_the_same_bits(options):
    X = with_missing(data(8, 4))
    alone = quick_fit(X, "squared_exponential", sampler=LOCAL)
    with joblib.parallel_config(**{"backend": "loky"} | options):
        assert_same(alone, quick_fit(X, "squared_exponential", sampler=LOCAL, n_jobs=2))


def test_eight_threads_at_once_give_the_same_bits():
    X = with_missing(data(8, 4))
    alone = quick_fit(X, "full")
    found = joblib.Parallel(n_jobs=8, backend="threading")(joblib.delayed(quick_fit)(X, "full") for _ in range(8))
    for one in found:
        assert_same(one, alone)


@pytest.mark.parametrize("n_workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_dask_cluster_gives_the_same_bits(n_workers):
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    X = with_missing(data(8, 4))
    alone = quick_fit(X)
    with (
        distributed.LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
    ):
        assert_same(alone, quick_fit(X))


def test_the_seed_in_use_repeats_the_run():
    X = data()
    first = quick_fit(X, random_state=None)
    assert_same(first, quick_fit(X, random_state=first.info["seed"]))
    drawn = quick_fit(X, random_state=np.random.default_rng(5))
    assert_same(drawn, quick_fit(X, random_state=np.random.default_rng(5)))
    assert_same(drawn, quick_fit(X, random_state=drawn.info["seed"]))


def test_the_covariance_of_a_posterior_repeats_its_run():
    X = data(8, 4)
    for covariance in (
        "spherical",
        "diagonal",
        "full",
        SquaredExponential(1.0, 0.1),
        Matern32((1.0, 2.0), 0.1, (2, 2)),
    ):
        first = quick_fit(X, covariance)
        assert_same(first, quick_fit(X, first.covariance))


# --- interruptions and checkpoints ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Interruptible(MPost2):
    """At step `stop_at` behaves as if Ctrl-C had been pressed."""

    n_particles: int = 3

    steps: ClassVar[int] = 0
    stop_at: ClassVar[int] = 0

    def step(self, problem, tree, rng, **options):
        type(self).steps += 1
        if self.steps == self.stop_at:
            raise KeyboardInterrupt
        return super().step(problem, tree, rng, **options)


def pressing_ctrl_c(at):
    Interruptible.steps, Interruptible.stop_at = 0, at
    return Interruptible()


# With two chains and two rounds of warm-up: one or two rounds that are only timed, then two steps a round.
DURING_WARMUP, SOME_ROUNDS_LATER = 3, 12


@pytest.fixture
def _every_round(monkeypatch):
    monkeypatch.setattr(run, "_SECONDS_A_BLOCK", 0.0)
    monkeypatch.setattr(checkpoint_file, "SECONDS_BETWEEN", 0.0)


def covariances_to_resume():
    from sklearn.gaussian_process.kernels import RBF, WhiteKernel

    return [
        Spherical(),
        Diagonal(),
        Full(),
        SquaredExponential(1.0, 0.1),
        Matern32((1.0, 2.0), 0.1, (2, 2)),
        Kernel(RBF(1.5) + WhiteKernel(0.2)),
    ]


@pytest.mark.usefixtures("_every_round")
@pytest.mark.parametrize("covariance", covariances_to_resume(), ids=lambda c: type(c).__name__)
def test_a_run_that_goes_on_ends_as_if_it_had_never_stopped(covariance, tmp_path):
    X, path = with_missing(data(8, 4)), tmp_path / "run.checkpoint"
    whole = quick_fit(X, covariance)
    with pytest.warns(InterruptedWarning, match=r"interrupted: the posterior holds \d of 6 trees") as caught:
        part = quick_fit(X, covariance, sampler=pressing_ctrl_c(SOME_ROUNDS_LATER), checkpoint=path)
    assert 0 < len(part) < len(whole)
    (warning,) = [one.message for one in caught if isinstance(one.message, InterruptedWarning)]
    assert (warning.n_done, warning.n_asked) == (len(part) / 2, 6)
    assert part.info["interrupted"]
    assert not whole.info["interrupted"]
    assert_same(part, whole[np.flatnonzero(np.arange(12) % 6 < len(part) / 2)])
    for _ in range(2):  # a finished checkpoint is the result itself
        assert_same(quick_fit(X, covariance, sampler=pressing_ctrl_c(0), checkpoint=path), whole)
    assert Interruptible.steps == 0


@pytest.mark.usefixtures("_every_round")
def test_an_interruption_with_nothing_to_return_is_an_interruption(tmp_path):
    X, path = data(), tmp_path / "run.checkpoint"
    with pytest.raises(KeyboardInterrupt):
        quick_fit(X, sampler=pressing_ctrl_c(DURING_WARMUP), checkpoint=path)
    assert_same(quick_fit(X, sampler=pressing_ctrl_c(0), checkpoint=path), quick_fit(X))
    with pytest.raises(KeyboardInterrupt):
        quick_fit(X, sampler=pressing_ctrl_c(1))


@dataclass(frozen=True)
class InterruptibleLocal(Regraft):
    """At its first step, if told so, behaves as if Ctrl-C had been pressed."""

    candidates: str = "local"
    n_neighbors: int = 2
    stops: ClassVar[bool] = False

    def step(self, problem, tree, rng, **options):
        if self.stops:
            raise KeyboardInterrupt
        return super().step(problem, tree, rng, **options)


@pytest.mark.parametrize("many", [10, 20_000])  # leaves above which lists are made before the first round, or in it
def test_a_run_interrupted_in_its_first_round_goes_on(many, tmp_path, monkeypatch):
    monkeypatch.setattr(chain_of_fit, "_MANY", many)
    X, path = data(12, 4), tmp_path / "run.checkpoint"
    sampler = InterruptibleLocal()
    monkeypatch.setattr(InterruptibleLocal, "stops", True)
    with pytest.raises(KeyboardInterrupt):
        quick_fit(X, sampler=sampler, checkpoint=path)
    monkeypatch.setattr(InterruptibleLocal, "stops", False)
    assert path.exists()
    assert_same(quick_fit(X, sampler=sampler, checkpoint=path), quick_fit(X, sampler=sampler))


# Says so when the third checkpoint is about to take the place of the second, or has taken it, and waits to be killed.
KILLED = """
import os, sys, threading
import numpy as np
import coaltree as ct
from coaltree.inference.control import checkpoint, run

def replace_and_wait(*paths):
    replaced.append(paths)
    if len(replaced) < 3 or sys.argv[3] == "after":
        replace(*paths)
    if len(replaced) == 3:
        print("waiting", flush=True)
        threading.Event().wait()

replace, replaced = os.replace, []
os.replace = replace_and_wait
checkpoint.SECONDS_BETWEEN = 0.0
run._SECONDS_A_BLOCK = 0.0
ct.fit(
    np.load(sys.argv[1]), "diagonal", ct.MPost2(n_particles=3),
    n_samples=60, n_warmup=2, random_state=0, checkpoint=sys.argv[2],
)
"""


@pytest.mark.parametrize("moment", ["before", pytest.param("after", marks=pytest.mark.slow)])
def test_a_killed_process_loses_nothing(tmp_path, moment):
    X = with_missing(data(8, 4))
    np.save(tmp_path / "X.npy", X)
    path = tmp_path / "run.checkpoint"
    command = [sys.executable, "-c", KILLED, str(tmp_path / "X.npy"), str(path), moment]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "waiting\n"
        finally:
            process.kill()
    settings = {"sampler": QUICK, "n_samples": 60, "n_warmup": 2}
    resumed = quick_fit(X, "diagonal", checkpoint=path, **settings)
    assert_same(resumed, quick_fit(X, "diagonal", **settings))


@pytest.mark.usefixtures("_every_round")
def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    X, path = data(), tmp_path / "run.checkpoint"
    quick_fit(X, checkpoint=path)
    changed = X.copy()
    changed[0, 0] += 1e-9
    frame = pd.DataFrame(X, index=list("abcdefgh"))
    for args, options in [
        ((changed,), {}),
        ((frame,), {}),
        ((X, "diagonal"), {}),
        ((X, Spherical(amplitude=3.0)), {}),
        ((X,), {"n_samples": 7}),
        ((X,), {"n_warmup": 3}),
        ((X,), {"n_chains": 3}),
        ((X,), {"noise": 0.1}),
        ((X,), {"sampler": MPost2(n_particles=4)}),
    ]:
        with pytest.raises(InputError, match="belongs to other data or settings"):
            quick_fit(*args, checkpoint=path, **options)
    with pytest.raises(InputError, match="belongs to another random_state"):
        quick_fit(X, checkpoint=path, random_state=1)
    with joblib.parallel_config("threading"):
        assert_same(quick_fit(X, checkpoint=path, n_jobs=2, progress=False), quick_fit(X))


@pytest.mark.usefixtures("_every_round")
def test_a_full_disk_costs_no_draws_and_leaves_the_last_good_checkpoint(tmp_path, monkeypatch):
    X, path = data(), tmp_path / "run.checkpoint"
    with pytest.warns(InterruptedWarning):
        quick_fit(X, sampler=pressing_ctrl_c(SOME_ROUNDS_LATER), checkpoint=path)
    good = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.warns(CoaltreeWarning, match="not saved: .*No space left on device. It goes on; what was saved"):
            assert_same(quick_fit(X, sampler=pressing_ctrl_c(0), checkpoint=path), quick_fit(X))
    assert path.read_bytes() == good
    assert os.listdir(tmp_path) == [path.name]


def test_figures_that_cannot_be_had_cost_no_draws(monkeypatch):
    def fails(post):
        raise TypeError("no docstring")

    monkeypatch.setattr("coaltree.posterior.diagnostics.convergence.figures", fails)
    with pytest.warns(CoaltreeWarning, match=r"convergence could not be judged \(TypeError: no docstring\); the draws"):
        post = quick_fit(data())
    assert len(post) == 12


def test_too_few_draws_for_r_hat_is_said():
    with pytest.warns(ConvergenceWarning, match="R-hat cannot be computed, of too few draws"):
        fit(data(), sampler=QUICK, n_samples=2, n_warmup=0, random_state=0)


def test_the_cost_of_a_full_covariance_is_said_first(monkeypatch):
    monkeypatch.setattr("coaltree.inference.fit._MANY_COLUMNS", 4)
    with pytest.warns(CoaltreeWarning, match=r"a full covariance of 4 columns .* takes some .* a round; use"):
        quick_fit(data(8, 4), "full")


@pytest.mark.usefixtures("_every_round")
def test_without_a_seed_a_checkpoint_goes_on_with_its_own(tmp_path):
    X, path = data(), tmp_path / "run.checkpoint"
    with pytest.warns(CoaltreeWarning, match="interrupted"):
        quick_fit(X, sampler=pressing_ctrl_c(SOME_ROUNDS_LATER), checkpoint=path, random_state=None)
    resumed = quick_fit(X, sampler=pressing_ctrl_c(0), checkpoint=path, random_state=None)
    assert_same(resumed, quick_fit(X, random_state=resumed.info["seed"]))


def test_bad_checkpoint_paths_are_refused_before_any_work(tmp_path):
    garbage = tmp_path / "garbage"
    garbage.write_bytes(b"not a checkpoint")
    for path, says in [
        (garbage, "not a coaltree checkpoint"),
        (tmp_path, "a folder"),
        (tmp_path / "no" / "x", "exist"),
    ]:
        with pytest.raises(InputError, match=says):
            quick_fit(data(), checkpoint=path)


def test_fingerprints_tell_values_apart():
    from sklearn.gaussian_process.kernels import RBF, Matern

    tree = Tree([[0, 1]], [1.0])
    values = [
        None, True, 1, 1.0, "1", (1, 2), [1, [2]], {"a": 1}, {"a": 2}, np.zeros(2), np.zeros((2, 1)), np.zeros(2, int),
        Spherical(), Spherical(amplitude=2.0), Spherical(learn=False), Diagonal(), Diagonal([1.0]), RBF(1.0), RBF(2.0),
        Matern(1.0), Kernel(RBF(1.0)), Kernel(RBF(2.0)), tree, Tree([[0, 1]], [2.0]), MPost2(3), MPost2(4), MGreedy(),
    ]  # fmt: skip
    prints = [checkpoint_file.fingerprint(value) for value in values]
    assert len(set(prints)) == len(prints)
    assert checkpoint_file.fingerprint(Kernel(RBF(1.0))) == checkpoint_file.fingerprint(Kernel(RBF(1.0)))
    assert checkpoint_file.fingerprint({"a": 1, "b": 2}) == checkpoint_file.fingerprint({"b": 2, "a": 1})


# --- going on from a posterior --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recording(MPost2):
    """Remembers the trees it is asked to go on from."""

    n_particles: int = 3
    seen: ClassVar[list] = []

    def step(self, problem, tree, rng, **options):
        self.seen.append(tree)
        return super().step(problem, tree, rng, **options)


def test_a_run_goes_on_from_the_last_draws_of_a_posterior():
    X = with_missing(data(8, 4))
    first = quick_fit(X, "diagonal", n_chains=2)
    Recording.seen.clear()
    more = quick_fit(X, "diagonal", sampler=Recording(), start=first, n_warmup=0, n_samples=1, random_state=3)
    last = [5, 11]
    asked = [Recording.seen[0], Recording.seen[-1]]  # in between the first is asked again: rounds are timed before
    for (children, times), t in zip(asked, last, strict=True):
        np.testing.assert_array_equal(children, first.children[t])
        np.testing.assert_array_equal(times, first.times[t])
    assert len(more) == 2
    assert_same(more, quick_fit(X, "diagonal", start=first, n_warmup=0, n_samples=1, random_state=3))


def test_a_run_goes_on_where_rows_are_copies():
    X = data()
    X[5], X[7] = X[2], X[2]
    with pytest.warns(CoaltreeWarning, match="duplicate row"):
        first = quick_fit(X)
    Recording.seen.clear()
    with pytest.warns(CoaltreeWarning, match="duplicate row"):
        quick_fit(X, sampler=Recording(), start=first, n_warmup=0, n_samples=1, n_chains=1)
    children, times = Recording.seen[0]
    Tree(children, times)
    np.testing.assert_array_equal(times, first.times[5][2:])


def test_a_run_starts_from_a_tree():
    X, tree = data(), simulate_tree(8, np.random.default_rng(3))
    Recording.seen.clear()
    quick_fit(X, sampler=Recording(), start=tree, n_samples=1, n_warmup=0)
    children, times = Recording.seen[0]
    np.testing.assert_array_equal(children, tree.children)
    np.testing.assert_allclose(times / times[-1], tree.times / tree.times[-1])  # the scale is learnt


def test_a_start_for_other_rows_is_refused():
    post = quick_fit(data())
    with pytest.raises(InputError, match="same rows"):
        quick_fit(data(9), start=post)
    with pytest.raises(InputError, match="Posterior or a Tree"):
        quick_fit(data(), start="here")
    with pytest.raises(InputError, match="draws of amplitude, but this fit learns variances"):
        quick_fit(data(), "diagonal", start=post)


# --- warnings, progress, refusals -----------------------------------------------------------------------------------


def test_columns_of_very_different_scale_are_named_under_spherical():
    frame = pd.DataFrame(data() * [1.0, 1.0, 1e4], columns=["x", "y", "z"])
    with pytest.warns(CoaltreeWarning, match=r"'z' vary most, .*'[xy]'.*least.*scaled"):
        quick_fit(frame, "spherical")
    with warnings.catch_warnings():
        warnings.simplefilter("error", CoaltreeWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit(frame, "diagonal", QUICK, n_samples=4, n_warmup=0, random_state=0)
        constant = frame.assign(z=1.0)
        fit(constant, "spherical", QUICK, n_samples=4, n_warmup=0, random_state=0)


def test_chains_that_have_not_mixed_are_warned_of():
    with pytest.warns(ConvergenceWarning, match="effective sample size of"):
        fit(data(), sampler=QUICK, n_samples=8, n_warmup=0, random_state=0)


def test_the_warning_says_what_would_help():
    bad = {"log_joint": {"r_hat": 1.3, "ess": 7.0}, "split_frequency_sd": 0.0}
    with pytest.warns(ConvergenceWarning, match=r"n_warmup and n_samples.*start=posterior\.$") as caught:
        convergence.warn_if_bad(bad)
    assert caught[0].message.findings == (
        "R-hat of log_joint is 1.30 (above 1.05)",
        "effective sample size of log_joint is 7 (below 100)",
    )
    with pytest.warns(
        ConvergenceWarning, match=r"increase max_iterations, or continue this run with start=posterior\.$"
    ):
        convergence.warn_if_bad(bad, increase="max_iterations")


def test_convergence_figures_are_arviz_s_and_see_a_chain_apart():
    from coaltree.posterior import Posterior

    rng = np.random.default_rng(0)
    tree = simulate_tree(4, rng)
    T = 400
    children, times = np.repeat(tree.children[None], T, 0), np.repeat(tree.times[None], T, 0)
    chain = np.repeat([0, 1], T // 2)
    times = times * np.exp(0.1 * rng.normal(size=(T, 1)))
    good = Posterior(children, times, log_joint=rng.normal(size=T), chain=chain, theta={"a": rng.normal(size=(T, 2))})
    found = convergence.figures(good)
    assert set(found) == {"log_joint", "root_time", "a", "split_frequency_sd"}
    assert found["log_joint"]["r_hat"] < 1.02
    assert found["log_joint"]["ess"] > 250
    assert found["split_frequency_sd"] == 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        convergence.warn_if_bad(found)
    apart = Posterior(children, times, log_joint=rng.normal(size=T) + 2.0 * chain, chain=chain)
    with pytest.warns(ConvergenceWarning, match=r"R-hat of log_joint is 1\.\d"):
        convergence.warn_if_bad(convergence.figures(apart))
    constant = Posterior(children, np.repeat(tree.times[None], T, 0), log_joint=np.zeros(T), chain=chain)
    assert np.isnan(convergence.figures(constant)["root_time"]["r_hat"])


def test_progress_can_be_a_function_or_a_bar(capsys):
    calls = []
    quick_fit(data(), progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (16, 16)
    assert calls == sorted(calls)
    assert capsys.readouterr().err == ""
    quick_fit(data(), progress=True)
    shown = capsys.readouterr().err
    assert "fit: 2 chain(s) of 8 rounds: about" in shown
    assert "MB" in shown
    assert "16/16" in shown
    quick_fit(data(), progress="auto")  # not a terminal
    assert capsys.readouterr().err == ""


def test_a_run_too_large_for_the_memory_is_refused_first(monkeypatch):
    monkeypatch.setattr("coaltree._runtime.memory.available_bytes", lambda: 10_000)
    with pytest.raises(InputError, match="GB of memory"):
        quick_fit(data(), n_samples=500)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"n_samples": 0}, "n_samples"),
        ({"n_samples": 2.5}, "n_samples"),
        ({"n_warmup": -1}, "n_warmup"),
        ({"n_chains": True}, "n_chains"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"n_jobs": "two"}, "n_jobs"),
        ({"checkpoint": 3}, "checkpoint"),
        ({"noise": -0.1}, "noise"),
        ({"noise": np.nan}, "noise"),
        ({"random_state": -1}, "random_state"),
        ({"random_state": "x"}, "random_state"),
        ({"progress": "sometimes"}, "progress"),
        ({"covariance": "round"}, "covariance"),
        ({"covariance": np.eye(5)}, "columns"),
        ({"covariance": Matern32(1.0, 0.1, (2, 2))}, "grid"),
        ({"sampler": "magic"}, "magic"),
    ],
)
def test_bad_settings_are_refused_in_one_sentence(options, says):
    with pytest.raises(InputError, match=says) as caught:
        quick_fit(data(), **options)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


def test_counts_of_any_integer_type_are_the_same():
    small = {"n_samples": np.uint8(3), "n_warmup": np.int8(1), "n_chains": np.uint8(2)}  # which overflow soon
    post = quick_fit(data(), **small)
    np.testing.assert_array_equal(post.times, quick_fit(data(), n_samples=3, n_warmup=1, n_chains=2).times)
