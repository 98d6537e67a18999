"""A run: the chains of one fit and the draws that they keep, a posterior that grows until there is enough of it.

    begin → take a block of iterations of every chain, by joblib → check → save → … → posterior

A checkpoint is the file of the posterior with the state of each chain as its last draw, the chains' random states and
the settings; a process killed at any moment leaves the old one or the new one.
"""

import math
import os
import time
import warnings
from collections.abc import Sequence
from typing import Any

import joblib
import numpy as np
from joblib import Parallel, cpu_count, delayed, effective_n_jobs

from ... import __version__
from ..._runtime.archive import damaged
from ..._runtime.atomic_write import as_path, check_writable
from ..._runtime.memory import require_memory
from ..._runtime.progress import watching
from ..._runtime.random_streams import seed_of
from ..._runtime.threads import single_threaded_blas
from ..._runtime.typing import PathLike, ProgressLike, RandomState
from ..._runtime.validation import is_whole
from ...errors import CoaltreeWarning, InputError, is_interruption, warn_of_result
from ...model.draws import Draws, concatenate
from ...model.model import Model
from ...posterior import Posterior
from ...posterior.diagnostics import convergence
from ...posterior.diagnostics.convergence import LIMITS, Figure, chains_agree
from ...posterior.io import archive
from ...samplers.base import Sampler
from ..chains.chain import Chain, advance, as_draws, begin, share_neighbors, tempered_iterations
from ..chains.initial_states import check_parameters, starts_of_chains
from ..settings import (
    CONVERGED,
    FIRST_CHECK,
    FIRST_CHECK_IN_WARMUP,
    INTERRUPTED,
    ITERATIONS_SPENT,
    SECONDS_SPENT,
    WARMUP_SHARE,
    default_max_draws,
    default_max_iterations,
)
from . import auto_stop

MAX_LOG_JOINT = 1e18  # beyond, no digit is left for a difference between trees
MAX_ROOT = 1e30  # where a scale is learnt: the coalescent puts the root near 2
MAX_LINKAGE_LEAVES = 5_000  # more start by insertion, which needs no n × n matrix
NEIGHBOR_BYTES = 4_096  # a leaf, twice while they are handed over
SECONDS_PER_BLOCK = 1.0  # how often progress is shown, and how much an interruption costs
SECONDS_BETWEEN, MAX_TIME_SHARE = 10.0, 1 / 20  # of two saves, and of the run that goes into saving


class UnusableCheckpoint(InputError):
    """The checkpoint cannot be resumed from: it is damaged, or of another version or run."""


