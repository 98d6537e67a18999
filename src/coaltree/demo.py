"""``coaltree demo``: the main job on a small bundled data set.

Sixty wines of three cultivars (A, B, C), thirteen chemical measurements each. Leaves a tree (Newick, and a linkage
that SciPy reads), a figure and a report page. Each step is one call, and this file the shortest example of all of them.
"""

import csv
import io
from importlib.resources import files
from typing import Any

import numpy as np

from .fit import fit
from .tables import Frame

FILES = ("tree.newick", "linkage.csv", "tree.svg", "report.html")

# Measurements come in units of their own, so that each column has a variance of its own to learn.
SETTINGS: dict[str, Any] = {
    "covariance": "diagonal",
    "sampler": "regraft",
    "n_samples": 500,
    "n_warmup": 100,
    "n_chains": 2,
}


def run(folder, seed, say=print):
    """Cluster the wines and leave `FILES` in `folder`."""
    from .report import write_report

    wines = load_wines()
    say(f"{len(wines.index)} wines, {len(wines.columns)} measurements each")
    post = fit(wines, random_state=seed, **SETTINGS)
    tree = post.mcc_tree()

    write_tree(folder, tree)
    draw(tree, post, folder / "tree.svg")
    write_report(post, folder / "report.html", n_clusters=3, title="60 wines", force=True)
    for name in FILES:
        say(f"  {folder / name}")


def load_wines():
    """The bundled data, 60 named rows of 13 columns; data/README.md says where they come from."""
    text = files("coaltree").joinpath("data/wines.csv").read_text(encoding="utf-8")
    header, *rows = csv.reader(io.StringIO(text))
    values = np.array([row[1:] for row in rows], dtype=float)
    return Frame(values, index=tuple(row[0] for row in rows), columns=tuple(header[1:]))


def write_tree(folder, tree):
    """Leave tree.newick and linkage.csv (child, child, time, leaves; row k makes node n + k) in `folder`."""
    (folder / "tree.newick").write_text(tree.to_newick() + "\n", encoding="utf-8")
    with open(folder / "linkage.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["child_1", "child_2", "time", "leaves"])
        rows.writerows([int(a), int(b), repr(float(time)), int(size)] for a, b, time, size in tree.to_linkage())


def draw(tree, post, path):
    """The tree with the support of its clades and intervals of their times, in the colours of the cultivars."""
    import matplotlib
    from matplotlib.figure import Figure

    from .plotting import dendrogram

    figure = Figure(figsize=(8, 10), layout="constrained")
    cultivars = [name[0] for name in tree.labels]
    dendrogram(tree, figure.add_subplot(), support=post, intervals=post, clusters=cultivars)
    # A fixed salt and no date: the same run leaves the same bytes.
    with matplotlib.rc_context({"svg.hashsalt": "coaltree"}):
        figure.savefig(path, metadata={"Date": None})
