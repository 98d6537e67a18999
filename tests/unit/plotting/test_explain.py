"""Which columns make a cluster."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from coaltree import InputError, plotting
from tests.artists import names
from tests.fits import quick_fit


def explained():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((18, 4)) + 8.0 * np.eye(4)[np.arange(18) % 3]
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    return quick_fit(frame, "spherical"), np.arange(18) % 3


def test_explain_shows_size_and_sign_of_the_largest_differences():
    post, number = explained()
    frame = post.explain(number)
    ax = plotting.explain(frame, n_columns=3)
    wide = frame.pivot(index="column", columns="cluster", values="sister")
    shown = names(ax)
    assert len(shown) == 3
    assert set(shown) == set(wide.abs().max(axis=1).nlargest(3).index)
    assert names(ax, "x") == ["1", "2", "3"]
    (marks,) = ax.collections
    np.testing.assert_allclose(np.ravel(marks.get_array()), wide.loc[shown].to_numpy().ravel())
    sizes, size = np.ravel(marks.get_sizes()), wide.loc[shown].abs().to_numpy().ravel()
    assert (np.argsort(sizes) == np.argsort(size)).all()
    assert marks.get_clim()[0] == -marks.get_clim()[1]
    assert ax.get_title(loc="left").endswith("from its sister clade")
    others = plotting.explain(post, Figure().add_subplot(), n_clusters=3, against="others")
    assert others.get_title(loc="left").endswith("all other rows")
    named = plotting.explain(post.explain(np.array(["x", "y", "z"])[number]), Figure().add_subplot())
    assert names(named, "x") == ["x", "y", "z"]
    with pytest.raises(InputError, match="against"):
        plotting.explain(frame, against="nobody")
