"""Small fits, and ways to compare and to interrupt them."""

import contextlib
import warnings
from dataclasses import dataclass
from typing import ClassVar
from unittest import mock

import numpy as np

from coaltree.errors import ConvergenceWarning
from coaltree.inference import settings
from coaltree.inference.fit import fit
from coaltree.model.process.coalescent import simulate_tree
from coaltree.model.process.diffusion import simulate_data
from coaltree.samplers.merging.mpost import MPost2
from coaltree.samplers.regraft.regraft import Regraft

QUICK = MPost2(n_particles=3)

LOCAL = Regraft(candidates="local", n_neighbors=2)


def data(n=8, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return simulate_data(simulate_tree(n, rng), d, rng)


def with_missing(X, share=0.15, seed=1):
    X = X.copy()
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


def quick_fit(X, *args, **options):
    given = {"sampler": QUICK, "n_samples": 6, "n_warmup": 2, "random_state": 0} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit(X, *args, **given)


@contextlib.contextmanager
def at_most_iterations(number):
    """Runs of the default length end after so many iterations of each chain."""
    with mock.patch.object(settings, "MAX_ITERATIONS", number):
        yield


def assert_same(a, b):
    """Every draw of two posteriors is the same, bit for bit."""
    np.testing.assert_array_equal(a.draws.children, b.draws.children)
    np.testing.assert_array_equal(a.draws.times, b.draws.times)
    np.testing.assert_array_equal(a.log_joint, b.log_joint)
    np.testing.assert_array_equal(a.draws.chain, b.draws.chain)
    assert a.theta.keys() == b.theta.keys()
    for name in a.theta:
        np.testing.assert_array_equal(a.theta[name], b.theta[name])
    if a.draws.imputed is not None or b.draws.imputed is not None:
        np.testing.assert_array_equal(a.draws.imputed, b.draws.imputed)


@dataclass(frozen=True)
class Interruptible(MPost2):
    """At step `stop_at` behaves as if Ctrl-C had been pressed."""

    n_particles: int = 3

    steps: ClassVar[int] = 0
    stop_at: ClassVar[int] = 0

    def step(self, problem, tree, rng, **options):
        type(self).steps += 1
        if self.steps == self.stop_at:
            raise KeyboardInterrupt
        return super().step(problem, tree, rng, **options)


def pressing_ctrl_c(at):
    Interruptible.steps, Interruptible.stop_at = 0, at
    return Interruptible()
