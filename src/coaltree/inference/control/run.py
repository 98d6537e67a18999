"""The chains of one fit, run in blocks of rounds through joblib; between blocks progress is shown and saved."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, cpu_count, effective_n_jobs

from ..._runtime.memory import require_memory
from ..._runtime.progress import Progress
from ...errors import InputError
from ...model.covariance.base import Covariance
from ...posterior.diagnostics.stop_reason import SECONDS_SPENT
from ..chains.chain import Chain, Plan, Rounds, Start, advance, begin, with_neighbors_of_many
from . import auto_stop
from .auto_stop import Auto
from .checkpoint import Checkpoint
from .sent_rows import SentRows
from .timing import Stopwatch
from .unchanging import of_run

_LARGEST_JOINT = 1e18  # what is beyond has no digit left for a difference between trees
_FARTHEST = 1e30  # of the root where a scale is learnt: the coalescent puts it near 2
_LARGEST_LINKAGE = 5_000  # leaves: more start by insertion, which needs no n × n matrix
_BYTES_A_LEAF = 4_096  # of lists of near leaves, twice while they are handed over
_SECONDS_A_BLOCK = 1.0  # how often progress is shown, and how much an interruption costs
_SECONDS_PER_WARMUP = 3  # at most one second in so many of `max_seconds` is warm-up


@dataclass
class Run:
    """The chains of a fit, and what they have given so far."""

    plan: Plan
    values: np.ndarray
    covariance: Covariance
    n_samples: int  # draws of each chain; under `auto`, at most so many
    n_chains: int
    seed: int
    starts: Sequence[Start]
    auto: Auto | None = None  # if the draws say when it stops

    def __post_init__(self) -> None:
        self.chains: list[Chain] = []
        self.kept: list[list[Rounds]] = [[] for _ in range(self.n_chains)]
        self.estimate: dict[str, float] = {}
        self.choice: dict[str, Any] | None = None  # how its covariance was chosen, where it was
        self.began = time.perf_counter()
        self.unchanging = of_run(self.plan, self.values)
        self.sent = SentRows(self.unchanging)

    @property
    def rounds_per_chain(self) -> int:
        """Rounds of each chain; under `auto`, at most."""
        if self.auto is not None:
            return self.auto.max_iterations
        assert self.plan.n_warmup is not None
        return self.plan.n_warmup + self.n_samples

    @property
    def rounds_done(self) -> int:
        return sum(chain.round for chain in self.chains)

    @property
    def round(self) -> int:
        """Rounds that each chain has taken; all stand at the same."""
        return self.chains[0].round if self.chains else 0

    @property
    def is_finished(self) -> bool:
        return self.round >= self.rounds_per_chain if self.auto is None else bool(self.auto.reason)

    @property
    def n_kept(self) -> int:
        """Rounds kept of each chain."""
        return sum(len(block.times) for block in self.kept[0])

    def reserve_memory(self, n: int) -> None:
        """Estimate what draws of trees over n rows will take, and refuse what the machine does not have.

        Counted are the draws, twice while they are put together, the work of the chains, and a first tree.
        """
        work = 4 * self.n_chains * 8 * n * self.values.shape[1] + 8 * min(n, _LARGEST_LINKAGE) ** 2
        work += self.n_chains * _BYTES_A_LEAF * n
        n_bytes = self.n_samples * self.n_chains * bytes_a_draw(self.plan, self.values, self.covariance, n) + work
        what = f"{self.n_chains} chains of {self.n_samples} trees"
        require_memory(n_bytes, what, "lower n_samples, or thin several runs")
        self.estimate["n_bytes"] = n_bytes

    def complete(self, n_jobs: int | None, bar: Progress, checkpoint: Checkpoint | None) -> bool:
        """Run all rounds that are left; return whether it was interrupted."""
        self.plan = self.plan._replace(n_threads=_threads_of_a_chain(self.n_chains, n_jobs))
        watch = Stopwatch(self, bar)
        with Parallel(n_jobs=n_jobs) as parallel:
            try:
                if not self.chains:
                    self._begin(parallel, _threads_of_a_chain(1, n_jobs))
                self._decide()
                while not self.is_finished:
                    warms_up, before, began = self.plan.warms_up(self.round), self.round, time.perf_counter()
                    self._take_block(parallel, watch)
                    self._decide()
                    if checkpoint is not None:
                        checkpoint.save(self, finished=self.is_finished)
                    watch.note(warms_up, self.round - before, time.perf_counter() - began)
                    watch.show(self)
            except KeyboardInterrupt:
                if checkpoint is not None and self.chains:
                    checkpoint.save(self, finished=True)
                if self.n_kept == 0:
                    raise
                return True
        return False

    def _begin(self, parallel, n_threads):
        seeds = np.random.SeedSequence(self.seed).spawn(self.n_chains)
        tasks = [
            (self.unchanging.without(self.plan), self.covariance, start, seed, number > 0)
            for number, (start, seed) in enumerate(zip(self.starts, seeds, strict=True))
        ]
        chains = [self.unchanging.with_rows(chain) for chain in self.sent.call(parallel, _begin, tasks)]
        self.chains = with_neighbors_of_many(self.plan._replace(n_threads=n_threads), chains)

    def _take_block(self, parallel, watch):
        """Take every chain some rounds further, about a second's worth."""
        until = self.rounds_per_chain if self.auto is None else self.auto.next_look
        n_rounds = int(min(max(1, watch.rounds_in(self, self._seconds_a_block())), until - self.round))
        plan = self.unchanging.without(self.plan)
        tasks = [(plan, self.unchanging.without_rows(chain), n_rounds) for chain in self.chains]
        chains, blocks = zip(*self.sent.call(parallel, _advance, tasks), strict=True)
        chains = [self.unchanging.with_rows(chain) for chain in chains]
        auto, kept = self.auto, [kept + new for kept, new in zip(self.kept, blocks, strict=True)]
        if self.plan.n_warmup is None and auto is not None:  # of these rounds only the log joint is of use
            auto, kept = auto._replace(log_joints=_longer(auto.log_joints, blocks)), self.kept
        # All at once, after all chains are done: an interruption cannot leave one ahead of the others.
        self.chains, self.kept, self.auto = chains, kept, auto
        _require_sense(self.chains, blocks)

    def _decide(self):
        """Under `auto`: end the warm-up, thin the draws or stop, where the draws or the clock say so."""
        if self.auto is None or self.auto.reason:
            return
        auto, plan, kept = self.auto, self.plan, self.kept
        if self.round == auto.next_look:
            auto, plan, kept = auto_stop.decide(auto, plan, self.round, kept)
        if not auto.reason and auto.max_seconds is not None:
            auto, plan = self._obey_clock(auto, plan)
        self.auto, self.plan, self.kept = auto, plan, kept

    def _obey_clock(self, auto, plan):
        seconds = time.perf_counter() - self.began
        if plan.n_warmup is None and self.round > 0 and seconds > auto.max_seconds / _SECONDS_PER_WARMUP:
            return auto_stop.end_warmup(auto, plan, self.round)
        if seconds > auto.max_seconds and self.n_kept > 0:
            auto = auto._replace(reason=SECONDS_SPENT)
        return auto, plan

    def _seconds_a_block(self):
        if self.auto is None or self.auto.max_seconds is None:
            return _SECONDS_A_BLOCK
        return min(_SECONDS_A_BLOCK, self.began + self.auto.max_seconds - time.perf_counter())


