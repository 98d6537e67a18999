"""Compiling ahead: what `coaltree fit` needs is there afterwards, and where it is kept is said."""

import numpy as np
import pytest

from coaltree._runtime import jit
from coaltree.cli import main
from coaltree.cli.commands import warmup
from coaltree.inference.control import compile_ahead


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")
def test_warmup_leaves_nothing_to_compile(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("coaltree.inference.settings.MAX_ITERATIONS", 150)
    assert main(["warmup"]) == 0
    assert capsys.readouterr().out.startswith("compiled ")
    before = jit.n_compiled()
    for name, n, columns in (("few", 30, 4), ("missing", 25, 5)):
        X = np.random.default_rng(0).normal(size=(n, columns))
        X[2, 1] = np.nan if name == "missing" else X[2, 1]
        np.save(tmp_path / f"{name}.npy", X)
        args = ["fit", str(tmp_path / f"{name}.npy"), "--out", str(tmp_path / name)]
        assert main(args) == 0
        assert main([*args, "--force", "--samples", "6", "--warmup", "2"]) == 0
    assert jit.n_compiled() == before


def test_warmup_says_in_a_line_what_it_did(monkeypatch, capsys):
    monkeypatch.setattr(compile_ahead, "compile_ahead", lambda: None)
    monkeypatch.setattr(warmup, "use_everything", lambda folder: None)
    for kept, message in (
        ("kept/coaltree-1", "compiled kernels in 0 s, kept in kept/coaltree-1"),
        (None, "compiled kernels in 0 s, but there is no folder to keep them in"),
    ):
        monkeypatch.setattr(jit, "cache_folder", lambda folder=kept: folder)
        assert main(["warmup"]) == 0
        assert capsys.readouterr().out == f"{message}\n"
