"""Draws that are the same after many kills, at any moment; `make verify` runs it, and it takes some minutes."""

import itertools
import os
import signal
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pytest

import coaltree as ct
from coaltree.cli.outputs import FILES
from coaltree.inference.control import run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="signals and limits are those of Unix"),
    pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning"),
]

N_KILLS = 20


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "data.csv"
    X, _ = ct.simulate(12, 3, random_state=3)
    rows = [f"r{i}," + ",".join(map(repr, row)) for i, row in enumerate(X.tolist())]
    path.write_text("\n".join(["name,a,b,c", *rows]) + "\n")
    return path


def command(table, out, *more):
    program = "from coaltree.inference.control import run; run.SECONDS_BETWEEN, run.MAX_TIME_SHARE = 0.0, 9e9; "
    program += "run.SECONDS_PER_BLOCK = 0.05; import sys; from coaltree.cli import main; sys.exit(main(sys.argv[1:]))"
    settings = ("--samples", "60", "--warmup", "20", "--seed", "5", "--covariance", "diagonal")
    return [sys.executable, "-c", program, "fit", str(table), "--out", str(out), *settings, *more]


def draws(folder):
    return ct.load(folder / "posterior.npz").log_joint


@pytest.fixture(scope="module")
def undisturbed(table, tmp_path_factory):
    """The draws of a run that nobody killed, and the seconds it took."""
    folder = tmp_path_factory.mktemp("whole")
    for out in (folder / "compiling", folder / "out"):  # the first may have kernels to compile, and is not timed
        began = time.monotonic()
        subprocess.run(command(table, out), check=True, capture_output=True)
    np.testing.assert_array_equal(draws(out), draws(folder / "compiling"))
    return draws(out), time.monotonic() - began


def test_checkpoint_survives_many_kills(table, undisturbed, tmp_path):
    """The same command again and again, killed at a random moment each time, ends in the same draws and files."""
    expected, seconds = undisturbed
    rng = np.random.default_rng(0)
    kills = 0
    for number in itertools.count():
        if kills >= N_KILLS:
            break
        out = tmp_path / f"out{number}"
        while not is_complete(out):
            with subprocess.Popen(command(table, out), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:
                try:
                    running.wait(timeout=float(rng.uniform(0.1, seconds)) if kills < N_KILLS else None)
                except subprocess.TimeoutExpired:
                    running.kill()
                    kills += 1
                    continue
                assert running.returncode == 0, running.stderr.read()
        np.testing.assert_array_equal(draws(out), expected)
        assert sorted(os.listdir(out)) == sorted(FILES)


def is_complete(out):
    """Whether a run has come to its end: its last act is to remove the checkpoint."""
    return out.exists() and all((out / name).exists() for name in FILES) and not (out / "checkpoint.npz").exists()


def test_a_dask_cluster_whose_workers_are_killed_gives_the_same_bits(monkeypatch):
    """Of four workers one is killed while it begins a chain, two while they take one further."""
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    monkeypatch.setattr(run, "SECONDS_PER_BLOCK", 0.2)
    X, _ = ct.simulate(40, 4, random_state=1)  # more than a kilobyte, which joblib would scatter as an argument
    settings = {"n_samples": 30, "n_warmup": 10, "n_chains": 4, "random_state": 0, "progress": False}
    alone = ct.fit(X, "diagonal", **settings)
    with (
        distributed.LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        joblib.parallel_config("dask"),
    ):
        finished, killed_at = threading.Event(), []
        killer = threading.Thread(target=kill_workers, args=(cluster, client, finished, killed_at))
        killer.start()
        try:
            post = ct.fit(X, "diagonal", **settings)
        finally:
            finished.set()
            killer.join()
    assert killed_at == ["begin", "advance", "advance"]
    np.testing.assert_array_equal(post.log_joint, alone.log_joint)
    np.testing.assert_array_equal(post.draws.children, alone.draws.children)


def kill_workers(cluster, client, finished, killed_at):
    """Kill a worker that is at a task of each kind; no process twice."""
    killed = set()
    for kind in ("begin", "advance", "advance"):  # in the names of tasks
        while not finished.is_set() and len(killed) == len(killed_at):
            process_of = {worker.worker_address: worker.pid for worker in cluster.workers.values()}
            busy = {process_of.get(address) for address, tasks in client.processing().items() if kind in str(tasks)}
            for process in sorted(busy - killed - {None})[:1]:
                os.kill(process, signal.SIGKILL)
                killed.add(process)
        if not finished.is_set():
            killed_at.append(kind)
