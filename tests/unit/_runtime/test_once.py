"""Answers are computed once, and forgotten with what they are about."""

import gc

from coaltree._runtime.once import once


class Thing:
    pass


def test_once_asks_once():
    asked = []
    count = once(lambda thing: asked.append(1) or len(asked))
    one, other = Thing(), Thing()
    assert [count(one), count(other), count(one)] == [1, 2, 1]
    del one
    gc.collect()
    assert count(other) == 2 and count(Thing()) == 3
