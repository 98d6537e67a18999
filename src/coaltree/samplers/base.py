"""What samplers are given and what they give back.

A sampler is a frozen dataclass of its settings, such as ``MPost2(n_particles=100)``, with two methods: `run` draws
trees for a fixed covariance, `step` gives one tree for the next round of `fit`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..model.problem import Problem


class Draws(NamedTuple):
    """Trees drawn by a sampler, with their weights."""

    children: np.ndarray  # (T, n-1, 2) int32
    times: np.ndarray  # (T, n-1)
    log_weights: np.ndarray  # (T,), up to a constant
    log_joint: np.ndarray  # (T,) log p(X, tree | Φ)
    log_evidence: float | None = None  # log of an unbiased estimate of p(X | Φ)
    info: Mapping[str, Any] = MappingProxyType({})  # what a person wants to see of the run


class Sampler(Protocol):
    """The protocol of every sampler."""

    needs_vectors: bool  # False: squared distances are enough, metric="precomputed" works
    is_chain: bool  # True: draws follow one another, and their order tells how well they mix

    def run(self, problem: Problem, rng, *, n_samples=100, n_warmup=10, n_threads=None, progress=None) -> Draws:
        """Draw trees given the covariance; `progress(done, total)` is called now and then."""
        ...

    def step(self, problem: Problem, tree, rng, **options) -> tuple[np.ndarray, np.ndarray, dict]:
        """Return (children, times, info) of one tree, given the current one (children, times) or None."""
        ...
