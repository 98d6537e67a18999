"""`coaltree plot`."""

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
