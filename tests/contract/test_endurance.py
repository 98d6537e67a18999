"""Draws that are the same after many kills, at any moment; `make verify` runs it, and it takes some minutes."""

import itertools
import os
import subprocess
import sys
import time

import numpy as np
import pytest

import coaltree as ct
from coaltree.cli.outputs import FILES

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="signals and limits are those of Unix"),
    pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning"),
]

N_KILLS = 20


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "data.csv"
    X, _ = ct.simulate(12, 3, random_state=3)
    rows = [f"r{i}," + ",".join(map(repr, row)) for i, row in enumerate(X.tolist())]
    path.write_text("\n".join(["name,a,b,c", *rows]) + "\n")
    return path


def command(table, out, *more):
    program = "from coaltree.inference.control import run; run.SECONDS_BETWEEN, run.MAX_TIME_SHARE = 0.0, 9e9; "
    program += "run.SECONDS_PER_BLOCK = 0.05; import sys; from coaltree.cli import main; sys.exit(main(sys.argv[1:]))"
    settings = ("--samples", "60", "--warmup", "20", "--seed", "5", "--covariance", "diagonal")
    return [sys.executable, "-c", program, "fit", str(table), "--out", str(out), *settings, *more]


def draws(folder):
    return ct.load(folder / "posterior.npz").log_joint


@pytest.fixture(scope="module")
def undisturbed(table, tmp_path_factory):
    """The draws of a run that nobody killed, and the seconds it took."""
    folder = tmp_path_factory.mktemp("whole")
    for out in (folder / "compiling", folder / "out"):  # the first may have kernels to compile, and is not timed
        began = time.monotonic()
        subprocess.run(command(table, out), check=True, capture_output=True)
    np.testing.assert_array_equal(draws(out), draws(folder / "compiling"))
    return draws(out), time.monotonic() - began


def test_checkpoint_survives_many_kills(table, undisturbed, tmp_path):
    """The same command again and again, killed at a random moment each time, ends in the same draws and files."""
    expected, seconds = undisturbed
    rng = np.random.default_rng(0)
    kills = 0
    for number in itertools.count():
        if kills >= N_KILLS:
            break
        out = tmp_path / f"out{number}"
        while not is_complete(out):
            with subprocess.Popen(command(table, out), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:
                try:
                    running.wait(timeout=float(rng.uniform(0.1, seconds)) if kills < N_KILLS else None)
                except subprocess.TimeoutExpired:
                    running.kill()
                    kills += 1
                    continue
                assert running.returncode == 0, running.stderr.read()
        np.testing.assert_array_equal(draws(out), expected)
        assert sorted(os.listdir(out)) == sorted(FILES)


def is_complete(out):
    """Whether a run has come to its end: its last act is to remove the checkpoint."""
    return out.exists() and all((out / name).exists() for name in FILES) and not (out / "checkpoint.npz").exists()
