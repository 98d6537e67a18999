"""Ctrl-C at any moment of any verb is a KeyboardInterrupt (or the trees so far), and exit status 130 of a command.

Python handles a signal where it calls a function: a profiler that raises KeyboardInterrupt there is a Ctrl-C that comes
at a chosen moment, also within Numba, where it once became a SystemError. Timers interrupt at moments of their own.
"""

import _thread
import ast
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import coaltree as ct
from coaltree.cli import main
from coaltree.report import write_report

X = np.random.default_rng(0).normal(size=(24, 3)) + np.repeat([[0.0], [4.0]], 12, axis=0)
SETTINGS = {"n_samples": 5, "n_warmup": 2, "n_chains": 2, "random_state": 0, "progress": False}


def fresh():
    """The posterior of the test, or one that has cached nothing yet."""
    return FITTED.get("same") or ct.concat([FITTED["post"]])


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
    "sample_trees": lambda folder: ct.sample_trees(X, n_samples=20, random_state=0, progress=False),
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
    "explain": lambda folder: fresh().explain(np.repeat([0, 1], 12)),
    "support": lambda folder: fresh().support(range(12)),
    "purity": lambda folder: ct.metrics.dendrogram_purity(fresh().mean_tree(), np.repeat([0, 1], 12)),
    "ari_curve": lambda folder: ct.metrics.ari_curve(fresh().mean_tree(), np.repeat([0, 1], 12)),
    "resample": lambda folder: ct.fit(
        X, "spherical", resample="columns", n_resamples=2, n_samples=2, n_warmup=2, random_state=0, progress=False
    ),
    "compare": lambda folder: ct.compare({"a": fresh(), "b": fresh()[::2]}, progress=False),
    "save_and_load": lambda folder: (fresh().save(folder / "p.npz"), ct.load(folder / "p.npz")),
    "nexus": lambda folder: fresh().to_nexus(folder / "t.nex"),
    "report": lambda folder: write_report(fresh(), folder / "r.html", force=True),
    "estimator": lambda folder: ct.CoalescentClustering(2, n_samples=5, n_warmup=3, n_chains=2, random_state=0).fit(X),
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
    """The outcomes of interruptions at random times of some work, and the seconds that it takes without."""
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        work()
        began = time.perf_counter()
        work()
        seconds = time.perf_counter() - began
        return [interrupted_after(delay, work) for delay in rng.uniform(0.0, seconds, n_times)], seconds


class CtrlC:
    """A profiler that raises KeyboardInterrupt at a call of a Python function: the number `at`, or one out of a kernel.

    Numba calls Python while it hands a kernel's result over. `out_of_kernels` are these calls, each as the line that
    called the kernel and the number of the call there; one of them may be given as `at`.
    """

    def __init__(self, at=None):
        self.at, self.n_calls, self.out_of_kernels = at, 0, {}

    def __call__(self, frame, event, arg):
        if event != "call":
            return
        self.n_calls += 1
        now = [self.n_calls]
        if frame.f_code.co_name == "_numba_unpickle":
            line = (frame.f_back.f_code.co_filename, frame.f_back.f_lineno)
            self.out_of_kernels[line] = self.out_of_kernels.get(line, 0) + 1
            now.append((line, self.out_of_kernels[line]))
        if self.at in now:
            sys.setprofile(None)
            raise KeyboardInterrupt

    def outcome_of(self, work):
        sys.setprofile(self)
        try:
            return work()
        except BaseException as error:  # which is what is asked for
            return type(error)
        finally:
            sys.setprofile(None)


INTERRUPTED = set()  # calls out of kernels, by all tests of this module


def moments(watched, n_moments, rng):
    """Numbers of calls at random, and the first few calls out of each kernel unless another verb has had them."""
    for line, n_calls in watched.out_of_kernels.items():
        new = {(line, number + 1) for number in range(min(n_calls, 6))} - INTERRUPTED
        INTERRUPTED.update(new)
        yield from sorted(new)
    yield from rng.integers(1, watched.n_calls + 1, n_moments).tolist()


def handed_named_tuples(sources):
    """Lines of plain functions that call a kernel which returns a named tuple: (file, line, kernel).

    Numba calls Python to make such a tuple, and goes on with a null pointer where Ctrl-C comes: the process ends.
    """
    functions = [
        (name, node, any("jit" in ast.unparse(one) for one in node.decorator_list))
        for name, text in sources.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
    ]
    harmless = {"None", "float", "int", "bool", "Int"}
    kernels = {
        node.name
        for _, node, is_kernel in functions
        if is_kernel and node.returns is not None and ast.unparse(node.returns) not in harmless
        if isinstance(node.returns, ast.Name)
    }
    return [
        (name, call.lineno, call.func.id)
        for name, node, is_kernel in functions
        if not is_kernel
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in kernels
    ]


def test_no_kernel_hands_a_named_tuple_to_python():
    folder = Path(ct.__file__).parent
    sources = {path.name: path.read_text(encoding="utf-8") for path in folder.rglob("*.py")}
    assert handed_named_tuples(sources) == []
    kernel = "@jit\ndef locate(x: float) -> Located:\n    return Located(x)\n"
    plain = "def place(x):\n    return locate(x)\n"  # negative control, as it once was
    assert handed_named_tuples({"a.py": kernel, "b.py": plain}) == [("b.py", 2, "locate")]


def numbers_of(result):
    """What must be the same if an answer is asked for again, as far as it is numbers."""
    for name in ("log_joint", "log_density", "times", "labels", "membership"):
        result = getattr(result, name, result) if not isinstance(result, np.ndarray) else result
    return np.asarray(result) if isinstance(result, np.ndarray) else None


