"""By how much are supports off, for what a check of the model finds? The curves behind the effects of `post.check()`.

Tables of `effect_tables` break the model in one way each, more or less. Each is fitted by one chain of 50 + 100
iterations; "off" is what groups with a support of at least 0.5 say, less the share of them that agree with the truth.
For each check a curve from what is found on the model, straight between a few sizes, is fitted to the tables that
break it in that way; `coaltree.posterior.diagnostics.check_statistics` has the numbers, rounded. Nothing is known
beyond the largest size measured. How well they warn is seen on other tables, of other strengths and seeds:
`make bench ONLY=calibration`.

Every result is kept in build/bench_effects/, so that a run that was stopped resumes. MINUTES=20 begins no table after
20 minutes and prints what there is.
"""

import warnings
from collections import Counter

import numpy as np
from scipy.optimize import nnls

import coaltree as ct
from coaltree.posterior.diagnostics.check_statistics import AT_REST, CURVES, LIMIT, effect_of
from coaltree.posterior.diagnostics.model_checks import Check, ModelCheck

from .bench_calibration import of_clades
from .effect_tables import CASES
from .kept import Kept, commits_of
from .off_model import true_nodes
from .timing import commit, table

TABLES = 5  # of each kind
BRIEFLY = {"TABLES": 1}
SMALL = 0.05  # excess of supports below which nothing should be warned of
SEED = 7  # not those of bench_calibration
RESAMPLED = ("on the model 48", "correlation 0.5 of 24", "steps with 0.7", "mostly zero")  # these are resampled, too
FAMILIES = {
    "correlation": ("correlation", "curves"),
    "skewness": ("skewness",),
    "tails": ("steps", "mostly zero", "clusters, entries"),
    "outliers": ("noise", "steps"),
}


def measure(name, method):
    """Sizes and verdicts of the checks of one table, and how far its supports are off: groups, and their sum."""
    case, (number, *resampled) = CASES[name], method.split()
    drawn = case.make(np.random.default_rng([SEED, int(number), *map(ord, name)]))
    length = {"resample": "columns"} if resampled else {"n_samples": 100, "n_warmup": 50, "n_chains": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.CoaltreeWarning)
        seed = 1000 + int(number)
        post = ct.fit(drawn.X, case.covariance, noise=case.noise, random_state=seed, progress=False, **length)
    said, true = np.array(of_clades(post, true_nodes(drawn, False)), float).reshape(-1, 2).T
    here = said >= 0.5
    result = {"off": [int(here.sum()), float((said - true)[here].sum())], "commit": commit().strip(" ,")}
    if resampled:
        return result
    checks = post.check(n_trees=60)
    sizes, verdicts = ({one.name: getattr(one, key) for one in checks} for key in ("size", "verdict"))
    return result | {"sizes": sizes, "verdicts": verdicts}


def run():
    kept = Kept("bench_effects", (100, 50, 1))
    resampled = [(name, f"{i} resampled") for i in range(TABLES) for name in CASES if name.startswith(RESAMPLED)]
    kept.complete([*((name, str(i)) for i in range(TABLES) for name in CASES), *resampled], measure, announce=False)
    found = {name: kept.all_of([(name, str(i)) for i in range(TABLES)]) for name in CASES}
    found = {name: results for name, results in found.items() if results}
    print(f"\n{commits_of(result for results in found.values() for result in results)}")
    rows = []
    for name, results in found.items():
        sizes = [f"{np.mean([result['sizes'].get(check, 0.0) for result in results]):.3f}" for check in CURVES]
        rows.append((name, len(results), in_words(*off(results)), *sizes))
    table(("tables", "number", "supports too high by", *CURVES), rows)
    print_curves(found)
    print_warnings(found)
    print_resampled(found, {name: kept.all_of([step for step in resampled if step[0] == name]) for name in found})


