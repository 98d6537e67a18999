"""``coaltree demo``: the main job on a small bundled data set.

Sixty wines of three cultivars (A, B, C), thirteen chemical measurements each. Leaves a tree (Newick, and a linkage
that SciPy reads), a figure and a report page. Each step is one call, and this file the shortest example of all of them.
"""

import csv
import io
from importlib.resources import files
from typing import Any

import click

from .outputs import write_tree
from .shell import commands, debug_option, force_option, out_option, output_folder, seed_option

FILES = ("tree.newick", "linkage.csv", "tree.svg", "report.html")

# Measurements come in units of their own, so that each column has a variance of its own to learn.
SETTINGS: dict[str, Any] = {
    "covariance": "diagonal",
    "sampler": "regraft",
    "n_samples": 500,
    "n_warmup": 100,
    "n_chains": 2,
}


@commands.command()
@out_option("demo-output")
@seed_option
@force_option
@debug_option
def demo(out, seed, force):
    """Cluster a small bundled data set (60 wines, 13 measurements each).

    Leaves a tree (Newick and linkage), a figure and a report page.

    \b
    Example:
      coaltree demo --out wines
    """
    folder = output_folder(out, FILES, force)
    run(folder, seed, click.echo)


def run(folder, seed, say=print):
    """Cluster the wines and leave `FILES` in `folder`."""
    from ..inference.fit import fit
    from ..report import write_report

    wines = load_wines()
    say(f"{len(wines.labels)} wines, {len(wines.features)} measurements each")
    post = fit(wines, random_state=seed, **SETTINGS)
    tree = post.mcc_tree()

    write_tree(folder, tree)
    draw(tree, post, folder / "tree.svg")
    write_report(post, folder / "report.html", n_clusters=3, title="60 wines", force=True)
    for name in FILES:
        say(f"  {folder / name}")


def load_wines():
    """The bundled data, 60 named rows of 13 columns; data/README.md says where they come from."""
    import numpy as np

    from ..model.table import Table

    text = files("coaltree").joinpath("data/wines.csv").read_text(encoding="utf-8")
    header, *rows = csv.reader(io.StringIO(text))
    values = np.array([row[1:] for row in rows], dtype=float)
    return Table(values, tuple(row[0] for row in rows), tuple(header[1:]))


def draw(tree, post, path):
    """The tree with the support of its clades and intervals of their times, in the colours of the cultivars."""
    import matplotlib
    from matplotlib.figure import Figure

    from ..plotting import dendrogram

    figure = Figure(figsize=(8, 10), layout="constrained")
    cultivars = [name[0] for name in tree.labels]
    dendrogram(tree, figure.add_subplot(), support=post, intervals=post, clusters=cultivars)
    # A fixed salt and no date: the same run leaves the same bytes.
    with matplotlib.rc_context({"svg.hashsalt": "coaltree"}):
        figure.savefig(path, metadata={"Date": None})
