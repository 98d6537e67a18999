"""The chains of one fit, run in blocks of rounds through joblib; between blocks progress is shown and saved."""

import math
import time

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from ..samplers.merging.smc import available_threads
from .chain import Chain, Rounds, advance, begin

_SECONDS_A_BLOCK = 1.0  # how often progress is shown, and how much an interruption costs


class Run:
    """The chains of a fit, and what they have given so far."""

    def __init__(self, plan, values, covariance, n_samples, n_chains, seed, starts):
        self.plan, self.values, self.covariance = plan, values, covariance
        self.n_samples, self.n_chains, self.seed, self.starts = n_samples, n_chains, seed, starts
        self.chains: list[Chain] = []
        self.kept: list[list[Rounds]] = [[] for _ in range(n_chains)]
        self.estimate: dict[str, float] = {}

    @property
    def rounds_per_chain(self):
        return self.plan.n_warmup + self.n_samples

    @property
    def total_rounds(self):
        return self.n_chains * self.rounds_per_chain

    @property
    def rounds_done(self):
        return sum(chain.round for chain in self.chains)

    @property
    def n_kept(self):
        """Rounds kept of each chain."""
        return sum(len(block.times) for block in self.kept[0])

    def bytes_needed(self, shape):
        """Memory for the draws, twice while they are put together, for the work of the chains, and for a first tree."""
        n, d = shape
        per_draw = 16 * (n - 1) + 8 * sum(np.size(value) for value in self.covariance.theta.values())
        per_draw += 8 * (0 if self.plan.missing is None else int(self.plan.missing.sum()))
        return 2 * self.n_chains * self.n_samples * per_draw + 4 * self.n_chains * 8 * n * d + 8 * min(n, 20_000) ** 2

    def complete(self, n_jobs, bar, checkpoint, bytes_needed):
        """Run all rounds that are left; return whether it was interrupted."""
        at_once = min(self.n_chains, effective_n_jobs(n_jobs))
        if at_once > 1:  # chains that run side by side share the processors
            self.plan = self.plan._replace(n_threads=max(1, available_threads() // at_once))
        with Parallel(n_jobs=n_jobs) as parallel:
            try:
                if not self.chains:
                    self._begin(parallel)
                left = self.rounds_per_chain - self.chains[0].round
                if left > 0:
                    seconds = self._seconds_a_round()
                    self.estimate = {"seconds": seconds * left * self.n_chains / at_once, "n_bytes": bytes_needed}
                    bar.announce(f"fit: {self.n_chains} chain(s) of {self.rounds_per_chain} rounds", **self.estimate)
                while left > 0:
                    block = int(min(max(1, _SECONDS_A_BLOCK / seconds), left))
                    began = time.perf_counter()
                    results = parallel(delayed(advance)(self.plan, chain, block) for chain in self.chains)
                    seconds = (time.perf_counter() - began) / block
                    # Both at once, after all chains are done: an interruption cannot leave one ahead of the others.
                    self.chains, self.kept = (
                        [chain for chain, _ in results],
                        [[*kept, rounds] for kept, (_, rounds) in zip(self.kept, results, strict=True)],
                    )
                    left -= block
                    bar.show(self.rounds_done)
                    if checkpoint is not None:
                        checkpoint.save(self, finished=left == 0)
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
