"""Base class of samplers, and the draws that `run` returns.

A sampler is a value of its settings, such as ``MPost2(n_particles=100)``, with two methods of its own: `run` draws
trees for a fixed covariance (`sample_trees`), `step` draws the next tree of `fit`. The rest has defaults here.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..errors import InputError
from ..model.process.whitened import Problem


class Draws(NamedTuple):
    """Trees drawn by a sampler, with their weights."""

    children: np.ndarray  # (T, n-1, 2) int32
    times: np.ndarray  # (T, n-1)
    log_weights: np.ndarray  # (T,), up to a constant
    log_joint: np.ndarray  # (T,) log p(X, tree | Φ)
    log_evidence: float | None = None  # log of an unbiased estimate of p(X | Φ)
    info: Mapping[str, Any] = MappingProxyType({})  # figures about the run


class Tails(NamedTuple):
    """The scales of Student's noise, one for each leaf, and their prior."""

    scale: np.ndarray  # (n,) inverse gamma (half_df, half_df)
    half_df: float
    unit: np.ndarray  # (n,) leaf variances at a scale of 1


Merges = tuple[np.ndarray, np.ndarray]  # children and times of one tree
Step = tuple[np.ndarray, np.ndarray, dict[str, Any]]  # and figures about how it was drawn
Watcher = Callable[[int, int], object]  # called with (done, total)


class Sampler(ABC):
    """The base class of every sampler: `run` and `step` must be written, the rest has defaults.

    Attributes
    ----------
    needs_vectors : bool
        False where squared distances are enough: metric="precomputed" then works, and `problem.W` may be None.
    is_chain : bool
        True where the draws of `run` are a Markov chain, so that their order tells how well they mix.
    takes_leaf_variances : bool
        True where rows may have noise of different sizes; `problem.leaf_var` is then (n,).
    start : str or Tree
        The first tree of a chain of `fit`: one of the names in `samplers.starts`, or a tree.
    """

    needs_vectors: ClassVar[bool] = True
    is_chain: ClassVar[bool] = False
    takes_leaf_variances: ClassVar[bool] = False
    start: Any = "auto"

    @abstractmethod
    def run(
        self,
        problem: Problem,
        rng: np.random.Generator,
        *,
        n_samples: int = 100,
        n_warmup: int = 10,
        n_threads: int | None = None,
        progress: Watcher | None = None,
    ) -> Draws:
        """Draw trees given the covariance; `progress(done, total)` is called now and then.

        The number of threads must not change the draws; by default all processors are used.
        """

    @abstractmethod
    def step(
        self,
        problem: Problem,
        tree: Merges | None,
        rng: np.random.Generator,
        *,
        neighbors: np.ndarray | None = None,
        n_threads: int | None = None,
    ) -> Step:
        """Return (children, times, info) of one tree, given the current one (children, times) or None.

        `neighbors` is what the method of that name returned, now or in an earlier iteration. Numbers in `info` are
        averaged over the steps of a fit.
        """

    @property
    def learns_noise(self) -> bool:
        """Whether `fit` can learn the rows' noise: a step must keep the posterior of trees, given the noise."""
        return self.is_chain and self.takes_leaf_variances

    def neighbors(self, problem: Problem, rng: np.random.Generator) -> np.ndarray | None:
        """The neighbour graph that `step` reads, for `fit` to keep between iterations; None where there is none.

        `fit` renews it now and then in the warm-up, at its end, and never after it; that of many rows is made once for
        all chains, by the sampler of the warm-up. It must not be changed in place.
        """
        return None

    def steps_per_iteration(self, n: int, neighbors: np.ndarray | None) -> int:
        """Number of steps in an iteration of `fit`, at least 1; covariance and noise are drawn after each."""
        return 1

    def move_outliers(
        self,
        problem: Problem,
        tree: Merges,
        tails: Tails,
        rng: np.random.Generator,
        *,
        neighbors: np.ndarray | None = None,
        n_blocks: int = 1,
    ) -> tuple[Merges, np.ndarray]:
        """Move some outliers together, with the scales of their noise; return the tree and all scales.

        Called only where noise has Student's tails and every row is a leaf. By default nothing moves.
        """
        return tree, tails.scale

    def for_warmup(self) -> "Sampler":
        """The sampler to use in the warm-up of a fit: itself, or one that explores more."""
        return self


SamplerLike = str | Sampler


def require_apart(rows_are_apart: bool) -> None:
    """Raise InputError where different rows have a squared distance of 0, at which there is no density."""
    if not rows_are_apart:
        raise InputError(
            "two rows of X differ by so little that their squared distance is 0; rescale X, round it (equal rows are "
            "merged at time 0), or give a noise above 0."
        )
