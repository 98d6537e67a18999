"""Is `fit` right about what it does not know? Intervals must hold the truth as often as they say."""

import math
import warnings

import numpy as np
import pytest
from scipy import stats

from coaltree.errors import ConvergenceWarning
from coaltree.inference.fit import fit
from coaltree.model.covariance import Components, InverseGamma, InverseWishart, LogNormal, SquaredExponential
from coaltree.model.process.coalescent import simulate_tree
from coaltree.model.process.diffusion import simulate_data

PRIORS = {"amplitude": InverseGamma(4.0, 6.0), "length2": LogNormal(2.0, 0.5), "noise": LogNormal(0.2, 0.5)}


def draw_problem(n, d, rng):
    theta = {name: float(prior.sample(rng)) for name, prior in PRIORS.items()}
    covariance = SquaredExponential(priors=PRIORS).with_theta(theta)
    tree = simulate_tree(n, rng)
    return theta, tree, simulate_data(tree, d, rng, covariance.whitener(d).color)


def quiet_fit(X, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit(X, SquaredExponential(1.0, 0.1, priors=PRIORS), **options)


def covered(draws, truth, level=0.9):
    # Quantiles at (N + 1) p: of N independent draws they hold a further one in exactly `level` of all cases, where the
    # usual ones, at (N - 1) p + 1, hold it in level (N - 1)/(N + 1).
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0, method="weibull")
    return (low <= truth) & (truth <= high)


def imputation_coverage(n_data_sets, rng, n_samples, n=24, d=8):
    """Per data set: share of hidden values in the 90 % and the 50 % interval, and the two errors of imputation."""
    found = []
    for _ in range(n_data_sets):
        _, _, X = draw_problem(n, d, rng)
        hidden = rng.random(X.shape) < 0.1
        hidden[np.argmax(~hidden.all(axis=1)), 0] |= not hidden.any()
        seen = np.where(hidden, np.nan, X)
        post = quiet_fit(seen, n_samples=n_samples, n_warmup=30, n_chains=1, random_state=rng)
        truth = X[hidden]
        error = np.sqrt(np.mean((post.draws.imputed.mean(axis=0) - truth) ** 2))
        by_column = np.sqrt(np.mean((np.broadcast_to(np.nanmean(seen, axis=0), X.shape)[hidden] - truth) ** 2))
        shares = [covered(post.draws.imputed, truth, level).mean() for level in (0.9, 0.5)]
        found.append([*shares, error, by_column])
    return np.array(found)


@pytest.mark.parametrize(
    ("n_data_sets", "n_samples", "max_error"), [pytest.param(8, 60, 0.04, marks=pytest.mark.slow), (4, 40, 0.06)]
)
def test_intervals_of_missing_entries_hold_the_truth(n_data_sets, n_samples, max_error):
    found = imputation_coverage(n_data_sets, np.random.default_rng(0), n_samples)
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / math.sqrt(len(found))
    assert abs(mean[0] - 0.9) < 4.5 * error[0] + 0.01  # the draws of a chain are not quite independent
    assert abs(mean[1] - 0.5) < 4.5 * error[1] + 0.01
    assert error[0] < max_error
    # Negative control: the 50 % interval does not pass for a 90 % one.
    assert abs(mean[1] - 0.9) > 4.5 * error[1] + 0.01
    # And it is worth the trouble: far closer than a column's mean.
    assert np.median(found[:, 2] / found[:, 3]) < 0.6


def test_tree_hardly_changes_where_a_tenth_is_missing():
    rng = np.random.default_rng(1)
    _, tree, X = draw_problem(30, 40, rng)
    seen = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    options = {"n_samples": 60, "n_warmup": 30, "n_chains": 1, "random_state": 2}
    pair = np.triu_indices(30, 1)
    whole, part = (quiet_fit(data, **options).cophenetic(log=True)[pair] for data in (X, seen))
    truth = np.log(tree.cophenetic()[pair])
    assert np.corrcoef(whole, part)[0, 1] > 0.99
    assert np.mean(np.abs(whole - part)) < 0.5 * np.mean(np.abs(whole - truth)) + 0.05
    shuffled = np.random.default_rng(3).permutation(part)
    assert np.corrcoef(whole, shuffled)[0, 1] < 0.5


def parameter_coverage(n_data_sets, rng, n=32, d=32):
    """In how many data sets the intervals of each parameter hold the truth: (2, 3), 90 % and 50 % intervals."""
    hits = []
    for _ in range(n_data_sets):
        theta, _, X = draw_problem(n, d, rng)
        # The data have no noise at the leaves: only without a level to be learnt is the model that of the data.
        post = quiet_fit(X, noise=0, n_samples=300, n_warmup=60, n_chains=1, random_state=rng)
        hits.append([[covered(post.theta[name], theta[name], level) for name in PRIORS] for level in (0.9, 0.5)])
    return np.sum(hits, axis=0)


@pytest.mark.slow
def test_intervals_of_parameters_hold_the_truth():
    """Of 100 intervals of 90 %, 82 to 96 hold the truth.

    The seed was fixed before it was run. A right sampler leaves 82 … 96 with a probability of 1.2 % for one
    parameter and one seed: a seed that does so is no proof of a mistake (4 is one, for the noise), and one that does
    not is no proof of the contrary. Sharper is the calibration of the update alone, below.
    """
    seed = 71
    hits = parameter_coverage(100, np.random.default_rng(seed))
    print(f"\ntruths of 100 in 90 % and 50 % intervals, seed {seed}:", dict(zip(PRIORS, hits.T.tolist(), strict=True)))
    assert np.all((hits[0] >= 82) & (hits[0] <= 96)), dict(zip(PRIORS, hits[0], strict=True))
    # Negative control: 50 % intervals are not taken for 90 % ones, and are what they say (within 4.5 standard errors).
    assert np.all(np.abs(hits[1] - 50) <= 22), dict(zip(PRIORS, hits[1], strict=True))


