"""`fit` with noise: what must agree with what, and what every part of the package knows of it."""

import numpy as np
import pytest

import coaltree as ct
from coaltree import InputError, Noise
from coaltree.model.process.noise import rounding_share
from coaltree.posterior.diagnostics.convergence import topology_ess_of
from coaltree.posterior.diagnostics.outliers import describe_noise, find_outliers

QUICK = {"n_samples": 6, "n_warmup": 4, "progress": False, "random_state": 0}
pytestmark = pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")


def data(n=14, d=3, noise=0.2, seed=0):
    return ct.simulate(n, d, random_state=seed, noise=noise)[0]


def same(a, b):
    return np.array_equal(a.draws.children, b.draws.children) and np.array_equal(a.draws.times, b.draws.times)


def test_errors_of_one_change_nothing():
    X = data()
    assert same(ct.fit(X, noise=0.3, **QUICK), ct.fit(X, noise=0.3, errors=np.ones(14), **QUICK))
    assert not same(ct.fit(X, noise=0.3, **QUICK), ct.fit(X, noise=0.3, errors=np.arange(1.0, 15.0), **QUICK))


@pytest.mark.parametrize("noise", ["learn", "student", 0.3])
def test_groups_of_one_row_each_change_nothing_but_names(noise):
    X = data()
    names = [f"g{i}" for i in range(14)]
    grouped = ct.fit(X, noise=noise, groups=names, **QUICK)
    assert same(grouped, ct.fit(X, noise=noise, **QUICK))
    assert grouped.labels == tuple(names)


def test_log_joint_is_that_of_tree_parameters_and_noise():
    X = data()
    post = ct.fit(X, "spherical", noise=Noise(0.4), **QUICK)
    prior = post.model.covariance.priors["amplitude"]
    for i in (0, 7):
        tree, amplitude = post.trees[i], float(post.theta["amplitude"][i])
        expected = tree.log_prior() + tree.log_likelihood(X, ct.Spherical(amplitude=amplitude), noise=0.4)
        assert post.log_joint[i] == pytest.approx(expected + prior.log_density(amplitude))


def test_noise_is_student_by_default_where_the_sampler_learns_it():
    X = data()
    post = ct.fit(X, **QUICK)
    assert post.model.noise.settings == Noise("learn", "student")
    assert post.theta["noise_level"].shape == (12,) and post.draws.tail_scale.shape == (12, 14)
    assert post.draws.outlier_score.shape == (14,)
    assert ct.fit(X, sampler="mgreedy", **QUICK).model.noise.settings == Noise(0.0)


@pytest.mark.parametrize(
    ("sampler", "settings"),
    [
        ("mpost1", {"noise": "learn"}),
        ("insertion", {"noise": "student"}),
        ("mpost1", {"noise": 0.1, "errors": np.arange(1.0, 15.0)}),
        ("mgreedy", {"noise": 0.1, "groups": [0, 0, *range(12)]}),
    ],
)
def test_samplers_refuse_the_noise_they_cannot_take(sampler, settings):
    with pytest.raises(InputError, match="regraft"):
        ct.fit(data(), sampler=sampler, **QUICK, **settings)


def replicated(seed=0, n=10, d=3, each=3, level=0.3):
    """Rows that measure n leaves, `each` times, with noise of this level."""
    rng = np.random.default_rng(seed)
    leaves, _ = ct.simulate(n, d, random_state=rng)
    groups = np.repeat(np.arange(n), each)
    return leaves[groups] + np.sqrt(level) * rng.standard_normal((n * each, d)), groups


def test_replicates_are_leaves_named_after_their_groups():
    X, groups = replicated()
    names = np.array([f"leaf {g}" for g in groups])
    post = ct.fit(X, groups=names, **QUICK)
    assert post.n == 10 and post.labels == tuple(f"leaf {i}" for i in range(10))
    assert post.model.X.shape == (30, 3) and post.model.leaves.groups.tolist() == groups.tolist()
    assert post.draws.tail_scale.shape == (12, 30) and len(post.model.table.labels) == 30
    assert np.isfinite(post.place(X[:4]).log_density).all()


def test_noise_level_is_recovered_from_replicates():
    """Halves of a data set as replicates: their differences tell the level, whatever the tree."""
    X, groups = replicated(n=40, d=4, each=2, level=0.3)
    post = ct.fit(X, np.eye(4), noise="learn", groups=groups, n_samples=60, n_warmup=30, random_state=0, progress=False)
    logs = np.log(post.theta["noise_level"])
    # 160 squared differences: the standard error of the log of their mean is √(2 / 160).
    assert abs(logs.mean() - np.log(0.3)) < 3.5 * np.sqrt(2 / 160)
    assert logs.std() < 2.0 * np.sqrt(2 / 160)


