"""Ctrl-C during a run returns the draws so far, and ends a command with exit status 130."""

import signal

import numpy as np
import pytest

import coaltree as ct
from coaltree.errors import is_interruption
from coaltree.inference.control import run

X = np.random.default_rng(0).normal(size=(24, 3)) + np.repeat([[0.0], [4.0]], 12, axis=0)
N_SAMPLES = 40
SETTINGS = {"sampler": "regraft", "n_samples": N_SAMPLES, "n_warmup": 2, "random_state": 0}
VERBS = {"fit": ct.fit, "sample_trees": ct.sample_trees}


def ctrl_c(after):
    """A progress function that presses Ctrl-C after a share of the work."""

    def show(done, total):
        if done >= after * total:
            signal.raise_signal(signal.SIGINT)

    return show


@pytest.mark.filterwarnings("ignore::coaltree.ConvergenceWarning")
@pytest.mark.parametrize("verb", VERBS)
def test_ctrl_c_returns_the_draws_so_far(verb, monkeypatch):
    monkeypatch.setattr(run, "SECONDS_PER_BLOCK", 0.0)
    whole = VERBS[verb](X, **SETTINGS, progress=False)
    with pytest.warns(ct.InterruptedWarning, match="interrupted: the posterior holds") as caught:
        part = VERBS[verb](X, **SETTINGS, progress=ctrl_c(0.5))
    n_done = caught[0].message.n_done
    assert 0 < n_done < N_SAMPLES
    np.testing.assert_array_equal(part.draws.times[:n_done], whole.draws.times[:n_done])
    with pytest.raises(KeyboardInterrupt):
        VERBS[verb](X, **SETTINGS, progress=ctrl_c(0.0))


def numbas_error(cause):
    error = SystemError("returned a result with an exception set")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (KeyboardInterrupt(), True),
        (numbas_error(KeyboardInterrupt()), True),
        (numbas_error(numbas_error(KeyboardInterrupt())), True),
        (numbas_error(None), False),
        (numbas_error(ValueError()), False),
        (ValueError(), False),
    ],
)
def test_interruptions_are_told_from_errors(error, expected):
    assert is_interruption(error) == expected
