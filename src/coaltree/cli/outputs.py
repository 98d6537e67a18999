"""The files that ``coaltree fit`` leaves: written to a temporary folder first, so that all appear or none does."""

import contextlib
import csv
import math
import os
import shutil
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._runtime.atomic_write import clear_away, move_into_place
from ..errors import CoaltreeWarning
from .shell import POSTERIOR

if TYPE_CHECKING:
    from ..posterior.clusters.answer import ClusterAnswer
    from ..posterior.clusters.n_clusters import ClusterSuggestion
    from ..posterior.posterior import Posterior
    from ..tree.tree import Tree

Doing = Callable[[str], contextlib.AbstractContextManager[None]]  # is told what takes time

TREES = "trees.nex"  # the only file that may be left out
FILES = {
    POSTERIOR: "all samples, for coaltree.load and the other commands",
    "tree.newick": "the mean tree, nodes labelled with their transfer support",
    "tree.nex": "the same for FigTree, ggtree and others (NEXUS): supports, times and their intervals",
    TREES: "sampled trees (NEXUS), at most 1,000, and of many leaves fewer",
    "linkage.csv": "the tree as a SciPy linkage: child, child, time, leaves (fcluster may peel off side branches)",
    "clusters.csv": "the cluster of each row (of each leaf, with groups), with probabilities and side branches",
    "tree.png": "the tree with supports and time intervals",
    "tree.svg": "the same as vector graphics",
    "report.html": "a page to explore in a browser; works offline",
}

WRITING = "writing"  # the folder that files are complete in before any of them is shown
MOST_COLUMNS = 20  # clusters whose probabilities are all written
MOST_IN_LINE, MOST_IN_LEGEND = 3, 30  # entries (clusters, side branches) in a line above the figure, or below it
NAMED = 150  # leaves up to which the figure has room for every name
CAPTION = "  (at branches: support in %; bars: 90 % intervals; triangles: clades, folded, and their number of leaves)"
LEAVES_IN_TREES = 2_000_000  # of all sampled trees in a file; one takes some 40 bytes
LARGE = 100  # leaves above which a tree is drawn on a square-root time scale


def write_all(
    folder: Path,
    post: "Posterior",
    answer: "ClusterAnswer",
    title: str | None,
    *,
    suggestion: "ClusterSuggestion | None" = None,
    with_trees: bool = True,
    doing: Doing = lambda what: contextlib.nullcontext(),
) -> dict[str, str]:
    """Write every file of `FILES` into `folder`, replacing what is there, and return what each one is.

    `suggestion` is where the number of clusters comes from, if nobody chose it. The sampled trees, which are large, are
    left out unless `with_trees`. Each stage is named to `doing`, which may show it.
    """
    files = {name: what for name, what in FILES.items() if with_trees or name != TREES}
    clear_away(folder, [WRITING, *FILES])
    aside = folder / f".{WRITING}.{os.getpid()}.tmp"
    shutil.rmtree(aside, ignore_errors=True)  # of a process that had our number
    aside.mkdir()
    try:
        _write(aside, post, answer, title, suggestion, with_trees, doing)
        for name in FILES:
            if name in files:
                move_into_place(aside / name, folder / name)
            else:
                (folder / name).unlink(missing_ok=True)  # of another run
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return files


def _write(folder, post, answer, title, suggestion, with_trees, doing):
    with doing("computing the mean tree"):
        tree = post.mean_tree()
    with doing("saving the posterior"):
        post.save(folder / POSTERIOR)
    if with_trees:
        with doing("writing the sampled trees"):
            post.to_nexus(folder / TREES, max_trees=trees_to_write(post.n))
    with doing("writing the tree with its supports, and the clusters"):
        (folder / "tree.newick").write_text(post.annotated_tree(tree, "newick"), encoding="utf-8")
        (folder / "tree.nex").write_text(post.annotated_tree(tree, "nexus"), encoding="utf-8")
        write_linkage(folder / "linkage.csv", tree)
        write_clusters(folder / "clusters.csv", post, answer)
    with doing("drawing the figure"):
        pictures = [folder / "tree.png", folder / "tree.svg"]
        draw(lambda ax: draw_tree(ax, tree, post, answer), pictures, (8.0, height_for(tree.n)))
    with doing("writing the report page"):
        from ..report import write_report

        write_report(post, folder / "report.html", n_clusters=suggestion or answer.n_clusters, title=title)


