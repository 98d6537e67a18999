"""Write the files of ``coaltree fit``."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas

from .._runtime.atomic_write import replacing
from ..posterior.clusters.answer import ClusterAnswer, answer_for, leaves_are, leaves_one
from ..posterior.io.nexus import annotated_tree
from ..posterior.leaf_annotations import annotations_of
from ..posterior.posterior import Posterior
from ..tree.tree import Tree
from .options import POSTERIOR
from .tables.numbers import number

FILES = {
    POSTERIOR: "all samples, for coaltree.load and the other commands",
    "tree.newick": "the mean tree, nodes labelled with the share of draws that have them, or nearly",
    "tree.nex": "the same for FigTree, ggtree and others (NEXUS): supports, times and their intervals",
    "trees.nex": "sampled trees (NEXUS), at most 1,000, fewer of more than 100 leaves",
    "linkage.csv": "the tree as a SciPy linkage: child, child, time, leaves",
    "clusters.csv": "the cluster of each row (of each leaf, with groups), the probability of each cluster and of none",
    "tree.png": "the tree with supports and time intervals",
    "tree.svg": "the same as vector graphics",
    "report.html": "a page to explore in a browser; works offline",
}


def write_result(folder: Path, post: Posterior, n_clusters: int | None, title: str) -> ClusterAnswer:
    """Write `FILES`; return the clusters, as many as are suggested where their number is not given.

    Each file appears whole or not at all; the checkpoint is there until all of them are.
    """
    from ..plotting import dendrogram
    from ..report import write_report

    k = n_clusters or post.suggest_n_clusters().n_clusters
    answer, tree, page = answer_for(post, k), post.mean_tree(), {"force": True, "options": True}

    def draw(path: Path) -> None:
        figure = dendrogram(post, n_clusters=k if k > 1 else None).figure
        save_figure(figure, [path, path.with_suffix(".svg")])

    writers: dict[str, Callable[[Path], Any]] = {
        POSTERIOR: post.save,
        "tree.newick": lambda path: write_text(path, post.to_newick(tree)),
        "tree.nex": lambda path: write_text(path, annotated_tree(post, tree)),
        "trees.nex": lambda path: post.to_nexus(path, max_trees=max(10, min(1000, 100_000 // post.n))),  # some 4 MB
        "linkage.csv": lambda path: write_linkage(path, tree),
        "clusters.csv": lambda path: write_clusters(path, post, answer),
        "tree.png": draw,
        "report.html": lambda path: write_report(post, path, n_clusters=n_clusters, title=title, **page),
    }
    for name, write in writers.items():
        write(folder / name)
    return answer


def write_text(path: Path, text: str) -> None:
    """Write a file of text."""
    with replacing(path) as file:
        file.write(text)


def write_clusters(path: Path, post: Posterior, answer: ClusterAnswer) -> None:
    """Write each leaf with its cluster, counted from 1, probabilities, whether it is in no clade, and annotations."""
    columns: dict[str, Any] = {
        "cluster": answer.labels + 1,
        "probability": answer.probability.round(4),
        "in_no_clade": ["yes" if joined else "" for joined in answer.in_no_clade],
    }
    if 1 < answer.n_clusters <= 20:
        columns |= {f"cluster_{c + 1}": probability for c, probability in enumerate(answer.membership.round(4).T)}
        columns["none"] = answer.none.round(4)
    leaf = leaves_one(leaves_are(post))
    taken = {leaf, *columns}
    for annotation in annotations_of(post):
        prefix = "label_" * (annotation.name in taken or annotation.name.startswith("label_"))
        columns[f"{prefix}{annotation.name}"] = annotation.texts()
    write_csv(path, {leaf: list(post.labels), **columns})


def write_linkage(path: Path, tree: Tree) -> None:
    """Write child, child, time and leaves of each merge; row k makes node n + k."""
    frame = pandas.DataFrame(tree.to_linkage(), columns=["child_1", "child_2", "time", "leaves"])
    write_csv(path, frame.astype({"child_1": int, "child_2": int, "leaves": int}))


def write_csv(path: Path, columns: Any, float_format: str | None = None) -> None:
    """Write what `csv_text` makes of named columns."""
    with replacing(path, newline="") as file:
        file.write(csv_text(columns, float_format, "\r\n"))  # where the csv module quotes cells that contain either


def csv_text(columns: Any, float_format: str | None = None, end: str = "\n") -> str:
    """A table as CSV; no cell is one that a spreadsheet takes for a formula."""
    frame = pandas.DataFrame(columns).map(_harmless).rename(columns=_harmless)
    return frame.to_csv(index=False, float_format=float_format, lineterminator=end)


def _harmless(cell: Any) -> Any:
    """The cell, with a quote before text that begins as formulas do and is no number."""
    is_formula = isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r")) and number(cell) is None
    return f"'{cell}" if is_formula else cell


def save_figure(figure: Any, paths: Iterable[Path]) -> None:
    """Write a figure; the suffix is the format."""
    from matplotlib import pyplot

    from ..plotting import style

    for path in paths:
        with replacing(path, "wb") as file:
            style.save(figure, file, path.suffix.removeprefix(".").lower(), dpi=150)
    pyplot.close(getattr(figure, "figure", figure))
