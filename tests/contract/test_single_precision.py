"""Tables of float32: kept as they are, and fitted to the same bits as the same numbers in float64."""

import tracemalloc

import numpy as np
import pytest

import coaltree as ct
from coaltree._runtime.jit import KERNELS

SETTINGS = {"n_samples": 4, "n_warmup": 3, "n_chains": 2, "random_state": 3, "progress": False}


def some_rows(n=40, d=4):
    rng = np.random.default_rng(1)
    return (rng.normal(size=(4, d))[rng.integers(4, size=n)] * 3 + rng.normal(size=(n, d))).astype(np.float32)


def with_gaps():
    X = some_rows()
    X[3, 1] = X[7, 2] = np.nan
    return X


def with_copies_and_constants():
    X = some_rows()
    X[5], X[:, 2] = X[4], 0.1
    return X


def in_steps():
    return np.round(some_rows())


def groups_of(X):
    return {"groups": np.arange(len(X)) // 2, "noise": "student"}


CASES = {
    "auto": (some_rows, {}),
    "scaled": (some_rows, {"covariance": "scaled"}),
    "gaps": (with_gaps, {}),
    "gaps and constants": (lambda: np.column_stack([with_gaps(), np.full(40, np.float32(0.1))]), {}),
    "copies and constants": (with_copies_and_constants, {"covariance": "diagonal"}),
    "steps": (in_steps, {"covariance": "diagonal"}),
    "groups": (some_rows, groups_of(some_rows())),
}


def bits_of(post):
    drawn = [post.children, post.times, post.log_joint, post.imputed, post.tail_scale, post.fitted]
    return [None if array is None else array.tobytes() for array in (*drawn, *post.theta.values())]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_float32_is_fitted_as_the_same_numbers_in_float64(name):
    make, settings = CASES[name]
    X = make()
    single, double = (ct.fit(values, **(SETTINGS | settings)) for values in (X, X.astype(np.float64)))
    assert single.X.dtype == np.float32 and double.X.dtype == np.float64
    np.testing.assert_array_equal(single.X, X)
    assert bits_of(single) == bits_of(double)


@pytest.mark.filterwarnings("ignore")
def test_float32_answers_as_float64(tmp_path):
    X = with_gaps()
    single, double = (ct.fit(values, **SETTINGS) for values in (X, X.astype(np.float64)))
    single.save(tmp_path / "single.ct")
    again = ct.load(tmp_path / "single.ct")
    assert again.X.dtype == np.float32
    new = some_rows(5) + np.float32(0.01)
    for post in (single, again):
        assert np.array_equal(post.place(new).log_density, double.place(new).log_density)
        assert np.array_equal(post.loo().log_density, double.loo().log_density)
        assert np.array_equal(post.completed(0), double.completed(0))
        assert np.array_equal(post.leaf_values(), double.leaf_values(), equal_nan=True)
        assert post.leaf_values().dtype == np.float64
        assert str(post.check(random_state=0)) == str(double.check(random_state=0))


@pytest.mark.filterwarnings("ignore")
def test_float32_and_float64_share_a_checkpoint(tmp_path):
    X = some_rows()
    whole = ct.fit(X, checkpoint=tmp_path / "run", **SETTINGS)
    assert bits_of(ct.fit(X.astype(np.float64), checkpoint=tmp_path / "run", **SETTINGS)) == bits_of(whole)


@pytest.mark.filterwarnings("ignore")
def test_float32_is_kept_by_data_frames_and_the_estimator():
    pandas = pytest.importorskip("pandas")
    X = some_rows()
    frame = pandas.DataFrame(X, columns=list("abcd"))
    post = ct.fit(frame, **SETTINGS)
    assert post.X.dtype == np.float32 and bits_of(post) == bits_of(ct.fit(X, **SETTINGS))
    assert ct.fit(frame.astype({"a": np.float64}), **SETTINGS).X.dtype == np.float64
    settings = {key: value for key, value in SETTINGS.items() if key != "progress"}
    model = ct.CoalescentClustering(3, **settings).fit(frame)
    assert model.posterior_.X.dtype == np.float32 and bits_of(model.posterior_) == bits_of(post)
    frame.loc[0, "a"] = 1000.0
    assert model.posterior_.X[0, 0] == post.X[0, 0] == X[0, 0]  # what was fitted, whatever becomes of the frame


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float16, np.float64, ">f4", bool])
def test_other_numbers_become_float64(dtype):
    X = (np.abs(np.round(some_rows(n=12) * 3)) % 16).astype(dtype)
    post = ct.fit(X, noise=0.1, **SETTINGS)
    assert post.X.dtype == np.float64
    np.testing.assert_array_equal(post.X, X.astype(np.float64))


def signatures():
    return {
        (kernel.py_func.__module__, kernel.py_func.__qualname__, str(signature))
        for kernel in KERNELS
        for signature in kernel.signatures
    }


@pytest.mark.filterwarnings("ignore")
def test_float32_compiles_no_kernel():
    X = with_gaps()
    ct.fit(X.astype(np.float64), **SETTINGS)
    before = signatures()
    assert before
    ct.fit(X, **SETTINGS)
    assert signatures() == before


@pytest.mark.filterwarnings("ignore")
def test_float32_is_copied_once():
    X = np.ascontiguousarray(np.tile(some_rows(120, 40), (1, 50)))  # 120 x 2,000: 1 MB, and 2 in float64
    X += np.random.default_rng(0).normal(size=X.shape).astype(np.float32)
    seen = []

    def look(done, total):
        seen.append(tracemalloc.get_traced_memory()[0])

    def held(values):
        seen.clear()
        ct.fit(values, "scaled", n_samples=2, n_warmup=1, n_chains=1, random_state=0, progress=look)
        tracemalloc.start()
        try:
            ct.fit(values, "scaled", n_samples=2, n_warmup=1, n_chains=1, random_state=0, progress=look)
        finally:
            tracemalloc.stop()
        return max(seen) / X.nbytes

    assert held(X) < 1 + 2 + 1  # the table, one copy in float64, and all else
    assert held(X.astype(np.float64)) < 2 + 1  # the table itself