def bytes_a_draw(plan: Plan, values: np.ndarray, covariance: Covariance, n: int) -> int:
    """Memory of one draw of a chain, a tree over n rows and all else, twice: draws are put together in the end."""
    per_draw = 16 * (n - 1) + 8 * sum(np.size(value) for value in covariance.theta.values())
    per_draw += 8 * len(values) if plan.noise.half_df > 0.0 else 0
    per_draw += 8 * (0 if plan.missing is None else int(plan.missing.sum()))
    return 2 * per_draw


def _threads_of_a_chain(n_chains, n_jobs):
    """Chains that run side by side share the processors, or as many of them as were asked for; None for all."""
    n_workers = effective_n_jobs(n_jobs)
    at_once = min(n_chains, n_workers)
    if n_jobs is None and at_once == 1:
        return None
    return max(1, (cpu_count() if n_jobs is None else n_workers) // at_once)


def _longer(log_joints, blocks):
    new = [block[0].log_joint for block in blocks]
    return tuple(np.concatenate(pair) for pair in zip(log_joints, new, strict=True)) if log_joints else tuple(new)


def _begin(unchanging, plan, covariance, start, seed, dispersed):
    plan = unchanging.within_plan(plan)
    return unchanging.without_rows(begin(plan, unchanging.values, covariance, start, seed, dispersed))


def _advance(unchanging, plan, chain, n_rounds):
    chain, blocks = advance(unchanging.within_plan(plan), unchanging.with_rows(chain), n_rounds)
    return unchanging.without_rows(chain), blocks


def _require_sense(chains, blocks_of_chains):
    """Stop where rounding, or a posterior that has no total, has led a chain to numbers that mean nothing."""
    for number, (chain, blocks) in enumerate(zip(chains, blocks_of_chains, strict=True)):
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
