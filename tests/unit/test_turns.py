"""Threads that take turns: everyone's share is done when `do` returns, in order, and failures are heard of."""

import threading
import time

import numpy as np
import pytest

from coaltree.samplers.turns import Team, copying, is_for_copying, merging, next_turn, step_of


def test_turns_alternate():
    turns = [turn(step) for step in range(5) for turn in (merging, copying)]
    assert turns == list(range(10))
    assert [step_of(turn) for turn in turns] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert [is_for_copying(turn) for turn in turns] == [False, True] * 5


@pytest.mark.parametrize("n_threads", [1, 2, 5])  # five are more than there are processors
@pytest.mark.parametrize("pause", [0.0, 2e-3])  # helpers fall asleep in a long one
def test_all_shares_are_done_on_return(n_threads, pause):
    n_steps, seen = 30, np.full((n_threads, 60), -1)

    def work(share):
        turn = next_turn(share)
        while turn >= 0:
            if not is_for_copying(turn):
                # What all others did in the turns before is there to be read.
                assert turn < 2 or np.all(seen[:, turn - 2] == turn - 2)
            seen[share.first, turn] = turn
            turn = next_turn(share)

    with Team(work, list(range(n_threads + 1))) as team:
        for step in range(n_steps):
            team.do(merging(step))
            assert np.all(seen[:, merging(step)] == merging(step))
            assert np.all(seen[:, merging(step) + 2 :] == -1)
            if step % 3 == 0:
                team.do(copying(step))
                assert np.all(seen[:, copying(step)] == copying(step))
            time.sleep(pause)


def test_helpers_leave_when_all_is_over():
    before = threading.active_count()

    def work(share):
        while next_turn(share) >= 0:
            pass

    def interrupted():
        with Team(work, [0, 1, 2, 3]) as team:
            team.do(merging(0))
            assert threading.active_count() == before + 2
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert threading.active_count() == before


def test_what_goes_wrong_in_a_helper_is_raised():
    def work(share):
        if share.first == 1:
            raise MemoryError("no room for a helper")
        while next_turn(share) >= 0:
            pass

    with pytest.raises(MemoryError, match="no room"), Team(work, [0, 1, 2]) as team:
        team.do(merging(0))
