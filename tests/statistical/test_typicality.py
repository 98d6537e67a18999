"""New rows of the fitted kind are called unlike the others about once in a hundred times."""

from functools import cache

import numpy as np
import pytest

from coaltree.model.process.coalescent import simulate_tree
from coaltree.model.process.diffusion import simulate_data
from coaltree.posterior.predictive.typicality import lower_tail
from tests.fits import quick_fit

pytestmark = pytest.mark.slow
TABLES, FITTED, NEW, COLUMNS = 30, 30, 40, 3


@cache
def posteriors():
    """(posterior of some rows, the other rows) of tables from the model."""
    found = []
    for seed in range(TABLES):
        rng = np.random.default_rng([seed, 33, FITTED])
        tree = simulate_tree(FITTED + NEW, rng)
        X = rng.permutation(simulate_data(tree, COLUMNS, rng, leaf_var=0.2))
        how = {"sampler": "regraft", "noise": "learn", "n_samples": 30, "n_warmup": 30, "random_state": seed}
        found.append((quick_fit(X[:FITTED], "spherical", **how), X[FITTED:]))
    return found


def share_below(limit, typicality):
    """The share of all rows below a limit, and its standard error, rows of a table going together."""
    shares = np.array([(values < limit).mean() for values in typicality])
    return shares.mean(), max(shares.std(ddof=1) / np.sqrt(TABLES), 0.2 * limit)


def test_typicality_of_rows_of_the_model_is_a_probability():
    found = [post.place(new, n_trees=30).typicality for post, new in posteriors()]
    for limit in (0.01, 0.05, 0.2):
        share, error = share_below(limit, found)
        assert abs(share - limit) < 4.0 * error
        assert error < 0.6 * limit + 0.01


def test_typicality_beside_densities_of_rows_that_were_seen_would_find_too_many():
    seen = [post.place(np.array(post.X), n_trees=30).log_density for post, _ in posteriors()]
    found = [
        lower_tail(densities, post.place(new, n_trees=30).log_density)
        for densities, (post, new) in zip(seen, posteriors(), strict=True)
    ]
    share, error = share_below(0.05, found)
    assert share > 0.05 + 4.0 * error


def test_rows_with_a_value_of_another_kind_are_called_unlike_the_fitted_ones():
    for post, new in posteriors()[:5]:
        new = new + np.array([8.0 * np.ptp(new[:, 0]), 0.0, 0.0])
        assert not post.place(new, n_trees=30).is_typical.any()
