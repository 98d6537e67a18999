"""A sweep over a large tree in two threads: seconds beside a sweep of the whole tree, and how well both mix.

python -m benchmarks threads

Seconds are by the clock, and those of a core, all threads together. All that a sweep in parts does is counted: drawing
values at the cut, sharing out, putting together, and updates of the whole tree in between. It starts from the tree that
the rows were drawn from, which is a draw from their posterior: the states are those of a chain that has warmed up.
"""

import time

import numpy as np

import coaltree as ct
from coaltree._runtime.threads import at_most_threads
from coaltree.model.coalescent import log_prior
from coaltree.model.problem import Problem
from coaltree.posterior.diagnostics import series_ess
from coaltree.samplers.regraft.regraft import Regraft

from .timing import duration, table

ROWS, COLUMNS, NOISES, SWEEPS = 100_000, 16, (0.0, 0.05), 4
MIXING_ROWS, MIXING_COLUMNS, MIXING_SWEEPS, MIXING_WARMUP = 2_000, 8, 400, 20
BRIEFLY = {"ROWS": 5_000, "SWEEPS": 3, "MIXING_ROWS": 500, "MIXING_SWEEPS": 100}
GOAL = 1.6


class Whole(Regraft):
    """Sweeps over the whole tree, whatever its size."""

    _many = 10**12


class InParts(Regraft):
    """Sweeps in parts, whatever the size."""

    _many = 1


def simulated(n, d, noise):
    X, tree = ct.simulate(n, d, noise=noise, random_state=1)
    return Problem(np.ascontiguousarray(X), None, d, 0.0, noise), tree


def seconds_of_sweeps():
    print(f"A sweep of {ROWS:,} × {COLUMNS} rows from the model, the fastest of {SWEEPS} taken in turns")
    ways = {
        "whole, one thread": (Whole("local"), 1),
        "in parts, one thread": (InParts("local"), 1),
        "in parts, two threads": (InParts("local"), 2),
    }
    rows = []
    for noise in NOISES:
        problem, tree = simulated(ROWS, COLUMNS, noise)
        lists = Regraft("local").neighbors(problem, np.random.default_rng(0))
        states = {name: ((tree.children, tree.times), np.random.default_rng(0)) for name in ways}
        seconds = {name: [] for name in ways}
        for _ in range(SWEEPS + 1):
            for name, (sampler, n_threads) in ways.items():
                merges, rng = states[name]
                began, began_core = time.perf_counter(), time.process_time()
                with at_most_threads(n_threads):
                    *merges, _ = sampler.step(problem, merges, rng, neighbors=lists)
                seconds[name].append((time.perf_counter() - began, time.process_time() - began_core))
                states[name] = tuple(merges), rng
        one, two = (states[name][0] for name in list(ways)[1:])
        same = all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
        clock = {name: min(pair[0] for pair in pairs[1:]) for name, pairs in seconds.items()}
        for name, pairs in seconds.items():
            rows.append(
                (
                    f"noise {noise}, {name}",
                    duration(clock[name]),
                    duration(min(pair[1] for pair in pairs[1:])),
                    clock["whole, one thread"] / clock[name],
                    clock["in parts, one thread"] / clock[name],
                    ("same bits" if same else "OTHER BITS") if "two" in name else "",
                )
            )
    table(("", "clock", "core", "times whole", f"times one thread (goal {GOAL})", ""), rows)


def effective_draws():
    size = f"{MIXING_ROWS:,} × {MIXING_COLUMNS}"
    print(f"\nEffective draws of {MIXING_SWEEPS} sweeps of {size} rows, and of a second of a core")
    rows = []
    for noise in NOISES:
        problem, tree = simulated(MIXING_ROWS, MIXING_COLUMNS, noise)
        for name, sampler in (("whole", Whole("local", start=tree)), ("in parts", InParts("local", start=tree))):
            with at_most_threads(1):
                sampler.run(problem, np.random.default_rng(0), n_samples=1, n_warmup=1)
                began = time.process_time()
                draws = sampler.run(problem, np.random.default_rng(0), n_samples=MIXING_SWEEPS, n_warmup=MIXING_WARMUP)
                seconds = time.process_time() - began
            found = [draws.log_joint, log_prior(draws.times), draws.times[:, -1], *lineages(draws.times).T]
            ess = [series_ess(series, np.zeros(MIXING_SWEEPS, int)) for series in found]
            leaves = parents_of_leaves(draws)
            of_leaves = [series_ess(series, np.zeros(MIXING_SWEEPS, int)) for series in leaves.T]
            ess.append(float(np.median(of_leaves)))
            rows.append((f"noise {noise}, {name}", *(f"{one:.0f}" for one in ess), ess[0] / seconds, ess[-1] / seconds))
    header = ("", "log joint", "log prior", "root", "k(2/n)", "k(2/√n)", "k(0.2)", "a leaf's parent")
    table((*header, "log joint/s", "parent/s"), rows)


def lineages(times):
    """How many lineages are left at three times, (T, 3)."""
    n = times.shape[1] + 1
    return np.stack([n - (times <= u).sum(axis=1) for u in (2.0 / n, 2.0 / np.sqrt(n), 0.2)], axis=1)


def parents_of_leaves(draws, n_leaves=100):
    """Log times of the parents of some leaves, (T, leaves)."""
    n = draws.times.shape[1] + 1
    found = np.empty((len(draws.times), n))
    for out, children, times in zip(found, draws.children, draws.times, strict=True):
        for side in range(2):
            is_leaf = children[:, side] < n
            out[children[is_leaf, side]] = np.log(times[is_leaf])
    return found[:, :: max(1, n // n_leaves)]


def run():
    seconds_of_sweeps()
    effective_draws()


if __name__ == "__main__":
    run()
