"""Summaries of a large posterior: seconds and peak memory, beside DendroPy where it does the same.

python benchmarks/bench_summaries.py [n_trees] [n_leaves]
"""

import resource
import sys
import tempfile
import time

import numpy as np

import coaltree as ct
from coaltree.model.process.coalescent import simulate_tree
from coaltree.posterior.diagnostics.convergence import split_frequency_sd_of, topology_ess_of
from coaltree.posterior.of_trees import posterior_of_trees
from coaltree.posterior.trees import clades
from coaltree.posterior.trees.clades import clade_table


def perturbed_trees(n_trees, n, rng, n_moves=20):
    """A chain of trees with coalescent times: a step exchanges pairs of subtrees, so that clades come and go."""
    children = np.empty((n_trees, n - 1, 2), np.int32)
    current = simulate_tree(n, rng).children.copy()
    for t in range(n_trees):
        for _ in range(n_moves):
            a, b = rng.integers(0, n - 1, 2)
            i, j = rng.integers(0, 2, 2)
            c, d = current[a, i], current[b, j]
            if max(c, d) < n + min(a, b):  # both exist before either merge: exchanging them keeps a tree
                current[a, i], current[b, j] = d, c
        children[t] = current
    gaps = rng.exponential(size=(n_trees, n - 1)) / (np.arange(n, 1, -1) * np.arange(n - 1, 0, -1) / 2)
    return children, np.cumsum(gaps, axis=1)


def timed(name, work):
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{name:34s} {seconds:8.2f} s   peak {peak:6.0f} MB", flush=True)
    return result


def ask_everything(post):
    """Everything once; the first call pays for reading compiled kernels."""
    timed("clade table", lambda: clade_table(post))
    tree = timed("mcc_tree", post.mcc_tree)
    summary = timed("mean_tree", post.mean_tree)
    timed("clade_support", lambda: post.clade_support(tree))
    timed("clade_support(transfer)", lambda: post.clade_support(summary, "transfer"))
    timed("node_times", lambda: post.node_times(tree))
    timed("consensus", post.consensus)
    timed("topology_ess", lambda: topology_ess_of(post))
    timed("split_frequency_sd", lambda: split_frequency_sd_of(post))
    timed("suggest_n_clusters", post.suggest_n_clusters)
    timed("coclustering(10)", lambda: post.coclustering(10))
    labels = timed("cut(10)", lambda: post.cut(n_clusters=10))
    timed("cut(10, outliers)", lambda: post.cut(n_clusters=10, outliers=True))
    timed("membership", lambda: post.membership(labels))
    timed("stability", lambda: post.stability(labels))
    timed("cophenetic", post.cophenetic)
    with tempfile.TemporaryDirectory() as folder:
        timed("save", lambda: post.save(f"{folder}/post.ct"))
        timed("load", lambda: ct.load(f"{folder}/post.ct"))
        timed("to_nexus of every 100th", lambda: post.thin(100).to_nexus(f"{folder}/post.nex"))


def beside_dendropy(rng, n_trees=100, n=200):
    """Clade frequencies of the same trees, ours from arrays and DendroPy's from trees already read."""
    import dendropy

    post = posterior_of_trees(*perturbed_trees(n_trees, n, rng))
    with tempfile.TemporaryDirectory() as folder:
        post.to_nexus(f"{folder}/post.nex")
        trees = dendropy.TreeList.get(path=f"{folder}/post.nex", schema="nexus", store_tree_weights=True)
    print(f"\nclade frequencies of {n_trees} trees of {n} leaves")
    timed("coaltree", lambda: clades.frequencies(clade_table(post), post.weights))
    timed("DendroPy", lambda: trees.split_distribution(use_tree_weights=True))


def independent_trees(n_trees, n, rng):
    """The worst case for counting: every tree drawn anew, so that nearly every clade is met once."""
    trees = [simulate_tree(n, rng) for _ in range(n_trees)]
    return np.stack([tree.children for tree in trees]), np.stack([tree.times for tree in trees])


SIZE = (10_000, 1_000)  # trees, leaves
BRIEFLY = {"SIZE": (2_000, 300)}


def run(n_trees=None, n=None):
    n_trees, n = (n_trees, n) if n_trees and n else SIZE
    rng = np.random.default_rng(0)
    small = posterior_of_trees(*perturbed_trees(20, 12, rng), chain=np.arange(20) % 2)
    print("warm-up on 20 trees of 12 leaves (compiles or reads kernels)")
    ask_everything(small)
    print(f"\n{n_trees} trees of {n} leaves")
    children, times = perturbed_trees(n_trees, n, rng)
    post = timed(
        "posterior_of_trees(...)", lambda: posterior_of_trees(children, times, chain=np.arange(n_trees) * 2 // n_trees)
    )
    ask_everything(post)
    print(f"distinct clades: {len(clade_table(post).keys)}")
    beside_dendropy(rng)


def worst_case(n_trees=10_000, n=1_000):
    """The same on independent trees."""
    children, times = independent_trees(n_trees, n, np.random.default_rng(0))
    post = posterior_of_trees(children, times, chain=np.arange(n_trees) * 2 // n_trees)
    ask_everything(post)
    print(f"distinct clades: {len(clade_table(post).keys)}")


if __name__ == "__main__":
    run(*map(int, sys.argv[1:]))
