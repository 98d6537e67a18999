"""The demo leaves what it promises, and the same for the same seed."""

import numpy as np
import pytest

from coaltree import Tree, load
from coaltree.cli import main
from coaltree.cli.commands import demo
from coaltree.cli.outputs import FILES


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    """The folder of a short run, and of the same run again."""
    folders = [tmp_path_factory.mktemp("demo") for _ in range(2)]
    for folder in folders:
        assert main(["demo", "--out", str(folder), "--seed", "3", "--samples", "4", "--warmup", "1"]) == 0
    return folders


def test_demo_files_agree_with_each_other(left):
    folder = left[0]
    assert {path.name for path in folder.iterdir()} == set(FILES)
    names = demo.load_wines()[0].labels
    assert load(folder / "posterior.npz").labels == names
    tree = Tree.from_newick((folder / "tree.newick").read_text())
    assert set(tree.labels) == set(names)
    same = Tree.from_linkage(np.loadtxt(folder / "linkage.csv", delimiter=",", skiprows=1), labels=names)
    assert set(same.clades()) == set(tree.clades())
    for name in ("clusters.csv", "report.html"):  # the figure folds small groups
        assert "A01" in (folder / name).read_text()
