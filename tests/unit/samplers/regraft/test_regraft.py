"""Regraft as a sampler: valid trees, the same bits, hard data, and the distributions it must leave alone."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

import coaltree as ct
from coaltree._runtime.random_streams import make_streams
from coaltree.errors import InputError
from coaltree.model.process.coalescent import simulate_tree, standardized_gaps
from coaltree.model.process.whitened import Problem
from coaltree.samplers.regraft.candidates import Care
from coaltree.samplers.regraft.regraft import Regraft
from coaltree.samplers.regraft.update import Rule, sweeps
from coaltree.samplers.starts import first_tree, strictly_increasing
from tests.reference import regraft as reference
from tests.reference.evidence import exact_posterior


@dataclass(frozen=True)
class TrulyLocal(Regraft):
    """Local candidates even where few lineages are left."""

    candidates: str = "local"
    n_neighbors: int = 1
    global_share: float | None = 0.0
    _rule = Rule(few=0.0, around=0.0)


@dataclass(frozen=True)
class Around(TrulyLocal):
    """The same, with the clades around a subtree's place as candidates, and rarely the whole tree."""

    _rule = Rule(few=0.0, around=1.0, least_around=2.0, most_around=5.0)


RULES = {"all": Regraft("all", start="prior"), "local": TrulyLocal(start="prior"), "around": Around(start="prior")}


def problem_of(n, d, seed=0, noise=0.0):
    X, _ = ct.simulate(n, d, random_state=seed)
    return Problem(np.ascontiguousarray(X), None, d, 0.0, noise)


def draw(sampler, problem, seed=1, n_samples=20, n_warmup=5):
    return sampler.run(problem, np.random.default_rng(seed), n_samples=n_samples, n_warmup=n_warmup)


