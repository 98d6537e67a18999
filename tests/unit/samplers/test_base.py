"""A sampler of one's own: what must be written, what need not be, and what is refused."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.model.process.coalescent import log_prior, simulate_tree
from coaltree.model.process.diffusion import log_likelihood
from coaltree.samplers import as_sampler
from coaltree.samplers.base import Draws, Sampler


class FromThePrior(Sampler):
    """The shortest sampler there is: trees from the coalescent, weighed by the data."""

    def run(self, problem, rng, *, n_samples=100, n_warmup=10, n_threads=None, progress=None):
        trees = [simulate_tree(problem.n, rng) for _ in range(n_samples)]
        children, times = np.stack([tree.children for tree in trees]), np.stack([tree.times for tree in trees])
        W, d, log_det, leaf_var, *_ = problem
        drawn = zip(children, times, strict=True)
        log_weights = np.array([log_likelihood(*tree, W, d, log_det, leaf_var) for tree in drawn])
        return Draws(children.astype(np.int32), times, log_weights, log_weights + log_prior(times))

    def step(self, problem, tree, rng, *, neighbors=None, n_threads=None):
        draws = self.run(problem, rng, n_samples=50)
        weights = np.exp(draws.log_weights - draws.log_weights.max())
        chosen = rng.choice(50, p=weights / weights.sum())
        return draws.children[chosen], draws.times[chosen], {"ess": float(1.0 / np.square(weights).sum())}


@pytest.fixture(scope="module")
def data():
    return ct.simulate(6, 3, random_state=0)[0]


@pytest.mark.filterwarnings("ignore::coaltree.ConvergenceWarning")  # five iterations are few
def test_sampler_of_run_and_step_is_enough_for_every_verb(data):
    sampler = FromThePrior()
    post = ct.sample_trees(data, np.eye(3), sampler, n_samples=200, random_state=0, progress=False)
    exact = ct.sample_trees(data, np.eye(3), "prior", random_state=0, progress=False)
    assert len(post) == 200 and post.n == exact.n
    fitted = ct.fit(data, "diagonal", sampler, n_samples=5, n_warmup=2, n_chains=2, random_state=0, progress=False)
    assert len(fitted) == 10 and fitted.info["mean_ess"] > 0


def test_as_sampler_explains_names_and_classes():
    with pytest.raises(ct.InputError, match=r"sampler must be one of greedy, .*smc1 or a sampler object, not 'gibbs'"):
        as_sampler("gibbs")
    for cls in (ct.Regraft, FromThePrior):
        with pytest.raises(ct.InputError, match=rf"an object such as {cls.__name__}\(\), not the class"):
            as_sampler(cls)
