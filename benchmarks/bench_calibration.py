"""How far is what a posterior says from the truth, on tables that are not what the model takes them for?

Tables of `off_model`: on the model, star-like clusters, heavy tails (of rows, of entries, of steps), skewed columns,
correlated columns, curves, replicates. Each is fitted with and without noise, tails or a covariance that knows better.

    clades         all groups with a support of at least 0.05, and whether they agree with the true tree or clusters
    transfer       groups of the mean tree: their transfer support, and the same reckoned with the truth
    memberships    the probability of each row's cluster, at the true number, and whether it is that cluster
    stability      of each cluster, at the true number, and its Jaccard similarity with the closest true one
    times          how many of the 90 % intervals of times are right: of the root, and of where 40 pairs of rows meet
    number         how often the true number of clusters is between `low` and `high` of the suggestion

Standard errors are those of tables drawn anew (jackknife over tables). Groups inside a star-like cluster agree with it
whatever they are, so that what is true there may lie above what is said; below it is too sure.

Every fit and its figures are kept in build/bench_calibration/, so that a run that was stopped resumes.
Without FULL=1: a sixth of the tables. MINUTES=20 begins no table after 20 minutes and prints what there is.
"""

import json
import os
import time
import warnings
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

import coaltree as ct
from coaltree.posterior.clusters.answer import answer_for
from coaltree.posterior.diagnostics.model_checks import check_or_reason
from coaltree.posterior.trees.transfer_support import greatest

from .off_model import TABLES, agrees, masks_of, to_move, true_nodes
from .timing import commit, table

KEPT = Path(__file__).parent.parent / "build" / "bench_calibration"
BINS = (0.05, 0.5, 0.8, 0.95, 1.001)
SURE = 0.95
PAIRS = 40
LEVEL = 0.9
WORDS = ("stable", "doubtful", "dissolved")
MAX_EXCESS, SMALL_EXCESS = 0.1, 0.05  # of supports: a warning is asked for above, and none below


class How(NamedTuple):
    """How a table is fitted."""

    covariance: str
    noise: float | str
    as_groups: bool = False
    in_logs: bool = False


METHODS = {
    "scaled, no noise": How("scaled", 0.0),
    "scaled, normal noise": How("scaled", "learn"),
    "scaled, student": How("scaled", "student"),
    "full, student": How("full", "student"),
    "components, student": How("components", "student"),
    "logarithms, scaled, student": How("scaled", "student", in_logs=True),
    "spherical, student": How("spherical", "student"),
    "squared_exponential, student": How("squared_exponential", "student"),
    "groups, scaled, normal noise": How("scaled", "learn", as_groups=True),
}
_NOISES = ("scaled, no noise", "scaled, normal noise", "scaled, student")
CELLS = {
    "on the model": ("scaled, no noise", "scaled, student"),
    "star clusters": (*_NOISES, "full, student"),
    "t3 rows": _NOISES,
    "t3 entries": ("scaled, no noise", "scaled, student"),
    "skewed columns": ("scaled, no noise", "scaled, student", "full, student", "logarithms, scaled, student"),
    "t3 steps": ("scaled, no noise", "scaled, student"),
    "correlated columns": ("scaled, no noise", "scaled, student", "full, student", "components, student"),
    "few factors": ("spherical, student", "components, student"),
    "curves": ("spherical, student", "squared_exponential, student"),
    "replicates": (*_NOISES, "groups, scaled, normal noise"),
}


class Setting(NamedTuple):
    """How much is run."""

    n_tables: int
    n_samples: int
    n_warmup: int
    n_chains: int = 1


FULL = Setting(24, 100, 50)
SHORT = Setting(4, 100, 50)


def run():
    setting = chosen_setting()
    last = time.monotonic() + 60.0 * float(os.environ.get("MINUTES", "inf"))
    for number in range(setting.n_tables):  # all kinds of tables in turn, so that a run cut short has some of each
        for name, methods in CELLS.items():
            for method in methods:
                if time.monotonic() < last and recall(setting, name, method, number) is None:
                    remember(setting, name, method, number, measure(setting, name, method, number))
    results = {(name, method): known(setting, name, method) for name, methods in CELLS.items() for method in methods}
    fewest, most = (choose(map(len, results.values())) for choose in (min, max))
    print(
        f"\n{fewest if fewest == most else f'{fewest} or {most}'} tables of each kind, {setting.n_chains} chain of "
        f"{setting.n_warmup} + {setting.n_samples} iterations; {', '.join(commits(results)) or 'nothing measured'}"
    )
    print_reliability("clades: said, true (± standard error) [groups]", "clades", results)
    print_reliability("transfer support: said, true (± standard error) [groups]", "transfer", results)
    print_reliability("memberships: said, true (± standard error) [rows]", "memberships", results)
    print_stability(results)
    print_intervals(results)
    print_cards(results)
    if fewest < setting.n_tables:
        print(f"\nNot measured whole, which is {setting.n_tables} tables of each kind.")


