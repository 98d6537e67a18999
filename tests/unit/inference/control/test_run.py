"""The same run, however it is cut up into blocks, threads and processes."""

import os

import joblib
import numpy as np
import pytest

from coaltree.errors import InputError
from coaltree.inference.control import run
from tests.fits import LOCAL, assert_same, data, quick_fit, with_missing


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


def test_run_hands_rows_to_processes_as_one_file(monkeypatch):
    """joblib writes a large array once, and workers map it; the same array is the same file in every block."""
    X, files, advance = data(8, 4), [], run.advance

    def watched(given, *rest):
        chain, draws = advance(given, *rest)
        number = os.stat(given.values.filename).st_ino if isinstance(given.values, np.memmap) else -1
        return chain, draws._replace(info={"file": np.full(len(draws.times), float(number))})

    monkeypatch.setattr(run, "SECONDS_PER_BLOCK", 0.0)  # blocks of one iteration
    monkeypatch.setattr(run, "advance", watched)
    monkeypatch.setattr(run, "require_sane", lambda _, blocks: files.extend(block.info["file"][0] for block in blocks))
    with joblib.parallel_config("loky", max_nbytes=1):  # as above, and the same processes serve
        quick_fit(X, "spherical", sampler=LOCAL, n_samples=3, n_warmup=0, n_jobs=2)
    assert len(files) == 6 and len(set(files)) == 1 and files[0] > 0


@pytest.mark.parametrize("wrong", ["times", "log joint", "far", "theta"])
def test_run_stops_where_a_chain_diverges(monkeypatch, wrong):
    """Once a block, before anything is handed out."""
    advance = run.advance

    def astray(given, settings, chain, *counts):
        chain, draws = advance(given, settings, chain, *counts)
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


@pytest.mark.parametrize(
    ("n_chains", "n_jobs", "n_cores", "expected"),
    [(2, None, 8, None), (2, 1, 8, 1), (2, 2, 8, 1), (2, 6, 8, 3), (2, -1, 8, 4), (4, 2, 8, 1), (1, 4, 8, 4)],
)
def test_threads_are_shared_between_chains(n_chains, n_jobs, n_cores, expected, monkeypatch):
    monkeypatch.setattr(run, "cpu_count", lambda: n_cores)
    monkeypatch.setattr(run, "effective_n_jobs", lambda n: 1 if n is None else n_cores if n == -1 else n)
    assert run._threads_per_chain(n_chains, n_jobs) == expected
