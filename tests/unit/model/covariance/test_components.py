"""`Components`: how many, which directions, what is refused, and the noise beside them."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

import coaltree as ct
from coaltree.errors import InputError
from coaltree.model.covariance import Components, InverseGamma, InverseWishart
from coaltree.model.covariance.components import default_components
from coaltree.model.draws import State
from coaltree.model.model import Model
from coaltree.model.process.noise import Noise, first_draw
from tests.fits import assert_same, quick_fit
from tests.reference import components as reference


def wide(n=12, d=30, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) @ rng.normal(size=(3, d)) * 2.0 + rng.normal(size=(n, d))


@pytest.mark.parametrize(("n", "k"), [(3, 2), (22, 2), (36, 3), (60, 4), (100, 5), (250, 8), (500, 12), (2000, 25)])
def test_number_of_components_comes_from_the_number_of_rows(n, k):
    assert default_components(n) == k
    assert 3 * k * (k + 1) <= n or k == 2
    assert 3 * (k + 1) * (k + 2) > n


def test_components_are_principal_components_whose_largest_loading_is_positive():
    X = wide()
    covariance = Components(3).adapt(X)
    Vt = np.linalg.svd(X - X.mean(axis=0))[2][:3]
    np.testing.assert_allclose(np.abs(covariance.loadings.T @ Vt.T), np.eye(3), atol=1e-10)
    largest = np.abs(covariance.loadings).argmax(axis=0)
    assert (covariance.loadings[largest, range(3)] > 0.0).all()
    np.testing.assert_allclose(covariance.scale, 1.0)
    np.testing.assert_allclose(covariance.columns_of(covariance.project(X)).mean(axis=0), X.mean(axis=0))


def test_columns_in_different_units_are_divided_by_their_standard_deviations():
    X = wide() * np.exp(3.0 * np.random.default_rng(1).normal(size=30))
    covariance = Components(3).adapt(X)
    np.testing.assert_allclose(covariance.scale, X.std(axis=0, ddof=1))
    other = Components(3).adapt(100.0 * X)
    np.testing.assert_allclose(other.loadings, covariance.loadings, atol=1e-12)
    np.testing.assert_allclose(other.project(100.0 * X), covariance.project(X), atol=1e-10)


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_log_likelihood_equals_the_transcription(noise):
    """Up to what neither θ nor the tree changes, in units that differ."""
    rng, scale = np.random.default_rng(2), np.array([1.0, 2.0, 0.5, 3.0])
    V = np.linalg.qr(rng.normal(size=(4, 2)))[0]
    differences = []
    for seed, variance in enumerate((0.7, 0.2, 3.0)):
        A = rng.normal(size=(2, 2))
        Phi = A @ A.T + np.eye(2)
        X, tree = ct.simulate(5, 4, "spherical", random_state=seed)
        fixed = {"loadings": V, "centre": np.ones(4), "scale": scale * (seed + 1)}
        covariance = Components(2, Phi=Phi, residual_variance=variance, **fixed).adapt(X)
        model = Model.of(X, covariance, Noise(noise))
        state = State((np.array(tree.children), np.array(tree.times)), covariance, first_draw(model.noise), np.empty(0))
        expected = reference.log_likelihood(*state.tree, X, V, Phi, variance, fixed["scale"], noise)
        differences.append(model.log_likelihood(state) - expected)
        assert model.of_chains().log_likelihood(state) == pytest.approx(model.log_likelihood(state))
    np.testing.assert_allclose(differences, differences[0], atol=1e-9)


def test_residual_variance_is_drawn_from_its_inverse_gamma():
    X, rng = wide(), np.random.default_rng(3)
    covariance = Components(3, priors={"residual_variance": InverseGamma(2.0, 3.0)}).adapt(X)
    residual = covariance.residual_squares(X)
    Z = X - X.mean(axis=0)
    squares = np.square(Z - Z @ covariance.loadings @ covariance.loadings.T).sum()
    np.testing.assert_allclose(residual, [squares, 11.0])
    drawn = [covariance.draw_residual(residual, rng).residual_variance for _ in range(500)]
    law = stats.invgamma(2.0 + 0.5 * 11 * 27, scale=3.0 + 0.5 * squares)
    assert stats.kstest(drawn, law.cdf).pvalue > 1e-4
    assert stats.kstest(drawn, stats.invgamma(2.0 + 0.5 * 11 * 24, scale=3.0 + 0.5 * squares).cdf).pvalue < 1e-6


def test_given_directions_are_kept_and_bad_ones_refused():
    covariance = Components(2).adapt(wide())
    again = Components(2, loadings=covariance.loadings, centre=covariance.centre, scale=covariance.scale).adapt(wide())
    np.testing.assert_array_equal(again.loadings, covariance.loadings)
    for wrong in (
        {"loadings": np.ones((30, 2)), "centre": np.zeros(30), "scale": np.ones(30)},
        {"loadings": covariance.loadings},
        {"loadings": covariance.loadings, "centre": np.zeros(30), "scale": np.zeros(30)},
    ):
        with pytest.raises(InputError, match="loadings must"):
            Components(2, **wrong)
    assert Components(loadings=covariance.loadings, centre=covariance.centre, scale=covariance.scale).n_components == 2
    for wrong in ({"Phi": np.eye(3)}, {"priors": {"Phi": InverseWishart(5, np.eye(3))}}):
        with pytest.raises(InputError, match="3 columns or components, but there are 2"):
            Components(2, **wrong).adapt(wide())
    with pytest.raises(InputError, match="3 columns or components, but there are 2"):
        covariance.with_theta({"Phi": np.eye(3)})
    with pytest.raises(InputError, match="30 columns, but the data have 2"):
        covariance.adapt(wide(d=2))
    with pytest.raises(InputError, match=r"2 components need at least 3 directions.*the 3 distinct rows span 2"):
        Components().adapt(wide(n=3))
    with pytest.raises(InputError, match="30 columns, but the data have 8"):
        covariance.adapt(wide(d=8))
    with pytest.raises(InputError, match="by fit alone"):
        ct.sample_trees(wide(), covariance="components")


@pytest.mark.slow
def test_a_table_of_a_hundred_thousand_columns_takes_seconds_and_little_memory():
    code = """
