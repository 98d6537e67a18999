"""By how much are supports off, for what a check of the model finds? The curves behind the effects of `post.check()`.

Tables of `effect_tables` break the model in one way each, more or less. Each is fitted by one chain of 50 + 100
iterations; "off" is what groups with a support of at least 0.5 say, less the share of them that agree with the truth.
For each check a line through what is found on the model is fitted, off = at rest + slope · size, to the tables that
break it in that way; `coaltree.posterior.diagnostics.check_effects` has the numbers, rounded. How well they warn is
seen on other tables, of other strengths and seeds: `make bench ONLY=calibration`.

Every result is kept in build/bench_effects/, so that a run that was stopped resumes. MINUTES=20 begins no table after
20 minutes and prints what there is.
"""

import warnings

import numpy as np

import coaltree as ct
from coaltree.posterior.diagnostics.check_effects import AT_REST, SLOPES

from .bench_calibration import of_clades
from .effect_tables import CASES
from .kept import Kept, commits_of
from .off_model import true_nodes
from .timing import commit, table

TABLES = 5  # of each kind
BRIEFLY = {"TABLES": 1}
SEED = 7  # not those of bench_calibration
FAMILIES = {
    "correlation": ("correlation", "curves"),
    "skewness": ("skewness",),
    "tails": ("steps", "mostly zero", "clusters, entries"),
    "outliers": ("noise",),
}


def measure(name, number):
    """Sizes and verdicts of the checks of one table, and how far its supports are off: groups, and their sum."""
    case, number = CASES[name], int(number)
    drawn = case.make(np.random.default_rng([SEED, number, *map(ord, name)]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.CoaltreeWarning)
        post = ct.fit(
            drawn.X, case.covariance, noise=case.noise, n_samples=100, n_warmup=50, n_chains=1,
            random_state=1000 + number, progress=False,
        )  # fmt: skip
    said, true = np.array(of_clades(post, true_nodes(drawn, False)), float).reshape(-1, 2).T
    here = said >= 0.5
    sizes = {one.name: one.size for one in post.check(n_trees=60)}
    return {"off": [int(here.sum()), float((said - true)[here].sum())], "sizes": sizes, "commit": commit().strip(" ,")}


def run():
    kept = Kept("bench_effects", (100, 50, 1))
    kept.complete([(name, str(i)) for i in range(TABLES) for name in CASES], measure, announce=False)
    found = {name: kept.all_of([(name, str(i)) for i in range(TABLES)]) for name in CASES}
    found = {name: results for name, results in found.items() if results}
    print(f"\n{commits_of(result for results in found.values() for result in results)}")
    rows = []
    for name, results in found.items():
        sizes = [f"{np.mean([result['sizes'].get(check, 0.0) for result in results]):.3f}" for check in SLOPES]
        rows.append((name, len(results), in_words(*off(results)), *sizes))
    table(("tables", "number", "supports too high by", *SLOPES), rows)
    print_lines(found)


def off(results):
    """By how much supports are too high in some tables, and its standard error, tables drawn anew."""
    sums = np.array([result["off"] for result in results])
    count, total = sums.sum(axis=0)
    if count == 0:
        return 0.0, np.nan
    error = np.sqrt(np.square(sums[:, 1] - sums[:, 0] * total / count).sum()) / count
    return total / count, error


def in_words(value, error):
    return f"{value:+.2f} ± {error:.2f}" if np.isfinite(error) else "no such group"


def print_lines(found):
    """The lines, and those in use."""
    at_rest = off([result for name, results in found.items() if name.startswith("on the model") for result in results])
    rows = []
    for check, families in FAMILIES.items():
        x, y, weight = [], [], []
        for name, results in found.items():
            if name.startswith((*families, "on the model")):
                for result in results:
                    count, total = result["off"]
                    x.append(result["sizes"].get(check, 0.0))
                    y.append(total / max(count, 1))
                    weight.append(count)
        x, y, weight = map(np.array, (x, y, weight))
        slope = (weight * x * (y - AT_REST)).sum() / max((weight * x * x).sum(), 1e-12)
        residual = np.sqrt((weight * np.square(y - AT_REST - slope * x)).sum() / weight.sum())
        rows.append((check, f"{slope:.2f}", SLOPES[check], f"{(0.1 - AT_REST) / SLOPES[check]:.3f}", f"{residual:.2f}"))
    print(f"\nat rest {in_words(*at_rest)}, in use {AT_REST}")
    table(("check", "slope", "in use", "a warning from size", "scatter of single tables"), rows)


if __name__ == "__main__":
    run()