@pytest.mark.parametrize("covariance", ["scaled", "squared_exponential"])
@pytest.mark.parametrize("noise", ["learn", "student", Noise(0.2, "student")])
def test_noise_reaches_every_part(noise, covariance, tmp_path):
    X = data()
    X[2, 1] = np.nan
    short = QUICK | {"n_samples": 6, "n_warmup": 3}
    post = ct.fit(X, covariance, noise=noise, **short)
    assert np.isfinite(post.log_joint).all()
    post.save(tmp_path / "post.npz")
    again = ct.load(tmp_path / "post.npz")
    assert same(post, again) and again.model.noise.settings == post.model.noise.settings
    if post.draws.tail_scale is not None:
        assert np.array_equal(again.draws.tail_scale, post.draws.tail_scale)
        assert np.array_equal(post[5:].draws.tail_scale, post.draws.tail_scale[5:])
    new = data(3, seed=5)
    assert np.array_equal(post.place(new).log_density, again.place(new).log_density)
    assert len(ct.concat([post, again])) == 24
    ct.fit(X, covariance, noise=noise, start=post, **short)
    assert "learnt" in describe_noise(post) or post.model.noise.settings.level == 0.2


@pytest.mark.parametrize("n_samples", [pytest.param(400, marks=pytest.mark.slow), 100])
def test_outlier_is_found_and_is_no_branch_of_its_own(n_samples):
    X = data(30, 6, noise=0.1, seed=3)
    X[7] += 6.0 * np.array([1, -1, 1, -1, 1, -1]) * X.std(axis=0)
    # Both explanations are visited in turn: chains of 100 draws have the row at the root in 0.29 of their trees, with a
    # standard deviation of 0.22 between chains, so that six of them have it in 0.29 ± 0.09.
    settings = QUICK | {"n_samples": n_samples, "n_warmup": 40}
    post = ct.fit(X, "scaled", n_chains=6, **settings)
    assert [row.label for row in find_outliers(post)] in [["7"], []][: 1 + (n_samples == 100)]
    assert post.draws.outlier_score.argmax() == 7
    plain = ct.fit(X, "scaled", noise=0.0, n_chains=1, **settings)

    def is_alone(post):
        """How often the outlier is one side of the split at the root."""
        return np.mean([7 in tree.children[-1] for tree in post.trees])

    assert is_alone(plain) > 0.9
    assert is_alone(post) < 0.7


def test_noise_level_survives_a_duplicate_and_rounding():
    X = data(40, 30, noise=0.2, seed=4)
    settings = QUICK | {"n_samples": 40, "n_warmup": 40, "n_chains": 1}
    level = np.median(ct.fit(X, noise="learn", **settings).theta["noise_level"])
    twice = np.vstack([X, X[:1]])
    assert np.median(ct.fit(twice, noise="learn", **settings).theta["noise_level"]) == pytest.approx(level, rel=0.5)
    rounded = np.round(X, 1)
    assert np.median(ct.fit(rounded, noise="learn", **settings).theta["noise_level"]) == pytest.approx(level, rel=0.5)


@pytest.mark.parametrize("n_samples", [pytest.param(1500, marks=pytest.mark.slow), 100])
def test_noise_level_near_zero_agrees_with_no_noise(n_samples):
    X = data(12, 2, noise=0.0, seed=6)
    long = QUICK | {"n_samples": n_samples, "n_warmup": 50}
    none = ct.fit(X, np.eye(2), noise=0.0, **long)
    little = ct.fit(X, np.eye(2), noise=Noise(prior=ct.LogNormal(1e-7, 0.1)), **(long | {"random_state": 1}))
    tree = none.mcc_tree()
    error = np.sqrt(0.25 / min(topology_ess_of(none), topology_ess_of(little)) * 2)
    assert np.abs(none.clade_support(tree) - little.clade_support(tree)).max() < 4 * error
    much = ct.fit(X, np.eye(2), noise=1.0, **long)
    assert np.abs(none.clade_support(tree) - much.clade_support(tree)).max() > 4 * error


def test_noise_level_of_a_start_is_raised_to_the_floor():
    X = np.round(3.0 * data())
    lower = ct.fit(X, "scaled", noise=Noise(prior=ct.LogNormal(1e-9, 0.1)), **QUICK)
    assert lower.theta["noise_level"].max() < 1e-8
    post = ct.fit(X, "scaled", noise="learn", start=lower, **QUICK)
    assert post.theta["noise_level"].min() > rounding_share(X) * (1 - 1e-9) > 1e-4


@pytest.mark.parametrize("family", [ct.Spherical, ct.Scaled])
def test_amplitude_may_have_an_improper_prior_with_learnt_noise(family):
    covariance = family(priors={"amplitude": ct.InverseGamma(0, 0)})
    assert np.isfinite(ct.fit(data(), covariance, **QUICK).log_joint).all()


def test_errors_may_be_in_any_unit():
    X = np.round(data(16, 3), 1)
    errors = np.exp(np.random.default_rng(0).normal(size=16))
    new = data(3, 3, seed=1)

    def placed(unit):
        post = ct.fit(X, "scaled", noise="learn", errors=unit * errors, **(QUICK | {"n_samples": 2, "n_warmup": 0}))
        levels = post.theta["noise_level"] * np.exp(np.mean(np.log(post.model.leaves.errors))) ** 2
        return np.concatenate([levels, post.place(new).log_density])

    np.testing.assert_allclose(placed(1e3), placed(1.0), rtol=1e-6)
