"""``coaltree demo``: the main job on a small bundled data set.

Sixty wines of three cultivars (A, B, C), thirteen chemical measurements each. Leaves a tree (Newick, and a linkage
that SciPy reads), a figure and a report page. Each step is one call, and this file the shortest example of all of them.
"""

import csv
import html
import io
import platform
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import numpy as np

from . import __version__
from .fit import fit

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
    names, columns, X = load_wines()
    say(f"{len(names)} wines, {len(columns)} measurements each")
    post = fit(X, random_state=seed, **SETTINGS)
    tree = post.mcc_tree()
    support, intervals = post.clade_support(tree), post.node_times(tree, level=0.9)
    tree = tree.relabel(names)

    write_tree(folder, tree)
    picture = draw(tree, support, intervals)
    (folder / "tree.svg").write_text(picture, encoding="utf-8")
    (folder / "report.html").write_text(page(tree, support, post, picture), encoding="utf-8")
    for name in FILES:
        say(f"  {folder / name}")


def load_wines():
    """Names (60), columns (13) and values (60, 13) of the bundled data; data/README.md says where they come from."""
    text = files("coaltree").joinpath("data/wines.csv").read_text(encoding="utf-8")
    header, *rows = csv.reader(io.StringIO(text))
    return [row[0] for row in rows], header[1:], np.array([row[1:] for row in rows], dtype=float)


def write_tree(folder, tree):
    """Leave tree.newick and linkage.csv (child, child, time, leaves; row k makes node n + k) in `folder`."""
    (folder / "tree.newick").write_text(tree.to_newick() + "\n", encoding="utf-8")
    with open(folder / "linkage.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["child_1", "child_2", "time", "leaves"])
        rows.writerows([int(a), int(b), repr(float(time)), int(size)] for a, b, time, size in tree.to_linkage())


def draw(tree, support, intervals):
    """The tree as SVG text, in the colours of the cultivars."""
    import matplotlib
    from matplotlib.figure import Figure

    from .plotting import dendrogram

    figure = Figure(figsize=(8, 10), layout="constrained")
    cultivars = [name[0] for name in tree.labels]
    dendrogram(tree, figure.add_subplot(), support=support, intervals=intervals, clusters=cultivars)
    out = io.StringIO()
    # A fixed salt and no date: the same run leaves the same bytes.
    with matplotlib.rc_context({"svg.hashsalt": "coaltree", "svg.fonttype": "none"}):
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def page(tree, support, post, picture):
    """A page that needs no other file: the figure, what the posterior says, the Newick text, settings and versions."""
    sure = int(np.sum(support[:-1] >= 0.95))
    said = {
        "draws": f"{len(post)} trees, worth {post.ess:.0f} independent ones",
        "clades with a probability of 0.95 or more": f"{sure} of {tree.n - 2}",
        "disagreement of the chains on clade frequencies": f"{post.split_frequency_sd():.3f} (below 0.05 is good)",
    }
    packages = {name: version(name) for name in ("numpy", "scipy", "numba")}
    made_with = {name: str(value) for name, value in SETTINGS.items()} | {"seed": post.info["seed"]}
    made_with |= {"coaltree": __version__, "python": platform.python_version()} | packages
    svg = picture[picture.index("<svg") :]
    return PAGE.format(picture=svg, said=_rows(said), made_with=_rows(made_with), newick=html.escape(tree.to_newick()))


def _rows(table):
    return "\n".join(f"<tr><th>{html.escape(k)}</th><td>{html.escape(str(v))}</td></tr>" for k, v in table.items())


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>coaltree: 60 wines</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; color: #222; }}
svg {{ width: 100%; height: auto; }}
th {{ text-align: left; vertical-align: top; padding-right: 2rem; font-weight: normal; color: #666; }}
pre {{ background: #f5f5f5; padding: 1rem; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 0.8rem; }}
</style>
</head>
<body>
<h1>60 wines</h1>
<p>A tree over sixty wines from thirteen chemical measurements of each. The letter of a name, and its colour, is the
cultivar, which the clustering did not see. Numbers on branches are the posterior probabilities of the groups in
percent, bars the 90 % intervals of the times when they merge.</p>
{picture}
<h2>What the posterior says</h2>
<table>{said}</table>
<h2>Made with</h2>
<table>{made_with}</table>
<h2>Newick</h2>
<pre>{newick}</pre>
</body>
</html>
"""