import re, time, warnings
from pathlib import Path
import numpy as np, coaltree as ct
warnings.simplefilter("ignore")
small = np.random.default_rng(0).normal(size=(50, 60))
ct.fit(small, n_samples=4, n_warmup=4, random_state=0, progress=False)
rng = np.random.default_rng(1)
X = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 100_000)) + rng.normal(size=(50, 100_000))
began = time.process_time()
post = ct.fit(X, n_samples=20, n_warmup=20, random_state=0, progress=False)
status = Path("/proc/self/status")  # its peak is this program's; that of `resource` is at least its parent's
peak = re.search("VmHWM: *([0-9]+) kB", status.read_text().replace(chr(9), " "))[1] if status.exists() else 0
print(time.process_time() - began, int(peak) / 1024, post.theta["Phi"].shape)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, megabytes, shape = done.stdout.split(maxsplit=2)
    assert float(seconds) < 10.0
    assert float(megabytes) < 1024
    assert shape.strip() == "(40, 3, 3)"


# In a fit


def hidden(X, share=0.15, seed=4):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


@pytest.mark.parametrize(
    "options",
    [{}, {"groups": [0, 0, 1, 2, 3, 4, 4, 5, 6, 7, 8, 9]}, {"errors": np.linspace(1.0, 2.0, 12)}, {"noise": 0.2}],
    ids=["plain", "groups", "errors", "fixed noise"],
)
@pytest.mark.parametrize("share", [0.0, 0.15])
def test_fit_is_the_same_in_a_file_and_with_two_jobs(tmp_path, options, share):
    X, options = hidden(wide(), share), options | {"sampler": "regraft"}
    post = quick_fit(X, **options)
    assert isinstance(post.model.covariance, Components)
    assert post.theta["Phi"].shape == (12, 2, 2)
    assert post.theta["residual_variance"].shape == (12,)
    assert_same(post, quick_fit(X, n_jobs=2, **options))
    post.save(tmp_path / "post.npz")
    again = ct.load(tmp_path / "post.npz")
    np.testing.assert_array_equal(again.model.covariance.loadings, post.model.covariance.loadings)
    new = X[:3] + 0.1
    np.testing.assert_array_equal(again.place(new).log_density, post.place(new).log_density)
    joint = [post.model.log_joint(post.model.state_of(post.draws, t)) for t in range(3)]
    np.testing.assert_allclose(joint, post.log_joint[:3], rtol=1e-9)
    assert len(quick_fit(X, start=post, **options)) == 12


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_components_do_not_depend_on_the_unit(share):
    X = hidden(wide(), share)
    expected = Components(3).adapt(X).loadings
    for unit in (1e-120, 1e9, 1e120):
        np.testing.assert_allclose(Components(3).adapt(unit * X).loadings, expected, atol=1e-6)
        assert np.isfinite(quick_fit(unit * X).place(1.1 * unit * X[:2]).log_density).all()
    for unit in (1e-200, 1e200):
        with pytest.raises(InputError, match="rescale X"):
            quick_fit(unit * X)


def test_fewer_groups_than_components_are_placed_and_amplitudes_learnt():
    X, groups = wide(120, 200), np.arange(120) % 4
    assert np.isfinite(quick_fit(X, groups=groups, noise="learn", sampler="regraft").place(X[:2]).log_density).all()
    post = quick_fit(wide(), Components(2, learn="amplitude"))
    assert np.isfinite(post.log_joint).all()
    assert set(post.theta) >= {"amplitude"}


def test_sampled_trees_have_the_density_of_x():
    X = wide()
    covariance = quick_fit(X).model.covariance
    for sampler in ("regraft", "mpost2", "greedy"):
        post = ct.sample_trees(X, covariance, sampler, n_samples=5, noise=0.1, random_state=0, progress=False)
        if post.log_evidence is not None:
            of_components = ct.sample_trees(
                covariance.project(X), ct.Fixed(covariance.Phi), sampler, noise=0.1, random_state=0, progress=False
            )
            beside = covariance.residual_log_density(covariance.residual_squares(X))
            assert post.log_evidence == pytest.approx(of_components.log_evidence + beside)
        joint = [post.model.log_joint(post.model.state_of(post.draws, t)) for t in range(len(post))]
        np.testing.assert_allclose(post.log_joint, joint, rtol=1e-9)


def test_auto_takes_components_where_there_are_no_more_rows_than_columns():
    for n, d, expected in ((30, 30, "components"), (31, 30, "spherical"), (3, 30, "scaled"), (60, 8, "full")):
        X = np.random.default_rng(5).normal(size=(n, d))
        post = quick_fit(X)
        assert post.info["covariance_choice"].startswith(expected), (n, d)
        assert ("components" in post.info) == (expected == "components")
    uneven = wide() * np.where(np.arange(30) == 0, 1e9, 1.0)
    assert quick_fit(uneven).info["covariance_choice"].startswith("components")
    flat = np.outer(np.arange(9.0), np.ones(20)) + np.outer(np.arange(9.0) ** 2, np.linspace(0, 1, 20))
    assert not quick_fit(flat).info["covariance_choice"].startswith("components")  # they span two directions
