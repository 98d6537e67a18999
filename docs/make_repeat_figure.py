"""The curves of groups that repeat: ``python docs/make_repeat_figure.py`` writes docs/repeat.png.

It draws the first table of docs/measured/benchmarks_repeat.txt, which `FULL=1 make bench ONLY=repeat` prints.
"""

import re
from pathlib import Path

from matplotlib.figure import Figure

HERE = Path(__file__).parent
COLOURS = {"plain": "#b5462f", "BP": "#2a8c62"}
LABELS = {"BP": "bootstrap"}
MIN_GROUPS = 10  # at a point that is drawn
ROW = re.compile(r"^(?P<table>.+): (?P<method>[^:]+) \((?P<halves>\d+)\)  ")
POINT = re.compile(r"(\d\.\d+), (\d\.\d+) ± (\d\.\d+) \[(\d+\.\d+)\]")  # said, repeated, its error, groups per half


def points_of(lines):
    """{table: {method: [(said, repeated, standard error)]}} of the first table that is printed."""
    found = {}
    for line in lines:
        row = ROW.match(line)
        if row is None:
            if found:
                return found
            continue
        points = [tuple(map(float, point)) for point in POINT.findall(line)]
        points = [point[:3] for point in points if 2 * int(row["halves"]) * point[3] >= MIN_GROUPS]
        found.setdefault(row["table"], {})[row["method"]] = points
    return found


def draw(found):
    figure = Figure(figsize=(10, 2.6), layout="constrained")
    for axes, (name, methods) in zip(
        figure.subplots(1, len(found), sharex=True, sharey=True), found.items(), strict=True
    ):
        axes.plot([0, 1], [0, 1], color="#999999", lw=1, ls=":")
        for method, colour in COLOURS.items():
            if methods.get(method):
                axes.errorbar(
                    *zip(*methods[method], strict=True),
                    color=colour,
                    marker="o",
                    ms=4,
                    lw=1.6,
                    capsize=2,
                    label=LABELS.get(method, method),
                )
        axes.set_title(name.replace("from the ", ""), fontsize=9)
        axes.set_xlim(0.5, 1.02)
        axes.set_ylim(-0.02, 1.04)
    figure.axes[0].legend(fontsize=7, frameon=False, loc="upper left")
    figure.supxlabel("support that is said in one half of the columns", fontsize=9)
    figure.axes[0].set_ylabel("found in the other half", fontsize=9)
    return figure


if __name__ == "__main__":
    lines = (HERE / "measured" / "benchmarks_repeat.txt").read_text().splitlines()
    draw(points_of(lines)).savefig(HERE / "repeat.png", dpi=110)
