"""Checks of the model: how often they find what is wrong, and how often they blame a model that holds.

Simulated tables (`violations`), fitted by one chain of 30 + 40 iterations and checked as `post.check()` does. A true
model should be blamed, by any check at all, in at most 5 % of the tables.

python -m benchmarks.bench_checks [TRUE_TABLES] [WRONG_TABLES]; every result is kept in build/bench_checks/, so that a
run that was stopped resumes.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import coaltree as ct

from .timing import commit, table
from .violations import TRUE, WRONG

KEPT = Path(__file__).parent.parent / "build" / "bench_checks"
TRUE_TABLES, WRONG_TABLES = 200, 8  # true ones in all, wrong ones of each kind
BRIEFLY = {"TRUE_TABLES": 5, "WRONG_TABLES": 1}
TRUE_SIZE, WRONG_SIZE = (60, 4), (150, 6)


def p_values(case, name, size, number):
    """Names and p-values of the checks of one table."""
    kept = KEPT / f"{name.replace(' ', '_').replace('/', '_')}_{size[0]}_{size[1]}_{number}.json"
    if kept.exists():
        return json.loads(kept.read_text())
    rng = np.random.default_rng([number, *map(ord, name)])
    X = case.make(*size, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        post = ct.fit(
            X, case.covariance, noise=case.noise, n_samples=40, n_warmup=30, n_chains=1, random_state=number,
            progress=False,
        )  # fmt: skip
    found = {one.name: [one.p_value, one.verdict] for one in post.check()}
    KEPT.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(found))
    return found


def share(flags):
    mean = float(np.mean(flags))
    return f"{mean:.3f} ± {np.sqrt(max(mean * (1 - mean), 0.25 / len(flags)) / len(flags)):.3f}"


def run(n_true=None, n_wrong=None):
    """Print the two tables."""
    n_true, n_wrong = n_true or TRUE_TABLES, n_wrong or WRONG_TABLES
    began = time.time()
    for i in range(max(n_true // len(TRUE), n_wrong)):  # in turns, so that a run that is stopped has some of each
        for name, case in TRUE.items():
            if i < n_true // len(TRUE):
                p_values(case, name, TRUE_SIZE, i)
        for name, case in WRONG.items():
            if i < n_wrong:
                p_values(case, name, WRONG_SIZE, i)
    rows, everything = [], []
    for name, case in TRUE.items():
        found = [p_values(case, name, TRUE_SIZE, i) for i in range(n_true // len(TRUE))]
        blamed = [any(verdict == "wrong" for _, verdict in one.values()) for one in found]
        below = [p < 0.05 for one in found for p, _ in one.values()]
        everything += blamed
        rows.append([name, len(found), share(blamed), share(below)])
    rows.append(["all", len(everything), share(everything), ""])
    print(f"True models, {TRUE_SIZE[0]} rows of {TRUE_SIZE[1]} columns:")
    table(["fitted", "tables", "blamed by any check", "p < 0.05 of one check"], rows)
    rows = []
    for name, case in WRONG.items():
        found = [p_values(case, name, WRONG_SIZE, i) for i in range(n_wrong)]
        wrong = [{check for check, (_, verdict) in one.items() if verdict == "wrong"} for one in found]
        others = {check: sum(check in one for one in wrong) for check in found[0]}
        also = ", ".join(f"{check} {count}" for check, count in others.items() if count and check not in case.found)
        rows.append([name, sum(bool(one & set(case.found)) for one in wrong), " or ".join(case.found), also or "-"])
    print(f"\nWrong models, {n_wrong} tables of {WRONG_SIZE[0]} rows and {WRONG_SIZE[1]} columns each:")
    table(["what is wrong", "found", "by", "others that were wrong too"], rows)
    print(f"\n{commit()}{time.time() - began:.0f} s")


if __name__ == "__main__":
    run(*map(int, sys.argv[1:]))
