"""Table 2: trees and the covariance's length together.

Data are drawn from the model with a squared exponential covariance, σ² = 1e-9 known, ℓ (`length2`, a squared length)
learnt from a start at 0.05, where columns are all but uncorrelated. As in the paper there is no amplitude to learn; M
= 50 particles, 50 iterations, the first 10 dropped; one tree and one ℓ are kept an iteration. The paper does not say
what the true ℓ was. Ours is 1 (columns one step apart correlate by 0.61), and below is how the results move with it.
The absolute errors of ℓ depend on it, so the paper's have no counterpart; relative ones are of log ℓ.
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
    text,
    timed,
    timed_warm,
)
from .paper import COVARIANCE

REPLICATES = 50
SIZES = (32, 64)
NOISE = 1e-9
LENGTH2 = 1.0
OTHER_LENGTHS2 = (0.1, 0.3, 3.0, 10.0)
OTHERS_EVERY = 5  # the other true lengths are tried for a fifth of the replicates
START = 0.05
ITERATIONS, DROPPED = 50, 10
SAMPLERS = {
    "MPost1": ct.MPost1(n_particles=50),
    "SMC1": ct.SMC1(n_particles=50),
    "MPost2": ct.MPost2(n_particles=50),
    "Regraft": ct.Regraft(),
}
LONGER = "Regraft, 10 × the iterations"  # its iterations follow one another, where those of the others begin afresh
LONGER_BY = 10
TRIED_WITH_OTHERS = ("MPost2", "Regraft")


def fit(X, sampler, seed, iterations=None, dropped=None, start=START):
    """The paper's alternation: one chain, ℓ learnt, everything else known; the model has no noise at its leaves."""
    iterations, dropped = iterations or ITERATIONS, dropped or DROPPED
    covariance = ct.SquaredExponential(length2=start, noise=NOISE, learn=("length2",))
    kept = iterations - dropped
    options = {"n_samples": kept, "n_warmup": dropped, "n_chains": 1, "random_state": seed, "progress": False}
    return ct.fit(X, covariance, sampler, noise=0.0, **options)


def length_errors(post, length2):
    record = {"length2_mean": float(post.theta["length2"].mean())}
    for name, log in (("absolute", False), ("relative", True)):
        draws = ct.metrics.parameter_errors(post, "length2", length2, of="draws", log=log)
        mean = ct.metrics.parameter_errors(post, "length2", length2, of="mean", log=log)
        record |= {f"length2_{name}_mse": draws.mse, f"length2_{name}_mae": draws.mae, f"length2_{name}_mab": mean.mab}
    return record


def one_data_set(n, length2, seed, samplers):
    truth = ct.SquaredExponential(length2=length2, noise=NOISE)
    X, tree = ct.simulate(n, n, truth, random_state=np.random.default_rng([2, n, seed]))
    records = []
    for name, sampler in samplers.items():
        post, seconds = timed_warm(
            ("fit", name),
            lambda sampler=sampler: fit(X, sampler, seed),
            lambda sampler=sampler: fit(X[:8], sampler, seed, 6, 1),
        )
        records.append(
            {"n": n, "length2": length2, "replicate": seed, "sampler": name, "cpu_seconds": seconds}
            | structure_errors(post, tree)
            | length_errors(post, length2)
        )
    if length2 == LENGTH2:
        post, seconds = timed(lambda: fit(X, ct.Regraft(), seed, LONGER_BY * ITERATIONS, LONGER_BY * DROPPED))
        key = {"n": n, "length2": length2, "replicate": seed, "sampler": LONGER, "cpu_seconds": seconds}
        records.append(key | structure_errors(post, tree) | length_errors(post, length2))
    return records


def run(options, sizes=SIZES, other_lengths2=OTHER_LENGTHS2):
    replicates = options.replicates or REPLICATES
    page = Page("table2_covariance", "Table 2: structure and covariance together", options, f"{replicates} replicates")
    page.say(__doc__.strip().split("\n\n")[1])
    cases = [(n, LENGTH2, seed, SAMPLERS) for n in sizes for seed in range(replicates)]
    some = range(max(2, replicates // OTHERS_EVERY))
    tried = {name: SAMPLERS[name] for name in TRIED_WITH_OTHERS}
    cases += [(n, length2, seed, tried) for n in sizes for length2 in other_lengths2 for seed in some]
    records = replicate(one_data_set, cases, options)
    summary = summarise([record for record in records if record["length2"] == LENGTH2], ("n", "sampler"))
    names = list(SAMPLERS)
    checks = error_checks(summary, COVARIANCE, sizes, ("MPost1", "MPost2"), names)
    longer = {(n, name): summary[n, LONGER if name == "Regraft" else name] for n in sizes for name in names}
    again = [check for check in error_checks(longer, COVARIANCE, sizes, (), names) if check[0].startswith("Regraft")]
    page.checks(checks + [(f"{what}, with {LONGER_BY} × the iterations", ok, seen) for what, ok, seen in again])
    names.append(LONGER)
    error_tables(page, summary, COVARIANCE, sizes, names)
    exactness_table(page, summary, sizes, names)
    length_table(page, summary, COVARIANCE, sizes, names)
    cost_table(page, summary, COVARIANCE, sizes, names)
    page.heading("How the results move with the true ℓ")
    page.say(f"Errors of the posterior mean; {len(some)} replicates where ℓ is not {LENGTH2:g}.")
    _lengths(page, summarise(records, ("n", "length2", "sampler")), sizes)
    page.csv(records)
    page.write()


def length_table(page, summary, printed, sizes, samplers):
    page.heading("Errors of ℓ")
    page.say("mse and mae are of the draws of ℓ, mab is of their mean.")
    rows = []
    for n in sizes:
        for measure in ("mse", "mae", "mab"):
            for kind in ("absolute", "relative"):
                ours = [summary[n, s][f"length2_{kind}_{measure}"] for s in samplers]
                rows.append([f"n = d = {n}", f"{measure}, {kind}", *ours])
            theirs = printed[n, "length2", measure]
            rows.append(["", "*paper, unknown ℓ*", *(f"*{text(theirs[s])}*" if s in theirs else "" for s in samplers)])
    page.table(["", "", *samplers], rows)


def _lengths(page, summary, sizes):
    columns = [f"{quantity}_{measure}_mean" for quantity, measure in MEASURES if measure != "mae"]
    columns += ["length2_mean", "length2_relative_mae"]
    rows = [
        [f"n = d = {n}", name, f"{length2:g}", *(summary[n, length2, name][column] for column in columns)]
        for n in sizes
        for name in TRIED_WITH_OTHERS
        for length2 in sorted({key[1] for key in summary})
    ]
    headers = [column.removesuffix("_mean").replace("_", " ") for column in columns[:4]]
    page.table(["", "", "true ℓ", *headers, "posterior mean of ℓ", "relative mae of ℓ"], rows)


if __name__ == "__main__":
    main(run, __doc__)
