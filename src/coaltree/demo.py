"""``coaltree demo``: the main job on a small bundled data set, through the public functions alone.

Sixty wines of three cultivars (A, B, C), thirteen chemical measurements each, every column scaled to mean 0 and
variance 1. Leaves the tree (Newick, and a linkage that SciPy reads), a figure, and a report page.
"""

import csv
import html
import io
import platform
from importlib.metadata import version
from importlib.resources import files

import numpy as np

from . import __version__
from .tree import Tree

FILES = ("tree.newick", "linkage.csv", "tree.svg", "report.html")


def run(folder, seed, say=print):
    """Cluster the wines and leave `FILES` in `folder`."""
    names, columns, X = load_wines()
    say(f"{len(names)} wines, {len(columns)} measurements")
    tree, settings = cluster((X - X.mean(axis=0)) / X.std(axis=0), names, seed)
    write_tree(folder, tree)
    picture = draw(tree)
    (folder / "tree.svg").write_text(picture, encoding="utf-8")
    (folder / "report.html").write_text(page(tree, settings, picture), encoding="utf-8")
    for name in FILES:
        say(f"  {folder / name}")


def load_wines():
    """Names (60), columns (13) and values (60, 13) of the bundled data; data/README.md says where they come from."""
    text = files("coaltree").joinpath("data/wines.csv").read_text(encoding="utf-8")
    header, *rows = csv.reader(io.StringIO(text))
    return [row[0] for row in rows], header[1:], np.array([row[1:] for row in rows], dtype=float)


def cluster(X, names, seed):
    """A tree over the rows of X, and what it was made with."""
    # A stop-gap until the samplers are there: average linkage, a tree but not a posterior.
    from scipy.cluster.hierarchy import average

    return Tree.from_linkage(average(X), names), {"method": "average linkage (stop-gap)", "seed": seed}


def write_tree(folder, tree):
    """Leave tree.newick and linkage.csv (child, child, time, leaves; row k makes node n + k) in `folder`."""
    (folder / "tree.newick").write_text(tree.to_newick() + "\n", encoding="utf-8")
    with open(folder / "linkage.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["child_1", "child_2", "time", "leaves"])
        rows.writerows([int(a), int(b), repr(float(time)), int(size)] for a, b, time, size in tree.to_linkage())


def draw(tree):
    """The dendrogram as SVG text; a leaf has the colour of the first letter of its name."""
    import matplotlib
    from matplotlib.figure import Figure
    from scipy.cluster.hierarchy import dendrogram

    figure = Figure(figsize=(8, 10), layout="constrained")
    ax = figure.add_subplot()
    dendrogram(
        tree.to_linkage(), labels=tree.labels, orientation="left", ax=ax, color_threshold=0, above_threshold_color="0.3"
    )
    colours = dict(zip("ABC", ("#0072b2", "#d55e00", "#009e73"), strict=True))
    for text in ax.get_yticklabels():
        text.set(color=colours[text.get_text()[0]], fontsize=8)
    ax.set(xlabel="time before the leaves", title="60 wines")
    ax.spines[["top", "left", "right"]].set_visible(False)
    out = io.StringIO()
    # A fixed salt and no date: the same run leaves the same bytes.
    with matplotlib.rc_context({"svg.hashsalt": "coaltree", "svg.fonttype": "none"}):
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>coaltree: 60 wines</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; color: #222; }}
svg {{ width: 100%; height: auto; }}
th {{ text-align: left; padding-right: 2rem; font-weight: normal; color: #666; }}
pre {{ background: #f5f5f5; padding: 1rem; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 0.8rem; }}
</style>
</head>
<body>
<h1>60 wines</h1>
<p>Thirteen chemical measurements of sixty wines, scaled column by column. The letter of a name, and its colour, is
the cultivar, which the clustering did not see.</p>
{picture}
<h2>Newick</h2>
<pre>{newick}</pre>
<h2>Made with</h2>
<table>{settings}</table>
</body>
</html>
"""


def page(tree, settings, picture):
    """A page that needs no other file: the figure, the Newick text, settings and versions."""
    packages = {name: version(name) for name in ("numpy", "scipy", "numba")}
    made_with = settings | {"coaltree": __version__, "python": platform.python_version()} | packages
    rows = "\n".join(f"<tr><th>{html.escape(k)}</th><td>{html.escape(str(v))}</td></tr>" for k, v in made_with.items())
    svg = picture[picture.index("<svg") :]
    return PAGE.format(picture=svg, newick=html.escape(tree.to_newick()), settings=rows)
