"""The verdict on convergence."""

import numpy as np

import coaltree as ct
from coaltree._runtime.formatting import number
from coaltree.posterior.diagnostics.convergence_verdict import judge
from tests.browser.posteriors import chain_posterior


def settled(**changes):
    rng = np.random.default_rng(0)
    post = chain_posterior(12, 4, 800, amplitude=rng.gamma(30, 0.1, 800))
    options = {"theta": dict(post.theta), "chain": post.chain, "log_joint": post.log_joint} | changes
    return ct.Posterior(post.children, post.times, **options)


def test_judge_finds_nothing_wrong_with_a_converged_run():
    verdict = judge(settled())
    assert {finding.grade for finding in verdict.findings} == {"good"}
    assert verdict.heading == "No sign of poor convergence"
    assert not any(finding.advice for finding in verdict.findings)


def test_judge_sees_chains_that_disagree():
    chain = np.arange(800) % 2
    amplitude = np.random.default_rng(0).normal(size=800) + 10 * chain
    verdict = judge(settled(theta={"amplitude": amplitude}, chain=chain))
    by_name = {finding.name: finding for finding in verdict.findings}
    assert by_name["R-hat"].grade == "poor"
    assert "amplitude" in by_name["R-hat"].value
    assert "Run longer" in by_name["R-hat"].advice
    assert by_name["Effective sample size"].grade == "poor"
    assert verdict.heading == "The run has not converged"
    assert "R-hat" in verdict.text


def test_judge_calls_supports_rough_where_trees_differ_by_chain():
    left, right = [[0, 1], [2, 3], [4, 5]], [[0, 2], [1, 3], [4, 5]]
    children = np.array([left] * 100 + [right] * 100)
    post = ct.Posterior(
        children,
        np.tile([1.0, 2.0, 3.0], (200, 1)),
        chain=np.repeat([0, 1], 100),
        log_joint=np.random.default_rng(0).normal(size=200),
    )
    by_name = {finding.name: finding for finding in judge(post).findings}
    finding = by_name["Standard deviation of split frequencies"]
    assert finding.grade == "poor"
    assert "Supports are rough" in finding.advice


def test_judge_cannot_compare_one_chain():
    verdict = judge(settled(chain=np.zeros(800, int)))
    by_name = {finding.name: finding for finding in verdict.findings}
    assert by_name["Standard deviation of split frequencies"].grade == "unknown"
    assert "n_chains=2" in by_name["Standard deviation of split frequencies"].advice


def test_judge_of_particles_one_tree_and_trees_of_unknown_origin():
    post = settled()
    particles = ct.Posterior(post.children, post.times, log_weights=np.linspace(0, 40, 800), log_evidence=-3.0)
    verdict = judge(particles)
    assert verdict.findings[0].grade == "fair"
    assert verdict.findings[0].value.startswith(number(particles.ess))
    assert judge(post[:1]).grade == "unknown"
    unknown = judge(ct.Posterior(post.children, post.times))
    assert unknown.grade == "unknown"
    assert "not recorded" in unknown.text
