"""Ctrl-C at any moment of any verb is a KeyboardInterrupt (or the trees so far), and exit status 130 of a command."""

import _thread
import threading
import time
import warnings

import numpy as np
import pytest

import coaltree as ct
from coaltree.cli import main
from coaltree.report import write_report

X = np.random.default_rng(0).normal(size=(24, 3)) + np.repeat([[0.0], [4.0]], 12, axis=0)
SETTINGS = {"n_samples": 30, "n_warmup": 5, "random_state": 0, "progress": False}


def fresh():
    """A posterior that has cached nothing yet."""
    return ct.concat([FITTED["post"]])


FITTED = {}


@pytest.fixture(scope="module", autouse=True)
def fitted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        FITTED["post"] = ct.fit(X, **SETTINGS)
    yield
    FITTED.clear()


VERBS = {
    "fit": lambda folder: ct.fit(X, **SETTINGS),
    "fit_with_a_checkpoint": lambda folder: ct.fit(X, "diagonal", checkpoint=folder / "c.npz", **SETTINGS),
    "sample_trees": lambda folder: ct.sample_trees(X, n_samples=60, random_state=0, progress=False),
    "mpost2": lambda folder: ct.sample_trees(X, sampler=ct.MPost2(n_particles=20), random_state=0, progress=False),
    "simulate": lambda folder: ct.simulate(200, 5, random_state=0),
    "extend": lambda folder: fresh().extend(X[:3] + 0.1, n_iterations=2, random_state=0),
    "place": lambda folder: fresh().place(X[:6] + 0.1),
    "loo": lambda folder: fresh().loo(progress=False),
    "check": lambda folder: fresh().check(),
    "mean_tree": lambda folder: fresh().mean_tree(),
    "mcc_tree": lambda folder: fresh().mcc_tree(),
    "consensus": lambda folder: fresh().consensus(),
    "clade_support": lambda folder: fresh().clade_support(fresh().mean_tree(), kind="transfer"),
    "node_times": lambda folder: fresh().node_times(fresh().mean_tree()),
    "coclustering": lambda folder: fresh().coclustering(n_clusters=2),
    "suggest": lambda folder: fresh().suggest_n_clusters(),
    "cut": lambda folder: fresh().cut(2),
    "compare": lambda folder: ct.compare({"a": fresh(), "b": fresh()[::2]}, progress=False),
    "save_and_load": lambda folder: (fresh().save(folder / "p.npz"), ct.load(folder / "p.npz")),
    "nexus": lambda folder: fresh().to_nexus(folder / "t.nex"),
    "report": lambda folder: write_report(fresh(), folder / "r.html", force=True),
    "estimator": lambda folder: ct.CoalescentClustering(2, n_samples=20, random_state=0).fit(X),
}


def interrupted_after(delay, work):
    """What comes of some work when Ctrl-C comes after so many seconds: its result, or the class of its error."""
    timer = threading.Timer(delay, _thread.interrupt_main)
    outcome = "done"
    try:
        timer.start()
        outcome = work()
    except BaseException as error:  # which is what is asked for
        outcome = type(error)
    try:
        timer.cancel()
        timer.join()
        time.sleep(0)  # a signal that is still to come, comes here
    except KeyboardInterrupt:
        pass
    return outcome


def is_a_traceback_free_end(outcome):
    return not isinstance(outcome, type) or outcome is KeyboardInterrupt


def interrupt(work, n_times, seed=0):
    """The outcomes of interruptions at random times of some work that once took so long."""
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        work()
        began = time.perf_counter()
        work()
        seconds = time.perf_counter() - began
        return [interrupted_after(delay, work) for delay in rng.uniform(0.0, seconds, n_times)]


@pytest.mark.parametrize("verb", VERBS)
def test_interrupted_verbs_raise_keyboard_interrupt(verb, tmp_path):
    def work():
        VERBS[verb](tmp_path)
        (tmp_path / "c.npz").unlink(missing_ok=True)

    outcomes = interrupt(work, 2)
    assert all(map(is_a_traceback_free_end, outcomes)), outcomes
    work()  # and nothing is broken by it


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_interrupted_verbs_raise_keyboard_interrupt_whenever_it_comes(verb, tmp_path):
    outcomes = interrupt(lambda: VERBS[verb](tmp_path), 30, seed=1)
    assert all(map(is_a_traceback_free_end, outcomes)), outcomes
    assert KeyboardInterrupt in outcomes or verb.startswith(("fit", "sample"))  # which return the trees so far


COMMANDS = {
    "fit": "fit {0}/x.csv -o {0}/out --samples 30 --warmup 5 --clusters 2 --force",
    "report": "report {0}/p.npz -o {0}/r.html --force",
    "info": "info {0}/p.npz",
    "plot": "plot {0}/p.npz -o {0}/t.png --force",
    "place": "place {0}/p.npz {0}/x.csv -o {0}/placed.csv --force",
}


def interrupted_commands(name, folder, n_times, seed):
    np.savetxt(folder / "x.csv", X, delimiter=",", header="0,1,2", comments="")
    FITTED["post"].save(folder / "p.npz")
    command = COMMANDS[name].format(folder).split()
    if name in ("place", "fit"):
        command.append("--header")
    return interrupt(lambda: main(command), n_times, seed)


@pytest.mark.parametrize("name", COMMANDS)
def test_interrupted_commands_end_with_130(name, tmp_path, capsys):
    outcomes = interrupted_commands(name, tmp_path, 2, 2)
    assert set(outcomes) <= {0, 130}, capsys.readouterr().err
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_interrupted_commands_end_with_130_whenever_it_comes(name, tmp_path, capsys):
    outcomes = interrupted_commands(name, tmp_path, 12, 3)
    assert set(outcomes) <= {0, 130}, capsys.readouterr().err
    assert 130 in outcomes
