"""The files that ``coaltree fit`` leaves: written to a temporary folder first, so that all appear or none does."""

import csv
import math
import os
import shutil
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._runtime.files import clear_away, move_into_place
from ..errors import CoaltreeWarning
from .shell import POSTERIOR

if TYPE_CHECKING:
    import numpy as np

    from ..posterior.posterior import Posterior
    from ..tree.tree import Tree

FILES = {
    POSTERIOR: "all samples, for coaltree.load and the other commands",
    "tree.newick": "the maximum clade credibility tree, nodes labelled with their support",
    "trees.nex": "all sampled trees (NEXUS)",
    "linkage.csv": "the tree as a SciPy linkage: child, child, time, leaves",
    "clusters.csv": "the cluster of each leaf",
    "tree.png": "the tree with supports and time intervals",
    "tree.svg": "the same as vector graphics",
    "report.html": "a page to explore in a browser; works offline",
}

WRITING = "writing"  # the folder that files are complete in before any of them is shown
LARGE = 100  # leaves above which a tree is drawn on a square-root time scale


def write_all(folder: Path, post: "Posterior", n_clusters: int, title: str | None) -> None:
    """Write every file of `FILES` into `folder`, replacing what is there."""
    clear_away(folder, [WRITING, *FILES])
    aside = folder / f".{WRITING}.{os.getpid()}.tmp"
    shutil.rmtree(aside, ignore_errors=True)  # of a process that had our number
    aside.mkdir()
    try:
        _write(aside, post, n_clusters, title)
        for name in FILES:
            move_into_place(aside / name, folder / name)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _write(folder, post, n_clusters, title):
    from ..report import write_report

    tree = post.mcc_tree()
    labels = post.cut(n_clusters)
    post.save(folder / POSTERIOR)
    post.to_nexus(folder / "trees.nex")
    write_tree(folder, tree, [f"{share:.4g}" for share in post.clade_support(tree)])
    # The cluster in the partition that agrees best with all trees, and the cluster in the tree.
    rows = zip(post.labels, labels.tolist(), tree.cut(n_clusters).tolist(), strict=True)
    write_csv(folder / "clusters.csv", ["leaf", "cluster", "cluster_in_tree"], rows)
    clusters = labels if n_clusters > 1 else None
    draw(
        lambda ax: draw_tree(ax, tree, post, clusters),
        [folder / "tree.png", folder / "tree.svg"],
        (8.0, height_for(tree.n)),
    )
    # With one cluster the page would open with nothing to see; it chooses a better number itself.
    write_report(post, folder / "report.html", n_clusters=n_clusters if n_clusters > 1 else None, title=title)


def write_tree(folder: Path, tree: "Tree", node_labels: Sequence[Any] | None = None) -> None:
    """Write tree.newick and linkage.csv (child, child, time, leaves; row k makes node n + k) into `folder`."""
    from ..tree.newick import names_in_files

    text = tree.relabel(names_in_files(tree.labels)).to_newick(node_labels)
    (folder / "tree.newick").write_text(f"{text}\n", encoding="utf-8")
    rows = ([int(a), int(b), repr(float(time)), int(size)] for a, b, time, size in tree.to_linkage())
    write_csv(folder / "linkage.csv", ["child_1", "child_2", "time", "leaves"], rows)


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write a table, its header first."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *([harmless(cell) for cell in row] for row in rows)])


def harmless(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: a quote goes before =, +, -, @ and the like; numbers stay."""
    risky = isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{cell}" if risky and math.isnan(_number(cell)) else cell


def _number(cell):
    try:
        return float(cell)
    except ValueError:
        return math.nan


def height_for(n_leaves: int) -> float:
    """Inches that the names of the leaves need, within reason."""
    return min(max(2.5, 0.17 * n_leaves), 14.0)


def draw_tree(ax: Any, tree: "Tree", post: "Posterior", clusters: "np.ndarray | None") -> None:
    """Draw the tree with supports and intervals; the many recent merges of a large one get more room."""
    from ..plotting import dendrogram

    scale = "linear" if tree.n <= LARGE else "sqrt"
    dendrogram(tree, ax, support=post, intervals=post, clusters=clusters, time_scale=scale)


def draw(picture: Callable[[Any], object], paths: Iterable[Path], size: tuple[float, float]) -> None:
    """Call `picture` with the axes of a new figure (size in inches) and save it; the suffix is the format."""
    import matplotlib
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # A fixed salt and no date: the same run leaves the same bytes. Text stays text, in the fonts of its reader.
        with matplotlib.rc_context({"svg.hashsalt": "coaltree", "svg.fonttype": "none"}):
            picture(figure.add_subplot())
            for path in paths:
                figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
    letters = [warning for warning in caught if "missing from font" in str(warning.message)]
    for warning in caught:
        if warning not in letters:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    if letters and any(path.suffix.lower() != ".svg" for path in paths):
        warnings.warn(
            "Matplotlib's font lacks some characters of the names, shown as boxes in PNG and PDF files; SVG files and "
            "the report page have them.",
            CoaltreeWarning,
            stacklevel=2,
        )
