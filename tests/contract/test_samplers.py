"""What every sampler owes its user: valid trees, weights, the same bits for any number of threads, clear refusals."""

from pathlib import Path

import numpy as np
import pytest

import coaltree as ct
from benchmarks.memory import allowed_for_particles, peak_of_a_run
from coaltree.samplers import as_sampler
from coaltree.samplers.merging import smc

NAMES = ("prior", "post_post", "mpost1", "mpost2", "smc1", "greedy", "mgreedy", "greedy_teh", "insertion", "regraft")
SEQUENTIAL = ("prior", "post_post", "mpost1", "mpost2", "smc1")
DISTANCE_SAMPLERS = (*SEQUENTIAL, "greedy", "mgreedy", "greedy_teh")  # which use squared distances alone
FEW = {"n_samples": 6, "n_warmup": 2, "progress": False}


def make(name, **settings):
    sampler = as_sampler(name)
    if hasattr(sampler, "n_particles"):
        settings = {"n_particles": 20, **settings}
    return type(sampler)(**settings)


def sample(name, X, seed=0, **options):
    covariance = options.pop("covariance", np.eye(X.shape[1]))
    return ct.sample_trees(X, covariance, make(name), random_state=seed, **FEW, **options)


@pytest.fixture(scope="module")
def data():
    return ct.simulate(24, 6, random_state=1)[0]


@pytest.mark.parametrize("name", NAMES)
def test_sampler_gives_trees_weights_and_log_joint(name, data):
    root = np.random.default_rng(0).standard_normal((6, 6))
    Phi = root @ root.T + np.eye(6)
    post = sample(name, data, covariance=Phi)
    assert post.weights.sum() == pytest.approx(1)
    assert 1 <= post.ess <= len(post) + 1e-9
    assert (post.log_evidence is None) == (name not in SEQUENTIAL and name != "insertion")
    for tree, log_joint in zip(post.trees, post.log_joint, strict=True):
        checked = ct.Tree(tree.children, tree.times)  # refuses what is not a tree
        assert log_joint == pytest.approx(checked.log_prior() + checked.log_likelihood(data, Phi), rel=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_sampler_gives_the_same_bits_for_any_number_of_threads(name, data, monkeypatch):
    monkeypatch.setattr(smc, "useful_threads", lambda n_threads, n_particles, _: min(n_threads, n_particles))
    runs = [sample(name, data, seed=5, n_threads=threads) for threads in (1, 2, 3, 7)]
    other = sample(name, data, seed=6)
    for post in runs[1:]:
        assert np.array_equal(post.draws.children, runs[0].draws.children)
        assert np.array_equal(post.draws.times, runs[0].draws.times)
        assert np.array_equal(post.weights, runs[0].weights)
        assert post.log_evidence == runs[0].log_evidence
    if "greedy" not in name:
        assert not np.array_equal(other.draws.times, runs[0].draws.times)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(2, 1), (2, 5), (3, 1), (40, 1), (6, 50)])
def test_sampler_takes_small_and_unusual_shapes(name, shape):
    X = np.random.default_rng(3).standard_normal(shape)
    post = sample(name, X)
    assert np.isfinite(post.log_joint).all()
    assert np.isfinite(post.draws.times).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_sampler_takes_tiny_and_huge_values(name, scale):
    X = scale * np.random.default_rng(4).standard_normal((7, 3))
    if scale > 1.0 and name in ("insertion", "regraft"):
        with pytest.raises(ct.InputError, match="rescale"):
            sample(name, X)
        return
    post = sample(name, X)
    assert np.isfinite(post.log_joint).all()
    assert np.isfinite(post.draws.times).all()


@pytest.mark.parametrize("name", DISTANCE_SAMPLERS)
@pytest.mark.parametrize("scale", [1e13, 1e15, 1e20, 1e60, 1e100])
def test_sampler_weights_may_fall_faster_than_numbers_are_spaced(name, scale):
    X = scale * np.random.default_rng(4).standard_normal((12, 3))
    post = sample(name, X)
    assert np.isfinite(post.log_joint).all()
    assert np.isfinite(post.weights).all()


@pytest.mark.parametrize("name", NAMES)
def test_sampler_refuses_values_whose_squares_overflow(name):
    X = np.random.default_rng(4).standard_normal((7, 3)) * 1e160
    with pytest.raises(ct.InputError, match="rescale"):
        sample(name, X)


@pytest.mark.parametrize("name", NAMES)
def test_sampler_merges_identical_rows_at_time_zero_with_a_warning(name, data):
    X = np.vstack([data[:6], data[2], data[2], data[4]])
    with pytest.warns(ct.CoaltreeWarning, match="merged at time 0"):
        post = sample(name, X)
    for tree in post.trees:
        together = tree.cophenetic()
        assert together[2, 6] == together[2, 7] == together[4, 8] == 0.0
        assert together[2, 4] > 0.0
    with pytest.warns(ct.CoaltreeWarning):
        same = sample(name, np.ones((5, 3)))
    assert same.trees[0].times.max() == 0.0