def batch_z(values, expected, n_batches=40):
    """Standardised difference of a chain's mean (T, …) from what it should be, by batch means."""
    values = np.asarray(values, dtype=float)
    batches = values[: len(values) // n_batches * n_batches].reshape(n_batches, -1, *values.shape[1:]).mean(axis=1)
    return (batches.mean(axis=0) - expected) / np.maximum(batches.std(axis=0) / math.sqrt(n_batches - 1), 1e-9)


# --- trees and bits -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("n", "d"), [(2, 3), (3, 1), (5, 2), (40, 6), (150, 40)])
def test_draws_are_valid_trees_with_their_own_log_joint(rule, n, d):
    problem = problem_of(n, d)
    draws = draw(RULES[rule], problem)
    assert draws.children.shape == (20, n - 1, 2)
    for children, times, log_joint in zip(draws.children, draws.times, draws.log_joint, strict=True):
        tree = ct.Tree(children, times)
        assert tree.times[0] > 0.0
        assert log_joint == pytest.approx(tree.log_prior() + tree.log_likelihood(problem.W, np.eye(d)), rel=1e-9)
    assert set(draws.info) == {"accepted", "candidates", "missed", "interrupted"}
    assert 0.85 < draws.info["accepted"] + draws.info["missed"] <= 1.0


@pytest.mark.parametrize("sampler", [Regraft("all"), Regraft("local"), TrulyLocal()])
def test_caches_stay_true_through_a_sweep(sampler):
    problem = problem_of(60, 5, noise=0.1)
    children, times = first_tree(problem, "average", np.random.default_rng(0))
    engine = sampler._engine(problem, problem.W, sampler.neighbors(problem, np.random.default_rng(0)))
    kept = np.empty((1, 59, 2), np.int32), np.empty((1, 59))
    sweeps(engine, children, times, *kept, make_streams(np.random.default_rng(2), 1)[0])
    tree = engine.tree
    inner = {x: (int(tree.child[x, 0]), int(tree.child[x, 1]), float(tree.time[x])) for x in range(60, 119)}
    for x in range(119):
        mean, var, _ = reference.message(inner, x, problem.W.tolist(), 0.1)
        np.testing.assert_allclose(tree.mean[x], mean, rtol=1e-9, atol=1e-12)
        assert tree.var[x] == pytest.approx(var, rel=1e-9)
        parent = reference.parent_of(inner, x)
        assert tree.parent[x] == (-1 if parent is None else parent)
    assert sorted(tree.lineages.time[60:]) == sorted(time for _, _, time in inner.values())


@pytest.mark.parametrize("sampler", [Regraft("all"), Regraft("local")])
def test_same_seed_same_bits(sampler):
    problem = problem_of(50, 4)
    one, two = draw(sampler, problem), draw(sampler, problem)
    np.testing.assert_array_equal(one.children, two.children)
    np.testing.assert_array_equal(one.times, two.times)
    other = draw(sampler, problem, seed=2)
    assert not np.array_equal(one.times, other.times)


def test_where_arrays_lie_in_memory_changes_no_bit():
    problem = problem_of(40, 4)
    rng = np.random.default_rng(0)
    results, clutter = set(), []
    for _ in range(12):
        clutter.append([np.empty(size) for size in rng.integers(1, 5000, 20)][::3])
        results.add(draw(Regraft("all"), problem, n_samples=60).times.tobytes())
    assert len(results) == 1


def test_a_sweep_depends_on_the_tree_alone_not_on_what_was_cached_before():
    problem = problem_of(80, 4)
    sampler = Regraft("local")
    rng = np.random.default_rng(0)
    neighbors = sampler.neighbors(problem, rng)
    tree = sampler.step(problem, None, rng)[:2]
    for _ in range(3):
        seed = int(rng.integers(2**32))
        fresh = sampler.step(problem, tree, np.random.default_rng(seed), neighbors=neighbors)
        again = sampler.step(problem, tree, np.random.default_rng(seed), neighbors=neighbors.copy())
        np.testing.assert_array_equal(fresh[0], again[0])
        np.testing.assert_array_equal(fresh[1], again[1])
        tree = fresh[:2]


def test_rotated_rows_give_the_same_chain_up_to_rounding():
    problem = problem_of(12, 40)
    W = problem.W - problem.W.mean(axis=0)
    rotated = np.linalg.qr(W.T, mode="r").T[:, :11]
    full = draw(Regraft("all"), problem, n_samples=3, n_warmup=0)
    short = draw(Regraft("all"), problem._replace(W=np.ascontiguousarray(rotated)), n_samples=3, n_warmup=0)
    np.testing.assert_array_equal(full.children[0], short.children[0])
    np.testing.assert_allclose(full.times[0], short.times[0], rtol=1e-6)


def test_progress_and_starts():
    problem = problem_of(30, 3)
    seen = []
    Regraft("all").run(problem, np.random.default_rng(0), n_samples=5, n_warmup=2, progress=lambda *a: seen.append(a))
    assert seen[-1] == (7, 7)
    given = simulate_tree(30, np.random.default_rng(5))
    for start in ("auto", "average", "insertion", "greedy", "prior", given, (given.children, given.times)):
        children, times = first_tree(problem, start, np.random.default_rng(1))
        assert np.all(np.diff(times) > 0)
        ct.Tree(children, times)
        draws = Regraft("local", start=start).run(problem, np.random.default_rng(0), n_samples=1, n_warmup=10)
        assert draws.log_joint[0] > -200.0


def test_ties_and_zeros_are_pulled_apart():
    times = strictly_increasing([0.0, 0.0, 1e-6, 1e-6, 0.5, 0.5, 2.0])
    assert times[0] > 0.0
    assert np.all(np.diff(times) > 0.0)
    np.testing.assert_allclose(times[2:], [1e-6, 1e-6, 0.5, 0.5, 2.0], rtol=1e-7)
    assert np.all(np.diff(strictly_increasing(np.zeros(5))) > 0)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"candidates": "some"}, "candidates must be"),
        ({"n_neighbors": 0}, "at least 1"),
        ({"n_neighbors": 2.5}, "whole number"),
        ({"global_share": 2.0}, "from 0 to 1"),
    ],
)
def test_wrong_settings_are_named(settings, words):
    with pytest.raises(InputError, match=words):
        Regraft(**settings)


def test_wrong_starts_are_named():
    problem = problem_of(5, 2)
    for start in ("nonsense", None, 3, (1, 2)):
        with pytest.raises(InputError, match="start must be"):
            draw(Regraft(start=start), problem)
    with pytest.raises(InputError, match="each of 5 distinct rows, not one with 4"):
        draw(Regraft(start=simulate_tree(4, np.random.default_rng(0))), problem)
    with pytest.raises(InputError, match="needs the rows"):
        draw(Regraft(), Problem(None, np.zeros((4, 4)), 3))


