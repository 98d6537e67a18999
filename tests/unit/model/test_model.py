"""The model of a table: replicates that are put together, cells that are filled in, densities of states."""

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.gaussian_process.kernels import RBF
from sklearn.preprocessing import StandardScaler

import coaltree as ct
from coaltree.model.data.replicates import replicates_of
from coaltree.model.model import Model
from coaltree.model.process.diffusion import contrasts
from coaltree.model.process.noise import NoiseDraw, noise_model, row_variances
from coaltree.model.process.whitened import make_problem
from tests.fits import data as random_rows
from tests.fits import quick_fit

LEAF = np.array([0, 1, 1, 2, 0, 3, 1, 3, 1, 2, 1, 1, 4])
TREE = np.array([[0, 1], [2, 3], [5, 4], [6, 7]]), np.array([0.2, 0.3, 0.9, 1.7])
FAMILIES = {
    "spherical": ct.Spherical(),
    "diagonal": ct.Diagonal(),
    "full": ct.Full(),
    "curve": ct.SquaredExponential(length2=2.0, noise=0.1),
    "grid": ct.Matern32(length=1.5, grid=(2, 2)),
}


def both(errors=None, family="spherical"):
    """The same rows as they are, and collapsed."""
    rng = np.random.default_rng(3)
    values = 100.0 + rng.standard_normal((len(LEAF), 4)) + 3.0 * rng.standard_normal((5, 4))[LEAF]
    noise = noise_model(ct.Noise(0.4), values, errors)
    data = Model(values, FAMILIES[family].adapt(values), noise, replicates_of(LEAF))
    return data, data.of_chains()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("errors", [None, np.linspace(0.5, 2.0, len(LEAF))], ids=["equal", "errors"])
def test_collapse_keeps_statistics_and_densities(family, errors):
    draw = NoiseDraw(0.7, None)
    found = []
    for data in both(errors, family):
        variances = row_variances(data.noise, draw)
        U = contrasts(*data.over_rows(TREE), data.values, variances)
        problem = make_problem(data.values, data.covariance, variances, replicates=data.replicates)
        joint = problem.log_likelihood(*TREE) + data.log_within(data.covariance.whitener(4), variances)
        found.append((data.statistics(data.covariance, U, variances), joint))
    (of_rows, joint), (of_leaves, joint_of_leaves) = found
    assert of_leaves.n == of_rows.n == len(LEAF) - 1
    assert joint_of_leaves == pytest.approx(joint, rel=1e-12)
    draws = [data.covariance.update(one, np.random.default_rng(0)).theta for one in (of_rows, of_leaves)]
    for name, value in draws[0].items():
        np.testing.assert_allclose(draws[1][name], value, rtol=1e-9)


def test_collapse_needs_rows_that_enter_by_sums():
    data, collapsed = both()
    assert collapsed.values.shape == (5, 4)
    assert collapsed.replicates is None
    np.testing.assert_allclose(collapsed.values[1], data.values[LEAF == 1].mean(axis=0))
    np.testing.assert_allclose(collapsed.noise.error2, 1.0 / np.bincount(LEAF))
    student = data._replace(noise=noise_model(ct.Noise(0.4, tails="student"), data.values))
    gaps = data._replace(missing=np.zeros(data.values.shape, dtype=bool))
    for kept in (student, gaps, data._replace(replicates=None)):
        assert kept.of_chains().values is kept.values


