"""The curves of docs/background/evidence.md: ``python docs/make_calibration_figure.py`` writes docs/calibration.png.

It draws what `FULL=1 make bench ONLY=calibration` has left in build/bench_calibration, and needs FULL=1 itself.
"""

import sys
from itertools import pairwise
from pathlib import Path

from matplotlib.figure import Figure

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from benchmarks.bench_calibration import BINS, CELLS, chosen_setting, known, reliability  # noqa: E402

COLOURS = {
    "scaled, no noise": "#b5462f",
    "scaled, normal noise": "#d9a441",
    "scaled, student": "#2f6f9f",
    "spherical, student": "#7b4ea3",
    "full, student": "#2a8c62",
    "components, student": "#444444",
    "squared_exponential, student": "#2a8c62",
    "logarithms, scaled, student": "#7b4ea3",
    "groups, scaled, normal noise": "#2a8c62",
}

setting = chosen_setting()
figure = Figure(figsize=(14, 6.5), layout="constrained")
for axes, (name, methods) in zip(figure.subplots(2, 5, sharex=True, sharey=True).flat, CELLS.items(), strict=True):
    axes.plot([0, 1], [0, 1], color="#999999", lw=1, ls=":")
    for method in methods:
        results = known(setting, name, method)
        points = [reliability(results, "clades", low, high) for low, high in pairwise(BINS)] if results else []
        points = [point for point in points if point is not None and point.count > 4]
        if points:
            said, true, error, _ = zip(*points, strict=True)
            axes.errorbar(said, true, error, color=COLOURS[method], marker="o", ms=4, lw=1.6, capsize=2, label=method)
    axes.set_title(f"{name} ({len(results)} tables)", fontsize=10)
    axes.set_xlim(0, 1.02)
    axes.set_ylim(-0.02, 1.04)
    axes.legend(fontsize=7, frameon=False, loc="upper left" if "star" not in name else "lower right")
figure.supxlabel("support that is said")
figure.supylabel("share of groups that agree with the truth")
figure.savefig(HERE / "calibration.png", dpi=110)
