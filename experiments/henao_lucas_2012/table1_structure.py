"""Table 1: trees when the covariance is known.

Data are drawn from the model with n = d = 32 and 64; every sampler is given the true covariance and M = 100 particles
(regrafting: 100 sweeps after 10). Errors do not depend on which covariance it is, since all samplers whiten first.
"""

import numpy as np

import coaltree as ct

from .common import (
    MEASURES,
    Page,
    cost_table,
    error_checks,
    error_tables,
    exactness_table,
    main,
    replicate,
    structure_errors,
    summarise,
    timed_warm,
)
from .paper import STRUCTURE

REPLICATES = 50
SIZES = (32, 64)
PARTICLES = 100
COVARIANCE = ct.SquaredExponential(length2=1.0, noise=1e-9, learn=False)
SAMPLERS = {
    "PostPost": ct.PostPost(n_particles=PARTICLES),
    "MPost1": ct.MPost1(n_particles=PARTICLES),
    "SMC1": ct.SMC1(n_particles=PARTICLES),
    "MPost2": ct.MPost2(n_particles=PARTICLES),
    "Insertion": ct.Insertion(n_particles=PARTICLES),
    "Regraft": ct.Regraft(),
}
# What the errors of MPost1 and MPost2 come from: the weights, the number of particles, the resampling.
VARIANTS = {
    f"{name}, {words}": getattr(ct, name)(**{"n_particles": PARTICLES, **settings})
    for name in ("MPost1", "MPost2")
    for words, settings in (
        ("printed weights", {"weights": "printed"}),
        ("never resampled", {"resample_below": 0.0}),
        ("2000 particles", {"n_particles": 2000}),
    )
}


def one_data_set(n, seed):
    X, tree = ct.simulate(n, n, COVARIANCE, random_state=np.random.default_rng([1, n, seed]))
    records = []
    for name, sampler in (SAMPLERS | VARIANTS).items():

        def sample(rows=X, sampler=sampler):
            return ct.sample_trees(rows, COVARIANCE, sampler, random_state=seed, progress=False)

        post, seconds = timed_warm(name, sample, lambda sample=sample: sample(X[:8]))
        records.append(
            {"n": n, "replicate": seed, "sampler": name, "cpu_seconds": seconds, "ess": post.ess}
            | structure_errors(post, tree)
        )
    return records


def run(options, sizes=SIZES):
    replicates = options.replicates or REPLICATES
    page = Page("table1_structure", "Table 1: structure, the covariance known", options, f"{replicates} replicates")
    page.say(__doc__.strip().split("\n\n")[1])
    records = replicate(one_data_set, [(n, seed) for n in sizes for seed in range(replicates)], options)
    summary = summarise(records, ("n", "sampler"))
    names = list(SAMPLERS)
    page.checks(error_checks(summary, STRUCTURE, sizes, ("MPost1", "MPost2"), names))
    error_tables(page, summary, STRUCTURE, sizes, names)
    exactness_table(page, summary, sizes, names)
    cost_table(page, summary, STRUCTURE, sizes, names)
    page.heading("MPost1 and MPost2 with other settings: errors of the posterior mean")
    columns = [f"{quantity}_{measure}_mean" for quantity, measure in MEASURES]
    rows = [
        [f"n = d = {n}", name, *(summary[n, name][column] for column in columns), summary[n, name]["ess"]]
        for n in sizes
        for name in (*[n for n in names if n.startswith("MPost")], *VARIANTS)
    ]
    page.table(["", "", *(f"{quantity} {measure}" for quantity, measure in MEASURES), "ESS"], rows)
    page.csv(records)
    page.write()


if __name__ == "__main__":
    main(run, __doc__)
