"""Compiling ahead: what `coaltree fit` needs is there afterwards, and where it is kept is said."""

import numpy as np
import pytest

from coaltree._runtime import jit
from coaltree.cli import main
from coaltree.cli.commands import warmup
from coaltree.inference.control import compile_ahead


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")
def test_warmup_leaves_nothing_to_compile(tmp_path, capsys):
    assert main(["warmup"]) == 0
    assert capsys.readouterr().out.startswith(("compiled ", "everything had been compiled before"))
    before = jit.n_compiled()
    for name, n, columns in (("few", 30, 4), ("missing", 25, 5)):
        X = np.random.default_rng(0).normal(size=(n, columns))
        X[2, 1] = np.nan if name == "missing" else X[2, 1]
        np.save(tmp_path / f"{name}.npy", X)
        args = ["fit", str(tmp_path / f"{name}.npy"), "--out", str(tmp_path / name)]
        assert main([*args, "--max-iterations", "150"]) == 0
        assert main([*args, "--force", "--samples", "6", "--warmup", "2"]) == 0
    assert jit.n_compiled() == before


def test_warmup_says_in_a_line_what_it_did(monkeypatch, capsys):
    monkeypatch.setattr(warmup, "use_everything", lambda folder: None)
    for compiled, kept, said in (
        (0, "kept/coaltree-1", "everything had been compiled before, and is kept in kept/coaltree-1"),
        (3, "kept/coaltree-1", "compiled 3 kernels in 0 s, kept in kept/coaltree-1"),
        (3, None, "compiled 3 kernels in 0 s, but there is no folder to keep them in"),
    ):
        monkeypatch.setattr(jit, "n_compiled", lambda n=compiled: n)
        monkeypatch.setattr(jit, "cache_folder", lambda folder=kept: folder)
        assert main(["warmup"]) == 0
        assert capsys.readouterr().out == f"{said}\n"


@pytest.mark.parametrize("first", [0, 1, 2, 3])
def test_warmup_of_a_helper_uses_all_parts_from_its_own_on_and_says_nothing(first, monkeypatch, capsys):
    used = []
    names = ["_use_outlier_moves", "_use_posterior", "_use_fit"]
    for name in names:
        monkeypatch.setattr(warmup, name, lambda folder, name=name: used.append(name))
    monkeypatch.setattr(compile_ahead, "say_complete", lambda: used.append("complete"))
    assert main(["warmup", "--part", str(first)]) == 0
    first %= len(names)
    assert used == [*names[first:], *names[:first], "complete"]
    assert capsys.readouterr().out == ""
