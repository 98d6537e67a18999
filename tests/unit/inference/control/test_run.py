"""The same run, however it is cut up into blocks, threads and processes, interrupted, killed and resumed."""

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import ClassVar

import joblib
import numpy as np
import pandas as pd
import pytest

from coaltree.errors import CoaltreeWarning, InputError, InterruptedWarning
from coaltree.inference.chains import chain
from coaltree.inference.control import run
from coaltree.model.covariance import Components, Diagonal, Full, Kernel, Matern32, Spherical, SquaredExponential
from coaltree.samplers.merging.mpost import MPost2
from coaltree.samplers.regraft.regraft import Regraft
from tests.fits import LOCAL, QUICK, Interruptible, assert_same, data, pressing_ctrl_c, quick_fit, with_missing


def test_run_is_the_same_in_blocks_of_any_length(monkeypatch):
    X = with_missing(data(8, 4))
    whole = quick_fit(X, "diagonal")
    monkeypatch.setattr(run, "SECONDS_PER_BLOCK", 0.0)
    assert_same(whole, quick_fit(X, "diagonal"))


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, marks=pytest.mark.slow),
        pytest.param({"max_nbytes": 1}, marks=pytest.mark.slow),
        {"backend": "threading"},
        pytest.param({"backend": "multiprocessing"}, marks=pytest.mark.slow),
    ],
    ids=["loky", "memmap", "threading", "multiprocessing"],
)
def test_run_is_the_same_with_two_jobs(options):
    X = with_missing(data(8, 4))
    alone = quick_fit(X, "squared_exponential", sampler=LOCAL)
    with joblib.parallel_config(**{"backend": "loky"} | options):
        assert_same(alone, quick_fit(X, "squared_exponential", sampler=LOCAL, n_jobs=2))


def test_run_is_the_same_in_eight_threads():
    X = with_missing(data(8, 4))
    alone = quick_fit(X, "full")
    found = joblib.Parallel(n_jobs=8, backend="threading")(joblib.delayed(quick_fit)(X, "full") for _ in range(8))
    for one in found:
        assert_same(one, alone)


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 2])
def test_run_is_the_same_on_a_dask_cluster(n_workers):
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    X = with_missing(data(8, 4))
    alone = quick_fit(X)
    with (
        distributed.LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
    ):
        assert_same(alone, quick_fit(X))


@pytest.mark.parametrize("wrong", ["times", "log joint", "far", "theta"])
def test_run_stops_where_a_chain_diverges(monkeypatch, wrong):
    """Once a block, before anything is handed out."""
    advance = run.advance

    def astray(model, chain, *counts):
        chain, draws = advance(model, chain, *counts)
        state = chain.state
        if wrong == "times":
            chain = chain._replace(state=state._replace(tree=(state.tree[0], state.tree[1] * np.nan)))
        if wrong == "far":
            chain = chain._replace(state=state._replace(tree=(state.tree[0], state.tree[1] * 1e-95)))
        if wrong == "theta":
            object.__setattr__(state.covariance, "variances", state.covariance.variances * np.inf)
        return chain, draws._replace(log_joint=draws.log_joint * 1e70) if wrong == "log joint" else draws

    monkeypatch.setattr(run, "advance", astray)
    with pytest.raises(InputError, match=r"diverged by iteration \d+ \(root at .*scaled"):
        quick_fit(data(12, 4), "diagonal", n_samples=3, n_warmup=0)


# --- checkpoints ------------------------------------------------------------------------------------------------------

# Steps of two chains: two in each iteration, of which the first two are warm-up.
DURING_WARMUP, AFTER_SOME_DRAWS = 3, 12


