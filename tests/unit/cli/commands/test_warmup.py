"""Compiling ahead: what `coaltree fit` needs is there afterwards, and where it is kept is said."""

from pathlib import Path

import numpy as np
import pytest

from coaltree._runtime.jit import kernel_cache
from coaltree.cli import main
from coaltree.cli.commands import warmup


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")
def test_warmup_leaves_nothing_to_compile(tmp_path, capsys):
    assert main(["warmup"]) == 0
    assert capsys.readouterr().out.startswith(("compiled ", "everything had been compiled before"))
    before = len(kernel_cache.compiled_in())
    for name, n, columns in (("few", 30, 4), ("missing", 25, 5)):
        X = np.random.default_rng(0).normal(size=(n, columns))
        X[2, 1] = np.nan if name == "missing" else X[2, 1]
        np.save(tmp_path / f"{name}.npy", X)
        args = ["fit", str(tmp_path / f"{name}.npy"), "--out", str(tmp_path / name)]
        assert main([*args, "--max-iterations", "150"]) == 0
        assert main([*args, "--force", "--samples", "6", "--warmup", "2"]) == 0
    assert len(kernel_cache.compiled_in()) == before


def test_warmup_says_where_kernels_are_kept(monkeypatch, capsys):
    package = Path(warmup.__file__).parents[1]
    monkeypatch.setattr(warmup, "use_everything", lambda folder: None)
    for place, said in ((package / "tree" / "__pycache__", package), (Path("kept/tree_0a1b"), Path("kept"))):
        monkeypatch.setattr(kernel_cache, "_COMPILED", [str(place)] * 3)
        assert main(["warmup"]) == 0
        assert capsys.readouterr().out == f"compiled 3 kernels in 0 s, kept in {said}\n"
