"""Simulation-based calibration of `fit` with noise: level, scales, times and topology, for rows and for replicates.

Data are drawn from the model, parameters from their priors: the rank of the truth among draws of the posterior is then
uniform, and a clade of probability p is there in a share p of all cases.
"""

import math
import warnings

import numpy as np
import pytest
from scipy import stats

from coaltree.errors import CoaltreeWarning
from coaltree.inference.fit import fit
from coaltree.model.covariance import InverseGamma, LogNormal, Spherical
from coaltree.model.process.coalescent import simulate_tree
from coaltree.model.process.diffusion import simulate_data
from coaltree.model.process.noise import Noise

COVARIANCE = Spherical(priors={"amplitude": InverseGamma(5.0, 4.0)})
PRIOR = LogNormal(0.3, 0.7)
NORMAL, STUDENT = Noise(prior=PRIOR), Noise(tails="student", prior=PRIOR)
UNEQUAL = np.array([0, 0, 0, 1, 2, 2, 3, 4, 4, 4, 4, 5])
NAMES = ("level", "amplitude", "root", "first merge", "scale of row 0", "scale of the last row")
CASES = {
    "normal": (NORMAL, np.arange(6)),
    "student": (STUDENT, np.arange(6)),
    "groups": (NORMAL, UNEQUAL),
    "student groups": (STUDENT, UNEQUAL),
}


def draw_case(noise, leaf, d, rng):
    """(truth, whether leaves 0 and 1 are a clade, X)."""
    amplitude, level = float(COVARIANCE.priors["amplitude"].sample(rng)), float(PRIOR.sample(rng))
    tree = simulate_tree(int(leaf.max()) + 1, rng)
    half = 0.5 * noise.df
    scales = half / rng.standard_gamma(half, len(leaf)) if noise.tails == "student" else np.ones(len(leaf))
    noisy = np.sqrt(level * scales)[:, None] * rng.standard_normal((len(leaf), d))
    X = math.sqrt(amplitude) * (simulate_data(tree, d, rng)[leaf] + noisy)
    truth = [level, amplitude, tree.times[-1], tree.times[0], scales[0], scales[-1]]
    return truth, frozenset({"0", "1"}) in tree.clades(), X


def draws_of(post):
    scales = np.ones((len(post), 2)) if post.draws.tail_scale is None else post.draws.tail_scale[:, [0, -1]]
    return np.column_stack(
        [post.theta["noise_level"], post.theta["amplitude"], post.draws.times[:, -1], post.draws.times[:, 0], scales]
    )


def calibrate(noise, leaf, n_data_sets, seed, d=3, n_draws=15, thin=5, misread=1.0):
    """p-values of uniform ranks, by name, and z of the clade {0, 1}: as often there as its support says."""
    rng = np.random.default_rng(seed)
    n_names = len(NAMES) if noise.tails == "student" else 4
    ranks, errors = np.empty((n_data_sets, n_names), int), []
    for i in range(n_data_sets):
        truth, is_clade, X = draw_case(noise, leaf, d, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CoaltreeWarning)
            post = fit(
                X, COVARIANCE, noise=noise, groups=leaf, n_samples=n_draws * thin, n_warmup=20, n_chains=1,
                random_state=rng, progress=False,
            )  # fmt: skip
        few = draws_of(post)[::thin]
        few[:, 0] *= misread
        ranks[i] = (few < truth).sum(axis=0)[:n_names]
        support = np.mean([frozenset({"0", "1"}) in tree.clades() for tree in post.trees[::thin]])
        errors.append(is_clade - support)
    p = [stats.chisquare(np.bincount(column // 2, minlength=(n_draws + 1) // 2)).pvalue for column in ranks.T]
    errors = np.array(errors)
    z = errors.mean() / errors.std(ddof=1) * math.sqrt(n_data_sets)
    return dict(zip(NAMES, p, strict=False)), z


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_noise_level_scales_times_and_topology_are_calibrated(case):
    p, z = calibrate(*CASES[case], n_data_sets=120, seed=31)
    print(f"\np-values of uniform ranks, {case}, 120 data sets:")
    print(", ".join(f"{name} {value:.3f}" for name, value in p.items()), f"; z of a clade {z:.2f}")
    assert min(p.values()) > 1e-4
    assert abs(z) < 4.0


@pytest.mark.slow
def test_noise_level_twice_as_large_is_noticed():
    """Negative control."""
    p, _ = calibrate(NORMAL, UNEQUAL, n_data_sets=80, seed=32, misread=2.0)
    assert p["level"] < 1e-6