@pytest.fixture
def _every_iteration(monkeypatch):
    monkeypatch.setattr(run, "SECONDS_PER_BLOCK", 0.0)
    monkeypatch.setattr(run, "SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr(run, "MAX_TIME_SHARE", np.inf)


def covariances_to_resume():
    from sklearn.gaussian_process.kernels import RBF, WhiteKernel

    return [
        Spherical(),
        Diagonal(),
        Full(),
        Components(2),
        SquaredExponential(1.0, 0.1),
        Matern32((1.0, 2.0), 0.1, (2, 2)),
        Kernel(RBF(1.5) + WhiteKernel(0.2)),
    ]


@pytest.mark.usefixtures("_every_iteration")
@pytest.mark.parametrize("covariance", covariances_to_resume(), ids=lambda c: type(c).__name__)
def test_checkpoint_resumes_to_the_same_bits(covariance, tmp_path):
    X, path = with_missing(data(8, 4)), tmp_path / "run.checkpoint"
    whole = quick_fit(X, covariance)
    with pytest.warns(InterruptedWarning, match=r"interrupted: the posterior holds \d of 6 trees") as caught:
        part = quick_fit(X, covariance, sampler=pressing_ctrl_c(AFTER_SOME_DRAWS), checkpoint=path)
    assert 0 < len(part) < len(whole)
    (warning,) = [one.message for one in caught if isinstance(one.message, InterruptedWarning)]
    assert (warning.n_done, warning.n_asked) == (len(part) / 2, 6)
    assert part.info["interrupted"]
    assert not whole.info["interrupted"]
    assert_same(part, whole[np.flatnonzero(np.arange(12) % 6 < len(part) / 2)])
    for _ in range(2):  # a finished checkpoint is the result itself
        assert_same(quick_fit(X, covariance, sampler=pressing_ctrl_c(0), checkpoint=path), whole)
    assert Interruptible.steps == 0


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


@pytest.mark.parametrize("many", [10, 20_000])  # leaves above which neighbours are searched before the first iteration
def test_checkpoint_of_the_first_iteration_is_resumed(many, tmp_path, monkeypatch):
    monkeypatch.setattr(chain, "MANY_LEAVES", many)
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
from coaltree.inference.control import run

def replace_and_wait(*paths):
    replaced.append(paths)
    if len(replaced) < 3 or sys.argv[3] == "after":
        replace(*paths)
    if len(replaced) == 3:
        print("waiting", flush=True)
        threading.Event().wait()

replace, replaced = os.replace, []
os.replace = replace_and_wait
run.SECONDS_BETWEEN, run.MAX_TIME_SHARE = 0.0, float("inf")
run.SECONDS_PER_BLOCK = 0.0
ct.fit(
    np.load(sys.argv[1]), "diagonal", ct.MPost2(n_particles=3),
    n_samples=60, n_warmup=2, random_state=0, checkpoint=sys.argv[2],
)
"""


@pytest.mark.parametrize("moment", ["before", pytest.param("after", marks=pytest.mark.slow)])
def test_checkpoint_survives_a_kill(tmp_path, moment):
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


@pytest.mark.usefixtures("_every_iteration")
def test_checkpoint_of_another_run_is_refused(tmp_path):
    X, path = data(), tmp_path / "run.checkpoint"
    quick_fit(X, checkpoint=path)
    changed = X.copy()
    changed[0, 0] += 1e-9
    frame = pd.DataFrame(X, index=list("abcdefgh"))
    others = [((changed,), {}), ((frame,), {}), ((X, "diagonal"), {}), ((X, Spherical(amplitude=3.0)), {})]
    for options in ({"n_samples": 7}, {"n_warmup": 3}, {"n_chains": 3}, {"noise": 0.1}, {"sampler": MPost2(4)}):
        others.append(((X,), options))
    for args, options in others:
        with pytest.raises(InputError, match="belongs to other data or settings"):
            quick_fit(*args, checkpoint=path, **options)
    with pytest.raises(InputError, match="belongs to another random_state"):
        quick_fit(X, checkpoint=path, random_state=1)
    with joblib.parallel_config("threading"):
        assert_same(quick_fit(X, checkpoint=path, n_jobs=2, progress=False), quick_fit(X))


@pytest.mark.usefixtures("_every_iteration")
def test_checkpoint_survives_a_full_disk(tmp_path, monkeypatch):
    X, path = data(), tmp_path / "run.checkpoint"
    with pytest.warns(InterruptedWarning):
        quick_fit(X, sampler=pressing_ctrl_c(AFTER_SOME_DRAWS), checkpoint=path)
    good = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", full)
        with pytest.warns(
            CoaltreeWarning, match="not saved: .*No space left on device. The run continues; what was saved"
        ):
            assert_same(quick_fit(X, sampler=pressing_ctrl_c(0), checkpoint=path), quick_fit(X))
    assert path.read_bytes() == good
    assert os.listdir(tmp_path) == [path.name]
