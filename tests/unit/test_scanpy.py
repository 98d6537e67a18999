"""Trees of groups of cells in AnnData, and scanpy's own plots on them."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import coaltree as ct
from coaltree.model.process.noise import row_variances

QUICK = {"n_samples": 20, "n_warmup": 8}


class StandIn(SimpleNamespace):
    """What is asked of an AnnData, for where AnnData is not installed."""

    def __init__(self, X, obs, var=None):
        super().__init__(X=X, obs=obs, var=var, obsm={}, uns={}, obs_names=obs.index.astype(str), n_obs=len(obs))

    def __getitem__(self, rows):
        part = StandIn(self.X[rows], self.obs[rows], self.var)
        part.obsm = {key: values[rows] for key, values in self.obsm.items()}
        return part

    def copy(self):
        return self


def new_adata(X, obs, var=None):
    try:
        from anndata import AnnData
    except ImportError:
        AnnData = StandIn
    return AnnData(X, obs=obs, var=var)


@pytest.fixture
def adata():
    """Five kinds of cells, two of them close, one rare, in six dimensions and with ten genes."""
    rng = np.random.default_rng(0)
    sizes = {"B cell": 40, "T cell": 60, "NK": 30, "mono": 50, "rare": 4}
    kinds = np.repeat(list(sizes), list(sizes.values()))
    centres = {name: 5.0 * rng.standard_normal(6) for name in sizes}
    centres["NK"] = centres["T cell"] + 0.8
    embedding = np.stack([centres[kind] for kind in kinds]) + rng.standard_normal((len(kinds), 6))
    counts = rng.poisson(2.0, (len(kinds), 10)).astype(np.float32)
    obs = pd.DataFrame({"kind": pd.Categorical(kinds), "batch": pd.Categorical(["p", "q"] * (len(kinds) // 2))})
    obs.index = [f"cell {i}" for i in range(len(kinds))]
    made = new_adata(counts, obs, pd.DataFrame(index=[f"gene{j}" for j in range(10)]))
    made.obsm["X_pca"] = embedding.astype(np.float32)
    return made


@pytest.fixture
def fitted(adata):
    with pytest.warns(ct.CoaltreeWarning):
        posterior = ct.scanpy.dendrogram(adata, "kind", **QUICK)
    return adata, posterior


def test_dendrogram_has_a_leaf_for_every_group_and_joins_close_ones(fitted):
    adata, posterior = fitted
    assert set(posterior.labels) == set(adata.obs["kind"].cat.categories)
    assert frozenset({"T cell", "NK"}) in posterior.mean_tree().clades()
    assert len(posterior.model.leaves.groups) == adata.n_obs
    found = adata.uns["dendrogram_kind"]
    categories = list(adata.obs["kind"].cat.categories)
    tree = ct.Tree.from_linkage(found["linkage"], categories)
    assert set(tree.clades()) == set(posterior.mean_tree().clades())
    assert [categories[i] for i in found["categories_idx_ordered"]] == found["categories_ordered"]
    assert len(found["support"]) == len(found["times"]) == len(categories) - 1
    np.testing.assert_array_equal(found["times"], found["linkage"][:, 2])
    assert found["correlation_matrix"].shape == (5, 5)


def test_dendrogram_is_less_certain_of_a_rare_kind(fitted):
    """Its leaf stands for 4 cells and not for 60: its noise after averaging is larger."""
    _, posterior = fitted
    model = posterior.model
    variances = row_variances(model.noise, model.noise_of(posterior.draws, 0))
    of_leaf = {
        label: 1 / np.sum(1 / variances[posterior.model.leaves.groups == i]) for i, label in enumerate(posterior.labels)
    }
    assert of_leaf["rare"] > 5 * of_leaf["T cell"]