def print_resampled(plain, resampled):
    """What resampled columns make of supports."""
    print("\nthe same with resampled columns: supports too high by, and groups with at least 0.5 (of plain ones)")
    rows = []
    for name, results in resampled.items():
        if results:
            n_groups, n_plain = (sum(one["off"][0] for one in some[: len(results)]) for some in (results, plain[name]))
            rows.append((name, len(results), in_words(*off(plain[name])), in_words(*off(results)), n_groups, n_plain))
    table(("tables", "number", "plain", "resampled", "groups", "of"), rows)


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


def print_curves(found):
    """The curves, and those in use; the largest size of a kind of tables is where a curve ends at the latest."""
    at_rest = off([result for name, results in found.items() if name.startswith("on the model") for result in results])
    print(f"\nat rest {in_words(*at_rest)}, in use {AT_REST}")
    curves, scatters = [], []
    for check, families in FAMILIES.items():
        of = {name: results for name, results in found.items() if name.startswith((*families, "on the model"))}
        results = [result for some in of.values() for result in some]
        x = np.array([result["sizes"].get(check, 0.0) for result in results])
        weight, total = np.array([result["off"] for result in results], float).T
        y, (sizes, in_use) = total / np.maximum(weight, 1.0), CURVES[check]
        fitted = fitted_curve(x, y, weight, sizes)
        for size, at, used in list(zip(sizes, fitted, in_use, strict=True))[1:]:
            curves.append((check, size, f"{at:.2f}", f"{used:.2f}"))
        scatter = np.sqrt((weight * np.square(y - np.interp(x, sizes, fitted))).sum() / weight.sum())
        largest = max(np.mean([result["sizes"].get(check, 0.0) for result in some]) for some in of.values())
        scatters.append(
            (check, f"{np.interp(LIMIT, in_use, sizes):.3f}", f"{largest:.2f}", sizes[-1], f"{scatter:.2f}")
        )
    table(("check", "size", "effect", "in use"), curves)
    print()
    table(("check", "a warning from size", "largest of a kind", "curve ends at", "scatter of single tables"), scatters)


def fitted_curve(x, y, weight, sizes):
    """Effects at these sizes, from `AT_REST` on and never falling: weighted least squares."""
    rise = np.clip((x[:, None] - sizes[:-1]) / np.diff(sizes), 0.0, 1.0)
    root = np.sqrt(weight)
    return AT_REST + np.append(0.0, np.cumsum(nnls(rise * root[:, None], (y - AT_REST) * root)[0]))


def print_warnings(found):
    """How many tables of each kind have a warning, and of all that should have one, or none."""
    print(f"\nwarnings, with the curves in use: of kinds too high by more than {LIMIT}, less than {SMALL}, or between")
    counts, by_kind = {True: [0, 0], False: [0, 0]}, []
    for name, results in found.items():
        named = [concern_of(result) for result in results if "verdicts" in result]
        value, _ = off(results)
        if named and not SMALL <= value <= LIMIT:
            right, total = counts[value > LIMIT]
            counts[value > LIMIT] = [
                right + sum((one is not None) == (value > LIMIT) for one in named),
                total + len(named),
            ]
        texts = [f"{check} {n}" for check, n in Counter(filter(None, named)).items()]
        by_kind.append((name, f"{value:+.2f}", f"{', '.join(texts) or 'nothing'} of {len(named)}"))
    table(("tables", "supports too high by", "warned of"), by_kind)
    for is_off, text in (
        (True, f"too high by more than {LIMIT}: warned"),
        (False, f"by less than {SMALL}: not warned"),
    ):
        right, total = counts[is_off]
        print(f"{text} {right} of {total}")


def concern_of(result):
    """The name of the check that a warning is of, or None."""
    none = np.zeros(0)
    checks = []
    for name, size in result["sizes"].items():
        verdict = result["verdicts"][name]
        effect = 0.0 if verdict == "fine" or name not in CURVES else effect_of(name, size)
        checks.append(Check(name, 0.5, verdict, "", None, 0.0, size, effect, False, none, none))
    concern = ModelCheck(tuple(checks), None, 0).concern
    return None if concern is None else concern.name


if __name__ == "__main__":
    run()
