"""One tree for a posterior: how far the mean tree and the maximum clade credibility tree are from the truth.

Trees are drawn from the coalescent and data from them, with many columns (clear) or few, and noisy (vague). The draws
given the data, at the true covariance, are summarised. Distances to the true tree, 0 to 1, means over replicates with
standard errors of the differences from `mcc_tree`:

    RF         share of the clades that only one of the two trees has (Robinson & Foulds)
    transfer   mean over the clades of either tree of the share of leaves that must move, of the most that ever must
    times      mean absolute error of the log times at which pairs of leaves meet
"""

import time

import numpy as np
from scipy.cluster.hierarchy import linkage

import coaltree as ct
from coaltree.posterior.of_trees import posterior_of_trees

from .timing import table

CASES = {"clear": {"d": 100, "noise": 0.0}, "vague": {"d": 10, "noise": 0.03}}
BRIEFLY = {"REPLICATES": {32: 3}}
REPLICATES = {32: 30, 128: 15, 512: 5}


def distances(tree, truth):
    """Robinson–Foulds and transfer distance, each as a share of its greatest value, and the error of log times."""
    n = truth.n
    inner = slice(0, n - 2)  # the root is a clade of every tree
    there = posterior_of_trees(tree.children[None], tree.times[None]).clade_support(truth, "transfer")[inner]
    back = posterior_of_trees(truth.children[None], truth.times[None]).clade_support(tree, "transfer")[inner]
    return [
        ct.tree_distance(tree, truth) / (2 * (n - 2)),
        1.0 - 0.5 * (there.mean() + back.mean()),
        ct.metrics.distance_errors(tree, truth).mae,
    ]


def posterior(n, case, seed):
    X, truth = ct.simulate(n, random_state=seed, **CASES[case])
    covariance = ct.Spherical(amplitude=1.0, learn=False)
    noise = CASES[case]["noise"]
    post = ct.sample_trees(X, covariance, n_samples=400, n_warmup=100, noise=noise, random_state=seed, progress=False)
    return X, truth, post


def summaries(X, post):
    average = ct.Tree.from_linkage(linkage(X, "average"))
    return {
        "mcc_tree": post.mcc_tree(),
        "mean_tree": post.mean_tree(),
        "one draw": post.trees[len(post) // 2],
        "average linkage": average,
    }


def run(replicates=None):
    rows, replicates = [], replicates or REPLICATES
    for n, n_replicates in replicates.items():
        for case in CASES:
            start = time.perf_counter()
            found: dict[str, list] = {}
            for seed in range(n_replicates):
                X, truth, post = posterior(n, case, seed)
                for name, tree in summaries(X, post).items():
                    found.setdefault(name, []).append(distances(tree, truth))
            seconds = time.perf_counter() - start
            base = np.array(found["mcc_tree"])
            for name, values in found.items():
                mean, apart = np.mean(values, axis=0), np.array(values) - base
                error = apart.std(axis=0, ddof=1) / np.sqrt(n_replicates)
                cells = [
                    f"{m:.3f}" + (f" ± {e:.3f}" if name != "mcc_tree" else "") for m, e in zip(mean, error, strict=True)
                ]
                if name == "average linkage":
                    cells[2] = "-"  # its heights are not times
                rows.append([f"n = {n}, {case}, {n_replicates} replicates", name, *cells])
            print(f"n = {n}, {case}: {seconds:.0f} s", flush=True)
    table(["data", "tree", "RF", "transfer", "times"], rows)


if __name__ == "__main__":
    run()
