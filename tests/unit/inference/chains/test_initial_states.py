"""Where chains start: a posterior's last draws, a tree, or refused."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from coaltree.errors import InputError
from coaltree.model.process.coalescent import simulate_tree
from coaltree.samplers.merging.mpost import MPost2
from tests.fits import assert_same, data, quick_fit, with_missing


@dataclass(frozen=True)
class Recording(MPost2):
    """Remembers the trees that it starts from."""

    n_particles: int = 3
    seen: ClassVar[list] = []

    def step(self, problem, tree, rng, **options):
        self.seen.append(tree)
        return super().step(problem, tree, rng, **options)


def test_start_is_the_last_draws_of_a_posterior():
    X = with_missing(data(8, 4))
    first = quick_fit(X, "diagonal", n_chains=2)
    Recording.seen.clear()
    more = quick_fit(X, "diagonal", sampler=Recording(), start=first, n_warmup=0, n_samples=1, random_state=3)
    last = [5, 11]
    asked = [Recording.seen[0], Recording.seen[-1]]
    for (children, times), t in zip(asked, last, strict=True):
        np.testing.assert_array_equal(children, first.draws.children[t])
        np.testing.assert_array_equal(times, first.draws.times[t])
    assert len(more) == 2
    assert_same(more, quick_fit(X, "diagonal", start=first, n_warmup=0, n_samples=1, random_state=3))


def test_start_can_be_a_tree():
    X, tree = data(), simulate_tree(8, np.random.default_rng(3))
    Recording.seen.clear()
    quick_fit(X, sampler=Recording(), start=tree, n_samples=1, n_warmup=0)
    children, times = Recording.seen[0]
    np.testing.assert_array_equal(children, tree.children)
    np.testing.assert_allclose(times / times[-1], tree.times / tree.times[-1])  # the scale is learnt


def test_start_for_other_rows_is_refused():
    post = quick_fit(data())
    with pytest.raises(InputError, match="same rows"):
        quick_fit(data(9), start=post)
    with pytest.raises(InputError, match="Posterior or a Tree"):
        quick_fit(data(), start="here")
    with pytest.raises(InputError, match="draws of amplitude, but this fit learns variances"):
        quick_fit(data(), "diagonal", start=post)