def chosen_setting():
    """The whole, or the short form."""
    return FULL if os.environ.get("FULL") else SHORT


# --- one table ------------------------------------------------------------------------------------------------------


def measure(setting, name, method, number):
    """What is said of one table, and what is true, as lists of pairs."""
    how = METHODS[method]
    drawn = TABLES[name](np.random.default_rng([number, *map(ord, name)]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.CoaltreeWarning)
        post = fitted(setting, how, drawn, number, place_of(setting, name, method, number).with_suffix(".npz"))
        nodes = true_nodes(drawn, how.as_groups)
        result = {
            "commit": commit().strip(" ,"),
            **warned(post),
            "clades": of_clades(post, nodes),
            "transfer": of_transfer(post, nodes),
        }
        if drawn.clusters is not None:
            result |= of_clusters(post, drawn.clusters)
        else:
            result["times"] = of_times(post, drawn, how.as_groups, np.random.default_rng(number))
    return result


def fitted(setting, how, drawn, number, path):
    """The posterior, from its file where there is one."""
    if not path.exists():
        post = ct.fit(
            np.log(drawn.X) if how.in_logs else drawn.X,
            how.covariance,
            noise=how.noise,
            groups=drawn.groups if how.as_groups else None,
            n_samples=setting.n_samples,
            n_warmup=setting.n_warmup,
            n_chains=setting.n_chains,
            random_state=number,
            progress=False,
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        post.save(path)
    return ct.load(path)


def warned(post):
    """What `post.check()` finds wrong, and the check of the red card and of the last line of `coaltree fit`, if any."""
    found = check_or_reason(post)
    return {
        "wrong": [one.name for one in found.wrong],
        "card": None if found.concern is None else found.concern.name,
    }


def pairs(said, true):
    return np.column_stack([said, np.asarray(true, float)]).round(4).tolist()


def of_clades(post, nodes):
    """Support of all groups but single rows and the whole, and whether they agree with the truth."""
    masks = np.concatenate([masks_of(children)[post.n : -1] for children in post.draws.children])
    groups, where = np.unique(np.packbits(masks, axis=1), axis=0, return_inverse=True)
    support = np.bincount(where.ravel(), weights=np.repeat(post.weights, post.n - 2))
    some = support >= BINS[0]
    groups = np.unpackbits(groups[some], axis=1, count=post.n).astype(bool)
    return pairs(support[some], agrees(groups, nodes))


def of_transfer(post, nodes):
    tree = post.mean_tree()
    groups = masks_of(tree.children)[post.n : -1]
    most = greatest(groups.sum(axis=1), post.n)
    return pairs(post.clade_support(tree, "transfer")[:-1], 1.0 - to_move(groups, nodes) / most)


def of_clusters(post, clusters):
    k = int(clusters.max()) + 1
    answer = answer_for(post, k)
    shared = np.zeros((k, k))
    np.add.at(shared, (answer.labels, clusters), 1.0)
    either = shared.sum(axis=1)[:, None] + shared.sum(axis=0) - shared
    own, true = linear_sum_assignment(-shared)
    match = np.empty(k, int)
    match[own] = true
    suggestion = post.suggest_n_clusters()
    return {
        "memberships": pairs(answer.probability, match[answer.labels] == clusters),
        "stability": pairs(answer.stability.jaccard, (shared / either).max(axis=1)),
        "words": list(answer.stability.words),
        "number": [[LEVEL, float(suggestion.low <= k <= suggestion.high)]],
    }


def of_times(post, drawn, as_groups, rng):
    """Whether intervals hold the true times: of the root, and of pairs that are not replicates of each other."""
    object_of = np.arange(post.n) if as_groups else drawn.groups
    asked = rng.integers(post.n, size=(20 * PAIRS, 2))
    asked = asked[object_of[asked[:, 0]] != object_of[asked[:, 1]]][:PAIRS]
    true = np.append(drawn.tree.cophenetic(object_of[asked]), drawn.tree.times[-1])
    said = np.array([np.append(tree.cophenetic(asked), tree.times[-1]) for tree in post.trees])
    low, high = np.quantile(said, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return pairs(np.full(len(true), LEVEL), (low <= true) & (true <= high))


# --- what is kept ---------------------------------------------------------------------------------------------------


def place_of(setting, name, method, number):
    numbers = "-".join(str(value) for value in setting[1:])
    return KEPT / numbers / f"{name}-{method}-{number}.json".replace(", ", "-").replace(" ", "_")


def recall(setting, name, method, number):
    path = place_of(setting, name, method, number)
    return json.loads(path.read_text()) if path.exists() else None


def remember(setting, name, method, number, result):
    path = place_of(setting, name, method, number)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(result))
    unfinished.replace(path)


def known(setting, name, method):
    """The results of all tables of a kind that there are."""
    found = [recall(setting, name, method, number) for number in range(setting.n_tables)]
    return [result for result in found if result is not None]


def commits(results):
    return sorted({result["commit"] for found in results.values() for result in found})


# --- the tables -----------------------------------------------------------------------------------------------------


class Point(NamedTuple):
    """A bin of a reliability curve: what was said and what was true, on average."""

    said: float
    true: float
    error: float  # standard error of `true`
    count: int


def reliability(results, key, low, high):
    """The point of what was said between low and high; None where nothing was."""
    sums = []
    for result in results:
        said, true = np.array(result[key], float).reshape(-1, 2).T
        here = (said >= low) & (said < high)
        sums.append((here.sum(), said[here].sum(), true[here].sum()))
    count, said, true = total = np.sum(sums, axis=0)
    if count == 0:
        return None
    without = total - np.array(sums)
    left = without[without[:, 0] > 0]
    means = left[:, 2] / left[:, 0]
    error = np.sqrt((len(means) - 1) / len(means) * np.square(means - means.mean()).sum()) if len(means) > 1 else np.nan
    return Point(said / count, true / count, float(error), int(count))


def print_reliability(title, key, results):
    print(f"\n{title}")
    rows = []
    for (name, method), found in results.items():
        if found and key in found[0]:
            points = [reliability(found, key, low, high) for low, high in pairwise(BINS)]
            rows.append((f"{name}: {method}", *map(in_words, points)))
    headings = [f"{low:g} to {min(high, 1):g}" for low, high in pairwise(BINS)]
    table(("", *headings), rows)


def in_words(point):
    return "" if point is None else f"{point.said:.2f}, {point.true:.2f} ± {point.error:.2f} [{point.count}]"


def print_stability(results):
    print(
        "\nstability: clusters with each word, their stability on average, and similarity with the closest true cluster"
    )
    rows = []
    for (name, method), found in results.items():
        if found and "words" in found[0]:
            said = np.concatenate([result["stability"] for result in found])
            words = np.concatenate([result["words"] for result in found])
            cells = []
            for word in WORDS:
                here = said[words == word]
                cells.append(f"{len(here)}: {here[:, 0].mean():.2f}, {here[:, 1].mean():.2f}" if len(here) else "0")
            rows.append((f"{name}: {method}", *cells))
    table(("", *WORDS), rows)


def print_intervals(results):
    print(
        "\nshare of 90 % intervals that are right; by how much groups with a support of at least 0.5 are too sure;"
        "\nwhat post.check() finds wrong, and what the report page warns of, and in how many tables"
    )
    rows = []
    for (name, method), found in results.items():
        if found:
            points = [reliability(found, key, 0.0, 2.0) if key in found[0] else None for key in ("times", "number")]
            share = ["" if point is None else f"{point.true:.2f} ± {point.error:.2f}" for point in points]
            clades = reliability(found, "clades", 0.5, 2.0)
            excess = "" if clades is None else f"{clades.said - clades.true:+.2f} ± {clades.error:.2f}"
            said = _counted(one for result in found for one in result["wrong"])
            warned_of = _counted(result["card"] for result in found if result["card"])
            rows.append((f"{name}: {method}", *share, excess, said, f"{warned_of} of {len(found)}"))
    table(("", "times", "number", "too sure by", "wrong", "warned of"), rows)


def _counted(names):
    return ", ".join(f"{name} {number}" for name, number in Counter(names).most_common(3)) or "nothing"


def print_cards(results):
    """Whether the red card is there where supports or memberships are too high, and is not where they are right."""
    print(
        f"\ntables of kinds in which what is said with 0.5 and more is too high by more than {MAX_EXCESS} and have a "
        f"warning,\nand of kinds in which it is by less than {SMALL_EXCESS}, or nothing is said, and have none"
    )
    rows = []
    for of, keys in (("supports or memberships", ("clades", "memberships")), ("supports alone", ("clades",))):
        far, right = [], []
        for found in results.values():
            points = [reliability(found, key, 0.5, 2.0) for key in keys if found and key in found[0]]
            excess = max((point.said - point.true for point in points if point is not None), default=0.0)
            cards = [result["card"] is not None for result in found]
            far += cards if excess > MAX_EXCESS else []
            right += cards if excess < SMALL_EXCESS else []
        rows.append((of, f"{sum(far)} of {len(far)}", f"{len(right) - sum(right)} of {len(right)}"))
    table(("", "too high: warned", "right: not warned"), rows)
