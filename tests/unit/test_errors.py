"""Errors and warnings: their families, and attributes that survive a journey to another process."""

import pickle
import signal
import threading

import pytest

from coaltree import errors


def test_input_error_is_a_value_error_and_all_warnings_have_one_family():
    assert issubclass(errors.InputError, ValueError)
    for kind in (errors.ConvergenceWarning, errors.InterruptedWarning, errors.ClusterSizeWarning):
        assert issubclass(kind, errors.CoaltreeWarning) and issubclass(kind, UserWarning)


@pytest.mark.parametrize(
    "warning",
    [
        errors.ConvergenceWarning("not yet", ("R-hat of x is 1.20",)),
        errors.InterruptedWarning("stopped", 3, 10),
        errors.ClusterSizeWarning("too small", 5, 2),
    ],
    ids=lambda warning: type(warning).__name__,
)
def test_warnings_keep_their_attributes_when_pickled(warning):
    again = pickle.loads(pickle.dumps(warning))
    assert str(again) == str(warning) and vars(again) == vars(warning) != {}


def system_error(cause):
    """What Python makes of an error that compiled code has not looked at."""
    error = SystemError("returned a result with an exception set")
    error.__cause__ = cause
    return error


def test_interruptible_makes_an_interruption_of_what_ctrl_c_is_behind():
    @errors.interruptible
    def raises(error):
        raise error

    for hidden in (KeyboardInterrupt(), system_error(KeyboardInterrupt())):
        with pytest.raises(KeyboardInterrupt):
            raises(system_error(hidden))
        assert errors.is_interruption(system_error(hidden))
    for other in (system_error(None), system_error(ValueError()), ValueError("x")):
        with pytest.raises(type(other)):
            raises(other)
        assert not errors.is_interruption(other)


def test_postponed_interruptions_come_at_the_end_and_once():
    done, before = [], signal.getsignal(signal.SIGINT)

    def work():
        with errors.postponed_interruptions():
            with errors.postponed_interruptions():
                signal.raise_signal(signal.SIGINT)
                done.append("within")
            done.append("around it")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["within", "around it"]
    assert signal.getsignal(signal.SIGINT) is before
    with errors.postponed_interruptions():
        done.append("later")
    with pytest.raises(KeyboardInterrupt):  # negative control
        signal.raise_signal(signal.SIGINT)


def test_a_second_ctrl_c_is_not_postponed():
    done = []

    def work():
        with errors.postponed_interruptions():
            signal.raise_signal(signal.SIGINT)
            done.append("first")
            signal.raise_signal(signal.SIGINT)
            done.append("second")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["first"]


def test_postponed_interruptions_leave_other_threads_and_ignored_signals_alone():
    done, before = [], signal.getsignal(signal.SIGINT)

    def work():
        with errors.postponed_interruptions():
            done.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [before]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        work()
    finally:
        signal.signal(signal.SIGINT, before)
    assert done == [before, signal.SIG_IGN]
