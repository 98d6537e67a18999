"""`State`, one draw of all that is unknown, and `Draws`, many of them stacked."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .covariance.base import Covariance
from .process.noise import NoiseDraw

Merges = tuple[np.ndarray, np.ndarray]  # children and times of a tree
NO_TREE: Merges = (np.empty((0, 2), np.int64), np.empty(0))  # of a single leaf


class State(NamedTuple):
    """One draw: a tree over the distinct leaves, parameters, and what is missing."""

    tree: Merges
    covariance: Covariance  # with its parameters as they were drawn
    noise: NoiseDraw
    imputed: np.ndarray  # (m,) the missing entries; NaN where they are not drawn yet


class Draws(NamedTuple):
    """T draws, stacked: of one chain, of all chains, or the weighted particles of a sampler."""

    children: np.ndarray  # (T, n-1, 2) int32
    times: np.ndarray  # (T, n-1)
    log_weights: np.ndarray  # (T,), up to a constant
    log_joint: np.ndarray | None  # (T,) log p(X, tree | θ) + log p(θ); None where it is not known
    log_evidence: float | None = None  # log of an unbiased estimate of p(X | Φ)
    info: Mapping[str, Any] = {}  # what the sampler reports, of the run, or as arrays (T,) of each draw
    theta: Mapping[str, np.ndarray] = {}  # draws of the parameters by name, each (T, …)
    tail_scale: np.ndarray | None = None  # (T, rows) scales of Student's noise
    imputed: np.ndarray | None = None  # (T, m) missing entries
    series: np.ndarray | None = None  # (T,) the chain of each; None for particles, which have no order

    @property
    def is_chain(self) -> bool:
        """Whether draws follow one another in chains."""
        return self.series is not None

    @property
    def chain(self) -> np.ndarray:
        """(T,) the chain of each draw; 0 for particles."""
        return np.broadcast_to(0, len(self.times)) if self.series is None else self.series  # read-only

    @property
    def weights(self) -> np.ndarray:
        """(T,) weights that sum to 1."""
        weights = np.exp(self.log_weights - self.log_weights.max())
        return np.asarray(weights / weights.sum())

    @property
    def has_equal_weights(self) -> bool:
        """Whether all trees count the same."""
        return bool(np.ptp(self.log_weights) == 0)

    @property
    def outlier_score(self) -> np.ndarray | None:
        """(rows,) posterior mean of the noise's scale of each row, about 1 for an ordinary one.

        None where the noise has no Student tails.
        """
        return None if self.tail_scale is None else np.asarray(self.weights @ self.tail_scale)

    def part(self, which: slice | np.ndarray) -> "Draws":
        """Some of the draws; an evidence estimate belongs to all of them."""
        part = Draws(*(_part(value, which) for value in self))
        log_evidence = self.log_evidence if len(part.times) == len(self.times) else None
        return part._replace(log_evidence=log_evidence)


def _part(value: Any, which: slice | np.ndarray) -> Any:
    if isinstance(value, Mapping):
        return {name: _part(draws, which) for name, draws in value.items()}
    if not isinstance(value, np.ndarray):
        return value
    part = np.ascontiguousarray(value[which]).view()
    part.flags.writeable = False
    return part


def concatenate(blocks: Sequence[Draws]) -> Draws:
    """The draws of all blocks, one after the other; of named draws, and of others, those that every block has."""

    def join(values: Sequence[Any]) -> Any:
        first = values[0]
        if isinstance(first, Mapping):
            return {key: join([one[key] for one in values]) for key in first if all(key in one for one in values)}
        if first is None or isinstance(first, float):
            return None
        return None if any(one is None for one in values) else np.concatenate(values)

    return Draws(*map(join, zip(*blocks, strict=True)))