def trees_to_write(n_leaves: int) -> int:
    """How many sampled trees a file has room for: 1,000, or as many as stay below some 100 MB, but ten."""
    return max(10, min(1000, LEAVES_IN_TREES // n_leaves))


def write_clusters(path: Path, post: "Posterior", answer: "ClusterAnswer") -> None:
    """Write each leaf's cluster, counted from 1, its probability, and those of all clusters where they are few.

    `side_branch` is "yes" for leaves that hang beside the core of their cluster, and empty for the others.
    """
    from ..posterior.clusters.answer import leaves_are, leaves_one
    from ..posterior.leaf_annotations import annotations_of

    known = annotations_of(post)
    k = answer.n_clusters
    of_all = answer.membership if 1 < k <= MOST_COLUMNS else answer.membership[:, :0]
    header = [
        leaves_one(leaves_are(post)),
        "cluster",
        "probability",
        "side_branch",
        *(f"cluster_{c + 1}" for c in range(of_all.shape[1])),
    ]
    header += _names_besides(header, [column.name for column in known])
    about = zip(*(column.texts() for column in known), strict=True) if known else [()] * post.n
    beside = ["yes" if is_beside else "" for is_beside in answer.side_branch.tolist()]
    numbers = zip(post.labels, answer.labels.tolist(), answer.probability, beside, of_all, about, strict=True)
    rows = (
        [name, label + 1, f"{own:.4g}", side, *(f"{share:.4g}" for share in others), *texts]
        for name, label, own, side, others, texts in numbers
    )
    write_csv(path, header, rows)


def _names_besides(taken, names):
    """Names of further columns: "label_" goes before one that the table has already, so that each is there once."""
    found: list[str] = []
    for name in names:
        new = name
        while new in taken or new in found or (new != name and new in names):
            new = f"label_{new}"
        found.append(new)
    return found


def write_linkage(path: Path, tree: "Tree") -> None:
    """Write child, child, time and leaves of each merge; row k makes node n + k."""
    rows = ([int(a), int(b), repr(float(time)), int(size)] for a, b, time, size in tree.to_linkage())
    write_csv(path, ["child_1", "child_2", "time", "leaves"], rows)


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
    """Inches that the names of the leaves need, within reason: all of them up to `NAMED` leaves."""
    most = 14.0 if n_leaves > NAMED else max(14.0, 0.112 * n_leaves)
    return min(max(2.5, 0.17 * n_leaves), most)


def draw_tree(ax: Any, tree: "Tree", post: "Posterior", answer: "ClusterAnswer") -> None:
    """Draw the tree with supports, intervals and clusters; the many recent merges of a large one get more room."""
    from matplotlib.lines import Line2D

    from ..plotting import dendrogram
    from ..plotting.style import Direction, add_legend, add_legend_outside, color_of
    from ..posterior.clusters.stability import similarity
    from ..posterior.leaf_annotations import annotations_of

    scale = "linear" if tree.n <= LARGE else "sqrt"
    k = answer.n_clusters
    in_line = k + bool(answer.side_branch.any()) <= MOST_IN_LINE  # a legend beside that of supports and side branches
    dendrogram(
        tree,
        ax,
        support=post,
        intervals=post,
        clusters=answer.labels if k > 1 else None,
        side_branches=answer.side_branch,
        number_clusters=not in_line,
        time_scale=scale,
        time_label=f"time{CAPTION if tree.n > NAMED else ''}",
        row_colors=annotations_of(post) or None,
    )
    if 1 < k <= MOST_IN_LEGEND:
        said = zip(answer.stability.words, answer.stability.jaccard, strict=True)
        names = [f"cluster {c + 1}: {word} ({similarity(jaccard)})" for c, (word, jaccard) in enumerate(said)]
        handles = [Line2D([], [], color=color_of(c), lw=2, label=name) for c, name in enumerate(names)]
        if in_line:
            add_legend(ax, Direction.of("left"), handles)
        else:
            add_legend_outside(ax, handles)


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
