"""Tables that repeat themselves: no family may collapse on them, and columns that carry nothing change no cluster.

With ties taken as points, such cases end with roots of 3 to 98 above merges at 1e-48 to 1e-143 and R-hats of 1.1 to
2.9; `test_cases_are_hard` keeps one of them.
"""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

import coaltree as ct
from coaltree.model import model
from coaltree.posterior.diagnostics.watched import is_of_covariance_or_noise


def numbers(n=40, d=4, k=2, seed=0):
    """k groups that stand well apart in d columns, and which row is of which."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % k
    return rng.normal(size=(n, d)) + 8.0 * np.eye(k, d)[group], group, rng


def beside(make, n=40, **options):
    """Numbers with other columns beside them, made from a generator and the groups."""
    X, group, rng = numbers(n, **options)
    return np.column_stack([X, make(rng, group)]), group


def rare(rng, group):
    """Columns that are 0 but in one or two rows."""
    columns = np.zeros((len(group), 6))
    for j in range(6):
        columns[rng.choice(len(group), 1 + j % 2, replace=False), j] = 1.0
    return columns


def zeros_and_numbers(rng, group):
    return np.where(rng.random((len(group), 4)) < 0.6, 0.0, rng.gamma(2.0, 1.0, (len(group), 4)))


def sparse_counts():
    rng = np.random.default_rng(1)
    group = np.arange(42) % 3
    return rng.poisson(np.exp(rng.normal(-1.0, 1.2, (3, 28)))[group]).astype(float), group


def digits():
    X, y = load_digits(return_X_y=True)
    chosen = np.random.default_rng(1).permutation(len(X))[:500]
    return X[chosen], y[chosen]


def with_their_sum():
    X, group, _ = numbers()
    return np.column_stack([X, X.sum(axis=1)]), group


CASES = {
    "one-hot": (lambda: beside(lambda rng, group: np.eye(4)[rng.integers(0, 4, len(group))]), "diagonal"),
    "one-hot, full": (lambda: beside(lambda rng, group: np.eye(4)[rng.integers(0, 4, len(group))], 60), "full"),
    "three binary columns": (lambda: beside(lambda _, group: np.tile(group[:, None], 3)), "diagonal"),
    "three binary columns, full": (lambda: beside(lambda _, group: np.tile(group[:, None], 3)), "full"),
    "rare columns": (lambda: beside(rare), "diagonal"),
    "rare columns, full": (lambda: beside(rare, 90), "full"),
    "zeros and numbers": (lambda: beside(zeros_and_numbers, 60), "diagonal"),
    "sparse counts": (sparse_counts, "diagonal"),
    "a column three times": (lambda: beside(lambda rng, g: np.tile(rng.normal(size=(len(g), 1)), 3)), "full"),
    "a sum of columns": (with_their_sum, "full"),
}


def fitted(X, covariance, **options):
    settings = {"n_samples": 60, "n_warmup": 40, "random_state": 0, "progress": False} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.CoaltreeWarning)
        return ct.fit(X, covariance, **settings)


ONE_CHAIN = {"n_samples": 15, "n_warmup": 15, "n_chains": 1}


def is_sensible(post):
    """The root within some times of where the coalescent puts it, half of the merges not far below."""
    root, middle = np.median(post.draws.times[:, -1]), np.median(post.draws.times[:, post.n // 2])
    return 0.02 < root < 7.0 and middle > 1e-3 * root


def worst_r_hat(post):
    """Of all but covariance and noise, which hold runs up less."""
    figures = {name: value for name, value in post.info["convergence"].items() if isinstance(value, dict)}
    return max(value["r_hat"] for name, value in figures.items() if not is_of_covariance_or_noise(name))


@pytest.mark.parametrize("case", CASES)
def test_trees_of_hard_tables_are_sensible(case):
    make, covariance = CASES[case]
    X, group = make()
    post = fitted(X, covariance, **ONE_CHAIN)
    assert is_sensible(post)
    if case != "sparse counts":  # whose groups differ too little
        assert adjusted_rand_score(group, post.cut(2)) > 0.9


def test_cases_are_hard(monkeypatch):
    """Negative control: with ties as they are, merges go to time 0."""
    monkeypatch.setattr(model, "spread_ties", lambda values, rows, used: (values, np.zeros(len(used), dtype=bool)))
    X, _ = CASES["rare columns"][0]()
    assert not is_sensible(fitted(X, "diagonal", **ONE_CHAIN))


@pytest.mark.slow
@pytest.mark.parametrize("case", [*CASES, "digits"])
def test_chains_agree_at_the_default_length(case):
    make, covariance = CASES.get(case, (digits, "diagonal"))
    X, _ = make()
    post = fitted(X, covariance, n_samples="auto", n_warmup="auto")
    assert is_sensible(post)
    assert worst_r_hat(post) <= 1.05


@pytest.mark.parametrize("covariance", ["auto", "scaled", "diagonal", "full"])
def test_constant_columns_change_nothing(covariance):
    X, _, _ = numbers()
    short = {"n_samples": 3, "n_warmup": 3, "n_chains": 1}
    posts = [fitted(np.column_stack([X, np.full((40, c), 3.3)]), covariance, **short) for c in range(4)]
    for post in posts[1:]:
        np.testing.assert_array_equal(post.draws.times, posts[0].draws.times)
        np.testing.assert_array_equal(post.draws.children, posts[0].draws.children)


@pytest.mark.parametrize("covariance", ["scaled", "diagonal", "full"])
def test_units_change_nothing_but_theta(covariance):
    X, _, rng = numbers(24, 4)
    X[:, 3] = rng.integers(0, 5, 24)
    X[2, 0] = X[5, 3] = np.nan
    short = {"n_samples": 4, "n_warmup": 3, "n_chains": 1}
    plain = fitted(X, covariance, **short)
    binary = 2.0 ** np.array([-30, 30, 7, -1])
    scaled = fitted(X * binary, covariance, **short)
    np.testing.assert_array_equal(scaled.draws.times, plain.draws.times)
    np.testing.assert_array_equal(scaled.draws.children, plain.draws.children)
    np.testing.assert_array_equal(scaled.draws.imputed, plain.draws.imputed * binary[[0, 3]])
    units = {"noise_level": 1.0, "amplitude": 1.0, "variances": binary**2, "Phi": np.outer(binary, binary)}
    for name, draws in plain.theta.items():
        np.testing.assert_array_equal(scaled.theta[name], draws * units[name])
    for factors in ([1e-9, 1e9, 1.0, 1e5], [1e9, 1e9, 1e9, 1e9], [1e5, 1e-9, 3.0, 7e-4]):
        other = fitted(X * factors, covariance, **short)
        np.testing.assert_array_equal(other.draws.children, plain.draws.children)
        np.testing.assert_allclose(other.draws.times, plain.draws.times, rtol=1e-6)


def test_columns_left_out_stay_in_all_that_people_see(tmp_path):
    import pandas as pd

    X, group, _ = numbers()
    frame = pd.DataFrame(np.column_stack([X[:, :2], np.full(40, 2.5), X[:, 2:], group]), columns=list("abcdef"))
    frame.iloc[3, 2] = frame.iloc[4, 0] = np.nan
    post = fitted(frame, "diagonal", n_samples=12, n_warmup=10)
    assert post.model.columns == tuple("abcdef") and post.model.used_columns == tuple("abdef")
    assert post.theta["variances"].shape == (24, 5)
    assert "column 'c' (constant)" in post.info["left_out"] and "column 'f'" in post.info["ties"]
    assert post.draws.imputed.shape == (24, 1)
    assert np.argwhere(np.isnan(post.model.completed(post.draws, 3))).tolist() == [[3, 2]]
    assert adjusted_rand_score(group, post.cut(2)) == 1.0
    post.save(tmp_path / "p.npz")
    again = ct.load(tmp_path / "p.npz")
    new = (frame.iloc[:5] + 0.25).assign(c=9.0, f=1.0).rename(index=lambda i: f"new {i}")
    new.iloc[0, 3] = np.nan
    placed = post.place(new)
    np.testing.assert_array_equal(again.place(new).log_density, placed.log_density)
    assert np.isfinite(placed.log_density).all()
    continued = fitted(frame, "diagonal", n_samples=2, n_warmup=0, start=post)
    np.testing.assert_array_equal(continued.model.fitted, post.model.fitted)
