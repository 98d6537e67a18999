"""How long a run will take: from rounds that were taken, and in words that are true."""

from types import SimpleNamespace

import numpy as np
import pytest

from coaltree.inference.chain import Plan
from coaltree.inference.stopping import Figures, begin_auto, check_length
from coaltree.inference.timing import Stopwatch
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
        rounds_per_chain=40 if auto is None else auto.max_rounds,
        rounds_done=0,
        is_finished=False,
        estimate={"n_bytes": 1e6},
    )


def take(run, watch, n_rounds, seconds):
    watch.note(run.plan.warms_up(run.round), n_rounds, seconds)
    run.round += n_rounds
    run.rounds_done = 2 * run.round
    watch.show(run)


@pytest.mark.parametrize(("how", "share"), [({}, 1.0), ({"local": True}, 0.5), ({"half_df": 2.0}, 0.8)])
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


def test_before_the_first_look_only_the_most_is_said():
    length = check_length("auto", "auto", 1000, None)
    bar, run = Bar(), made_run(None, begin_auto(length, 50, 1e4))
    watch = Stopwatch(run, bar)
    take(run, watch, 5, 5.0)
    take(run, watch, 15, 3.0)
    assert bar.said == ["fit: 2 chain(s), as long as needed, at most 1,000 rounds, 3 min and 1 MB"]
    assert bar.shown[-1] == (40, 2000, "at most 3 min left")
    assert "seconds" not in run.estimate
    run.plan = run.plan._replace(n_warmup=20)
    seen = Figures(100, 1.06, "a", 80.0, "b", 90.0, 0.01)  # three times as many are needed
    run.auto = run.auto._replace(seen=seen, next_look=145)
    take(run, watch, 100, 10.0)
    assert bar.shown[-1] == (240, 640, "about 20 s left, at most 88 s")
    assert run.estimate["seconds"] == pytest.approx(18.0 + 20.0)
