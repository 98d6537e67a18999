"""Write the files of ``coaltree fit``: to a temporary folder first, so that all of them appear or none."""

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import pandas

from .._runtime.atomic_write import replacing
from ..posterior.clusters.answer import ClusterAnswer, answer_for, leaves_are, leaves_one
from ..posterior.clusters.n_clusters import ClusterSuggestion
from ..posterior.io.pandas_output import given_labels, in_given_places
from ..posterior.leaf_annotations import annotations_of
from ..posterior.posterior import Posterior
from ..tree.tree import Tree
from . import shell
from .options import POSTERIOR, output_folder
from .tables.numbers import number

FIGURES = ("tree.png", "tree.svg")
FILES = {
    POSTERIOR: "all samples, for coaltree.load and the other commands",
    "tree.newick": "the mean tree, nodes labelled with their transfer support",
    "tree.nex": "the same for FigTree, ggtree and others (NEXUS): supports, times and their intervals",
    "trees.nex": "sampled trees (NEXUS), at most 1,000, fewer of more than 100 leaves",
    "linkage.csv": "the tree as a SciPy linkage: child, child, time, leaves",
    "clusters.csv": "the cluster of each row (of each leaf, with groups), the probability of each cluster and of none",
    "tree.png": "the tree with supports and time intervals",
    "tree.svg": "the same as vector graphics",
    "report.html": "a page to explore in a browser; works offline",
}

TEMPORARY = "writing"  # folder of files before all of them are complete
MAX_PROBABILITY_COLUMNS = 20  # clusters up to which the probabilities of all are written
MAX_LEAVES_IN_TREES = 100_000  # of all sampled trees in a file, some 40 bytes each: 4 MB
FIGURE_DPI = 150


def write_result(
    folder: Path, post: Posterior, n_clusters: int | None, title: str, inputs: Sequence[Path] = ()
) -> tuple[ClusterSuggestion | None, ClusterAnswer]:
    """Write `FILES` into `folder`; return where the number of clusters comes from, if none was given, and the clusters.

    No file of `inputs` is written to.
    """
    suggestion = None
    if n_clusters is None:
        with shell.stage("suggesting a number of clusters"):
            suggestion = post.suggest_n_clusters()
        n_clusters = suggestion.n_clusters
    with shell.stage("cutting the mean tree into clusters"):
        answer = answer_for(post, n_clusters)
    output_folder(folder, FILES, True, inputs)
    temporary = folder / f".{TEMPORARY}.tmp"
    shutil.rmtree(temporary, ignore_errors=True)  # what a killed process left
    temporary.mkdir()
    try:
        _write_files(temporary, post, answer, suggestion, title)
        for name in FILES:
            os.replace(temporary / name, folder / name)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return suggestion, answer


def _write_files(
    folder: Path, post: Posterior, answer: ClusterAnswer, suggestion: ClusterSuggestion | None, title: str
) -> None:
    from ..plotting import dendrogram
    from ..report import write_report

    with shell.stage("computing the mean tree"):
        tree = post.mean_tree()
    with shell.stage("saving the posterior"):
        post.save(folder / POSTERIOR)
    with shell.stage("writing the trees and the clusters"):
        post.to_nexus(folder / "trees.nex", max_trees=trees_to_write(post.n))
        (folder / "tree.newick").write_text(post.annotated_tree(tree, "newick"), encoding="utf-8")
        (folder / "tree.nex").write_text(post.annotated_tree(tree, "nexus"), encoding="utf-8")
        write_linkage(folder / "linkage.csv", tree)
        write_clusters(folder / "clusters.csv", post, answer)
    with shell.stage("drawing the figure"):
        ax = dendrogram(post, n_clusters=answer.n_clusters if answer.n_clusters > 1 else None)
        save_figure(ax.figure, [folder / name for name in FIGURES])
    with shell.stage("writing the report page"):
        write_report(post, folder / "report.html", n_clusters=suggestion or answer.n_clusters, title=title)


def trees_to_write(n_leaves: int) -> int:
    """Number of sampled trees in a file: 1,000, or fewer of more than 100 leaves, but at least ten."""
    return max(10, min(1000, MAX_LEAVES_IN_TREES // n_leaves))


def write_clusters(path: Path, post: Posterior, answer: ClusterAnswer) -> None:
    """Write the cluster of each leaf, counted from 1, probabilities, whether it is in no clade of the cut, annotations.

    Rows with missing values only are in no tree; they have empty cells.
    """
    columns: dict[str, Iterable[Any]] = {
        leaves_one(leaves_are(post)): post.labels,
        "cluster": answer.labels + 1,
        "probability": [f"{probability:.4g}" for probability in answer.probability],
        "in_no_clade": ["yes" if joined else "" for joined in answer.in_no_clade],
    }
    if 1 < answer.n_clusters <= MAX_PROBABILITY_COLUMNS:
        for c, probabilities in enumerate(answer.membership.T):
            columns[f"cluster_{c + 1}"] = [f"{probability:.4g}" for probability in probabilities]
        columns["none"] = [f"{probability:.4g}" for probability in answer.none]
    annotations = {annotation.name: annotation.texts() for annotation in annotations_of(post)}
    for name, texts in annotations.items():
        own = name
        while own in columns or (own != name and own in annotations):
            own = f"label_{own}"
        columns[own] = texts
    labels, *others = columns.items()
    everywhere = {name: in_given_places(post, cells, "") for name, cells in others}
    write_csv(path, {labels[0]: given_labels(post), **everywhere})


def write_linkage(path: Path, tree: Tree) -> None:
    """Write child, child, time and leaves of each merge; row k makes node n + k."""
    child_1, child_2, time, leaves = tree.to_linkage().T
    whole = {"child_1": child_1.astype(int), "child_2": child_2.astype(int)}
    write_csv(path, {**whole, "time": time, "leaves": leaves.astype(int)})


def write_csv(target: Path | IO[str], columns: Mapping[str, Iterable[Any]]) -> None:
    """Write named columns; no cell is one that a spreadsheet takes for a formula."""
    harmless = {_harmless(name): [_harmless(cell) for cell in cells] for name, cells in columns.items()}
    # with "\r\n", the csv module quotes cells that contain either
    frame = pandas.DataFrame(harmless)
    if isinstance(target, Path):
        with replacing(target, newline="") as file:
            frame.to_csv(file, index=False, lineterminator="\r\n")
    else:
        frame.to_csv(target, index=False, lineterminator="\n")


def _harmless(cell: Any) -> Any:
    """The cell, with a quote before text that begins as formulas do and is no number."""
    is_formula = isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r")) and number(cell) is None
    return f"'{cell}" if is_formula else cell


def save_figure(figure: Any, paths: Iterable[Path]) -> None:
    """Write a figure; the suffix is the format. The same run leaves the same bytes, and text stays text."""
    import matplotlib
    from matplotlib import pyplot

    with matplotlib.rc_context({"svg.hashsalt": "coaltree", "svg.fonttype": "none"}):
        for path in paths:
            suffix = path.suffix.removeprefix(".").lower()
            with replacing(path, "wb") as file:
                metadata = {"Date": None} if suffix == "svg" else None
                figure.savefig(file, format=suffix, dpi=FIGURE_DPI, metadata=metadata)
    pyplot.close(getattr(figure, "figure", figure))
