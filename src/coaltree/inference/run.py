"""The chains of one fit, run in blocks of rounds through joblib; between blocks progress is shown and saved."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, cpu_count, delayed, effective_n_jobs

from .._runtime.memory import require_memory
from .._runtime.progress import Progress
from ..errors import InputError
from ..model.covariance.base import Covariance
from .chain import Chain, Plan, Rounds, Start, advance, begin
from .checkpoint import Checkpoint

_LARGEST_JOINT = 1e18  # what is beyond has no digit left for a difference between trees
_FARTHEST = 1e30  # of the root where a scale is learnt: the coalescent puts it near 2
_SECONDS_A_BLOCK = 1.0  # how often progress is shown, and how much an interruption costs


@dataclass
class Run:
    """The chains of a fit, and what they have given so far."""

    plan: Plan
    values: np.ndarray
    covariance: Covariance
    n_samples: int
    n_chains: int
    seed: int
    starts: Sequence[Start]

    def __post_init__(self) -> None:
        self.chains: list[Chain] = []
        self.kept: list[list[Rounds]] = [[] for _ in range(self.n_chains)]
        self.estimate: dict[str, float] = {}
        self.choice: dict[str, Any] | None = None  # how its covariance was chosen, where it was

    @property
    def rounds_per_chain(self) -> int:
        return self.plan.n_warmup + self.n_samples

    @property
    def total_rounds(self) -> int:
        return self.n_chains * self.rounds_per_chain

    @property
    def rounds_done(self) -> int:
        return sum(chain.round for chain in self.chains)

    @property
    def rounds_left(self) -> int:
        """Rounds that each chain still has to take; all chains stand at the same round."""
        return self.rounds_per_chain - (self.chains[0].round if self.chains else 0)

    @property
    def n_kept(self) -> int:
        """Rounds kept of each chain."""
        return sum(len(block.times) for block in self.kept[0])

    def reserve_memory(self, n: int) -> None:
        """Estimate what draws of trees over n rows will take, and refuse what the machine does not have.

        Counted are the draws, twice while they are put together, the work of the chains, and a first tree.
        """
        per_draw = 16 * (n - 1) + 8 * sum(np.size(value) for value in self.covariance.theta.values())
        per_draw += 8 * len(self.values) if self.plan.noise.half_df > 0.0 else 0
        per_draw += 8 * (0 if self.plan.missing is None else int(self.plan.missing.sum()))
        work = 4 * self.n_chains * 8 * n * self.values.shape[1] + 8 * min(n, 20_000) ** 2
        n_bytes = 2 * self.n_chains * self.n_samples * per_draw + work
        what = f"{self.n_chains} chains of {self.n_samples} trees"
        require_memory(n_bytes, what, "lower n_samples, or thin several runs")
        self.estimate["n_bytes"] = n_bytes

    def complete(self, n_jobs: int | None, bar: Progress, checkpoint: Checkpoint | None) -> bool:
        """Run all rounds that are left; return whether it was interrupted."""
        at_once = min(self.n_chains, effective_n_jobs(n_jobs))
        if at_once > 1:  # chains that run side by side share the processors
            self.plan = self.plan._replace(n_threads=max(1, cpu_count() // at_once))
        with Parallel(n_jobs=n_jobs) as parallel:
            try:
                if not self.chains:
                    self._begin(parallel)
                seconds = self._announce(bar, at_once) if self.rounds_left > 0 else 0.0
                while self.rounds_left > 0:
                    seconds = self._take_block(parallel, seconds)
                    bar.show(self.rounds_done)
                    if checkpoint is not None:
                        checkpoint.save(self, finished=self.rounds_left == 0)
            except KeyboardInterrupt:
                if checkpoint is not None and self.chains:
                    checkpoint.save(self, finished=True)
                if self.n_kept == 0:
                    raise
                return True
        return False

    def _begin(self, parallel):
        seeds = np.random.SeedSequence(self.seed).spawn(self.n_chains)
        self.chains = parallel(
            delayed(begin)(self.plan, self.values, self.covariance, start, seed, dispersed=number > 0)
            for number, (start, seed) in enumerate(zip(self.starts, seeds, strict=True))
        )

    def _announce(self, bar, at_once):
        """Say how long it will take; return the seconds of a round."""
        seconds = self._seconds_a_round()
        self.estimate = {"seconds": seconds * self.rounds_left * self.n_chains / at_once, **self.estimate}
        bar.announce(f"fit: {self.n_chains} chain(s) of {self.rounds_per_chain} rounds", **self.estimate)
        return seconds

    def _seconds_a_round(self):
        """Time a round whose outcome is thrown away; a slow one again, since it may have been compiling."""
        seconds = math.inf
        for _ in range(2):
            began = time.perf_counter()
            advance(self.plan, self.chains[0], 1)
            seconds = min(seconds, max(time.perf_counter() - began, 1e-6))
            if seconds < 0.005:
                break
        return seconds

    def _take_block(self, parallel, seconds):
        """Take every chain some rounds further, about a second's worth; return the seconds that a round took."""
        n_rounds = int(min(max(1, _SECONDS_A_BLOCK / seconds), self.rounds_left))
        began = time.perf_counter()
        results = parallel(delayed(advance)(self.plan, chain, n_rounds) for chain in self.chains)
        # Both at once, after all chains are done: an interruption cannot leave one ahead of the others.
        self.chains, self.kept = (
            [chain for chain, _ in results],
            [kept + rounds for kept, (_, rounds) in zip(self.kept, results, strict=True)],
        )
        _require_sense(self.chains, results)
        return (time.perf_counter() - began) / n_rounds


def _require_sense(chains, results):
    """Stop where rounding, or a posterior that has no total, has led a chain to numbers that mean nothing."""
    for number, (chain, (_, blocks)) in enumerate(zip(chains, results, strict=True)):
        theta = [np.ravel(value) for value in chain.covariance.theta.values()]
        times = [chain.tree[1], *(block.times.ravel() for block in blocks)]
        joints = np.concatenate([np.zeros(1), *(block.log_joint for block in blocks)])
        root = float(chain.tree[1][-1]) if len(chain.tree[1]) else 1.0
        finite = all(np.isfinite(part).all() for part in (*theta, *times, joints))
        if finite and np.abs(joints).max() < _LARGEST_JOINT and (not theta or 1.0 / _FARTHEST < root < _FARTHEST):
            continue
        raise InputError(
            f"chain {number} has left all sense by round {chain.round} (the root at {root:.3g}, log joint "
            f'{joints[-1]:.3g}), as rows that are all but equal can cause; use covariance="scaled", or a fixed noise.'
        )
