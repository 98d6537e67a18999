"""One size of `bench_growth`, for a process of its own: ``python -m benchmarks.growth_step ROWS METHOD``."""

import json
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import coaltree as ct

from .bench_growth import COALTREE, COLUMNS, NOISE, SEPARATED
from .memory import peak

ITERATIONS = 10  # of the sampler alone
WARMUP, SAMPLES = 5, 5  # of each of two chains of the fit whose posterior is asked
MANY = 300_000  # rows above which one chain of ten iterations is fitted, and nothing else
ASKED = 100  # rows whose nearest are looked for among all
FIRST = 400  # rows for all kernels to be compiled


class Watch:
    """Seconds of this process, all threads together, by name; and by the clock, in all."""

    def __init__(self):
        self.seconds = {}
        self.wall = 0.0

    def __call__(self, name, function, *args, **options):
        began, clock = time.process_time(), time.perf_counter()
        found = function(*args, **options)
        self.seconds[name] = time.process_time() - began
        self.wall += time.perf_counter() - clock
        print(f"  {name}: {self.seconds[name]:.0f} s, {self.wall:.0f} s by the clock so far", file=sys.stderr)
        return found


def sampler_stages(n, watch):
    """Neighbours, start and iterations given the covariance; log joints a row beside the true tree's."""
    from coaltree.model.covariance import Spherical
    from coaltree.model.process.coalescent import log_prior
    from coaltree.model.process.whitened import make_problem
    from coaltree.samplers.regraft.regraft import Regraft
    from coaltree.samplers.starts import first_tree

    X, truth = ct.simulate(n, COLUMNS, noise=NOISE, random_state=n)
    problem = make_problem(X, Spherical(learn=False), NOISE)
    rng = np.random.default_rng(0)
    sampler = Regraft(candidates="local")

    def log_joint(children, times):
        return problem.log_likelihood(children, times) + float(log_prior(times))

    lists = watch("neighbours of all rows", sampler.neighbors, problem, rng)
    found = {"recall": recall(problem.W, lists[0])}
    tree = watch("first tree", first_tree, problem, "insertion", rng)
    true = log_joint(truth.children, truth.times)
    start = log_joint(*tree)

    def iterations(tree):
        for _ in range(ITERATIONS):
            *tree, _ = sampler.step(problem, tree, rng, neighbors=lists)
        return tree

    tree = watch(f"{ITERATIONS} sweeps", iterations, tree)
    return {**found, "beside_truth": (log_joint(*tree) - true) / n, "start_beside_truth": (start - true) / n}


def recall(W, lists):
    """Share of the nearest rows of some that the neighbour graph has."""
    k = lists.shape[1]
    shares = []
    for i in np.linspace(0, len(W) - 1, ASKED).astype(int):
        apart = np.square(W - W[i]).sum(axis=1)
        apart[i] = np.inf
        shares.append(len(set(np.argpartition(apart, k - 1)[:k]) & set(lists[i])) / k)
    return float(np.mean(shares))


def posterior_stages(n, watch):
    """A short fit of blobs, and all that the command makes of it."""
    from sklearn.metrics import adjusted_rand_score

    from coaltree.cli.outputs import write_result
    from coaltree.posterior.clusters.answer import answer_for

    rng = np.random.default_rng(n)
    truth = rng.integers(20, size=n)
    X = SEPARATED * rng.standard_normal((20, COLUMNS))[truth] + rng.standard_normal((n, COLUMNS))
    n_chains, n_warmup, n_samples = (1, 0, ITERATIONS) if n > MANY else (2, WARMUP, SAMPLES)
    settings = {"n_samples": n_samples, "n_warmup": n_warmup, "n_chains": n_chains, "random_state": 0}
    name = f"fit, {n_chains} chain{'s' if n_chains > 1 else ''} of {n_warmup + n_samples} iterations"
    post = watch(name, ct.fit, X, progress=False, **settings)
    watch("mean tree", post.mean_tree)
    suggestion = watch("number of clusters", post.suggest_n_clusters)
    answer = watch("clusters, membership, stability", answer_for, post, 20)
    with tempfile.TemporaryDirectory() as folder:
        watch("files and page", write_result, Path(folder), post, suggestion.n_clusters, "growth")
    return {"ari": adjusted_rand_score(truth, answer.labels)}


def coaltree_step(n):
    for size in dict.fromkeys((min(FIRST, n), n)):
        watch = Watch()
        found = {} if n > MANY else sampler_stages(size, watch)
        found |= posterior_stages(size, watch)
    return {"seconds": watch.seconds, "wall": watch.wall, "peak": peak(), **found}


def peer_step(n, method):
    X, _ = ct.simulate(n, COLUMNS, noise=NOISE, random_state=n)
    run = _peer(method)
    run(X[:FIRST])
    watch = Watch()
    watch(method, run, X)
    return {"seconds": watch.seconds[method], "peak": peak()}


def _peer(method):
    if method == "fast_hdbscan":
        from fast_hdbscan import HDBSCAN

        return lambda X: HDBSCAN().fit(X)
    if method == "genieclust":
        from genieclust import Genie

        return lambda X: Genie(20).fit(X)
    from scipy.cluster.hierarchy import linkage

    return lambda X: linkage(X, method.removeprefix("scipy "))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    rows, method = int(sys.argv[1]), sys.argv[2]
    print(json.dumps(coaltree_step(rows) if method == COALTREE else peer_step(rows, method)))
