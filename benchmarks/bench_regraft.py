"""Regrafting: a sweep beside an average linkage, updates as n grows, seconds per effective draw.

python -m benchmarks regraft
"""

import time

import numpy as np
from scipy.cluster.hierarchy import linkage

import coaltree as ct
from benchmarks.timing import best_of, duration, side_by_side, table
from coaltree.model.process.whitened import Problem
from coaltree.posterior.diagnostics.convergence import topology_ess_of
from coaltree.posterior.of_trees import posterior_of_trees
from coaltree.posterior.trees.clades import clade_table
from coaltree.samplers.regraft.nearest import neighbor_graphs


def simulated(n, d):
    """A `Problem` with data from the model (Φ = I), and the tree they came from."""
    X, tree = ct.simulate(n, d, random_state=1)
    return Problem(np.ascontiguousarray(X), d), tree


def sweep_function(problem, tree, sampler, lists):
    """A function that sweeps once, from where its last call ended."""
    rng = np.random.default_rng(0)
    state = [(tree.children, tree.times), {}]

    def sweep():
        children, times, info = sampler.step(problem, state[0], rng, neighbors=lists)
        state[:] = (children, times), info

    return sweep, state


def sweep_against_linkage():
    print("One local sweep (2n - 2 updates, caches made anew), beside SciPy's average linkage of the same vectors")
    rows = []
    for n, d, goal, aim in ((2000, 32, 1.0, 0.5), (10_000, 16, 0.15, 0.15)):
        problem, tree = simulated(n, d)
        sampler = ct.Regraft("local")
        lists = sampler.neighbors(problem, np.random.default_rng(0))
        sweep, state = sweep_function(problem, tree, sampler, lists)
        seconds = side_by_side(
            {"sweep": sweep, "SciPy": lambda W=problem.W: linkage(W, "average")}, 9 if n < 5000 else 3
        )
        ratio = seconds["sweep"] / seconds["SciPy"]
        info = state[1]
        rows.append(
            (
                f"n = {n}, d = {d}",
                duration(seconds["sweep"]),
                duration(seconds["sweep"] / (2 * n - 2)),
                f"{info['accepted']:.2f}",
                f"{info['candidates']:.0f}",
                duration(seconds["SciPy"]),
                ratio,
                goal,
                word(ratio <= goal) + (f", aim {aim}" if aim < goal else ""),
            )
        )
    table(("", "sweep", "an update", "moved", "candidates", "SciPy", "ratio", "goal", ""), rows)


def updates_as_n_grows():
    print("\nAn update as n grows, d = 16 (local, from the true tree), and the neighbour graph made once")
    rows, first = [], 0.0
    for n in (1000, 10_000, 100_000):
        problem, tree = simulated(n, 16)
        sampler = ct.Regraft("local")
        started = time.perf_counter()
        lists = neighbor_graphs(problem.W, 16, np.random.default_rng(0))
        listing = time.perf_counter() - started
        sweep, _ = sweep_function(problem, tree, sampler, lists)
        update = best_of(sweep, 9 if n < 5000 else 3) / (2 * n - 2)
        first = first or update
        goal = (3.0, word(update / first <= 3.0)) if n == 100_000 else ("", "")
        rows.append((f"n = {n}", duration(update), update / first, *goal, duration(listing)))
    table(("", "an update", "times n = 1000", "goal", "", "lists"), rows)


def effective_draws():
    print("\nSeconds per effective draw, both candidate rules (sweeps alone; ESS of log joint, of the topology)")
    rows = []
    for n, d, n_sweeps in ((64, 8, 2000), (256, 8, 1000), (256, 64, 1000), (1000, 16, 400)):
        problem, tree = simulated(n, d)
        for rule in ("all", "local"):
            if rule == "all" and n > 256:
                continue
            sampler = ct.Regraft(rule, start=tree)
            sampler.run(problem, np.random.default_rng(0), n_samples=1, n_warmup=1)
            started = time.perf_counter()
            draws = sampler.run(problem, np.random.default_rng(0), n_samples=n_sweeps, n_warmup=20)
            seconds = time.perf_counter() - started
            chain = np.zeros(n_sweeps, int)
            post = posterior_of_trees(draws.children, draws.times, log_joint=draws.log_joint, chain=chain)
            rows.append(
                (
                    f"n = {n}, d = {d}, {rule}",
                    duration(seconds / n_sweeps),
                    post.ess / n_sweeps,
                    topology_ess_of(post) / n_sweeps,
                    clade_ess(post) / n_sweeps,
                    duration(seconds / post.ess),
                    duration(seconds / topology_ess_of(post)),
                )
            )
    header = (
        "",
        "a sweep",
        "ESS/sweep: log joint",
        "topology",
        "slowest tenth of clades",
        "s per: log joint",
        "topology",
    )
    table(header, rows)


def clade_ess(post, share=0.1):
    """The ESS that a tenth of the uncertain clades (support 0.1 to 0.9) fall below."""
    from coaltree.posterior.diagnostics.ess import series_ess

    ids, counts = np.unique(clade_table(post).ids, return_counts=True)
    uncertain = ids[(counts > 0.1 * len(post)) & (counts < 0.9 * len(post))]
    chosen = np.random.default_rng(0).permutation(uncertain)[:100]
    return float(
        np.quantile([series_ess((clade_table(post).ids == c).any(axis=1) * 1.0, post.draws) for c in chosen], share)
    )


def word(reached):
    return "reached" if reached else "NOT reached"


def run():
    sweep_against_linkage()
    updates_as_n_grows()
    effective_draws()


if __name__ == "__main__":
    run()
