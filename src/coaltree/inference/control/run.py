"""The chains of one fit, taken further in blocks through joblib; between blocks progress is shown and saved."""

import time
from collections.abc import Sequence

import numpy as np
from joblib import Parallel, cpu_count, delayed, effective_n_jobs

from ..._runtime.memory import require_memory
from ..._runtime.progress import Progress
from ..._runtime.validation import at_most_jobs
from ...errors import InputError, is_interruption
from ...model.draws import Draws
from ...model.model import Model
from ...posterior.diagnostics import convergence
from ..chains.chain import Chain, advance, begin, share_neighbors
from ..chains.initial_states import Start
from ..settings import SECONDS_SPENT, RunSettings
from . import auto_stop
from .checkpoint import Checkpoint
from .run_state import RunState

MAX_LOG_JOINT = 1e18  # beyond, no digit is left for a difference between trees
MAX_ROOT = 1e30  # where a scale is learnt: the coalescent puts the root near 2
MAX_LINKAGE_LEAVES = 5_000  # more start by insertion, which needs no n × n matrix
NEIGHBOR_BYTES = 4_096  # a leaf, twice while they are handed over
SECONDS_PER_BLOCK = 1.0  # how often progress is shown, and how much an interruption costs
WARMUP_TIME_SHARE = 1 / 3  # of `max_seconds`, at most


