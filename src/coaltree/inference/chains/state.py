"""What chains are given, where a chain stands, and what is kept of it."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...model.covariance import Covariance
from ...model.data.replicates import Replicates, Within, within_leaves
from ...model.process.noise import NoiseDraw, NoiseModel

Merges = tuple[np.ndarray, np.ndarray]  # children and times of a tree


class ChainData(NamedTuple):
    """Rows and their model as all chains of a run see them; no iteration changes anything here."""

    values: np.ndarray  # (N, d), NaN where missing
    covariance: Covariance  # as it starts
    noise: NoiseModel
    replicates: Replicates | None = None  # where leaves stand for several rows
    missing: np.ndarray | None = None  # (N, d) of bool, if any entry is
    within: Within | None = None  # what is left of rows that were put together into leaves
    weights: np.ndarray | None = None  # (d,) how much each column is to count; see `resampling`

    @property
    def n(self) -> int:
        """Number of leaves."""
        return len(self.values) if self.replicates is None else self.replicates.n

    @property
    def n_missing(self) -> int:
        """Number of missing entries."""
        if self.missing is None:
            return 0
        return int(self.missing.sum() if self.weights is None else self.missing.sum(axis=0) @ self.weights)

    @property
    def n_scales(self) -> int:
        """Number of scales of Student's tails, one for each row; 0 for normal ones."""
        return len(self.values) if self.noise.half_df > 0.0 else 0

    def filled(self, imputed: np.ndarray) -> np.ndarray:
        """Rows (N, d) with their missing entries filled in."""
        if self.missing is None:
            return self.values
        values = self.values.copy()
        values[self.missing] = imputed
        return values

    def over_rows(self, tree: Merges) -> Merges:
        """The tree over the rows, which are its leaves unless some are replicates."""
        return tree if self.replicates is None else self.replicates.expand(*tree)

    def statistics(self, covariance: Covariance, U: np.ndarray, variances: np.ndarray) -> Any:
        """What an update of the covariance needs of the tree's contrasts U, and of those within leaves."""
        if self.within is None:
            return covariance.statistics(U)
        return self.within.statistics(covariance, U, self._level(variances))

    def log_within(self, whitener: Any, variances: np.ndarray) -> float:
        """Log density of the contrasts within leaves."""
        return 0.0 if self.within is None else self.within.log_density(whitener, self._level(variances))

    def log_v_within(self, variances: np.ndarray) -> float:
        """Σ log v of the contrasts within leaves, up to a constant."""
        return 0.0 if self.within is None else self.within.n * math.log(self._level(variances))

    def _level(self, variances: np.ndarray) -> float:
        """The level of a normal noise from the leaves' variances."""
        return float(variances[0] / self.noise.error2[0])


class Chain(NamedTuple):
    """Where a chain stands after so many iterations: all that the next one needs."""

    tree: Merges
    covariance: Covariance
    noise: NoiseDraw
    imputed: np.ndarray  # (m,) the missing entries
    neighbors: np.ndarray | None  # the sampler's candidates for each leaf, if it keeps any
    rng: np.random.Generator
    iteration: int = 0


class ChainDraws(NamedTuple):
    """What is kept of T iterations of a chain, stacked."""

    children: np.ndarray  # (T, n-1, 2)
    times: np.ndarray  # (T, n-1)
    log_joint: np.ndarray  # (T,)
    theta: dict[str, np.ndarray]  # name → (T, …)
    tail_scale: np.ndarray  # (T, N) scales of Student's tails, (T, 0) for normal ones
    imputed: np.ndarray  # (T, m)
    info: dict[str, np.ndarray]  # what the sampler reports, name → (T,)

    def part(self, which: slice) -> "ChainDraws":
        """Some of the draws."""
        cut: list[Any] = [
            {name: draws[which] for name, draws in value.items()} if isinstance(value, dict) else value[which]
            for value in self
        ]
        return ChainDraws(*cut)


def concatenate(blocks: Sequence[ChainDraws]) -> ChainDraws:
    """One block from those of one chain, or of all chains; of named draws those that every block has."""
    children, times, log_joint, theta, tail_scale, imputed, info = zip(*blocks, strict=True)

    def by_name(parts: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        shared = [name for name in parts[0] if all(name in part for part in parts)]
        return {name: np.concatenate([part[name] for part in parts]) for name in shared}

    return ChainDraws(
        np.concatenate(children),
        np.concatenate(times),
        np.concatenate(log_joint),
        by_name(theta),
        np.concatenate(tail_scale),
        np.concatenate(imputed),
        by_name(info),
    )


def collapse_replicates(data: ChainData) -> ChainData:
    """Leaves in place of their rows, where rows enter by sums alone: all observed, under normal noise."""
    if data.replicates is None or data.missing is not None or data.noise.half_df > 0.0:
        return data
    leaves, within = within_leaves(data.values, data.noise.error2, data.replicates)
    noise = data.noise._replace(error2=leaves.var)
    return data._replace(values=leaves.mean, noise=noise, replicates=None, within=within)
