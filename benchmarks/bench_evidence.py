"""The evidence p(X) by tempering: is it good enough to choose a covariance by?

The likelihood of a tree to the power β is that of β d columns multiplied by √β, Π_k v_k^(-βd/2) exp(-β ε_k / 2v_k), so
that regrafting draws from the power posterior p(tree) p(X | tree)^β as it stands; and a conjugate covariance is drawn
from β times its statistics. Chains at β = 1 … 0 are joined by bridge sampling. Against quadrature (3 and 4 rows),
against `Insertion` (30 and 200), and as a choice between covariances of known truth, beside leave-one-out.

Seconds are of the processor. Every step is kept in build/bench_evidence/, so that a run that was stopped resumes where
it was.

python -m benchmarks.bench_evidence [TABLES]
"""

import json
import math
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import coaltree as ct
from coaltree.model.covariance import as_covariance
from coaltree.model.covariance.base import Statistics
from coaltree.model.process.coalescent import simulate_tree, standardized_gaps
from coaltree.model.process.diffusion import contrasts, log_likelihood
from coaltree.model.process.whitened import Problem

from .timing import commit, table

KEPT = Path(__file__).parent.parent / "build" / "bench_evidence"
TABLES = 4  # of each truth
BRIEFLY = {"TABLES": 0, "SIZES": {30: {}}}
FAMILIES = ("spherical", "diagonal", "full")
_SMALL = {"n_powers": 10, "lowest": 1e-2, "n_kept": 60}
SIZES = {30: {}, 200: {"n_powers": 30, "lowest": 1e-5, "n_kept": 8, "n_dropped": 4}}  # and how they are tempered
SAMPLER = ct.Regraft(candidates="all")


def log_mean_exp(x):
    top = x.max()
    return top + math.log(np.mean(np.exp(x - top)))


def bridge(high, low, step):
    """The log ratio of two normalisers from log likelihoods drawn at each, `step` apart in β (Bennett 1976)."""
    c = log_mean_exp(step * low)
    for _ in range(100):
        up = np.sum(1.0 / (1.0 + np.exp(np.clip(c - step * low, -700, 700))))
        down = np.sum(1.0 / (1.0 + np.exp(np.clip(step * high - c, -700, 700))))
        if up <= 0.0 or down <= 0.0:
            break
        c, last = c + math.log(up / down), c
        if abs(c - last) < 1e-9:
            break
    return c


def log_evidence(X, covariance, rng, *, leaf_var=0.0, n_powers=24, lowest=1e-4, n_kept=12, n_dropped=5):
    """log p(X), the covariance's learnt parameters integrated out (without noise, if there are any)."""
    n, d = X.shape
    phi = as_covariance(covariance, d).adapt(X)
    centred, noise = X - X.mean(axis=0), np.full(n, leaf_var)
    powers = np.append(np.geomspace(1.0, lowest, n_powers), 0.0)
    tree, found = None, []
    for beta in powers:
        said = []
        for i in range(n_kept + (n_dropped if beta < 1.0 else 4 * n_dropped)):
            if beta == 0.0:
                drawn = simulate_tree(n, rng)
                tree = drawn.children, drawn.times
                phi = phi.with_theta({name: _prior_draw(phi, name, d, rng) for name in phi.learnt})
            else:
                tree, phi = _step(X, centred, noise, beta, tree, phi, rng)
            whitener = phi.whitener(d)
            if i >= n_dropped or beta == 0.0:
                said.append(log_likelihood(*tree, whitener.whiten(centred), d, whitener.log_det, noise))
        found.append(np.array(said[-n_kept:]))
    steps = powers[:-1] - powers[1:]
    inner = sum(bridge(found[i], found[i + 1], steps[i]) for i in range(len(steps) - 1))
    return inner + log_mean_exp(steps[-1] * found[-1])


def _prior_draw(phi, name, d, rng):
    prior = phi.priors[name]
    return prior.sample(rng) if name == "amplitude" else prior.sample(rng, size=d)


def _step(X, centred, noise, beta, tree, phi, rng):
    d = X.shape[1]
    whitener = phi.whitener(d)
    W = np.ascontiguousarray(whitener.whiten(centred))
    if tree is None:
        tree = SAMPLER.step(Problem(W, d, whitener.log_det, noise), None, rng)[:2]
    children, times, _ = SAMPLER.step(Problem(math.sqrt(beta) * W, beta * d, whitener.log_det, noise), tree, rng)
    if phi.learnt:
        c, phi = phi.scale_move(float(standardized_gaps(times).sum()), len(times), rng)
        times = times * c
        known = phi.statistics(contrasts(children, times, X, noise))
        phi = phi.update(Statistics(beta * known.n, d, beta * known.value), rng)
    return (children, times), phi


