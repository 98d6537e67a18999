"""Placing and grafting new rows: densities against brute force, missing entries against integrals, refusals."""

import math

import numpy as np
import pandas as pd
import pytest

import coaltree as ct
from coaltree._runtime.random_streams import make_streams
from coaltree.errors import CoaltreeWarning, InputError
from coaltree.model.process.whitened import Problem
from coaltree.posterior.of_trees import posterior_of_trees
from coaltree.samplers.regraft.placement import Places
from tests.reference import regraft as reference

PHI = np.array([[1.0, 0.6, 0.2], [0.6, 2.0, -0.3], [0.2, -0.3, 0.5]])


def posterior_of(X, Phi, trees, weights=None, noise=0.0):
    """A posterior made of given trees."""
    return posterior_of_trees(
        np.stack([tree.children for tree in trees]),
        np.stack([tree.times for tree in trees]),
        log_weights=None if weights is None else np.log(weights),
        X=X,
        covariance=ct.Fixed(Phi),
        noise=noise,
    )


def simulated(n, Phi, seed=0):
    X, tree = ct.simulate(n, len(Phi), ct.Fixed(Phi), random_state=seed)
    return np.asarray(X), tree


def brute_force(tree, X, x_new, Phi, noise=0.0):
    """log ∫ p(x_new, b, t | X, tree) for every branch b, by a fine grid over the full joint density."""
    n = len(X)
    L = np.linalg.cholesky(Phi)
    W = np.linalg.solve(L, np.vstack([X, x_new]).T).T.tolist()
    here = reference.from_arrays(tree.children, tree.times)
    rest = {node + 1: (a + (a >= n), b + (b >= n), t) for node, (a, b, t) in here.items()}  # leaf n is the new one
    log_rest = reference.log_joint(here, W[:n], noise[:n] if isinstance(noise, list) else noise)
    parent = 2 * n  # a free number
    found = {}
    for x, lower, upper in reference.branches(rest, n, n):
        top = upper if math.isfinite(upper) else lower + 30.0
        t = lower + (top - lower) * np.append(np.geomspace(1e-8, 0.5, 600)[:-1], 1 - np.geomspace(1e-8, 0.5, 600)[::-1])
        joint = np.array([reference.log_joint(reference.graft(rest, parent, n, x, u), W, noise) for u in t])
        found[x - (x > n)] = np.log(np.trapezoid(np.exp(joint - joint.max()), t)) + joint.max() - log_rest
    log_det = np.linalg.slogdet(Phi)[1]
    return {x: value - 0.5 * log_det for x, value in found.items()}


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_place_equals_brute_force(noise):
    X, tree = simulated(5, PHI)
    x_new = X[1] + np.array([0.3, -0.2, 0.1])
    masses = brute_force(tree, X, x_new, PHI, noise)
    placed = posterior_of(X, PHI, [tree], noise=noise).place(x_new[None])
    total = np.logaddexp.reduce(list(masses.values()))
    assert placed.log_density[0] == pytest.approx(total, abs=2e-3)
    sets = [{i} for i in range(5)]
    for a, b in tree.children:
        sets.append(sets[a] | sets[b])
    expected = {tuple(str(i) for i in sorted(sets[x])): math.exp(mass - total) for x, mass in masses.items()}
    for probability, clade in placed.nearest_clades(0, 20):
        assert probability == pytest.approx(expected[clade], abs=2e-3)


def of_scale(tree, X, x_new, level, scale):
    """Log density of a new row with `scale` times the noise of the others."""
    L = np.linalg.cholesky(PHI)
    problem = Problem(np.linalg.solve(L, X.T).T.copy(), 3, float(np.linalg.slogdet(PHI)[1]), np.full(len(X), level))
    new = np.linalg.solve(L, x_new)[None]
    places = Places.of(tree.children, tree.times, problem)
    found = places.locate(new, make_streams(np.random.default_rng(0), 1), level * scale)
    return float(found.log_density[0])


def test_locate_takes_a_new_row_with_more_noise_than_the_others():
    X, tree = simulated(5, PHI)
    x_new = X[1] + np.array([0.9, -1.2, 0.7])
    total = np.logaddexp.reduce(list(brute_force(tree, X, x_new, PHI, [0.2] * 5 + [0.2 * 3.0]).values()))
    assert of_scale(tree, X, x_new, 0.2, 3.0) == pytest.approx(total, abs=2e-3)


