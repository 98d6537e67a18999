"""How long a run will take, from the rounds that it has taken, in words that are true.

A round of the warm-up may cost more than a later one, and the first block of either kind has extra work to do (kernels
are compiled, lists made, processes started), so that it counts only until there is another.

Where the draws say when a run stops, nobody knows its end: a projection from R-hat and effective sample sizes, noisy
as these are, is often wrong by more than a factor of 1.5. What is known is that the run stops at a look, the next one
at the earliest, or when its rounds or seconds are spent. So a range is said, and "about" so long only where the range
is as narrow as that; the projection is said to be one, "perhaps". ``make bench ONLY=time_left`` shows all of it.
"""

import math
import time
from typing import TYPE_CHECKING, NamedTuple

from ..._runtime.progress import Progress, duration
from .auto_stop import earliest_end, longest_warmup, projected_rounds

if TYPE_CHECKING:
    from .run import Run

_LOCAL, _WITH_TAILS = 0.5, 0.9  # of the time of a warm-up round, which looks at more branches or moves more odd rows
_BLOCKS_BEFORE = 2  # an estimate is given
_RIGHT_WITHIN = 1.5  # a factor
_LATEST = 20  # blocks that count, about as many seconds: other work on the machine comes and goes


class Stopwatch:
    """Times the blocks of a run, and shows how far it is and how long it still takes."""

    def __init__(self, run: "Run", bar: Progress) -> None:
        self.bar = bar
        self._blocks: dict[bool, list[tuple[int, float]]] = {True: [], False: []}  # warm-up or not: rounds, seconds
        self._has_announced = False

    def note(self, warms_up: bool, n_rounds: int, seconds: float) -> None:
        """A block was taken."""
        self._blocks[warms_up].append((n_rounds, max(seconds, 1e-6)))

    def rounds_in(self, run: "Run", seconds: float) -> int:
        """Rounds that fit into so many seconds; 0 before the first block."""
        each = self._seconds_a_round(run, run.plan.warms_up(run.round))
        return 0 if each is None else int(seconds / each)

    def show(self, run: "Run") -> None:
        """Tell the bar; say once how long all will take."""
        left = self._range_left(run)
        has_enough = len(self._blocks[True]) + len(self._blocks[False]) >= _BLOCKS_BEFORE or run.is_finished
        if has_enough and not self._has_announced:
            self._has_announced = True
            run.estimate["most_seconds"] = self.seconds_taken + left.most
            self.bar.announce(_announcement(run, self.seconds_taken + left.most))
        if has_enough and left.is_narrow and (run.auto is None or not run.is_finished):
            run.estimate.setdefault("seconds", self.seconds_taken + left.middle)
        until = _end(run)
        perhaps = None if run.auto is None or run.auto.seen is None else self._seconds_left(run, until)
        words = _words(left, perhaps) if has_enough and not run.is_finished else ""
        self.bar.show(run.rounds_done, until * run.n_chains, words)

    @property
    def seconds_taken(self) -> float:
        """Seconds of all blocks."""
        return sum(seconds for blocks in self._blocks.values() for _, seconds in blocks)

    def _seconds_a_round(self, run, warms_up):
        """Of all chains together; None before the first block."""
        blocks = self._blocks[warms_up]
        if blocks:
            counted = blocks[1:][-_LATEST:] or blocks
            return sum(seconds for _, seconds in counted) / sum(n_rounds for n_rounds, _ in counted)
        if not self._blocks[not warms_up]:
            return None
        return self._seconds_a_round(run, not warms_up) * _share_after_warmup(run)

    def _range_left(self, run):
        """The least and the most seconds that are left."""
        if run.is_finished:
            return Left(0.0, 0.0)
        most = self._seconds_left(run, run.rounds_per_chain)
        if run.auto is None:
            return Left(most, most)
        least = self._seconds_left(run, earliest_end(run.auto, run.plan))
        if run.auto.max_seconds is not None:
            most = min(most, max(0.0, run.began + run.auto.max_seconds - time.perf_counter()))
        return Left(min(least, most), most)

    def _seconds_left(self, run, until):
        n_warmup = run.plan.n_warmup
        if n_warmup is None:  # as long as it may be
            n_warmup = longest_warmup(run.auto)
        of_warmup = max(0, min(n_warmup, until) - run.round)
        others = max(0, until - run.round) - of_warmup
        return sum(
            n_rounds * self._seconds_a_round(run, warms_up)
            for n_rounds, warms_up in ((of_warmup, True), (others, False))
            if n_rounds
        )


class Left(NamedTuple):
    """Seconds that are left, at least and at most."""

    least: float
    most: float

    @property
    def is_narrow(self) -> bool:
        """Whether one number between them is right within the factor that is promised."""
        return self.most <= _RIGHT_WITHIN**2 * max(self.least, 1.0)

    @property
    def middle(self) -> float:
        return math.sqrt(self.least * self.most)


def _words(left, perhaps):
    if left.is_narrow:
        return f"about {duration(left.middle)} left"
    words = f"{duration(left.least)} to {duration(left.most)} left"
    is_between = perhaps is not None and duration(left.least) != duration(perhaps) != duration(left.most)
    return f"{words}, perhaps {duration(perhaps)}" if is_between else words


def _share_after_warmup(run):
    lists = run.chains[0].neighbors
    if lists is not None and lists.size > 0 and run.plan.sampler.for_warmup() != run.plan.sampler:
        return _LOCAL
    return _WITH_TAILS if run.plan.noise.half_df > 0.0 else 1.0


def _end(run):
    """Rounds of each chain, as far as one can tell."""
    if run.is_finished:
        return run.round
    projected = None if run.auto is None else projected_rounds(run.auto, run.plan)
    return run.rounds_per_chain if projected is None else max(projected, run.auto.next_look)


def _announcement(run, seconds):
    memory = f"{run.estimate['n_bytes'] / 1e6:.0f} MB"
    if run.auto is None:
        return f"fit: {run.n_chains} chain(s) of {run.rounds_per_chain} rounds: about {duration(seconds)} and {memory}"
    at_most = f"{run.rounds_per_chain:,} rounds, {duration(seconds)} and {memory}"
    return f"fit: {run.n_chains} chain(s), as long as needed, at most {at_most}"