# --- hard data ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("d", [1, 2, 30])
def test_near_duplicates_far_scales_and_identical_rows_never_break_it(rule, d):
    rng = np.random.default_rng(d)
    rows = rng.normal(size=(12, d))
    close = np.concatenate([rows, rows[:6] + 1e-9 * rng.normal(size=(6, d)), rows[:2] * (1.0 + 1e-15)])
    for W, noise in [(close, 0.0), (rows * 1e6, 0.0), (rows * 1e-6, 0.0), (np.zeros((9, d)), 0.5)]:
        problem = Problem(np.ascontiguousarray(W), None, d, 0.0, noise)
        for start in ("average", "prior"):
            draws = draw(type(RULES[rule])(RULES[rule].candidates, start=start), problem, n_samples=10)
            assert np.all(np.isfinite(draws.times)) and np.all(draws.times > 0)
            for children, times in zip(draws.children, draws.times, strict=True):
                ct.Tree(children, times)


@pytest.mark.parametrize("sampler", [Regraft("all"), TrulyLocal(), ct.Insertion(n_particles=40)])
def test_the_unit_of_small_values_does_not_matter(sampler):
    """Where times are far below 1 the prior is flat, and data in another unit give the same trees in another unit."""
    problem = problem_of(12, 5)
    unit = 2.0**-40
    drawn = [draw(sampler, problem._replace(W=problem.W * unit))]
    for smaller in (2.0**-100, 2.0**-490):
        drawn.append(draw(sampler, problem._replace(W=problem.W * smaller)))
        np.testing.assert_array_equal(drawn[-1].children, drawn[0].children)
        np.testing.assert_allclose(drawn[-1].times / smaller**2, drawn[0].times / unit**2, rtol=1e-6)


@pytest.mark.parametrize(
    "sampler", [Regraft("all"), TrulyLocal(), ct.Insertion(n_particles=3), Regraft(start="insertion")]
)
@pytest.mark.parametrize(("scale", "words"), [(1e-170, "squared distance is 0"), (1e13, "too large")])
def test_values_beyond_what_numbers_can_tell_apart_are_refused(sampler, scale, words):
    X = ct.simulate(20, 3, random_state=0)[0] * scale
    with pytest.raises(InputError, match=words):
        ct.sample_trees(X, np.eye(3), sampler, random_state=0)
    with pytest.raises(InputError, match=words):
        ct.fit(X, np.eye(3), sampler, random_state=0, n_samples=2, n_warmup=1, noise=0.0)


def test_large_values_lose_no_branch():
    """Densities that differ by millions of nats along a branch: no weight may overflow."""
    X = ct.simulate(60, 6, random_state=0)[0] * 1e6
    post = ct.sample_trees(X, np.eye(6), ct.Insertion(n_particles=50), random_state=0)
    assert np.isfinite(post.log_joint).all() and np.isfinite(post.log_evidence)


def test_an_interruption_returns_the_sweeps_done():
    X = ct.simulate(200, 3, random_state=0)[0]
    sampler = Regraft("local")

    def stop_at(last):
        def progress(done, total):
            if done >= last:
                raise KeyboardInterrupt

        return progress

    whole = ct.sample_trees(X, np.eye(3), sampler, n_samples=200, n_warmup=3, random_state=0)
    with pytest.warns(ct.CoaltreeWarning, match=r"interrupted: the posterior holds \d+ of 200 trees"):
        part = ct.sample_trees(X, np.eye(3), sampler, n_samples=200, n_warmup=3, random_state=0, progress=stop_at(100))
    assert 1 <= len(part) < 200 and part.info["interrupted"] and not whole.info["interrupted"]
    np.testing.assert_array_equal(part.times, whole.times[: len(part)])
    np.testing.assert_array_equal(part.log_joint, whole.log_joint[: len(part)])
    with pytest.raises(KeyboardInterrupt):
        ct.sample_trees(X, np.eye(3), sampler, n_samples=200, n_warmup=3, random_state=0, progress=stop_at(3))


def test_ten_thousand_dimensions():
    problem = problem_of(10, 10_000)
    draws = draw(Regraft("all"), problem, n_samples=50)
    assert np.all(np.isfinite(draws.log_joint))
    assert draws.info["accepted"] > 0.8


# --- distributions --------------------------------------------------------------------------------------------------


# z is in standard errors that are measured by batch means: a shorter chain only sees less.
long_or_short = pytest.mark.parametrize("share", [pytest.param(1.0, marks=pytest.mark.slow), 0.4])


