"""`coaltree plot`."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.legend import Legend

from coaltree import Tree
from coaltree.cli import main
from coaltree.cli.outputs import draw_tree, height_for
from coaltree.posterior.clusters.answer import answer_for
from tests.browser.posteriors import chain_posterior


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


@pytest.mark.parametrize("width", ["nan", "inf", "0.5", "1000"])
def test_a_width_that_is_none_is_refused(folder, tmp_path, width, only_line):
    assert main(["plot", str(folder), "-o", str(tmp_path / "x.png"), "--width", width]) == 2
    assert "--width" in only_line()


def test_names_without_end_leave_room_for_the_tree(tmp_path):
    from coaltree.plotting import dendrogram

    tree = Tree([[0, 1], [2, 3]], [1.0, 2.0], ["x" * 20_000, "y$", "z"])
    shown = [text.get_text() for text in dendrogram(tree).get_yticklabels()]
    assert max(map(len, shown)) == 60


@pytest.mark.parametrize("kind", ["tree", "cloud", "heatmap", "coclustering"])
def test_pictures_of_leaves_with_several_rows(grouped, tmp_path, kind):
    path = tmp_path / "picture.svg"
    assert main(["plot", str(grouped), "-o", str(path), "--kind", kind, "--clusters", "2"]) == 0
    assert "no. 3" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("has_side_branches", [False, True])
@pytest.mark.parametrize("k", [2, 3, 4, 6])
def test_legends_of_a_tree_do_not_meet(k, has_side_branches):
    post = chain_posterior(90, 4, 12)
    answer = answer_for(post, k, quietly=True)
    side_branch = (np.arange(90) == 7) & has_side_branches
    unsure = answer.stability._replace(words=("dissolved",) * k)
    figure = Figure(figsize=(8.0, height_for(90)), layout="constrained")
    ax = figure.add_subplot()
    draw_tree(ax, post.mean_tree(), post, answer._replace(side_branch=side_branch, stability=unsure))
    figure.draw_without_rendering()
    legends = [*figure.legends, *(part for part in ax.get_children() if isinstance(part, Legend))]
    assert len(legends) == 2
    said = [text.get_text() for legend in legends for text in legend.get_texts()]
    assert ("side branch" in said) == has_side_branches
    assert sum(text.startswith("cluster ") for text in said) == k
    one, other = (legend.get_window_extent() for legend in legends)
    assert not one.overlaps(other)