@pytest.mark.parametrize("noise", ["learn", 0.3])
def test_collapse_keeps_the_joint_density_of_a_fit(noise):
    rng = np.random.default_rng(5)
    leaf = rng.integers(6, size=300)
    leaf[:6] = np.arange(6)
    X = 4.0 * rng.standard_normal((6, 2))[leaf] + rng.standard_normal((300, 2))
    with pytest.warns(ct.CoaltreeWarning):
        post = ct.fit(X, "full", groups=leaf, noise=noise, n_samples=6, n_warmup=4, random_state=0, progress=False)
    replicates = replicates_of(post.model.leaves.groups)
    for t in (0, 7):
        level = post.theta["noise_level"][t] if noise == "learn" else noise
        covariance = post.model.covariance.with_theta({"Phi": post.theta["Phi"][t]})
        problem = make_problem(X, covariance, np.full(300, level), replicates=replicates)
        tree = post.trees[t]
        expected = problem.log_likelihood(tree.children, tree.times) + tree.log_prior() + covariance.log_prior()
        if noise == "learn":
            expected += -np.log(level) - 0.5 * ((np.log(level) - np.log(0.1)) / 2.0) ** 2
        assert post.log_joint[t] == pytest.approx(expected, rel=1e-9)


# --- tables that are fitted ----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")
def test_rows_equal_where_both_have_values_are_kept_apart():
    """It is not transitive: b and c differ, and a agrees with both."""
    X = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, np.nan], [1.0, 2.0, 4.0], [0.0, 5.0, 3.0], [0.5, 5.0, 1.0]])
    post = quick_fit(X, "spherical")
    assert post.n == 5 and (post.draws.times > 0.0).all() and np.isfinite(post.log_joint).all()
    assert post.model.fitted is not None and len(np.unique(post.model.fitted[:3, 0])) == 3
    np.testing.assert_array_equal(post.model.X, X)
    assert quick_fit(X, "spherical", noise=0.1).model.fitted is None


def test_ties_are_spread_only_where_variances_are_learnt_by_column():
    X = np.column_stack([random_rows(), np.arange(8) % 3])
    for family, is_spread in (("scaled", False), ("spherical", False), ("diagonal", True), ("full", True)):
        model = Model.of(X, family, ct.Noise())
        assert model.is_spread == is_spread == ("ties" in model.info)
        np.testing.assert_array_equal(model.values[:, :3], X[:, :3])
    assert "column 3" in model.info["ties"]


def test_models_are_equal_by_value():
    frame = pd.DataFrame(random_rows(), columns=list("abc"))
    frame.iloc[2, 1] = np.nan
    model = Model.of(frame, "diagonal", ct.Noise())
    assert model == Model.of(frame.copy(), "diagonal", ct.Noise())
    others = {
        "table": (frame + 1.0, "diagonal", ct.Noise(), {}),
        "covariance": (frame, ct.Diagonal(np.ones(3)), ct.Noise(), {}),
        "noise": (frame, "diagonal", ct.Noise(tails="student"), {}),
        "leaves": (frame, "diagonal", ct.Noise(), {"errors": np.linspace(1.0, 2.0, 8)}),
    }
    for name, (X, covariance, noise, more) in others.items():
        assert model.first_difference(Model.of(X, covariance, noise, **more)) == name
    smooth = [Model.of(frame, ct.Kernel(RBF(length)), ct.Noise(0.1)) for length in (1.0, 1.0, 2.0)]
    assert smooth[0] == smooth[1] != smooth[2]


def test_log_jacobian_is_that_of_the_columns_in_the_model():
    X = np.exp(random_rows())
    X[3, 1] = np.nan
    table = np.column_stack([X, np.ones(8)])
    model = Model.of(table, "diagonal", ct.Noise(), transform=ct.Preprocessor(log=[0], log1p=[1], scale="columns"))
    seen = np.nan_to_num(np.log1p(X[:, 1]))
    expected = -np.log(X[:, 0]) - seen - np.log(model.transform.scale_[[0, 2]]).sum()
    expected -= np.where(np.isnan(X[:, 1]), 0.0, np.log(model.transform.scale_[1]))
    np.testing.assert_allclose(model.log_jacobian(model.X), expected)
    assert not Model.of(X, "diagonal", ct.Noise()).log_jacobian(X).any()
    for transform, is_known in ((StandardScaler(), True), (PCA(2), False), (ct.Preprocessor(scale="rows"), False)):
        model = Model.of(np.nan_to_num(X), "diagonal", ct.Noise(), transform=transform)
        assert np.isfinite(model.log_jacobian(model.X)).all() == is_known
