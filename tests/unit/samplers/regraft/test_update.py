"""Updates keep the posterior: the prior without data, topologies and times by quadrature; caches stay true."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

import coaltree as ct
from coaltree._runtime.random_streams import make_streams
from coaltree.model.process.coalescent import standardized_gaps
from coaltree.model.process.whitened import Problem
from coaltree.samplers.regraft.candidates import Quadrature
from coaltree.samplers.regraft.regraft import Regraft
from coaltree.samplers.regraft.update import Rule, sweep
from coaltree.samplers.starts import first_tree
from tests.reference import regraft as reference
from tests.reference.evidence import exact_posterior
from tests.sampler_cases import RULES, Scattered, TrulyLocal, problem_of


def mean_and_error(values, n_batches=40):
    """Mean of a chain (T, …) and its standard error, by batch means."""
    values = np.asarray(values, dtype=float)
    batches = values[: len(values) // n_batches * n_batches].reshape(n_batches, -1, *values.shape[1:]).mean(axis=1)
    return batches.mean(axis=0), batches.std(axis=0) / math.sqrt(n_batches - 1)


def batch_z(values, expected):
    """Standardised difference of a chain's mean (T, …) from what it should be."""
    mean, error = mean_and_error(values)
    return (mean - expected) / np.maximum(error, 1e-9)


def frequency_z(seen, p):
    """Standardised difference of a chain's frequencies (T, k) from probabilities (k,), whose errors hold where p does.

    Batch means measure how much longer than of independent draws an error is. The error itself, if taken from a
    topology that was seen too seldom, is too small for that very reason: of 240 chains of 6,000 draws, all of them
    right, 9 then had a z beyond 4.5, and the least was -6.3; so taken, none has, and z lies between -3.8 and 3.6.
    """
    frequency, error = mean_and_error(seen)
    longer = error / np.sqrt(np.maximum(frequency * (1.0 - frequency), 1e-12) / len(seen))
    return (frequency - p) / (np.sqrt(p * (1.0 - p) / len(seen)) * np.maximum(longer, 1.0))


@pytest.mark.parametrize("sampler", [Regraft("all"), Regraft("local"), TrulyLocal(), Scattered()])
def test_sweeps_keep_caches_true(sampler):
    problem = problem_of(60, 5, noise=0.1)
    children, times = first_tree(problem, "average", np.random.default_rng(0))
    engine = sampler._engine(problem, problem.W, sampler.neighbors(problem, np.random.default_rng(0)))
    sweep(engine, children, times, make_streams(np.random.default_rng(2), 1)[0])
    tree = engine.tree
    inner = {x: tree.nodes[["left", "right", "time"]][x].tolist() for x in range(60, 119)}
    for x in range(119):
        mean, var, _ = reference.message(inner, x, problem.W.tolist(), 0.1)
        np.testing.assert_allclose(tree.mean[x], mean, rtol=1e-9, atol=1e-12)
        assert tree.nodes["var"][x] == pytest.approx(var, rel=1e-9)
        assert tree.nodes["size"][x] == len(reference.leaves_under(inner, x))
        parent = reference.parent_of(inner, x)
        assert tree.nodes["parent"][x] == (-1 if parent is None else parent)
    assert sorted(tree.lineages.links["time"][60:119]) == sorted(time for _, _, time in inner.values())


# z is in standard errors that are measured by batch means: a shorter chain only sees less.
long_or_short = pytest.mark.parametrize("share", [pytest.param(1.0, marks=pytest.mark.slow), 0.4])


@long_or_short
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n", [2, 5, 12])
def test_sweeps_without_data_keep_the_prior(rule, n, share):
    T = round(6000 * share)
    draws = RULES[rule].run(Problem(np.zeros((n, 0)), 0), np.random.default_rng(n), n_samples=T, n_warmup=100)
    gaps = standardized_gaps(draws.times)
    assert abs(batch_z(draws.times[:, -1], 2 * (1 - 1 / n))) < 4.5
    assert abs(batch_z(gaps.sum(axis=1), n - 1)) < 4.5
    assert np.all(np.abs(batch_z(gaps, 1.0)) < 4.5)
    assert stats.kstest(gaps.sum(axis=1)[::10], stats.gamma(n - 1).cdf).pvalue > 1e-4


@long_or_short
@pytest.mark.parametrize("rule", RULES)
def test_sweeps_without_data_draw_every_ranked_topology_as_often(rule, share):
    problem, n_samples = Problem(np.zeros((4, 0)), 0), round(18_000 * share)
    draws = RULES[rule].run(problem, np.random.default_rng(3), n_samples=n_samples, n_warmup=50)
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
    z = [frequency_z(seen.all(axis=2), np.array(list(posterior.topologies.values())))]
    z.append(batch_z(np.log(draws.times), posterior.mean_log_times))
    z.append([batch_z(draws.log_joint, posterior.mean_log_joint)])
    return np.concatenate(z)


@long_or_short
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_sweeps_draw_topologies_and_times_of_quadrature(rule, case, exact, share):
    X, posterior = exact[case]
    _, d, noise = case
    problem = Problem(np.ascontiguousarray(X), d, 0.0, np.array(noise))
    draws = RULES[rule].run(problem, np.random.default_rng(4), n_samples=round(6000 * share), n_warmup=50)
    p = np.array(list(posterior.topologies.values()))
    rare = np.minimum(p, 1.0 - p) < 6 / len(draws.times)  # seen, or not seen, too seldom to have an error of their own
    z = discrepancies(draws, posterior)
    assert np.all(np.abs(z[: rare.size][~rare]) < 4.5)
    assert np.all(np.abs(z[rare.size :]) < 4.5)


def test_sweeps_with_variances_of_other_rows_are_found_out(exact):
    """Negative control."""
    X, posterior = exact[CASES[-1]]
    problem = Problem(np.ascontiguousarray(X), 2, 0.0, np.array(CASES[-1][2][::-1]))
    draws = Regraft("all").run(problem, np.random.default_rng(4), n_samples=2400, n_warmup=50)
    assert np.abs(discrepancies(draws, posterior)).max() > 8.0


def test_update_without_the_correction_is_found_out_where_the_proposal_is_coarse(exact):
    @dataclass(frozen=True)
    class Uncorrected(Regraft):
        _rule = Rule(quadrature=Quadrature(spacing=12.0), correct=False)

    X, posterior = exact[4, 2, 0.0]
    problem = Problem(np.ascontiguousarray(X), 2)
    draws = Uncorrected("all", start="prior").run(problem, np.random.default_rng(4), n_samples=12_000, n_warmup=50)
    assert np.abs(discrepancies(draws, posterior)).max() > 8.0

    @dataclass(frozen=True)
    class Corrected(Regraft):
        _rule = Rule(quadrature=Quadrature(spacing=12.0))

    draws = Corrected("all", start="prior").run(problem, np.random.default_rng(4), n_samples=12_000, n_warmup=50)
    assert np.abs(discrepancies(draws, posterior)).max() < 4.5