class Run:
    """The chains of one fit: `complete` takes them to their end, and `posterior` is what they have kept."""

    def __init__(
        self,
        model: Model,
        sampler: Sampler,
        n_samples: int | None = None,
        n_warmup: int | None = None,
        n_chains: int = 2,
        max_seconds: float | None = None,
        *,
        start: Any = None,
        random_state: RandomState = None,
        checkpoint: PathLike | None = None,
    ) -> None:
        self.began: float = time.perf_counter()
        self.model, self.of_chains = model, model.of_chains()
        self.n_samples, self.n_chains, self.max_seconds = n_samples, n_chains, max_seconds
        self.fixed_warmup: int | None = n_warmup
        self.starts = starts_of_chains(start, model, n_chains)
        self.seed, self.has_seed = seed_of(random_state), random_state is not None
        bytes_per_draw = n_chains * self._bytes_per_draw()
        if n_samples is None:
            self.max_iterations = (n_warmup or 0) + default_max_iterations(self.of_chains.n)
            self.max_draws = default_max_draws(bytes_per_draw, self.max_iterations)
        else:
            self.max_iterations, self.max_draws = (n_warmup or 0) + n_samples, n_samples
        self.max_warmup = int(WARMUP_SHARE * self.max_iterations) if n_warmup is None else n_warmup
        self.sampler, self.n_tempered = sampler, 0
        if sampler.is_chain and start is None:  # who gives a start wants it kept
            self.n_tempered = tempered_iterations(self.of_chains.n, self.of_chains.values.shape[1], self.max_warmup)
        self._require_memory(bytes_per_draw)
        self.path: str | None = None
        if checkpoint is not None:
            check_writable(as_path(checkpoint, "checkpoint"))  # before any work is done
            self.path, self._next_save = os.fspath(checkpoint), 0.0
            settings = (sampler, n_samples, n_warmup, n_chains)
            self.fingerprint = str(joblib.hash((*model._replace(index=None), self.starts, *settings)))
        # What follows changes as the run goes on.
        self.chains: tuple[Chain, ...] = ()  # all after the same number of iterations
        self.blocks: tuple[tuple[Draws, ...], ...] = ((),) * n_chains  # the draws kept of each chain
        self.n_warmup: int | None = n_warmup  # None until it is known when the warm-up ends
        self.thin: int = 1
        first = min(self.max_warmup, FIRST_CHECK_IN_WARMUP) if n_warmup is None else n_warmup + FIRST_CHECK
        self.next_check: int = self.max_iterations if n_samples is not None else min(first, self.max_iterations)
        self.log_joints: np.ndarray | None = None  # (chains, iteration) in a warm-up whose end is not known
        self.reason: str = ""  # why it has stopped, if it has
        self.scalars: dict[str, dict[str, float]] = {}  # figures of all that is watched, at the last check,
        self.figures: list[Figure] = []  # and the worst of them
        self.expected: int = 0  # iterations that would meet all limits, a guess made then
        self._posterior: Posterior | None = None

    # What it holds

    @property
    def iteration(self) -> int:
        """Iterations that each chain has taken."""
        return self.chains[0].iteration if self.chains else 0

    @property
    def n_draws(self) -> int:
        """Draws kept of each chain."""
        return sum(len(block.times) for block in self.blocks[0])

    @property
    def posterior(self) -> Posterior:
        """The posterior of what the chains have kept so far, and how it came about in `info`."""
        if self._posterior is None:
            draws = concatenate([block for blocks in self.blocks for block in blocks])
            means = {f"mean_{name}": np.nanmean(x) for name, x in draws.info.items() if not np.isnan(x).all()}
            draws = draws._replace(series=np.repeat(np.arange(self.n_chains), self.n_draws))
            info = {name: float(mean) for name, mean in means.items()} | {
                "seed": self.seed,
                "sampler": repr(self.sampler),
                "n_warmup": self.n_warmup if self.fixed_warmup is None else self.fixed_warmup,
                **self.model.info,
            }
            self._posterior = Posterior(self.model, self.model.expand(draws), info)
        return self._posterior

    # The way to its end

    def complete(self, n_jobs: int | None = None, progress: ProgressLike = False) -> None:
        """Take all iterations that are left, or those before an interruption, if it leaves any draws."""
        self.resume()
        n_threads = _threads_per_chain(self.n_chains, n_jobs)
        parallel = Parallel(n_jobs=min(effective_n_jobs(n_jobs), self.n_chains))
        with single_threaded_blas(), watching(progress) as watch, parallel:
            try:
                if not self.chains:
                    self._begin(parallel, n_threads)
                self._check()
                seconds = np.inf
                while not self.reason:
                    before, began = self.iteration, time.perf_counter()
                    self._take_block(parallel, seconds, n_threads)
                    seconds = (time.perf_counter() - began) / (self.iteration - before)
                    self._check()
                    self.save(finished=bool(self.reason))
                    if watch is not None:
                        watch(self.iteration * self.n_chains, self._likely_end() * self.n_chains)
            except (KeyboardInterrupt, SystemError) as error:
                if not is_interruption(error):
                    raise
                if self.chains:
                    self.save(finished=True)
                if self.n_draws == 0:
                    raise KeyboardInterrupt from None
            self._judge()
            self.posterior.info["interrupted"] = not self.reason
            self.posterior.info["convergence"] = self.scalars
            if self.n_samples is None:
                self.posterior.info["stopping"] = self._stopping()

    def _begin(self, parallel: Parallel, n_threads: int | None) -> None:
        seeds = np.random.SeedSequence(self.seed).spawn(self.n_chains)
        tasks = [
            delayed(begin)(self.of_chains, self.sampler, seed, number > 0, start, self.n_tempered, n_threads)
            for number, (start, seed) in enumerate(zip(self.starts, seeds, strict=True))
        ]
        self.chains = tuple(share_neighbors(self.of_chains, list(parallel(tasks)), self.n_warmup))

    def _take_block(self, parallel: Parallel, seconds_per_iteration: float, n_threads: int | None) -> None:
        """Take every chain some iterations further, about a second's worth.

        joblib hands other processes the rows, the same array each time, as one file that they map into memory.
        """
        seconds = SECONDS_PER_BLOCK
        if self.max_seconds is not None:
            seconds = min(seconds, self.began + self.max_seconds - time.perf_counter())
        n_iterations = min(max(1, int(seconds / seconds_per_iteration)), self.next_check - self.iteration)
        tasks = [
            delayed(advance)(self.of_chains, chain, n_iterations, self.n_warmup, self.thin, n_threads)
            for chain in self.chains
        ]
        chains, new = zip(*parallel(tasks), strict=True)
        log_joints, blocks = self.log_joints, self.blocks
        if self.n_warmup is None:  # of these iterations only the log joint is of use
            traces = np.stack([block.log_joint for block in new])
            log_joints = traces if log_joints is None else np.concatenate([log_joints, traces], axis=1)
        else:
            blocks = tuple(old if one is None else (*old, one) for old, one in zip(blocks, new, strict=True))
        # All at once, after all chains are done: an interruption cannot leave one ahead of the others.
        self.chains, self.blocks, self.log_joints, self._posterior = chains, blocks, log_joints, None
        require_sane(chains, new)

    def _check(self) -> None:
        """End the warm-up, thin the draws or stop, where the draws or the clock say so."""
        if self.reason:
            return
        if self.iteration == self.next_check:
            if self.n_samples is not None:
                self.reason = ITERATIONS_SPENT
            elif self.n_warmup is None:
                self._check_warmup()
            else:
                self._check_draws()
        if not self.reason and self.max_seconds is not None:
            seconds = time.perf_counter() - self.began
            is_long = seconds > WARMUP_SHARE * self.max_seconds
            if self.n_warmup is None and self.iteration > 0 and is_long:
                self._end_warmup()
            elif seconds > self.max_seconds and self.n_draws > 0:
                self.reason = SECONDS_SPENT

    def _check_warmup(self) -> None:
        is_settled = self.log_joints is not None and auto_stop.has_settled(self.log_joints)
        if self.iteration >= self.max_warmup or (self.iteration > self.n_tempered and is_settled):
            self._end_warmup()
        else:
            self.next_check = min(math.ceil(auto_stop.GROWTH_IN_WARMUP * self.iteration), self.max_warmup)

    def _end_warmup(self) -> None:
        """Keep what comes from now on."""
        self.n_warmup, self.log_joints = self.iteration, None
        self.next_check = min(self.iteration + FIRST_CHECK, self.max_iterations)

    def _check_draws(self) -> None:
        """Stop, or say when to check again, with every second draw dropped as often as is needed until then."""
        is_enough = self._judge()
        if self.fixed_warmup is None and not is_enough and self.n_draws >= FIRST_CHECK:
            first = auto_stop.n_late_warmup(self.posterior)
            if first:
                self.n_warmup = (self.n_warmup or 0) + first * self.thin
                self._keep(slice(first, None))
                is_enough = self._judge()
        if is_enough and self._is_long:
            agreement = chains_agree(self.posterior)
            is_enough = agreement is None or agreement.stability_difference <= LIMITS["clusters"].limit
        n_warmup = self.n_warmup or 0
        self.expected = n_warmup + self.thin * auto_stop.n_needed(self.n_draws, self.figures)
        if is_enough and self._is_long:
            self.reason = CONVERGED
        elif self.iteration >= self.max_iterations:
            self.reason = ITERATIONS_SPENT
        else:
            n_iterations = max(math.ceil(auto_stop.GROWTH * (self.iteration - n_warmup)), FIRST_CHECK)
            while n_iterations > self.thin * self.max_draws:
                self._keep(slice(1, None, 2))
                self.thin *= 2
            next_check = n_warmup + math.ceil(n_iterations / self.thin) * self.thin
            self.next_check = min(next_check, self.max_iterations)

    def _judge(self) -> bool:
        """Compute all figures of scalars, and say whether they are good."""
        self.scalars = convergence.figures(self.posterior)
        self.figures = convergence.worst_figures(self.scalars)
        return convergence.is_converged(self.figures)

    @property
    def _is_long(self) -> bool:
        return self.n_draws * self.thin >= FIRST_CHECK // 2  # few draws have no figures, which are no proof

    def _keep(self, which: slice) -> None:
        """Keep these draws of each chain."""
        self.blocks = tuple((concatenate(blocks).part(which),) for blocks in self.blocks)
        self._posterior = None

    def _stopping(self) -> dict[str, Any]:
        """What ``info["stopping"]`` keeps of a run; `convergence.ending` puts it into words."""
        stopping: dict[str, Any] = {"reason": self.reason or INTERRUPTED, "iterations": self.iteration}
        stopping["thin"] = self.thin
        for key, value, of in self.figures:
            stopping |= {key: value} | ({f"of_{key}": of} if of else {})
        agreement = chains_agree(self.posterior) if self.reason and self._is_long else None
        if agreement is not None:
            stopping |= agreement._asdict()
            self.figures.append(Figure("clusters", agreement.stability_difference))
        return stopping

    def _likely_end(self) -> int:
        if self.reason:
            return self.iteration
        total = self.max_iterations if self.n_samples is None else self.next_check
        return max(min(self.expected, total), self.next_check) if self.expected else total

    # Memory

    def _bytes_per_draw(self) -> int:
        """Memory of one draw of a chain, a tree over all leaves and all else, twice: draws are put together later."""
        model = self.of_chains
        n_parameters = sum(np.size(value) for value in model.covariance.theta.values())
        n_merges = len(self.model.leaves.labels) - 1
        return 2 * (
            16 * n_merges + 8 * (n_parameters + len(model.values) * (model.noise.half_df > 0.0) + model.n_missing)
        )

    def _require_memory(self, bytes_per_draw: int) -> None:
        """Refuse a run that the machine has no memory for: draws, the work of the chains, a first tree."""
        n, d = len(self.model.leaves.labels), self.of_chains.values.shape[1]
        work = self.n_chains * (4 * 8 * n * d + NEIGHBOR_BYTES * n) + 8 * min(n, MAX_LINKAGE_LEAVES) ** 2
        what = f"{self.n_chains} chains of {self.max_draws} trees"
        require_memory(self.max_draws * bytes_per_draw + work, what, "lower n_samples or n_chains")

    # Its file

    def save(self, finished: bool) -> None:
        """Write the checkpoint, unless the last time was a moment ago."""
        began = time.monotonic()
        if self.path is None or (began < self._next_save and not finished):
            return
        unknown, parts = dict.fromkeys(self.blocks[0][0].info if self.n_draws else (), math.nan), []
        for blocks, chain in zip(self.blocks, self.chains, strict=True):  # each as it stands is its last draw
            parts += [*blocks, as_draws(self.of_chains, chain.state, unknown, log_joint=math.nan)]
        draws = concatenate(parts)._replace(series=np.repeat(np.arange(self.n_chains), self.n_draws + 1))
        run = {name: getattr(self, name) for name in (*_TEXTS, *_COUNTS, "log_joints") if name != "coaltree"} | {
            "coaltree": __version__,
            "reason": "" if self.reason == SECONDS_SPENT else self.reason,  # there may be more next time
            "info": dict(draws.info),
            "neighbors": {str(i): chain.neighbors for i, chain in enumerate(self.chains)},
            "rng": {str(i): chain.rng.bit_generator.state for i, chain in enumerate(self.chains)},
        }
        message = ""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CoaltreeWarning)  # of a transformer, which the model of the run has
            try:
                archive.save(Posterior(self.model, self.model.expand(draws)), self.path, run)
            except InputError as error:  # a full disk must not end a run
                message = (
                    f"the state of the run is not saved: {error} The run continues; what was saved before is kept."
                )
        if message:
            warn_of_result(message, stacklevel=4)
        ended = time.monotonic()
        self._next_save = ended + max(SECONDS_BETWEEN, (ended - began) / MAX_TIME_SHARE)

    def resume(self) -> None:
        """Continue from the checkpoint, if there is one."""
        if self.path is None or not os.path.exists(self.path):
            return
        try:
            saved, run = archive.read(self.path)
        except InputError as error:
            raise UnusableCheckpoint(str(error)) from None
        try:
            assert run is not None, "no run"
            for name in (*_TEXTS, *_COUNTS):
                is_count = (is_whole(run[name]) and run[name] >= 0) or (name == "n_warmup" and run[name] is None)
                if not (isinstance(run[name], str) if name in _TEXTS else is_count):
                    raise ValueError(f"{name} has wrong type, shape or values")
            for name, own, what in (
                ("coaltree", __version__, "another version of coaltree, whose draws may differ"),
                ("fingerprint", self.fingerprint, "other data or settings"),
                ("seed", self.seed if self.has_seed else run["seed"], "another random_state"),
            ):
                if run[name] != own:
                    message = f"the checkpoint {self.path!r} belongs to {what}; delete it, or give another path."
                    raise UnusableCheckpoint(message)
            n_draws = self._check_counts(run)
            self._check_fields(run, n_draws)
            check_parameters(saved, self.model)
            if np.any(np.bincount(saved.draws.chain, minlength=self.n_chains) != n_draws + 1):
                raise ValueError("it has another number of draws")
            self._continue(saved.draws._replace(info=run["info"]), run, n_draws)
        except UnusableCheckpoint:
            raise
        except Exception as error:  # whatever crafted values may lead to
            raise UnusableCheckpoint(str(damaged(self.path, error))) from None

    def _continue(self, draws: Draws, run: dict[str, Any], n_draws: int) -> None:
        """Stand where the run of these draws stood, whose last of each chain is a state."""
        chains, blocks = [], []
        for i in range(self.n_chains):
            first = i * (n_draws + 1)
            rng = np.random.default_rng()
            rng.bit_generator.state = run["rng"][str(i)]
            state = self.model.state_of(draws, first + n_draws)
            neighbors = run["neighbors"][str(i)]
            chains.append(Chain(state, self.sampler, rng, neighbors, run["iteration"], self.n_tempered))
            own = self.model.contract(draws.part(slice(first, first + n_draws)))._replace(series=None)
            blocks.append((own,) if n_draws else ())
        self.chains, self.blocks, self.log_joints = tuple(chains), tuple(blocks), run["log_joints"]
        self.seed, self.n_warmup, self.thin = run["seed"], run["n_warmup"], run["thin"]
        self.next_check, self.reason = run["next_check"], run["reason"]

    def _check_counts(self, run: dict[str, Any]) -> int:
        """The number of draws of each chain; refuse counts that no run like this has."""
        end, iteration, n_warmup, thin = self.max_iterations, run["iteration"], run["n_warmup"], run["thin"]
        first = -1 if n_warmup is None else n_warmup
        n_draws = 0 if n_warmup is None else max(0, iteration - n_warmup) // thin
        fits = iteration <= end and (n_warmup == self.fixed_warmup or (self.fixed_warmup is None and first < end))
        if self.n_samples is None:
            fits &= thin & (thin - 1) == 0 and thin <= end and max(iteration, first + 1) <= run["next_check"] <= end
            fits &= run["reason"] in ("", ITERATIONS_SPENT, CONVERGED)
        else:
            fits &= thin == 1 and run["next_check"] == end and run["reason"] in ("", ITERATIONS_SPENT)
        if not fits or (run["reason"] and n_draws == 0):
            raise ValueError("its counts do not fit each other")
        return n_draws

    def _check_fields(self, run: dict[str, Any], n_draws: int) -> None:
        """Refuse arrays of other shapes, so that no untrusted numbers reach a kernel; NumPy checks `rng`."""
        n, iteration, traces = self.model.n, run["iteration"], run["log_joints"]
        chains = {str(i) for i in range(self.n_chains)}
        # Interrupted in its first iteration, a chain has no neighbours yet: those of few leaves are searched there.
        has_neighbors = n > 1 and iteration > 0 and type(self.sampler).neighbors is not Sampler.neighbors
        has_traces = run["n_warmup"] is None and iteration > 0
        fits = {
            "log_joints": (traces is None and not has_traces)
            or (_is_array(traces, (np.float64,), (self.n_chains, iteration)) and np.isfinite(traces).all()),
            "info": all(
                _is_array(values, (np.float64,), ((n_draws + 1) * self.n_chains,)) for values in run["info"].values()
            ),
            "neighbors": run["neighbors"].keys() == chains
            and all(
                (of is None and not has_neighbors)
                or (
                    _is_array(of, (np.int32, np.int64), (None, n, None)) and ((of >= -1) & (of < n)).all()
                )  # -1 is none
                for of in run["neighbors"].values()
            ),
            "rng": run["rng"].keys() == chains,
        }
        wrong = [name for name in {**fits, **run} if name not in _TEXTS + _COUNTS and not fits.get(name, False)]
        if wrong:
            raise ValueError(f"{wrong[0][:50]} has wrong type, shape or values")


def _is_array(value: Any, types: tuple[Any, ...], shape: tuple[int | None, ...]) -> bool:
    is_one = isinstance(value, np.ndarray) and value.dtype in types and value.ndim == len(shape)
    return is_one and all(n in (None, m) for n, m in zip(shape, value.shape, strict=True))


_TEXTS, _COUNTS = ("coaltree", "fingerprint", "reason"), ("seed", "iteration", "n_warmup", "thin", "next_check")


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