@long_or_short
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n", [2, 5, 12])
def test_without_data_the_prior_is_left_as_it_is(rule, n, share):
    T = round(6000 * share)
    draws = RULES[rule].run(Problem(np.zeros((n, 0)), None, 0), np.random.default_rng(n), n_samples=T, n_warmup=100)
    gaps = standardized_gaps(draws.times)
    assert abs(batch_z(draws.times[:, -1], 2 * (1 - 1 / n))) < 4.5
    assert abs(batch_z(gaps.sum(axis=1), n - 1)) < 4.5
    assert np.all(np.abs(batch_z(gaps, 1.0)) < 4.5)
    assert stats.kstest(gaps.sum(axis=1)[::10], stats.gamma(n - 1).cdf).pvalue > 1e-4


@pytest.mark.parametrize("rule", RULES)
def test_without_data_every_ranked_topology_is_as_likely(rule):
    draws = RULES[rule].run(Problem(np.zeros((4, 0)), None, 0), np.random.default_rng(3), n_samples=18_000, n_warmup=50)
    codes = np.sort(draws.children, axis=2).reshape(len(draws.times), -1) @ 7 ** np.arange(6)
    kinds, which = np.unique(codes, return_inverse=True)
    assert len(kinds) == 18
    z = batch_z(which[:, None] == np.arange(18), 1 / 18)
    assert np.all(np.abs(z) < 4.5)


CASES = [(3, 1, 0.0), (3, 9, 0.0), (4, 2, 0.0), (4, 2, 0.3), (4, 9, 0.0), (3, 2, (0.02, 0.3, 2.0))]


@pytest.fixture(scope="module")
def exact():
    found = {}
    for n, d, noise in CASES:
        X, _ = ct.simulate(n, d, random_state=10 * n + d)
        found[n, d, noise] = X, exact_posterior(X, leaf_var=noise)
    return found


def discrepancies(draws, posterior):
    """z of every topology's frequency, of the mean log times, and of the mean log joint."""
    keys = [tuple(tuple(sorted(int(x) for x in pair)) for pair in merges) for merges in draws.children]
    names = [tuple(tuple(sorted(pair)) for pair in merges) for merges in posterior.topologies]
    seen = np.array(keys).reshape(len(keys), -1)[:, None] == np.array(names).reshape(len(names), -1)
    z = [batch_z(seen.all(axis=2), np.array(list(posterior.topologies.values())))]
    z.append(batch_z(np.log(draws.times), posterior.mean_log_times))
    z.append([batch_z(draws.log_joint, posterior.mean_log_joint)])
    return np.concatenate(z)


@long_or_short
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_topologies_and_times_equal_quadrature(rule, case, exact, share):
    X, posterior = exact[case]
    _, d, noise = case
    problem = Problem(np.ascontiguousarray(X), None, d, 0.0, np.array(noise))
    draws = RULES[rule].run(problem, np.random.default_rng(4), n_samples=round(6000 * share), n_warmup=50)
    p = np.array(list(posterior.topologies.values()))
    rare = np.minimum(p, 1.0 - p) < 6 / len(draws.times)  # seen, or not seen, too seldom to have an error of their own
    z = discrepancies(draws, posterior)
    assert np.all(np.abs(z[: rare.size][~rare]) < 4.5)
    assert np.all(np.abs(z[rare.size :]) < 4.5)


def test_variances_of_other_rows_are_found_out(exact):
    """Negative control."""
    X, posterior = exact[CASES[-1]]
    problem = Problem(np.ascontiguousarray(X), None, 2, 0.0, np.array(CASES[-1][2][::-1]))
    draws = Regraft("all").run(problem, np.random.default_rng(4), n_samples=2400, n_warmup=50)
    assert np.abs(discrepancies(draws, posterior)).max() > 8.0


def test_without_the_correction_a_coarse_proposal_is_found_out(exact):
    @dataclass(frozen=True)
    class Uncorrected(Regraft):
        _rule = Rule(care=Care(coarse=12.0), correct=False)

    X, posterior = exact[4, 2, 0.0]
    problem = Problem(np.ascontiguousarray(X), None, 2)
    draws = Uncorrected("all", start="prior").run(problem, np.random.default_rng(4), n_samples=12_000, n_warmup=50)
    assert np.abs(discrepancies(draws, posterior)).max() > 8.0

    @dataclass(frozen=True)
    class Corrected(Regraft):
        _rule = Rule(care=Care(coarse=12.0))

    draws = Corrected("all", start="prior").run(problem, np.random.default_rng(4), n_samples=12_000, n_warmup=50)
    assert np.abs(discrepancies(draws, posterior)).max() < 4.5