def blas_threads():
    """What Ctrl-C must not leave changed. (NumPy's own errstate may be cut short; that is not ours.)"""
    return {one["filepath"]: one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("n_moments", [pytest.param(40, marks=pytest.mark.slow), 2])
@pytest.mark.parametrize("verb", VERBS)
def test_interrupted_verbs_raise_keyboard_interrupt_and_answer_when_asked_again(verb, n_moments, tmp_path):
    def work():
        (tmp_path / "c.npz").unlink(missing_ok=True)
        return VERBS[verb](tmp_path)

    work()  # what is to be compiled would take minutes under a profiler
    watched, before = CtrlC(), blas_threads()
    expected = watched.outcome_of(work)
    try:
        for at in moments(watched, n_moments, np.random.default_rng(len(verb))):
            FITTED["same"] = ct.concat([FITTED["post"]])  # whose caches must not be left half filled
            outcome = CtrlC(at).outcome_of(work)
            assert is_a_traceback_free_end(outcome), (at, outcome)
        again = work()
    finally:
        FITTED.pop("same", None)
    assert is_a_traceback_free_end(expected)
    assert blas_threads() == before
    if numbers_of(expected) is not None:
        np.testing.assert_array_equal(numbers_of(again), numbers_of(expected))
    assert not list(tmp_path.glob(".*.tmp"))


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_interrupted_verbs_raise_keyboard_interrupt_whenever_it_comes(verb, tmp_path):
    outcomes, seconds = interrupt(lambda: VERBS[verb](tmp_path), 30, seed=1)
    assert all(map(is_a_traceback_free_end, outcomes)), outcomes
    # Not of those that return the trees so far, nor of what may be done before a timer wakes up.
    was_interrupted = any(one is KeyboardInterrupt for one in outcomes)
    assert was_interrupted or seconds < 0.1 or verb.startswith(("fit", "sample"))


LOADING = """
import contextlib, signal, sys
import coaltree as ct
from coaltree._runtime import jit

if sys.argv[1] == "at once":
    jit.postponed_interruptions = contextlib.nullcontext
calls = 0

def ctrl_c(frame, event, argument):
    global calls
    calls += event == "call" and frame.f_code.co_name == "stream_list"
    if calls == int(sys.argv[2]):
        sys.setprofile(None)
        signal.raise_signal(signal.SIGINT)

work = lambda: ct.simulate(6, 2, random_state=0)[0].sum()
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.setprofile(ctrl_c)
try:
    work()
except KeyboardInterrupt:
    print("interrupted")
sys.setprofile(None)
print(work())
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are those of Unix")
@pytest.mark.parametrize("at", [3, pytest.param(40, marks=pytest.mark.slow), pytest.param(400, marks=pytest.mark.slow)])
def test_ctrl_c_while_kernels_are_loaded_leaves_them_whole(at):
    """Numba's tables once stayed half filled, and every later call in the process failed."""
    ends = {
        when: subprocess.run([sys.executable, "-c", LOADING, when, str(at)], capture_output=True, text=True)
        for when in ("later", "at once")
    }
    expected = f"interrupted\n{ct.simulate(6, 2, random_state=0)[0].sum()}\n"
    assert ends["later"].stdout == expected, ends["later"].stderr
    assert ends["at once"].stdout != expected  # negative control


COMMANDS = {
    "fit": "fit {0}/x.csv -o {0}/out --samples 5 --warmup 2 --clusters 2 --force",
    "report": "report {0}/p.npz -o {0}/r.html --force",
    "info": "info {0}/p.npz",
    "plot": "plot {0}/p.npz -o {0}/t.png --force",
    "place": "place {0}/p.npz {0}/x.csv -o {0}/placed.csv --force",
}


def command_in(folder, name):
    np.savetxt(folder / "x.csv", X, delimiter=",", header="0,1,2", comments="")
    FITTED["post"].save(folder / "p.npz")
    command = COMMANDS[name].format(folder).split()
    return command + (["--header"] if name in ("place", "fit") else [])


def interrupted_commands(name, folder, n_times, seed):
    command = command_in(folder, name)
    return interrupt(lambda: main(command), n_times, seed)


@pytest.mark.parametrize("name", COMMANDS)
def test_interrupted_commands_end_with_130(name, tmp_path, capsys):
    outcomes, _ = interrupted_commands(name, tmp_path, 2, 2)
    assert set(outcomes) <= {0, 130}, capsys.readouterr().err
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_interrupted_commands_end_with_130_whenever_it_comes(name, tmp_path, capsys):
    outcomes, _ = interrupted_commands(name, tmp_path, 12, 3)
    assert set(outcomes) <= {0, 130}, capsys.readouterr().err
    assert 130 in outcomes


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals are those of Unix")
@pytest.mark.parametrize("name", COMMANDS)
def test_interrupted_processes_end_with_130(name, tmp_path):
    """As a shell starts them: imports, and kernels that are read from their files, are interrupted too."""
    command = [sys.executable, "-m", "coaltree", *command_in(tmp_path, name)]
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    seconds = time.perf_counter() - began
    for delay in np.random.default_rng(4).uniform(0.0, seconds, 6):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as running:
            time.sleep(delay)
            running.send_signal(signal.SIGINT)
            said = running.stderr.read()
        assert running.returncode in (0, 130, -signal.SIGINT), said
        if running.returncode == -signal.SIGINT:  # before Python had loaded the command, or while it goes away
            assert "KeyboardInterrupt" in said or "Traceback" not in said
        else:
            assert "Traceback" not in said and "Error" not in said
