"""Base class of samplers: `run` draws trees for a fixed covariance, `step` the next tree of `fit`."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator

from ..errors import InputError
from ..model.draws import Draws, Merges
from ..model.process.whitened import Problem


class Tails(NamedTuple):
    """The scales of Student's noise, one for each leaf, and their prior."""

    scale: np.ndarray  # (n,) inverse gamma (half_df, half_df)
    half_df: float
    unit: np.ndarray  # (n,) leaf variances at a scale of 1


Neighbors = np.ndarray | None  # a neighbour graph that a sampler keeps between steps
Step = tuple[np.ndarray, np.ndarray, dict[str, Any]]  # and figures about how it was drawn
Watcher = Callable[[int, int], object]  # called with (done, total)


class Sampler(ABC):
    """The base class of every sampler: `run` and `step` must be written, the rest has defaults.

    Attributes
    ----------
    needs_vectors : bool
        False where only squared distances between rows are used; `problem.W` is then not rotated into fewer columns.
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
        rng: Generator,
        *,
        n_samples: int = 100,
        n_warmup: int = 10,
        n_threads: int | None = None,
        progress: Watcher | None = None,
    ) -> Draws:
        """Draw trees given the covariance; the number of threads (by default all) must not change the draws."""

    @abstractmethod
    def step(
        self,
        problem: Problem,
        tree: Merges | None,
        rng: Generator,
        *,
        neighbors: Neighbors = None,
        n_threads: int | None = None,
    ) -> Step:
        """Return (children, times, info) of one tree, given the current one or None; `info` is averaged over steps.

        `neighbors` is what the method of that name returned, now or in an earlier iteration.
        """

    @property
    def learns_noise(self) -> bool:
        """Whether `fit` can learn the rows' noise: a step must keep the posterior of trees, given the noise."""
        return self.is_chain and self.takes_leaf_variances

    def neighbors(self, problem: Problem, rng: Generator) -> Neighbors:
        """The neighbour graph that `step` reads and must not change, for `fit` to keep between iterations.

        `fit` renews it in the warm-up and never after it; that of many rows is made once for all chains.
        """
        return None

    def steps_per_iteration(self, n: int, neighbors: Neighbors) -> int:
        """Number of steps in an iteration of `fit`, at least 1; covariance and noise are drawn after each."""
        return 1

    def move_outliers(
        self, problem: Problem, tree: Merges, tails: Tails, rng: Generator, *, neighbors: Neighbors = None
    ) -> tuple[Merges, np.ndarray]:
        """Move some outliers together with their scales, where noise has Student's tails; by default nothing moves."""
        return tree, tails.scale

    def for_warmup(self) -> "Sampler":
        """The sampler to use in the warm-up of a fit: itself, or one that explores more."""
        return self

    def for_chain(self, problem: Problem) -> "Sampler":
        """The sampler to use in the iterations of one chain: itself, or one with arrays to work in, made once."""
        return self


SamplerLike = str | Sampler


def require_apart(rows_are_apart: bool) -> None:
    """Raise InputError where different rows have a squared distance of 0, at which there is no density."""
    if not rows_are_apart:
        raise InputError(
            "two rows of X differ by so little that their squared distance is 0; rescale X, round it (equal rows are "
            "merged at time 0), or give a noise above 0."
        )
