"""Greedy trees against a search through all pairs, and their rules against plain numbers."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from coaltree.model.process.diffusion import squared_distances
from coaltree.samplers.merging import greedy
from coaltree.samplers.merging.particles import make_context, trees_of
from tests.sampler_cases import DATA, problem_of_data

RULES = [greedy.LOG_MODE, greedy.TEH_MODE, greedy.PRINTED_TEH_MODE]


def plain_search(rule, problem):
    """Children and times of the greedy tree, every pair looked at in every step."""
    n, d = problem.n, problem.d
    eps = squared_distances(problem.W)
    nodes, a, before = list(range(n)), [problem.leaf_var] * n, 0.0
    children, times = [], []
    for step in range(n - 1):
        lam = 0.5 * (n - step) * (n - step - 1)
        pairs = [(i, j) for j in range(len(nodes)) for i in range(j)]
        gaps = [greedy._most_likely_v(rule, eps[i, j], lam, d) - a[i] - a[j] for i, j in pairs]
        i, j = pairs[int(np.argmin(gaps))]
        before = max(before, 0.5 * min(gaps))
        children.append((nodes[i], nodes[j]))
        times.append(before)
        s_i, s_j = a[i] + before, a[j] + before
        w = s_j / (s_i + s_j)
        row = w * eps[i] + (1.0 - w) * eps[j] - w * (1.0 - w) * eps[i, j]
        eps = np.vstack([np.column_stack([eps, row]), [*row, 0.0]])
        eps = np.delete(np.delete(eps, [i, j], axis=0), [i, j], axis=1)
        nodes = [*(x for k, x in enumerate(nodes) if k not in (i, j)), n + step]
        a = [*(x for k, x in enumerate(a) if k not in (i, j)), s_i * w - before]
    return np.array(children), np.array(times)


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("rule", RULES)
def test_greedy_tree_equals_that_of_a_plain_search(rule, name, noise):
    problem = problem_of_data(name, noise)
    children, times = plain_search(rule, problem)
    for n_near in (2, 8):
        context = make_context(problem, np.zeros((1, 4), np.uint64), n_near, with_density=False)
        greedy._grow(context, 0, problem.n - 1, rule)
        found, found_times, log_joint = trees_of(context)
        if name != "grid":  # ties may be broken either way
            np.testing.assert_array_equal(np.sort(found[0]), np.sort(children))
            np.testing.assert_allclose(found_times[0], times, rtol=1e-7)
        assert np.isfinite(log_joint).all()


@pytest.mark.parametrize("d", [1, 2, 7, 100])
@pytest.mark.parametrize("rule", RULES)
def test_eps_of_v_inverts_the_most_likely_v(rule, d):
    for eps in (1e-6, 0.3, 40.0):
        v = greedy._most_likely_v(rule, eps, 15.0, d)
        assert greedy._eps_of_v(rule, v, 15.0, d) == pytest.approx(eps, rel=1e-9)


@pytest.mark.parametrize("d", [2, 7])
def test_most_likely_v_is_a_mode(d):
    lam, eps = 10.0, 3.0
    for rule, order in ((greedy.LOG_MODE, 1.0 - 0.5 * d), (greedy.TEH_MODE, -0.5 * d)):
        top = minimize_scalar(lambda y, k=order: -(k * y - 0.5 * eps * np.exp(-y) - 0.5 * lam * np.exp(y)))
        assert greedy._most_likely_v(rule, eps, lam, d) == pytest.approx(np.exp(top.x), rel=1e-5)
