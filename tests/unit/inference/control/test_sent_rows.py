"""Rows that workers are sent once."""

import joblib
import numpy as np
import pytest

from coaltree.inference.control import sent_rows
from coaltree.inference.control.sent_rows import SentRows
from coaltree.inference.control.unchanging import Unchanging

ROWS = Unchanging(np.arange(12.0).reshape(4, 3))


def total(content, factor):
    return factor * content.values.sum()


@pytest.mark.parametrize("backend", ["sequential", "threading"])
def test_this_process_has_its_own_rows(backend):
    sent = SentRows(ROWS)
    with joblib.Parallel(n_jobs=2, backend=backend) as parallel:
        assert sent.call(parallel, total, [(1.0,), (2.0,)]) == [66.0, 132.0]
    assert sent.n_times_sent == 0


def test_other_processes_are_sent_them_once():
    sent = SentRows(ROWS)
    with joblib.Parallel(n_jobs=2, backend="loky") as parallel:
        for factor in range(1, 7):
            assert sent.call(parallel, total, [(factor,), (2 * factor,)]) == [66.0 * factor, 132.0 * factor]
    # At worst one worker has both tasks of the first call, and all that is sent for the other one afterwards.
    assert 1 <= sent.n_times_sent <= 2 + 5 < 12


def test_a_worker_keeps_few(monkeypatch):
    monkeypatch.setattr(sent_rows, "_kept", {})
    for number in range(5):
        sent_rows._with_sent_rows((str(number), total, (1.0,), ROWS))
    assert list(sent_rows._kept) == ["3", "4"]
    assert sent_rows._with_kept_rows(("4", total, (1.0,))) == (True, 66.0)
    assert sent_rows._with_kept_rows(("0", total, (1.0,))) == (False, None)


def test_rows_of_a_run_that_is_over_are_forgotten():
    sent = SentRows(ROWS.copied())
    name = sent.name
    del sent
    assert name not in sent_rows._own
