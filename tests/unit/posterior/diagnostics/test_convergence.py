"""Convergence: figures, limits, and what the warning says."""

import math
import warnings

import numpy as np
import pytest

from coaltree.errors import ConvergenceWarning
from coaltree.model.process.coalescent import simulate_tree
from coaltree.model.process.simulation import simulate
from coaltree.posterior.diagnostics import convergence
from coaltree.posterior.diagnostics.convergence import (
    Figure,
    chains_agree,
    ending,
    shown_support,
    summarize,
    warn_if_poor,
    worst_figures,
)
from coaltree.posterior.of_trees import posterior_of_trees
from coaltree.tree.merges import in_order_of_time
from tests.browser.posteriors import chain_posterior


def test_figures_see_a_chain_apart():
    rng = np.random.default_rng(0)
    tree = simulate_tree(4, rng)
    T = 400
    children, times = np.repeat(tree.children[None], T, 0), np.repeat(tree.times[None], T, 0)
    chain = np.repeat([0, 1], T // 2)
    times = times * np.exp(0.1 * rng.normal(size=(T, 1)))
    good = posterior_of_trees(
        children, times, log_joint=rng.normal(size=T), chain=chain, theta={"a": rng.normal(size=(T, 2))}
    )
    found = convergence.figures(good)
    of_times = {"root_time", "merge_2", "merge_3", "mean_of_oldest", "tree_length"}
    assert set(found) == {"log_joint", *of_times, "a"}
    assert found["log_joint"]["r_hat"] < 1.02
    assert found["log_joint"]["ess"] > 250
    assert convergence.split_frequency_sd_of(good) == 0.0
    apart = posterior_of_trees(children, times, log_joint=rng.normal(size=T) + 2.0 * chain, chain=chain)
    assert convergence.figures(apart)["log_joint"]["r_hat"] > 1.1
    constant = posterior_of_trees(children, np.repeat(tree.times[None], T, 0), log_joint=np.zeros(T), chain=chain)
    assert np.isnan(convergence.figures(constant)["root_time"]["r_hat"])


MET = {"r_hat": 1.03, "ess": 75.0, "parameter_ess": 30.0}


def listed(by_key):
    return [convergence.Figure(key, value) for key, value in by_key.items()]


def test_limits_say_how_many_more_draws_are_needed():
    assert convergence.is_converged(listed(MET))
    changes = {"r_hat": (1.15, 3.0), "ess": (25.0, 2.0), "parameter_ess": (5.0, 5.0)}
    for name, (value, factor) in changes.items():
        assert not convergence.is_converged(listed(MET | {name: value}))
        assert convergence.times_more_draws(listed(MET | {name: value})) == pytest.approx(factor)
    assert convergence.is_converged(listed(dict.fromkeys(MET, math.nan)))  # of what never changes
    assert not convergence.is_converged(listed(MET | {"r_hat": math.inf}))  # chains that never move


def draws(n_draws, rho=0.0, seed=0):
    """Two chains of an autoregressive scalar, one after the other."""
    noise = np.random.default_rng(seed).normal(size=(2, n_draws))
    for t in range(1, n_draws):
        noise[:, t] += rho * noise[:, t - 1]
    return noise.ravel()


def test_entries_of_a_covariance_hold_nobody_up_unless_they_are_very_slow():
    """A slow entry of a matrix whose determinant and largest eigenvalue mix well; the same as a parameter is seen."""
    T, chain = 300, np.repeat([0, 1], 300)
    tree = simulate_tree(4, np.random.default_rng(0))
    children = np.repeat(tree.children[None], 2 * T, 0)
    times = tree.times * np.exp(0.1 * draws(T, seed=1))[:, None]

    def seen(rho, name):
        slow = np.tanh(draws(T, rho, seed=2) / (1.0 - rho) ** -0.5)
        matrix = np.tile(np.diag([1.0, 1.0, 90.0]), (2 * T, 1, 1)) * np.exp(0.1 * draws(T, seed=3))[:, None, None]
        matrix[:, 0, 1] = matrix[:, 1, 0] = 1e-3 * slow
        theta = {"Phi": matrix} if name == "Phi" else {name: slow}
        log_joint = draws(T, seed=4)
        post = posterior_of_trees(children, times, log_joint=log_joint, theta=theta, chain=chain)
        return {figure.key: figure for figure in convergence.worst_figures(convergence.figures(post))}

    slow, very_slow = seen(0.91, "Phi"), seen(0.99, "Phi")
    limits = convergence.LIMITS
    assert slow["parameter_ess"].value < limits["ess"].limit < slow["ess"].value
    assert convergence.is_converged(slow.values())
    assert very_slow["parameter_ess"].value < limits["parameter_ess"].limit
    assert not convergence.is_converged(very_slow.values())
    assert not convergence.is_converged(seen(0.91, "amplitude").values())


# Whether chains agree on the stability of clusters

N, T = 24, 40  # leaves, draws of each chain


def tree_of(groups, rng):
    """Children and times of a tree in which each of the groups of leaves is a clade, young beside the rest."""
    children, times, tops = [], [], []
    for leaves in groups:
        nodes = [(0.0, leaf) for leaf in leaves]
        while len(nodes) > 1:
            time = max(nodes[0][0], nodes[1][0]) + 0.01 * rng.exponential()
            (_, a), (_, b) = nodes.pop(0), nodes.pop(0)
            children.append((a, b))
            times.append(time)
            nodes.append((time, N + len(times) - 1))
        tops.append(nodes[0][1])
    while len(tops) > 1:
        children.append((tops.pop(0), tops.pop(0)))
        times.append(1.0 + len(times) + 0.1 * rng.random())
        tops.insert(0, N + len(times) - 1)
    return in_order_of_time(np.array(children), np.array(times))


def posterior(by_chain, **more):
    """Draws of chains, each from its own partitions of the leaves."""
    rng = np.random.default_rng(0)
    trees = [tree_of(groups[t % len(groups)], rng) for groups in by_chain for t in range(T)]
    children, times = map(np.array, zip(*trees, strict=True))
    return posterior_of_trees(children, times, chain=np.repeat(np.arange(len(by_chain)), T), **more)


def split(cut):
    """Two groups, the second beginning at a leaf."""
    return np.arange(cut), np.arange(cut, N)


def test_chains_of_the_same_posterior_agree():
    both = [split(12), split(6)]
    for by_chain in ([[split(12)], [split(12)]], [both, both]):
        agreement = chains_agree(posterior(by_chain))
        assert agreement.n_clusters >= 2
        assert agreement.stability_difference == 0.0


def test_chains_held_in_two_halves_of_the_posterior_do_not_agree():
    """Also where nothing is stable any more, so that one cluster is suggested."""
    for other in ([split(6)], [split(6), split(3)], [[np.arange(0, N, 2), np.arange(1, N, 2)]]):
        held = posterior([[split(12)], other])
        agreement = chains_agree(held)
        assert agreement.n_clusters == max(held.suggest_n_clusters().n_clusters, 2)
        assert agreement.stability_difference > 0.2


def test_agreement_is_the_difference_between_the_stabilities_of_each_chain():
    rng = np.random.default_rng(3)
    visits = [[split(12) if rng.random() < share else split(6) for _ in range(T)] for share in (0.8, 0.5)]
    post = posterior(visits)
    agreement = chains_agree(post)
    labels = post.cut(agreement.n_clusters)
    first, second = (post[post.draws.chain == c].stability(labels).jaccard for c in (0, 1))
    np.testing.assert_allclose(agreement.stability_difference, np.abs(first - second).max(), atol=1e-12)
    assert 0.0 < agreement.stability_difference < 0.3


def test_agreement_needs_two_chains_of_equal_weights():
    assert chains_agree(posterior([[split(12)]])) is None
    two = posterior([[split(12)], [split(12)]])
    assert chains_agree(posterior_of_trees(two.draws.children, two.draws.times, log_weights=np.arange(2.0 * T))) is None
    assert chains_agree(two) is not None


# In sentences


FINE = {"log_joint": {"r_hat": 1.0, "ess": 400.0}}
LENGTH = ("n_warmup", "n_samples")


def settled(**changes):
    rng = np.random.default_rng(0)
    post = chain_posterior(12, 4, 800, amplitude=rng.gamma(30, 0.1, 800))
    options = {"theta": dict(post.theta), "chain": post.draws.chain, "log_joint": post.log_joint} | changes
    return posterior_of_trees(post.draws.children, post.draws.times, **options)


def figures_of(summary):
    return {figure.key: figure for figure in summary.figures}


def test_summary_sees_chains_that_disagree():
    summary = summarize(settled())
    assert {figure.grade for figure in summary.figures} == {"good"} == {summary.grade}
    assert set(summary.scalars) >= {"log_joint", "amplitude"}
    chain = np.arange(800) % 2
    amplitude = np.random.default_rng(0).normal(size=800) + 10 * chain
    figures = figures_of(summarize(settled(theta={"amplitude": amplitude}, chain=chain)))
    assert (figures["r_hat"].grade, figures["r_hat"].of) == ("poor", "amplitude")
    assert figures["ess"].grade == "poor"


def test_warning_says_what_is_poor_and_what_would_help():
    bad = {"log_joint": {"r_hat": 1.3, "ess": 7.0}}
    with pytest.warns(ConvergenceWarning, match=r"n_warmup and n_samples.*start=posterior\.$") as caught:
        warn_if_poor(worst_figures(bad), LENGTH)
    assert caught[0].message.findings == (
        "R-hat of log joint is 1.30 (at most 1.05)",
        "effective sample size of log joint is 7 (at least 50)",
    )
    with pytest.warns(ConvergenceWarning, match="they disagree about the clusters"):
        warn_if_poor([*worst_figures(FINE), Figure("clusters", 0.3)], LENGTH)
    with pytest.warns(ConvergenceWarning, match="their clusters are the same"):
        warn_if_poor([*worst_figures(bad), Figure("clusters", 0.0)], LENGTH)
    with pytest.warns(ConvergenceWarning, match="clusters, times and parameters may change") as caught:
        warn_if_poor(worst_figures(FINE | {"log_joint": {"r_hat": math.nan, "ess": math.nan}}), LENGTH)
    assert "R-hat is unknown" in caught[0].message.findings[0]
    assert "R-hat" not in str(caught[0].message)
    with warnings.catch_warnings(record=True) as caught:
        warn_if_poor([*worst_figures(FINE), Figure("clusters", 0.1)], LENGTH)
    assert caught == []


def test_ending_says_why_and_when():
    done = {"reason": "converged", "iterations": 1420, "thin": 1}
    expected = "converged after 1,420 iterations per chain, 30 of them warm-up"
    assert ending({"stopping": done, "n_warmup": 30}) == expected
    clock = done | {"reason": "max_seconds", "thin": 4}
    assert ending({"stopping": clock}) == "stopped at max_seconds after 1,420 iterations per chain, thinned by 4"


def test_supports_are_not_shown_on_which_chains_that_have_not_converged_differ():
    X, tree = simulate(12, 3, random_state=0)
    other = simulate_tree(12, np.random.default_rng(1), tree.labels)
    chain, wandering = np.arange(60) // 30, np.random.default_rng(0).normal(size=60)

    def shares(second, log_joint):
        trees = [tree] * 30 + [second] * 30
        children, times = np.array([one.children for one in trees]), np.array([one.times for one in trees])
        post = posterior_of_trees(children, times, log_joint=log_joint, chain=chain, X=X)
        return shown_support(post, tree), np.asarray(post.clade_support(tree, kind="transfer")), post

    shown, support, post = shares(other, wandering + 20.0 * chain)
    is_hidden = np.isnan(shown)
    assert 0 < is_hidden.sum() < len(shown) and not is_hidden[-1]
    np.testing.assert_array_equal(shown[~is_hidden], support[~is_hidden])
    assert ")[&" in post.to_newick(tree) and "nan" not in post.to_newick(tree)
    assert not np.isnan(shares(tree, wandering + 20.0 * chain)[0]).any()  # the chains agree about every clade