@pytest.mark.parametrize("name", NAMES)
def test_sampler_takes_identical_rows_with_noise(name, data):
    X = np.vstack([data[:6], data[2], data[2] + 1e-13])
    post = sample(name, X, noise=0.1)
    assert np.isfinite(post.log_joint).all()
    for tree, log_joint in zip(post.trees, post.log_joint, strict=True):
        expected = tree.log_prior() + tree.log_likelihood(X, np.eye(6), noise=0.1)
        assert log_joint == pytest.approx(expected, rel=1e-8)
    if "greedy" not in name:
        assert (post.draws.times[:, 0] > 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_sampler_takes_nearly_identical_rows(name):
    X = np.repeat(np.random.default_rng(5).standard_normal((4, 3)), 3, axis=0)
    X += 1e-14 * np.random.default_rng(6).standard_normal(X.shape)
    post = sample(name, X)
    assert np.isfinite(post.log_joint).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"X": [[1.0, 2.0]]}, "at least 2"),
        ({"X": [1.0, 2.0]}, "rows and columns"),
        ({"X": [["a", "b"], ["c", "d"]]}, "numbers"),
        ({"X": [[1.0, np.nan], [0.0, 1.0]]}, "missing value"),
        ({"X": [[1.0, np.inf], [0.0, 1.0]]}, "infinite value"),
        ({"X": np.eye(3) * 1j}, "complex"),
        ({"covariance": np.ones((6, 6))}, "positive definite"),
        ({"covariance": np.eye(3)}, "3"),
        ({"covariance": "round"}, "round"),
        ({"sampler": "mpost3"}, "mpost3"),
        ({"sampler": ct.MPost1}, "not the class"),
        ({"sampler": 7}, "sampler must be"),
        ({"noise": -1.0}, "noise"),
        ({"noise": np.nan}, "noise"),
        ({"random_state": "today"}, "random_state"),
        ({"n_samples": 0}, "n_samples"),
        ({"n_warmup": -1}, "n_warmup"),
    ],
)
def test_sampler_refuses_bad_input_in_one_sentence(options, message, data):
    arguments = {"X": data, "sampler": "mpost1", **options}
    with pytest.raises(ct.InputError, match=message) as caught:
        ct.sample_trees(arguments.pop("X"), **arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", SEQUENTIAL)
@pytest.mark.parametrize(
    "settings", [{"n_particles": 0}, {"n_particles": 2.5}, {"resample_below": 1.5}, {"resample_below": -0.1}]
)
def test_sampler_refuses_bad_settings(name, settings):
    with pytest.raises(ct.InputError, match=next(iter(settings))):
        make(name, **settings)


def test_sampler_names_are_public():
    assert {type(as_sampler(name)).__name__ for name in NAMES} <= set(ct.__all__)


def test_sampler_too_large_for_the_machine_says_what_it_needs(data, monkeypatch):
    from coaltree._runtime import memory

    monkeypatch.setattr(memory, "available_bytes", lambda: 1_000)
    for name in ("mpost1", "smc1", "mgreedy"):
        with pytest.raises(ct.InputError, match="GB"):
            sample(name, data)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell a process's peak memory")
@pytest.mark.parametrize("resample_below", [0.5, pytest.param(0.0, marks=pytest.mark.slow)])
def test_sampler_peak_memory_of_particles(resample_below):
    n, M = 600, 60
    peak = peak_of_a_run(f"ct.MPost1({M}, resample_below={resample_below})", n, 16)
    assert peak > 8 * n * n  # the distance matrix at least was seen
    assert peak < allowed_for_particles(n, M) + 4e6  # what the system and the compiler need varies


@pytest.mark.parametrize("name", SEQUENTIAL)
def test_sampler_refuses_distances_that_vanish_with_advice(name):
    X = 1e-170 * np.random.default_rng(0).standard_normal((5, 3))  # squares of 1e-340 are 0
    with pytest.raises(ct.InputError, match="rescale X"):
        sample(name, X)
    assert np.isfinite(sample(name, X, noise=0.1).log_evidence)


@pytest.mark.parametrize(
    "options",
    [{"n_threads": n} for n in (0, -1, 1.5, "2", True)]
    + [{"noise": s} for s in (-1, np.nan, np.inf, 1e300, "a", None, 1j, np.complex128(1))],
    ids=str,
)
def test_sampler_refuses_wrong_options(options, data):
    with pytest.raises(ct.InputError, match=next(iter(options))):
        sample("mpost2", data, **options)


@pytest.mark.parametrize("share", ["a", None, np.nan, -0.1, 1.1, 1j])
def test_sampler_resample_below_must_be_a_share(share):
    with pytest.raises(ct.InputError, match="resample_below"):
        ct.MPost1(resample_below=share)


@pytest.mark.parametrize("name", ["mpost1", "mpost2"])
def test_sampler_evidence_where_a_row_lies_right_between_two_others(name):
    """On a grid some lineages lie on the mean of two others: ε = 0 must not crowd out the other pairs."""
    X = np.stack(np.meshgrid(np.arange(2.0), np.arange(3.0)), axis=-1).reshape(-1, 2)

    def log_evidence(name):
        runs = [ct.sample_trees(X, sampler=make(name, n_particles=4000), random_state=i, **FEW) for i in range(6)]
        logs = np.array([post.log_evidence for post in runs])
        return np.log(np.mean(np.exp(logs - logs.max()))) + logs.max(), np.std(np.exp(logs - logs.max())) / np.sqrt(6)

    (expected, error), (found, other_error) = log_evidence("post_post"), log_evidence(name)
    assert error < 0.01 and other_error < 0.015
    assert abs(found - expected) < 4 * np.hypot(error, other_error)
