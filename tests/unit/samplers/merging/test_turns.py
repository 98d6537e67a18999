"""Threads that take turns: every particle is done once when `do` returns, and failures are heard of."""

import threading
import time

import numpy as np
import pytest

from coaltree.samplers.merging.turns import Team, copying, is_for_copying, merging, next_particle, next_turn, step_of


def test_turns_alternate():
    turns = [turn(step) for step in range(5) for turn in (merging, copying)]
    assert turns == list(range(1, 11))
    assert [step_of(turn) for turn in turns] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert [is_for_copying(turn) for turn in turns] == [False, True] * 5


@pytest.mark.parametrize("n_threads", [1, 2, 5])  # five are more than there are processors
@pytest.mark.parametrize("pause", [0.0, 2e-3])  # helpers fall asleep in a long one
@pytest.mark.parametrize("unwilling", [False, True])  # to take anything in most turns
def test_every_particle_is_done_once_on_return(n_threads, pause, unwilling):
    M, n_steps = 23, 30
    seen, workers = np.zeros((2 * n_steps + 1, M), int), set()

    def work(share):
        turn = next_turn(share)
        while turn >= 0:
            if unwilling and share.own and turn % 5:
                return
            p = next_particle(share)
            while p >= 0:
                assert turn < 3 or is_for_copying(turn) or np.all(seen[turn - 2] == 1)  # the merge before is there
                seen[turn, p] += 1
                workers.add(share.own)
                p = next_particle(share)
            turn = next_turn(share)

    called = []
    with Team(work, M, n_threads) as team:
        for step in range(n_steps):
            for turn in [merging(step), copying(step)] if step % 3 == 0 else [merging(step)]:
                team.do(turn)
                called.append(turn)
                assert np.all(seen[turn] == 1)
            time.sleep(pause)
    assert np.flatnonzero(seen.any(axis=1)).tolist() == called
    assert 0 in workers


def test_shares_are_kept_where_nobody_is_idle():
    taken = {}
    both = threading.Barrier(2, timeout=10)

    def work(share):
        turn = next_turn(share)
        while turn >= 0:
            p = next_particle(share)
            if p >= 0:
                both.wait()  # both have taken one, their own
            while p >= 0:
                taken.setdefault(turn, {})[p] = share.own
                time.sleep(1e-3)
                p = next_particle(share)
            turn = next_turn(share)

    with Team(work, 20, 2) as team:
        team.do(merging(0))
    assert [taken[1][p] for p in (0, 1, 2, 10, 11, 12)] == [0, 0, 0, 1, 1, 1]


def take_all(share):
    while next_turn(share) >= 0:
        while next_particle(share) >= 0:
            pass


def test_helpers_leave_when_all_is_over():
    before = threading.active_count()

    def interrupted():
        with Team(take_all, 6, 3) as team:
            team.do(merging(0))
            assert threading.active_count() == before + 2
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert threading.active_count() == before


@pytest.fixture
def start_fails(monkeypatch):
    """Let the third start of a thread, and all later ones, end in an error."""

    def set_up(error):
        plain, starts = threading.Thread.start, []

        def start(thread):
            starts.append(thread)
            if len(starts) > 2:
                raise error
            plain(thread)

        monkeypatch.setattr(threading.Thread, "start", start)

    return set_up


def test_threads_that_the_system_refuses_are_done_without(start_fails):
    start_fails(RuntimeError("can't start new thread"))
    before = threading.active_count()
    with Team(take_all, 20, 8) as team:
        assert threading.active_count() == before + 2
        for step in range(5):
            team.do(merging(step))
    assert threading.active_count() == before


def test_an_interruption_while_helpers_start_leaves_none_behind(start_fails):
    start_fails(KeyboardInterrupt())
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt), Team(take_all, 20, 8):
        pytest.fail("the team begins without its helpers")
    assert threading.active_count() == before


def test_helpers_outlive_no_caller():
    """A caller that ends without a word, as an interruption at the wrong moment may make it, is not waited for."""
    teams = []
    caller = threading.Thread(target=lambda: teams.append(Team(take_all, 4, 3).__enter__()))
    caller.start()
    caller.join()
    for helper in teams[0]._helpers:
        helper.join(timeout=10)
        assert not helper.is_alive()


def test_helpers_with_nothing_to_do_are_asleep():
    calls = []

    def work(share):
        calls.append(share.own)
        take_all(share)

    with Team(work, 6, 2) as team:
        for step in range(3):
            team.do(merging(step))
            time.sleep(0.05)
    assert calls.count(1) <= 4  # once at the start, and once for each turn at most


def test_the_caller_goes_on_alone_where_helpers_cost_more_than_they_save():
    workers = []

    def work(share):
        turn = next_turn(share)
        while turn >= 0:
            workers.append((turn, share.own))
            while next_particle(share) >= 0:
                time.sleep(1e-4)
            turn = next_turn(share)

    def helped(turns):
        return {turn for turn, own in workers if own == 1} & set(turns)

    with Team(work, 4, 2) as team:
        team._settle(saved=0.001, waited=0.5)
        alone, later = range(1, 16), range(16, 3000)
        for turn in alone:
            team.do(turn)
        assert not helped(alone)
        for turn in later:
            team.do(turn)
            if helped(later):
                break
            time.sleep(1e-3)
    assert helped(later)


def test_rare_delays_do_not_send_helpers_away():
    team = Team(take_all, 4, 2)
    for _ in range(10):
        for _ in range(30):
            team._settle(saved=5e-4, waited=1e-5)
        team._settle(saved=5e-4, waited=4e-3)  # the system gives somebody else a time slice
    assert team._alone == 0
    for _ in range(4):
        team._settle(saved=5e-4, waited=4e-3)
    assert team._alone > 0


@pytest.mark.parametrize("after_taking", [False, True])
def test_what_goes_wrong_in_a_helper_is_raised(after_taking):
    def work(share):
        if share.own == 0:
            time.sleep(0.02)  # for the helper to come first
        while next_turn(share) >= 0:
            p = next_particle(share)
            while p >= 0:
                if share.own == 1 and after_taking:
                    raise MemoryError("no room for a helper")
                p = next_particle(share)
        if share.own == 1:
            raise MemoryError("no room for a helper")

    with pytest.raises(MemoryError, match="no room"), Team(work, 4, 2) as team:
        team.do(merging(0))