@pytest.mark.parametrize("df", [2.5, 4.0])
@pytest.mark.parametrize("away", [0.3, 30.0])
def test_place_with_students_noise_is_a_mixture_over_scales(df, away):
    """p(x) = ∫ p(x | s) p(s) ds with s ~ InverseGamma(df/2, df/2), by the trapezoidal rule in log s."""
    X, tree = simulated(5, PHI)
    x_new = X[1] + away * np.array([1.0, -1.0, 0.5])
    placed = posterior_of(X, PHI, [tree], noise=ct.Noise(0.2, "student", df)).place(x_new[None])
    y, h = np.linspace(-6.0, 14.0, 161), 0.5 * df
    log_prior = h * math.log(h) - math.lgamma(h) - h * y - h * np.exp(-y)
    given = np.array([of_scale(tree, X, x_new, 0.2, math.exp(one)) for one in y])
    total = np.logaddexp.reduce(log_prior + given) + math.log(y[1] - y[0])
    assert placed.log_density[0] == pytest.approx(total, abs=2e-3)
    # Negative control: normal noise is another density.
    assert abs(posterior_of(X, PHI, [tree], noise=0.2).place(x_new[None]).log_density[0] - total) > 0.02


@pytest.mark.parametrize("away", [1.2, 8.0])
def test_locate_counts_both_ways_to_explain_an_outlier(away):
    """A branch of its own with little noise, or a place near others with much: at 8 one alone is 3 nats short."""
    X, tree = ct.simulate(30, 12, noise=0.02, random_state=3)
    problem = Problem(np.ascontiguousarray(X), 12, 0.0, np.full(30, 0.02))
    new = (X[0] + away * np.random.default_rng(1).standard_normal(12))[None]

    def log_density(level, half_df=0.0):
        streams = make_streams(np.random.default_rng(0), 1)
        return float(Places.of(tree.children, tree.times, problem, half_df).locate(new, streams, level).log_density[0])

    y, h = np.linspace(-5.0, 12.0, 171), 2.0
    log_prior = h * math.log(h) - math.lgamma(h) - h * y - h * np.exp(-y)
    given = np.array([log_density(0.02 * math.exp(one)) for one in y])
    total = np.logaddexp.reduce(log_prior + given) + math.log(y[1] - y[0])
    assert log_density(0.02, h) == pytest.approx(total, abs=2e-3)


def test_place_weighs_trees_by_how_well_they_explain_the_row():
    X, one = simulated(6, PHI, 1)
    _, two = simulated(6, PHI, 2)
    x_new = X[2] + 0.1
    alone = [posterior_of(X, PHI, [tree]).place(x_new[None]).log_density[0] for tree in (one, two)]
    placed = posterior_of(X, PHI, [one, two], [0.3, 0.7]).place(x_new[None])
    terms = np.log([0.3, 0.7]) + alone
    assert placed.log_density[0] == pytest.approx(np.logaddexp.reduce(terms))
    np.testing.assert_allclose(placed.weights[0], np.exp(terms - np.logaddexp.reduce(terms)))


def test_place_integrates_out_missing_entries():
    X, tree = simulated(6, PHI, 3)
    post = posterior_of(X, PHI, [tree])
    x_new = X[4] + np.array([0.2, 0.1, -0.3])
    grid = x_new[1] + np.linspace(-12, 12, 1201)
    rows = np.tile(x_new, (len(grid), 1))
    rows[:, 1] = grid
    density = np.exp(post.place(rows).log_density)
    x_new[1] = np.nan
    placed = post.place(np.vstack([x_new, rows[0]]))
    assert placed.log_density[0] == pytest.approx(math.log(np.trapezoid(density, grid)), abs=3e-3)
    assert placed.log_density[1] == pytest.approx(math.log(density[0]), abs=1e-9)
    assert post.place(np.full((1, 3), np.nan)).log_density[0] == pytest.approx(0.0, abs=1e-3)  # the prior


def test_place_with_more_columns_than_rows_equals_brute_force():
    rng = np.random.default_rng(0)
    X, tree = ct.simulate(4, 12, random_state=5)
    x_new = rng.normal(size=12)
    masses = brute_force(tree, np.asarray(X), x_new, np.eye(12))
    placed = posterior_of(X, np.eye(12), [tree]).place(x_new[None])
    assert placed.log_density[0] == pytest.approx(np.logaddexp.reduce(list(masses.values())), abs=2e-3)


def test_place_puts_a_fitted_row_on_its_own_leaf():
    X, tree = simulated(6, PHI)
    placed = posterior_of(X, PHI, [tree]).place(X, classes=list("aabbcc"))
    for i in range(6):
        probability, clade = placed.nearest_clades(i)[0]
        assert (probability, clade) == (pytest.approx(1.0), (str(i),))
    assert np.all(placed.log_density > 20.0)
    np.testing.assert_array_equal(placed.classes[placed.class_probability.argmax(axis=1)], list("aabbcc"))
    assert np.all(placed.times[:, 0] < 1e-6)


