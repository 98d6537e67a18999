"""The curves of docs/background/benchmarks.md: ``python docs/make_growth_figure.py`` writes docs/growth.png.

It draws what `make bench ONLY=growth FULL=1` has left in build/growth.
"""

import sys
from pathlib import Path

from matplotlib.figure import Figure

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from benchmarks.bench_growth import FULL_SIZES, SIZES, recalled  # noqa: E402

kept, steps, peers = recalled((*SIZES, *FULL_SIZES))
ours = {int(n): kept.recall(n, name) for n, name in steps}
stages: dict[str, dict[int, float]] = {}
for n, result in ours.items():
    for stage, seconds in (result or {"seconds": {}})["seconds"].items():
        stages.setdefault(stage, {})[n] = seconds
others: dict[str, dict[int, float]] = {}
for n, name in peers:
    result = kept.recall(n, name)
    if result is not None:
        others.setdefault(name, {})[int(n)] = result["seconds"]

figure = Figure(figsize=(9.5, 4.6), layout="constrained")
left, right = figure.subplots(1, 2, sharex=True, sharey=True)
for axes, curves, title in ((left, stages, "coaltree, stage by stage"), (right, others, "peers")):
    for number, (name, seconds) in enumerate(curves.items()):
        axes.loglog(list(seconds), list(seconds.values()), marker="o", ms=4, lw=1.6, color=f"C{number}", label=name)
    axes.set_title(title, fontsize=10)
    axes.set_xlabel("rows of 16 columns")
    axes.grid(color="#dddddd", lw=0.6)
    axes.legend(fontsize=7, frameon=False, loc="upper left")
left.set_ylabel("seconds of a core")
figure.savefig(HERE / "growth.png", dpi=110)
