"""`coaltree plot`."""

import pytest

from coaltree.cli import main


@pytest.mark.parametrize("kind", ["tree", "cloud", "heatmap", "coclustering"])
def test_pictures(folder, tmp_path, kind, only_line):
    path = tmp_path / "picture.png"
    assert main(["plot", str(folder), "-o", str(path), "--kind", kind, "--clusters", "2"]) == 0
    assert path.read_bytes().startswith(b"\x89PNG")
    assert main(["plot", str(folder), "-o", str(path)]) == 2
    assert "--force" in only_line()


def test_pictures_repeat_and_have_the_size_that_is_asked_for(folder, tmp_path, only_line):
    paths = [tmp_path / f"{i}.svg" for i in range(2)]
    for path in paths:
        assert main(["plot", str(folder), "-o", str(path), "--width", "3", "--height", "2"]) == 0
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert 'width="216pt" height="144pt"' in paths[0].read_text()
    assert main(["plot", str(folder), "-o", str(tmp_path / "picture.doc")]) == 2
    assert "unsupported file type" in only_line()
