"""Figures without a window, closed after each test; a small tree and a small posterior."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

from coaltree import Tree
from coaltree.posterior.of_trees import posterior_of_trees
from tests.strategies import random_tree

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def tree():
    #  e ──────┐ 5
    #  a   ┐ 1 │
    #  c   ┘ ┐ 3
    #  b ┐ 2 ┘
    #  d ┘
    return Tree([[0, 2], [1, 3], [5, 6], [4, 7]], [1.0, 2.0, 3.0, 5.0], labels=list("abcde"))


@pytest.fixture(scope="module")
def posterior():
    trees = [random_tree(12, np.random.default_rng(seed)) for seed in range(6)]
    rows = [0, 0, 0, 1, 2, 3, 4, 5]
    return posterior_of_trees(
        np.stack([trees[i].children for i in rows]),
        np.stack([trees[i].times for i in rows]),
        log_joint=np.arange(8.0),
        chain=np.repeat([0, 1], 4),
        theta={"variance": np.linspace(1, 2, 8), "matrix": np.ones((8, 2, 2))},
        labels=[f"leaf {i}" for i in range(12)],
    )
