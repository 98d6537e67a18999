"""How far from the truth samplers stay: log p(X, tree) less that of the true tree, data from the model.

A draw from the posterior is, on average over data sets, as probable as the truth: 0. Prints a Markdown table of where
regrafting stands after ten sweeps from average linkage, how many sweeps other starts need, and where the merge-by-merge
samplers and the greedy ones end.

python -m benchmarks.table_starts [SIZE …]        for example 64x64 128x8 2000x32
"""

import sys
import time

import numpy as np

import coaltree as ct
from coaltree.model.process.coalescent import log_prior
from coaltree.model.process.diffusion import log_likelihood
from coaltree.model.process.whitened import Problem
from coaltree.samplers.starts import first_tree

SIZES = {"64x64": 20, "128x128": 12, "256x256": 8, "128x8": 12, "2000x32": 4, "10000x16": 2}  # and data sets of each
STARTS = ("average", "insertion", "greedy", "prior")
OTHERS = {
    "one MPost1 particle": lambda: ct.MPost1(4, resample_below=0.0),
    "one MPost2 particle": lambda: ct.MPost2(4, resample_below=0.0),
    "one SMC1 particle": lambda: ct.SMC1(4, resample_below=0.0),
    "SMC with 100 MPost1 particles": lambda: ct.MPost1(100),
    "Insertion, 100 particles": lambda: ct.Insertion(100),
    "MGreedy": ct.MGreedy,
    "GreedyTeh": ct.GreedyTeh,
}
SWEEPS = 40


def log_joint(problem, children, times):
    return float(log_prior(times)) + log_likelihood(children, times, problem.W, problem.d)


def one_data_set(n, d, seed):
    """Differences from the truth: a trace of SWEEPS for each start, a number for each other sampler."""
    X, tree = ct.simulate(n, d, random_state=seed)
    problem = Problem(np.ascontiguousarray(X), d)
    truth = log_joint(problem, tree.children, tree.times)
    found = {}
    for start in STARTS:
        if (start == "greedy" and n > 2000) or (start == "prior" and n > 256):
            continue
        rng = np.random.default_rng([seed, 1])  # not the generator that made the tree
        began = time.perf_counter()
        first = first_tree(problem, start, rng)
        seconds = time.perf_counter() - began
        draws = ct.Regraft(start=first).run(problem, rng, n_samples=SWEEPS, n_warmup=0)
        found[start] = np.append(log_joint(problem, *first), draws.log_joint) - truth, seconds
    others = {}
    for name, make in OTHERS.items():
        if n > 256 and name not in ("MGreedy", "GreedyTeh", "one MPost1 particle"):
            continue
        if n > 2000:
            continue
        draws = make().run(problem, np.random.default_rng([seed, 2]))
        weights = (
            np.exp(draws.log_weights - draws.log_weights.max()) if "one" not in name else np.ones(len(draws.times))
        )
        others[name] = np.average(draws.log_joint, weights=weights) - truth
    return found, others


def summary(values):
    values = np.array(values)
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    digits = 1 if abs(values.mean()) < 100 else 0
    return f"{values.mean():+.{digits}f} ± {error:.{digits}f}"


def row(size, n_sets):
    n, d = map(int, size.split("x"))
    sets = [one_data_set(n, d, seed) for seed in range(n_sets)]
    settled = [found["average"][0][11:].mean() for found, _ in sets]
    cells = {"data sets": n_sets, "regrafting, sweeps 11 to 40 from average linkage": summary(settled)}
    for start in STARTS:
        if start not in sets[0][0]:
            cells[f"{start}: itself"] = cells[f"{start}: sweeps needed"] = "–"
            continue
        cells[f"{start}: itself"] = summary([found[start][0][0] for found, _ in sets])
        needed = []
        for (found, _), level in zip(sets, settled, strict=True):
            spread = found["average"][0][11:].std()
            there = np.abs(found[start][0][1:] - level) < 2.5 * spread
            needed.append(int(np.argmax(there)) + 1 if there.any() else SWEEPS + 1)
        worst = max(needed)
        cells[f"{start}: sweeps needed"] = f"{int(np.median(needed))} (most {worst if worst <= SWEEPS else '> 40'})"
    for name in OTHERS:
        cells[name] = summary([others[name] for _, others in sets]) if name in sets[0][1] else "–"
    return cells


def run(sizes=None):
    sizes = sizes or list(SIZES)
    columns = {}
    for size in sizes:
        began = time.perf_counter()
        columns[size] = row(size, SIZES.get(size, 4))
        print(f"{size}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    print("| log joint less that of the truth | " + " | ".join(f"n, d = {s.replace('x', ', ')}" for s in sizes) + " |")
    print("| --- |" + " ---: |" * len(sizes))
    for name in next(iter(columns.values())):
        print(f"| {name} | " + " | ".join(str(columns[size][name]) for size in sizes) + " |")


if __name__ == "__main__":
    run(sys.argv[1:])
