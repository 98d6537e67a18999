"""`coaltree compare`."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.cli import main


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(3, 3)) * 3, 4, axis=0) + rng.normal(size=(12, 3))
    folders = []
    for name in ("scaled", "spherical"):
        folder = tmp_path_factory.mktemp(name)
        post = ct.fit(X, name, n_samples=20, n_warmup=5, random_state=0, progress=False)
        post.save(folder / "posterior.npz")
        folders.append(str(folder))
    return folders


@pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")
def test_compare_prints_a_table(folders, tmp_path, capsys):
    assert main(["compare", *folders]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "by leave-one-out, 12 rows"
    assert lines[1].split()[:7] == ["name", "log", "density", "difference", "standard", "error", "weight"]
    assert {lines[2].split()[0], lines[3].split()[0]} == set(folders)
    assert lines[2].split()[2:4] == ["0.00", "0.00"]

    np.savetxt(tmp_path / "new.csv", np.random.default_rng(1).normal(size=(5, 3)), delimiter=",")
    assert main(["compare", *folders, "--heldout", str(tmp_path / "new.csv")]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "by held-out rows, 5 rows"
