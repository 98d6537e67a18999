"""What has a known distribution if the model holds: contrasts and back, single leaves."""

import numpy as np

from coaltree.model.process import contrasts, diffusion
from coaltree.model.process.coalescent import simulate_tree
from tests.reference import contrasts as reference


def test_contrasts_of_rows_are_those_of_the_diffusion():
    rng = np.random.default_rng(9)
    tree, X, noise = simulate_tree(9, rng), rng.standard_normal((9, 4)), rng.gamma(1.0, 0.3, 9)
    values = contrasts.values_of_rows(tree, X, noise)
    np.testing.assert_allclose(values.contrasts, diffusion.contrasts(tree.children, tree.times, X, noise), rtol=1e-12)
    np.testing.assert_array_equal(values.means[:9], X)


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
