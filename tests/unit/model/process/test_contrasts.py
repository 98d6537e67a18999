"""What has a known distribution if the model holds: contrasts and back, single leaves."""

import numpy as np
import pytest

from coaltree.model.process import contrasts, diffusion
from coaltree.model.process.coalescent import simulate_tree
from tests.reference import contrasts as reference


@pytest.mark.parametrize("n", [2, 3, 9])
def test_contrasts_give_back_the_rows(n):
    rng = np.random.default_rng(n)
    tree, X, noise = simulate_tree(n, rng), rng.standard_normal((n, 4)), rng.gamma(1.0, 0.3, n)
    frame = contrasts.frame_of(tree.children, tree.times, noise)
    up = contrasts.values_of_rows(frame, X)
    np.testing.assert_allclose(up.contrasts, diffusion.contrasts(tree.children, tree.times, X, noise), rtol=1e-12)
    down = contrasts.values_of_contrasts(frame, up.contrasts)
    np.testing.assert_allclose(down.means - down.means[0], up.means - up.means[0], atol=1e-12)


def test_lateness_equals_the_transcription():
    for seed in range(20):
        tree = simulate_tree(40, np.random.default_rng(seed))
        np.testing.assert_allclose(contrasts.lateness(tree.children), reference.lateness(tree.children.tolist()))


def test_lateness_is_that_of_the_coalescent():
    rng = np.random.default_rng(1)
    drawn = np.array([contrasts.mean_lateness(30, rng) for _ in range(2000)])
    of_trees = np.array([contrasts.lateness(simulate_tree(30, rng).children).mean() for _ in range(2000)])
    error = np.hypot(drawn.std(), of_trees.std()) / np.sqrt(2000)
    assert abs(drawn.mean() - of_trees.mean()) < 4.0 * error
    assert abs(np.log(drawn.std() / of_trees.std())) < 0.15
    assert abs(contrasts.mean_lateness(30, rng) - of_trees.mean()) < 10 * of_trees.std()
    caterpillar = [[0, 1], *([30 + k, k + 2] for k in range(28))]
    assert contrasts.lateness(np.array(caterpillar)).mean() > of_trees.mean() + 10 * error  # negative control