@pytest.mark.parametrize(("n", "d"), [(2, 2), (2, 6), (9, 9), (12, 33), (40, 5)])
def test_place_of_an_equal_row_has_infinite_density_however_rows_are_rotated(n, d):
    rng = np.random.default_rng(d)
    A = rng.standard_normal((d, d + 2))
    X = ct.simulate(n, d, random_state=n)[0] + 5.0
    X = np.vstack([X, X[1]])
    with pytest.warns(CoaltreeWarning, match="duplicate row"):
        post = ct.sample_trees(X, A @ A.T, n_samples=3, random_state=0)
    part = X.copy()
    part[:, 0] = np.nan
    for rows in (X, part) if d > 2 else (X,):
        placed = post.place(np.vstack([rows, rows.mean(axis=0)]))
        np.testing.assert_array_equal(placed.log_density[:-1], np.inf)
        np.testing.assert_array_equal(placed.times[:-1], 0.0)
        assert np.isfinite(placed.log_density[-1])
        assert placed.nearest_clades(1)[0] == (pytest.approx(1.0), ("1", str(n)))


@pytest.mark.parametrize(("d", "gap"), [(1, 0.0), (1, 1e-9), (2, 1e-5), (2, 1e-14), (3, 1e-14)])
def test_locate_of_rows_all_but_equal(d, gap):
    """The density of the time falls as a power over many orders of magnitude, and none of them may be left out."""
    X = np.zeros((2, d))
    X[1, 0] = 1.0
    x_new = X[0].copy()
    x_new[0] = -gap
    tree = ct.Tree(np.array([[0, 1]]), np.array([0.4]))
    u = np.linspace(-84.0, 33.0, 3001)  # time = 0.4 / (1 + e^-u)
    t = 0.4 / (1.0 + np.exp(-u))
    W = [*X.tolist(), x_new.tolist()]
    before = reference.log_joint({2: (0, 1, 0.4)}, W[:2], 0.0)
    joint = np.array([reference.log_joint({3: (0, 2, v), 4: (3, 1, 0.4)}, W, 0.0) for v in t]) - before
    mass = np.logaddexp.reduce(joint + np.log(t) - np.log1p(np.exp(u))) + np.log(u[1] - u[0])
    problem = Problem(X, d)
    places = Places.of(tree.children, tree.times, problem)
    found = places.locate(x_new[None], make_streams(np.random.default_rng(0), 1))
    assert found.log_density[0] + math.log(found.share[0, 0]) == pytest.approx(mass, abs=5e-3)


def test_place_may_take_a_few_rows_at_a_time(monkeypatch):
    X, tree = simulated(6, PHI)
    post = posterior_of(X, PHI, [tree, tree])
    new = np.vstack([X + 0.3, X - 0.2])
    new[::3, 1] = np.nan
    whole = post.place(new)
    monkeypatch.setattr("coaltree.posterior.predictive.placement._SHARES_AT_ONCE", 30)
    parts = post.place(new)
    np.testing.assert_allclose(parts.log_density, whole.log_density, rtol=1e-12)
    np.testing.assert_array_equal(parts.nodes, whole.nodes)
    assert [parts.nearest_clades(i)[0][1] for i in range(12)] == [whole.nearest_clades(i)[0][1] for i in range(12)]


def test_place_draws_independent_times_on_copies_of_a_tree():
    X, tree = simulated(6, PHI, 8)
    placed = posterior_of(X, PHI, [tree] * 300).place(np.vstack([X[:2] + 0.2, [[np.nan, 0.1, 0.2]]]), n_trees=300)
    for times, nodes in zip(placed.times, placed.nodes, strict=True):
        assert len(np.unique(times)) == 300
        assert abs(np.corrcoef(times[1:], times[:-1])[0, 1]) < 0.3
        assert len(np.unique(nodes)) > 1
    low, high = placed.time_interval(0.5).T
    inside = (placed.times > low[:, None]) & (placed.times <= high[:, None])
    np.testing.assert_allclose(inside.mean(axis=1), 0.5, atol=0.01)


def test_place_matches_frames_by_name():
    X, _ = simulated(10, PHI, 7)
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=[f"row {i}" for i in range(10)])
    post = ct.sample_trees(frame, PHI, n_samples=5, random_state=0, progress=False)
    new = pd.DataFrame(X[:2] + 0.3, columns=["a", "b", "c"], index=["x", "y"])
    assert post.place(new[["c", "a", "b"]]).log_density == pytest.approx(post.place(new).log_density)
    assert post.place(new).labels == ("x", "y")
    with pytest.raises(InputError, match="lack column 'b'"):
        post.place(new[["a", "c"]])
    with pytest.raises(InputError, match="'z' that was not fitted"):
        post.place(new.assign(z=1.0))
    with pytest.raises(InputError, match="must have the 3 columns that were fitted, not 2"):
        post.place(new.to_numpy()[:, :2])
    with pytest.raises(InputError, match=r"a column 'a.2' that was not fitted"):
        post.place(pd.concat([frame, frame[["a"]]], axis=1))
    with pytest.raises(InputError, match="one label for each"):
        post.place(new, classes=[1, 2])
