"""The sequential samplers against quadrature, and against each other.

A run without resampling is a mean of M independent weights, so its own weights give its standard error.
"""

import numpy as np
import pytest

import coaltree as ct
from tests.reference.evidence import exact_posterior, leaf_sets

SAMPLERS = {"prior": ct.Prior, "post_post": ct.PostPost, "mpost1": ct.MPost1, "mpost2": ct.MPost2, "smc1": ct.SMC1}
PARTICLES = {"prior": 200_000}
# In `make test` a quarter of the particles, so that the standard errors, which decide, are twice as large.
long_or_short = pytest.mark.parametrize("share", [pytest.param(1.0, marks=pytest.mark.slow), 0.25])
CASES = [(3, 1), (3, 2), (3, 9), (4, 1), (4, 2), (4, 9)]


def run(sampler, X, M, seed=0, noise=0.0, **settings):
    d = X.shape[1]
    value = SAMPLERS[sampler](n_particles=M, resample_below=0.0, **settings)
    return ct.sample_trees(X, np.eye(d), value, random_state=seed, noise=noise, progress=False)


def relative_error(post):
    """Standard error of log p̂(X): that of the mean weight, relative to it."""
    return np.sqrt((np.square(post.weights).sum() * len(post) - 1) / len(post))


@pytest.fixture(scope="module")
def cases():
    made = {}
    for n, d in CASES:
        X, _ = ct.simulate(n, d, random_state=10 * n + d)
        made[n, d] = X, exact_posterior(X)
    return made


@long_or_short
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_evidence_equals_quadrature_in_the_mean(sampler, case, cases, share):
    X, exact = cases[case]
    post = run(sampler, X, round(share * PARTICLES.get(sampler, 40_000)))
    error = relative_error(post)
    assert error < 0.02 / np.sqrt(share)
    assert abs(post.log_evidence - exact.log_evidence) < 4 * error


@pytest.mark.parametrize("case", [(3, 2), (4, 9)])
@pytest.mark.parametrize("sampler", ["mpost1", "mpost2"])
def test_evidence_by_printed_weights_is_biased(sampler, case, cases):
    X, exact = cases[case]
    post = run(sampler, X, 10_000, weights="printed")
    assert abs(post.log_evidence - exact.log_evidence) > 4 * relative_error(post)


@pytest.fixture(scope="module")
def noisy_case():
    """Data with leaf noise 0.3, the log evidence of just that, and that of another noise."""
    X, _ = ct.simulate(4, 2, random_state=5, noise=0.3)
    X[1] = X[0]  # identical rows have a density now
    return X, *(exact_posterior(X, leaf_var=noise).log_evidence for noise in (0.3, 0.4))


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_evidence_depends_on_noise(sampler, noisy_case):
    X, expected, of_another = noisy_case
    post = run(sampler, X, PARTICLES.get(sampler, 40_000), noise=0.3)
    assert abs(post.log_evidence - expected) < 4 * relative_error(post)
    assert abs(post.log_evidence - of_another) > 4 * relative_error(post)


@long_or_short
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_evidence_stays_unbiased_under_resampling(sampler, cases, share):
    X, exact = cases[4, 2]
    value = SAMPLERS[sampler](n_particles=100, resample_below=1.0)
    runs = [
        ct.sample_trees(X, np.eye(2), value, random_state=seed, progress=False) for seed in range(round(320 * share))
    ]
    evidence = np.exp([post.log_evidence - exact.log_evidence for post in runs])
    assert any(post.info["n_resampled"] for post in runs)
    assert abs(evidence.mean() - 1) < 4 * evidence.std() / np.sqrt(len(runs))


def frequency_and_error(weights, has):
    """Return the weighted share of particles that have something, and its standard error (self-normalised)."""
    p = weights[has].sum()
    return p, np.sqrt(np.square(weights * (has - p)).sum())


def tree_codes(post, code_of_tree):
    """Name each tree by `code_of_tree`, once for each different array of children."""
    unique, inverse = np.unique(post.draws.children.reshape(len(post), -1), axis=0, return_inverse=True)
    return [code_of_tree(row.reshape(-1, 2)) for row in unique], inverse.ravel()


@long_or_short
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_topology_probabilities_at_n_4(sampler, cases, share):
    X, exact = cases[4, 2]
    post = run(sampler, X, round(60_000 * share))
    codes, of_tree = tree_codes(post, lambda children: tuple(tuple(sorted(map(int, pair))) for pair in children))
    for merges, probability in exact.topologies.items():
        has = np.isin(of_tree, [i for i, code in enumerate(codes) if code == merges])
        found, error = frequency_and_error(post.weights, has)
        assert abs(found - probability) < 4.5 * error + 1e-4
    mean_times = post.weights @ post.draws.times
    error = np.sqrt(np.square(post.weights) @ np.square(post.draws.times - mean_times))
    assert np.all(np.abs(mean_times - exact.mean_times) < 4.5 * error)


@pytest.mark.slow
def test_clade_probabilities_of_all_samplers_agree_at_n_6():
    X = np.random.default_rng(4).standard_normal((6, 2))
    tables = {}
    for sampler in SAMPLERS:
        post = run(sampler, X, 200_000 if sampler == "prior" else 20_000, seed=1)
        codes, of_tree = tree_codes(post, leaf_sets)
        tables[sampler] = {
            clade: frequency_and_error(post.weights, np.isin(of_tree, [i for i, c in enumerate(codes) if clade in c]))
            for clade in set().union(*codes)
        }
    clades = [clade for clade, (p, _) in tables["post_post"].items() if 0.02 < p < 0.98]
    assert len(clades) >= 10
    for clade in clades:
        p, error = tables["post_post"][clade]
        for sampler in SAMPLERS:
            q, other = tables[sampler].get(clade, (0.0, 0.0))
            assert abs(p - q) < 5 * np.hypot(error, other), (sampler, sorted(clade))
    wrong = tables["post_post"][max(clades, key=lambda clade: tables["post_post"][clade][0])]
    assert abs(wrong[0] - 0.9 * wrong[0]) > 5 * np.hypot(wrong[1], wrong[1])  # a tenth off would be seen