def p_values_of_the_update(d, n_data_sets, rng, stretch=1.0, n_contrasts=63, n_draws=31, thin=2):
    """Ranks of the truth among draws of the covariance given contrasts u ~ N(0, Φ): p-values of being uniform (χ²)."""
    ranks = np.empty((n_data_sets, len(PRIORS)), int)
    for i in range(n_data_sets):
        truth = {name: float(prior.sample(rng)) for name, prior in PRIORS.items()}
        covariance = SquaredExponential(priors=PRIORS).with_theta(truth)
        U = stretch * covariance.whitener(d).color(rng.standard_normal((n_contrasts, d)))
        current, statistics, draws = SquaredExponential(1.0, 0.1, priors=PRIORS), covariance.statistics(U), []
        for k in range(10 + n_draws * thin):
            current = current.update(statistics, rng)
            if k >= 10 and k % thin == 0:
                draws.append([current.theta[name] for name in PRIORS])
        ranks[i] = (np.array(draws) < list(truth.values())).sum(axis=0)
    counts = [np.bincount(column // 4, minlength=8) for column in ranks.T]
    return np.array([stats.chisquare(count).pvalue for count in counts])


@pytest.mark.slow
@pytest.mark.parametrize("d", [8, 16])
def test_update_of_a_covariance_is_calibrated(d):
    p = p_values_of_the_update(d, 1000, np.random.default_rng(d))
    print(f"\np-values of uniform ranks, covariance given contrasts, d = {d}, 1000 data sets:")
    print(", ".join(f"{name} {value:.3f}" for name, value in zip(PRIORS, p, strict=True)))
    assert np.all(p > 1e-4)
    # Negative control: contrasts a tenth too long are noticed.
    assert p_values_of_the_update(d, 300, np.random.default_rng(d), stretch=1.1).min() < 1e-6


@pytest.mark.slow
def test_intervals_of_missing_entries_hold_the_truth_at_length():
    found = imputation_coverage(60, np.random.default_rng(5), 100)
    error = found.std(axis=0, ddof=1) / math.sqrt(len(found))
    assert error[0] < 0.015  # it was below 0.008 with 200 tables
    assert abs(found[:, 0].mean() - 0.9) < 4.5 * error[0] + 0.01
    assert abs(found[:, 1].mean() - 0.5) < 4.5 * error[1] + 0.01


@pytest.mark.slow
def test_ranks_of_the_truth_are_uniform_with_components():
    """Simulation-based calibration with V fixed: root, Phi and the variance of the noise beside the components."""
    rng, n, n_tables = np.random.default_rng(6), 8, 150
    V, scale = np.linalg.qr(rng.normal(size=(6, 2)))[0], np.array([1.0, 2.0, 0.5, 1.0, 1.0, 3.0])
    of_Phi, of_residual = InverseWishart(9.0, 6.0 * np.eye(2) + 2.0), InverseGamma(5.0, 3.0)
    fixed = {"loadings": V, "centre": np.zeros(6), "scale": scale}
    fixed["priors"] = {"Phi": of_Phi, "residual_variance": of_residual}

    def scalars(times, Phi, residual_variance):
        correlation = Phi[..., 0, 1] / np.sqrt(Phi[..., 0, 0] * Phi[..., 1, 1])
        return np.stack([times[..., -1], Phi[..., 0, 0], correlation, residual_variance], axis=-1)

    ranks, ranks_of_another = [], []
    for _ in range(n_tables):
        theta = {"Phi": of_Phi.sample(rng), "residual_variance": float(of_residual.sample(rng))}
        covariance, tree = Components(2, **theta, **fixed), simulate_tree(n, rng)
        Y = simulate_data(tree, 2, rng, covariance.whitener(2).color, leaf_var=0.1)
        e = math.sqrt(theta["residual_variance"]) * rng.standard_normal((n, 6))
        X = covariance.columns_of(Y) + scale * (e - (e @ V) @ V.T)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            post = fit(
                X, covariance, noise=0.1, n_samples=240, n_warmup=40, n_chains=1, random_state=rng, progress=False
            )
        drawn = scalars(post.draws.times, post.theta["Phi"], post.theta["residual_variance"])[::8]
        truth = scalars(tree.times, **theta)
        ranks.append((drawn < truth).mean(axis=0))
        ranks_of_another.append((drawn < truth * [1.5, 1.5, 1.0, 1.5]).mean(axis=0))
    error = math.sqrt(1.0 / 12.0 / n_tables)
    assert np.abs((np.mean(ranks, axis=0) - 0.5) / error).max() < 4.5
    spread = np.mean(np.square(np.array(ranks) - 0.5), axis=0)  # variance 1 / 180 of one square
    assert np.abs((spread - 1.0 / 12.0) / math.sqrt(1.0 / 180.0 / n_tables)).max() < 4.5
    of_another = (np.mean(ranks_of_another, axis=0) - 0.5) / error  # negative control: a half more
    assert of_another[[0, 1, 3]].min() > 3.0 and of_another[3] > 6.0
