"""The demo leaves what it promises, and the same for the same seed."""

import re

import numpy as np
import pytest

from coaltree import ConvergenceWarning, Tree, demo


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    """The files of a short run, and of the same run again."""
    settings = demo.SETTINGS | {"n_samples": 4, "n_warmup": 1}
    folders = [tmp_path_factory.mktemp("demo") for _ in range(2)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "SETTINGS", settings)
        for folder in folders:
            with pytest.warns(ConvergenceWarning):
                demo.run(folder, seed=3, say=lambda line: None)
    return folders


def test_data_has_names_and_no_duplicates():
    names, columns, X = demo.load_wines()
    assert X.shape == (60, 13) == (len(set(names)), len(set(columns)))
    assert np.isfinite(X).all()
    assert len(np.unique(X, axis=0)) == 60
    assert {name[0] for name in names} == set("ABC")


def test_files_agree_with_each_other(left):
    folder = left[0]
    assert {path.name for path in folder.iterdir()} == set(demo.FILES)
    names, _, _ = demo.load_wines()
    tree = Tree.from_newick((folder / "tree.newick").read_text())
    assert set(tree.labels) == set(names)
    same = Tree.from_linkage(np.loadtxt(folder / "linkage.csv", delimiter=",", skiprows=1), labels=names)
    assert set(same.clades()) == set(tree.clades())


def test_page_needs_no_other_file(left):
    page = (left[0] / "report.html").read_text()
    assert "<svg" in page
    assert (left[0] / "tree.newick").read_text().strip() in page
    assert not re.search(r"<script|<link|<img|@import|src=", page)


def test_same_seed_same_files(left):
    for name in demo.FILES:
        assert (left[0] / name).read_bytes() == (left[1] / name).read_bytes(), name