class Run:
    """The chains of one fit: `complete` takes them to their end."""

    def __init__(
        self,
        model: Model,
        settings: RunSettings,
        seed: int,
        starts: Sequence[Start],
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.model: Model = model
        self.settings: RunSettings = settings
        self.starts: Sequence[Start] = starts
        self.checkpoint: Checkpoint | None = checkpoint
        self.to_posterior: auto_stop.ToPosterior | None = None  # else nobody asks whether chains give the same answer
        self.state: RunState = RunState(seed, settings.n_warmup, settings.first_look, draws=((),) * settings.n_chains)
        self.began: float = time.perf_counter()
        self.is_interrupted: bool = False

    def complete(self, n_jobs: int | None, bar: Progress) -> None:
        """Run all iterations that are left, or those before an interruption, if it leaves any draws."""
        self.settings = self.settings._replace(n_threads=_threads_per_chain(self.settings.n_chains, n_jobs))
        seconds_per_iteration = np.inf
        with Parallel(n_jobs=at_most_jobs(n_jobs, self.settings.n_chains)) as parallel:
            try:
                if not self.state.chains:
                    self._begin(parallel, _threads_per_chain(1, n_jobs))
                self._decide()
                while not self.state.reason:
                    before, began = self.state.iteration, time.perf_counter()
                    self._take_block(parallel, seconds_per_iteration)
                    seconds_per_iteration = (time.perf_counter() - began) / (self.state.iteration - before)
                    self._decide()
                    self._save(finished=bool(self.state.reason))
                    self._show(bar)
            except (KeyboardInterrupt, SystemError) as error:
                if not is_interruption(error):
                    raise
                if self.state.chains:
                    self._save(finished=True)
                if self.state.n_draws == 0:
                    raise KeyboardInterrupt from None
                self.is_interrupted = True

    def _begin(self, parallel: Parallel, n_threads: int | None) -> None:
        seeds = np.random.SeedSequence(self.state.seed).spawn(self.settings.n_chains)
        tasks = [
            delayed(begin)(self.model, self.settings, seed, number > 0, start)
            for number, (start, seed) in enumerate(zip(self.starts, seeds, strict=True))
        ]
        settings = self.settings._replace(n_threads=n_threads)
        chains = share_neighbors(self.model, settings, list(parallel(tasks)), self.state.n_warmup)
        self.state = self.state._replace(chains=tuple(chains))

    def _take_block(self, parallel: Parallel, seconds_per_iteration: float) -> None:
        """Take every chain some iterations further, about a second's worth.

        joblib hands other processes the rows, the same array each time, as one file that they map into memory.
        """
        state, seconds = self.state, SECONDS_PER_BLOCK
        if self.settings.max_seconds is not None:
            seconds = min(seconds, self.began + self.settings.max_seconds - time.perf_counter())
        n_iterations = min(max(1, int(seconds / seconds_per_iteration)), state.next_look - state.iteration)
        tasks = [
            delayed(advance)(self.model, self.settings, chain, n_iterations, state.n_warmup, state.thin)
            for chain in state.chains
        ]
        chains, blocks = zip(*parallel(tasks), strict=True)
        if state.n_warmup is None:  # of these iterations only the log joint is of use
            joints = zip(state.log_joints or ((),) * len(blocks), blocks, strict=True)
            state = state._replace(log_joints=tuple(np.concatenate([old, new.log_joint]) for old, new in joints))
        else:
            kept = zip(state.draws, blocks, strict=True)
            state = state._replace(draws=tuple(old if new is None else (*old, new) for old, new in kept))
        # All at once, after all chains are done: an interruption cannot leave one ahead of the others.
        self.state = state._replace(chains=chains)
        require_sane(chains, blocks)

    def _decide(self) -> None:
        """End the warm-up, thin the draws or stop, where the draws or the clock say so."""
        state, settings = self.state, self.settings
        if state.reason:
            return
        if state.iteration == state.next_look:
            state = auto_stop.decide(settings, state, self.to_posterior)
        if not state.reason and settings.max_seconds is not None:
            seconds = time.perf_counter() - self.began
            is_long = seconds > WARMUP_TIME_SHARE * settings.max_seconds
            if state.n_warmup is None and state.iteration > 0 and is_long:
                state = auto_stop.end_warmup(settings, state)
            elif seconds > settings.max_seconds and state.n_draws > 0:
                state = state._replace(reason=SECONDS_SPENT)
        self.state = state

    def _save(self, finished: bool) -> None:
        if self.checkpoint is not None:
            self.checkpoint.save(self.state, finished)

    def _show(self, bar: Progress) -> None:
        state, note = self.state, "warm-up" if self.state.is_warmup else ""
        if state.figures is not None:
            r_hat, ess = state.figures["r_hat"], state.figures["ess"]
            note = f"R-hat {r_hat:.2f} (≤ {convergence.R_HAT_ABOVE}), ESS {ess:.0f} (≥ {convergence.ESS_BELOW})"
        total = auto_stop.expected_iterations(self.settings, state)
        bar.show(state.iteration * len(state.chains), total * len(state.chains), note)

    def require_memory(self, n: int) -> None:
        """Refuse a run over n rows that the machine has no memory for: draws, the work of the chains, a first tree."""
        n_chains, n_draws = self.settings.n_chains, self.settings.max_draws
        work = 4 * n_chains * 8 * n * self.model.values.shape[1] + 8 * min(n, MAX_LINKAGE_LEAVES) ** 2
        n_bytes = n_chains * (n_draws * bytes_per_draw(self.model, n) + NEIGHBOR_BYTES * n) + work
        require_memory(n_bytes, f"{n_chains} chains of {n_draws} trees", "lower n_samples or n_chains")


def bytes_per_draw(model: Model, n: int) -> int:
    """Memory of one draw of a chain, a tree over n rows and all else, twice: draws are put together in the end."""
    n_parameters = sum(np.size(value) for value in model.covariance.theta.values())
    return 2 * (16 * (n - 1) + 8 * (n_parameters + model.n_scales + model.n_missing))


def _threads_per_chain(n_chains: int, n_jobs: int | None) -> int | None:
    """Chains that run side by side share the processors, or as many of them as were asked for; None for all."""
    n_workers = effective_n_jobs(n_jobs)
    at_once = min(n_chains, n_workers)
    if n_jobs is None and at_once == 1:
        return None
    return max(1, (cpu_count() if n_jobs is None else n_workers) // at_once)


def require_sane(chains: Sequence[Chain], blocks: Sequence[Draws | None]) -> None:
    """Stop where rounding, or a posterior that is improper, has made a chain diverge."""
    for number, (chain, block) in enumerate(zip(chains, blocks, strict=True)):
        theta = [np.ravel(value) for value in chain.state.covariance.theta.values()]
        times = [chain.state.tree[1]] if block is None else [chain.state.tree[1], block.times]
        joints = np.zeros(1) if block is None or block.log_joint is None else block.log_joint
        root = float(chain.state.tree[1][-1]) if len(chain.state.tree[1]) else 1.0
        is_finite = all(np.isfinite(part).all() for part in (*theta, *times, joints))
        is_near = np.abs(joints).max() < MAX_LOG_JOINT and (not theta or 1.0 / MAX_ROOT < root < MAX_ROOT)
        if not (is_finite and is_near):
            raise InputError(
                f"chain {number} diverged by iteration {chain.iteration} (root at {root:.3g}, log joint "
                f'{joints[-1]:.3g}), as almost equal rows can cause; use covariance="scaled", or a fixed noise.'
            )
