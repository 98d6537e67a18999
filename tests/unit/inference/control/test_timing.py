"""How long a run will take: from rounds that were taken, and in words that are true."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

from coaltree.inference.chains.chain import Plan
from coaltree.inference.control.auto_stop import Figures, begin_auto, check_length
from coaltree.inference.control.timing import Left, Stopwatch, _words
from coaltree.samplers.regraft.regraft import Regraft


class Bar:
    """Notes what it is told."""

    def __init__(self):
        self.said, self.shown = [], []

    def announce(self, what):
        self.said.append(what)

    def show(self, *how):
        self.shown.append(how)


def made_run(n_warmup=10, auto=None, local=False, half_df=0.0):
    plan = Plan(Regraft(), SimpleNamespace(half_df=half_df), None, None, n_warmup)
    lists = np.zeros((1, 4, 2)) if local else None
    return SimpleNamespace(
        plan=plan,
        auto=auto,
        round=0,
        n_chains=2,
        chains=[SimpleNamespace(neighbors=lists)],
        rounds_per_chain=40 if auto is None else auto.max_iterations,
        rounds_done=0,
        is_finished=False,
        estimate={"n_bytes": 1e6},
        began=time.perf_counter(),
    )


def take(run, watch, n_rounds, seconds):
    watch.note(run.plan.warms_up(run.round), n_rounds, seconds)
    run.round += n_rounds
    run.rounds_done = 2 * run.round
    watch.show(run)


@pytest.mark.parametrize(("how", "share"), [({}, 1.0), ({"local": True}, 0.5), ({"half_df": 2.0}, 0.9)])
def test_the_first_block_counts_only_until_there_is_another(how, share):
    bar, run = Bar(), made_run(**how)
    watch = Stopwatch(run, bar)
    assert watch.rounds_in(run, 1.0) == 0
    take(run, watch, 1, 60.0)  # which compiled
    assert bar.said == []
    take(run, watch, 2, 4.0)
    assert watch.rounds_in(run, 10.0) == 5
    rest = 7 * 2.0 + 30 * 2.0 * share
    assert run.estimate["seconds"] == pytest.approx(64.0 + rest)
    assert bar.said == [f"fit: 2 chain(s) of 40 rounds: about {(64 + rest) / 60:.0f} min and 1 MB"]
    assert bar.shown[-1] == (6, 80, f"about {rest:.0f} s left")
    take(run, watch, 7, 14.0)
    take(run, watch, 10, 5.0)  # after the warm-up, as quick as it is
    assert bar.shown[-1] == (40, 80, "about 10 s left")
    assert len(bar.said) == 1


def an_auto_run(**given):
    length = check_length("auto", "auto", **({"max_iterations": 1000, "max_seconds": None} | given))
    return made_run(None, begin_auto(length, 50, 1e4))


def test_where_the_draws_say_when_to_stop_a_range_is_said():
    bar, run = Bar(), an_auto_run()
    watch = Stopwatch(run, bar)
    take(run, watch, 5, 5.0)
    assert bar.shown[-1] == (10, 2000, "")  # what compiled says nothing
    take(run, watch, 15, 3.0)  # 0.2 s each: 250 of the warm-up, and 1,000 in all, at the most
    assert bar.said == ["fit: 2 chain(s), as long as needed, at most 1,000 rounds, 3 min and 1 MB"]
    assert run.estimate["most_seconds"] == pytest.approx(8.0 + 980 * 0.2)
    assert bar.shown[-1] == (40, 2000, "20 s to 3 min left")  # a hundred after the warm-up, at the least
    assert "seconds" not in run.estimate
    run.plan = run.plan._replace(n_warmup=20)
    seen = Figures(100, 1.06, "a", 80.0, "b", 90.0, 0.01)  # three times as many are needed
    run.auto = run.auto._replace(seen=seen, next_look=145)
    take(run, watch, 100, 10.0)
    assert bar.shown[-1] == (240, 640, "2 s to 88 s left, perhaps 20 s")
    assert "seconds" not in run.estimate
    run.auto = run.auto._replace(next_look=600)
    take(run, watch, 10, 1.0)
    assert bar.shown[-1] == (260, 1200, f"about {(470 * 870) ** 0.5 * 0.1:.0f} s left")  # within a factor of 1.5
    assert run.estimate["seconds"] == pytest.approx(19.0 + 0.1 * (470 * 870) ** 0.5)
    run.is_finished = True
    watch.show(run)
    assert bar.shown[-1] == (260, 260, "")


def test_the_latest_blocks_count():
    bar, run = Bar(), made_run(n_warmup=0)
    run.rounds_per_chain = 1000
    watch = Stopwatch(run, bar)
    for seconds in [1.0] * 30 + [2.0] * 20:
        take(run, watch, 1, seconds)
    assert bar.shown[-1] == (100, 2000, "about 32 min left")  # 950 of 2 s


def test_what_was_never_said_is_no_estimate():
    bar, run = Bar(), an_auto_run()
    watch = Stopwatch(run, bar)
    take(run, watch, 5, 5.0)
    run.is_finished = True
    take(run, watch, 15, 3.0)
    assert "seconds" not in run.estimate and run.estimate["most_seconds"] == pytest.approx(8.0)


def test_no_more_is_said_than_the_clock_allows():
    bar, run = Bar(), an_auto_run(max_seconds=60.0)
    watch = Stopwatch(run, bar)
    run.began = time.perf_counter() - 15.0
    take(run, watch, 5, 5.0)
    take(run, watch, 15, 15.0)
    assert bar.said[0].startswith("fit: 2 chain(s), as long as needed, at most 1,000 rounds, 65 s")
    assert bar.shown[-1][2] == "about 45 s left"  # neither 100 rounds nor 1,000 could be taken in so long


def test_a_projection_that_is_one_of_the_ends_is_not_repeated():
    assert _words(Left(4.0, 100.0), 4.2) == "4 s to 2 min left"
    assert _words(Left(4.0, 100.0), None) == "4 s to 2 min left"
    assert _words(Left(0.1, 2.0), 1.0) == "about 1 s left"
