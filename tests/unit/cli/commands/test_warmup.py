"""Compiling ahead: what `coaltree fit` needs is there afterwards, and where it is kept is said."""

import gc

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

from coaltree.cli import main


def n_compiled():
    kernels = (one for one in gc.get_objects() if isinstance(one, Dispatcher))
    return sum(bool(kernel.stats.cache_misses) for kernel in kernels)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")
def test_warmup_leaves_nothing_to_compile(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("coaltree.inference.settings.MAX_ITERATIONS", 150)
    assert main(["warmup"]) == 0
    assert capsys.readouterr().out.startswith("compiled ")
    before = n_compiled()
    for name, n, columns in (("few", 30, 4), ("missing", 25, 5)):
        X = np.random.default_rng(0).normal(size=(n, columns))
        X[2, 1] = np.nan if name == "missing" else X[2, 1]
        np.save(tmp_path / f"{name}.npy", X)
        args = ["fit", str(tmp_path / f"{name}.npy"), "--out", str(tmp_path / name)]
        assert main(args) == 0
        assert main([*args, "--force", "--samples", "6", "--warmup", "2"]) == 0
    assert n_compiled() == before