def kept(name, compute):
    """What `compute` gives, with its seconds, from the file of an earlier run if there is one."""
    path = KEPT / f"{name}.json"
    if not path.exists():
        began = time.process_time()
        found = compute()
        KEPT.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps([found, time.process_time() - began]))
    return json.loads(path.read_text())


def repeated(name, compute, repeats):
    runs = [kept(f"{name}_{i}", lambda i=i: float(compute(np.random.default_rng(i)))) for i in range(repeats)]
    values, seconds = np.array(runs).T
    return f"{values.mean():.2f}", f"{values.std(ddof=1):.2f}", f"{seconds.mean():.1f}"


def by_insertion(X, n_particles):
    sampler = ct.Insertion(n_particles=n_particles)
    return lambda rng: ct.sample_trees(X, np.eye(X.shape[1]), sampler, random_state=rng).log_evidence


def known_tables():
    """Rows of the first table: a known covariance, without noise."""
    from tests.reference.evidence import exact_posterior

    for n, d in ((3, 2), (4, 3)):
        X = np.random.default_rng(n).standard_normal((n, d))
        yield [f"{n} rows, quadrature", f"{exact_posterior(X).log_evidence:.2f}", "-", "-"]
        how = repeated(f"small_{n}", lambda rng, X=X, d=d: log_evidence(X, np.eye(d), rng, **_SMALL), 4)
        yield [f"{n} rows, tempered", *how]
    for n, more in SIZES.items():
        X, _ = ct.simulate(n, 4, random_state=1)
        yield [f"{n} rows, Insertion(100)", *repeated(f"insertion_{n}", by_insertion(X, 100), 4)]
        how = repeated(f"tempered_{n}", lambda rng, X=X, more=more: log_evidence(X, np.eye(4), rng, **more), 4)
        yield [f"{n} rows, tempered", *how]


def one_choice(truth, number):
    """Each family's log evidence and leave-one-out density of one table, and the seconds of both."""
    rng = np.random.default_rng([number, *map(ord, truth)])
    d = 3
    roots = {
        "spherical": np.eye(d),
        "diagonal": np.diag(np.exp(0.35 * rng.standard_normal(d))),
        "full": np.linalg.cholesky(0.65 * np.eye(d) + 0.35),
    }
    X, _ = ct.simulate(40, d, roots[truth] @ roots[truth].T, rng)
    found = {"evidence": [], "loo": [], "seconds": [0.0, 0.0]}
    for family in FAMILIES:
        began = time.process_time()
        found["evidence"].append(float(log_evidence(X, family, np.random.default_rng(number))))
        between = time.process_time()
        post = ct.fit(X, family, noise=0, n_samples=60, n_warmup=30, n_chains=1, random_state=number, progress=False)
        found["loo"].append(float(post.loo().elpd))
        found["seconds"][0] += between - began
        found["seconds"][1] += time.process_time() - between
    return found


def run(n_tables=None):
    """Print the two tables."""
    n_tables = TABLES if n_tables is None else n_tables
    warnings.simplefilter("ignore")
    print("Spherical covariance that is known, no noise: log p(X)")
    table(["", "mean of 4", "sd of one run", "seconds"], list(known_tables()))
    if n_tables == 0:
        print("\nNot measured: the choice of a family.")
        return
    rows, seconds = [], np.zeros(2)
    for truth in FAMILIES:
        found = [kept(f"choice_{truth}_{i}", lambda t=truth, i=i: one_choice(t, i))[0] for i in range(n_tables)]
        chosen = {how: [FAMILIES[int(np.argmax(one[how]))] for one in found] for how in ("evidence", "loo")}
        rows.append([truth, *(f"{chosen[how].count(truth)} of {n_tables}" for how in ("evidence", "loo"))])
        seconds += np.sum([one["seconds"] for one in found], axis=0) / (len(FAMILIES) * n_tables)
    print("\nTables of 40 rows and 3 columns: how often the true family is chosen among the three")
    table(["truth", "by evidence", "by leave-one-out"], [*rows, ["seconds a table", *map(float, seconds)]])
    print(f"\n{commit()[:-2]}")


if __name__ == "__main__":
    run(*map(int, sys.argv[1:]))
