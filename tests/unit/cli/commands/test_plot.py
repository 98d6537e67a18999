"""`coaltree plot`."""

import sys

import pytest

from coaltree.cli import main


@pytest.mark.parametrize("kind", ["tree", "densitree", "clustermap", "coclustering"])
def test_plot_writes_every_kind(folder, tmp_path, kind, only_line):
    path = tmp_path / "picture.png"
    assert main(["plot", str(folder), "-o", str(path), "--kind", kind, "--clusters", "2"]) == 0
    assert path.read_bytes().startswith(b"\x89PNG")
    assert main(["plot", str(folder), "-o", str(path)]) == 2
    assert "--force" in only_line()


def test_plot_repeats_and_has_the_given_size(folder, tmp_path, only_line):
    paths = [tmp_path / f"{i}.svg" for i in range(2)]
    for path in paths:
        assert main(["plot", str(folder), "-o", str(path), "--width", "3", "--height", "2"]) == 0
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert 'width="216pt" height="144pt"' in paths[0].read_text()
    for out, width, message in (("picture.doc", "3", "unsupported file type"), ("x.png", "nan", "--width")):
        assert main(["plot", str(folder), "-o", str(tmp_path / out), "--width", width]) == 2
        assert message in only_line()


def test_plot_of_a_clustermap_is_beside_the_posterior_unless_seaborn_is_absent(folder, only_line, monkeypatch):
    assert main(["plot", str(folder), "--clustermap", "--clusters", "2"]) == 0
    path = folder / "clustermap.png"
    assert path.read_bytes().startswith(b"\x89PNG")
    path.unlink()
    monkeypatch.setitem(sys.modules, "seaborn", None)
    assert main(["plot", str(folder), "--clustermap"]) == 2
    assert 'pip install "coaltree[plots]"' in only_line()
    assert not path.exists()
