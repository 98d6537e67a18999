"""USPS digits: subsets of 500 images, 50 of each digit.

Pixels in [-1, 1] as they are, no other preprocessing. The paper's covariance: Matérn-3/2 over the 16 × 16 grid with
noise, lengths of both axes and noise learnt, here with an amplitude, which the paper's kernel lacks ("amplitude 1" is
without). MPost2 with 10 particles and MGreedy take 20 iterations, of which the last 10 are scored; regrafting 100
iterations after 50. Scores are means over the trees drawn; prior trees are 10 draws of the coalescent without data.
"""

from functools import partial

import numpy as np

import coaltree as ct

from .common import (
    Page,
    agreement,
    ari_curves,
    figure,
    linkage_tree,
    load,
    log_average_tree,
    main,
    quiet,
    replicate,
    seconds_text,
    signed,
    speed_checks,
    summarise,
    text,
    timed,
    timed_warm,
)
from .paper import USPS, USPS_PRIOR_AREA

REPLICATES = 25
PER_DIGIT = 50
ITERATIONS = 20
REGRAFT_ITERATIONS, WARMUP = 100, 50
GRID = (16, 16)
MATERN = partial(ct.Matern32, (3.0, 3.0), 0.1, GRID)
COVARIANCES = {
    "Matérn": MATERN(),
    "Matérn, amplitude 1": MATERN(learn=("length", "noise")),
    "Spherical": ct.Spherical(),
    "Diagonal": ct.Diagonal(),
}
# (sampler, covariance) of the fits; MPost2 and MGreedy with Matérn are the paper's.
FITS = (
    ("MPost2", "Matérn"),
    ("MGreedy", "Matérn"),
    ("Regraft", "Matérn"),
    ("MPost2", "Spherical"),
    ("MGreedy", "Spherical"),
    ("Regraft", "Spherical"),
    ("Regraft", "Diagonal"),
)
FURTHER_FITS = (
    ("MPost2", "Matérn, amplitude 1"),
    ("MGreedy", "Matérn, amplitude 1"),
    ("Regraft", "Matérn, amplitude 1"),
    ("MPost2 (printed weights)", "Matérn"),
)
SAMPLERS = {
    "MPost2": ct.MPost2(n_particles=10),
    "MPost2 (printed weights)": ct.MPost2(n_particles=10, weights="printed"),
    "MGreedy": ct.MGreedy(),
    "Regraft": ct.Regraft(),
}
LENGTHS, NOISES = (1.0, 1.5, 3.0, 6.0), (0.01, 0.1, 1.0, 10.0)
FURTHER_EVERY = 5  # further fits, and fixed lengths and noises, are tried on a fifth of the subsets


def subset(images, digits, seed, per_digit=PER_DIGIT):
    rng = np.random.default_rng([4, seed])
    rows = [rng.choice(np.flatnonzero(digits == digit), per_digit, replace=False) for digit in np.unique(digits)]
    rows = np.concatenate(rows)
    return images[rows].astype(float), digits[rows]


def fit(X, sampler, covariance, seed, kept=None, dropped=None):
    if kept is None:
        kept, dropped = (REGRAFT_ITERATIONS, WARMUP) if sampler == "Regraft" else (ITERATIONS // 2, ITERATIONS // 2)
    return ct.fit(
        X,
        COVARIANCES.get(covariance, covariance),
        SAMPLERS[sampler],
        n_samples=kept,
        n_warmup=dropped,
        noise=0.0,
        n_chains=1,
        random_state=seed,
        progress=False,
    )


def one_subset(X, digits, seed, fits):
    records = []

    def record(name, covariance, summary, scores, **more):
        key = {"replicate": seed, "sampler": name, "covariance": covariance, "summary": summary}
        records.append(key | scores | more)

    for method in ("average", "ward"):
        tree, seconds = timed(lambda method=method: linkage_tree(X, method))
        name = {"average": "average link", "ward": "Ward"}[method]
        record(name, "", "tree", agreement(tree, digits), cpu_seconds=seconds)
    rng = np.random.default_rng([5, seed])
    prior = [agreement(_prior_tree(len(X), rng), digits) for _ in range(10)]
    record("prior", "", "draws", {name: float(np.mean([one[name] for one in prior])) for name in prior[0]})
    for sampler, covariance in fits:
        post, seconds = timed_warm(
            (sampler, covariance),
            lambda s=sampler, c=covariance: fit(X, s, c, seed),
            lambda s=sampler, c=covariance: fit(X[::25], s, c, seed, 6, 1),
        )
        more = {"cpu_seconds": seconds, "log_joint": float(post.log_joint.mean())} | _theta(post)
        record(sampler, covariance, "draws", agreement(post, digits), **more)
        if sampler == "Regraft":
            spread = [agreement(tree, digits) for tree in post.trees[::10]]
            best = max(spread, key=lambda one: one["area"])
            record(sampler, covariance, "best of ten draws", best)
        if sampler == "Regraft" or covariance == "Matérn":
            record(sampler, covariance, "MAP", agreement(post.map_tree(), digits))
            record(sampler, covariance, "MCC", agreement(post.mcc_tree(), digits))
            record(sampler, covariance, "mean log time", agreement(log_average_tree(post), digits))
    return records


def one_sweep(X, digits, seed):
    """Regrafting under Matérn covariances that are fixed but for their amplitude."""
    records = []
    for length in LENGTHS:
        for noise in NOISES:
            covariance = ct.Matern32((length, length), noise, GRID, learn=("amplitude",))
            post = fit(X, "Regraft", covariance, seed, 20, 15)
            scores = agreement(post, digits) | {"log_joint": float(post.log_joint.mean())}
            records.append({"replicate": seed, "length": length, "noise": noise} | scores)
    return records


def _prior_tree(n, rng):
    """A draw of the coalescent: every pair equally likely, waiting times exponential."""
    return ct.simulate(n, 1, random_state=rng)[1]


def _theta(post):
    found = {}
    for name in ("amplitude", "length", "noise"):
        if name in post.theta:
            for axis, value in enumerate(np.ravel(post.theta[name].mean(axis=0))):
                found[f"length_{'yx'[axis]}" if name == "length" else name] = float(value)
    return found


def run(options, per_digit=PER_DIGIT, sweep=True):
    data = load(options, "usps.npz")
    replicates = options.replicates or REPLICATES
    page = Page("usps", "USPS digits", options, f"{replicates} subsets of {10 * per_digit} images")
    page.say(__doc__.strip().split("\n\n")[1])
    subsets = [(*subset(data["X"], data["y"], seed, per_digit), seed) for seed in range(replicates)]
    further = max(1, replicates // FURTHER_EVERY)
    fits = [FITS + FURTHER_FITS if seed < further else FITS for seed in range(replicates)]
    records = replicate(one_subset, [(*case, more) for case, more in zip(subsets, fits, strict=True)], options)
    summary = summarise(records, ("sampler", "covariance", "summary"))
    page.checks(_checks(records, summary))
    _main_table(page, summary, further)
    _covariance_table(page, summary)
    _summary_table(page, records, summary)
    page.csv(records)
    if sweep:
        swept = replicate(one_sweep, subsets[:further], options)
        _sweep_table(page, swept)
        page.csv(swept, "usps_sweep")
    with quiet():
        _curves(page, subsets[0])
    page.write()


def _difference(records, one, other, column):
    """Mean difference over the subsets with its standard error."""
    value = {(r["replicate"], r["sampler"], r["covariance"], r["summary"]): r[column] for r in records}
    seeds = sorted({seed for seed, *key in value if tuple(key) == one})
    found = figure([value[(seed, *one)] - value[(seed, *other)] for seed in seeds])
    return found.mean, found.sd / len(seeds) ** 0.5


def _checks(records, summary):
    link = ("average link", "", "tree")
    found = []
    for one in (("MPost2", "Matérn", "draws"), ("MGreedy", "Matérn", "draws")):
        subtree, area, _ = USPS[one[0]]
        ours = summary[one]
        found.append((f"{one[0]}, Matérn: the paper's subtree score", ours["subtree"].mean >= subtree.mean,
                      f"{text(ours['subtree'])}, paper {text(subtree)}"))  # fmt: skip
        found.append((f"{one[0]}, Matérn: the paper's area", ours["area"].mean >= area.mean,
                      f"{text(ours['area'])}, paper {text(area)}"))  # fmt: skip
    candidates = [key for key in summary if key[:2] in FITS and "best" not in key[2]]
    best = max(candidates, key=lambda key: summary[key]["area"].mean)
    for words, one in (("MPost2, Matérn", ("MPost2", "Matérn", "draws")), ("the best of ours", best)):
        mean, error = _difference(records, one, link, "area")
        seen = f"{signed(mean, error)} ({', '.join(one)})"
        found.append((f"area of {words} 0.04 above average link's, as in the paper", mean >= 0.04, seen))
    seconds = {
        f"{name}, Matérn": (USPS[name][2], summary[name, "Matérn", "draws"]["cpu_seconds"].mean)
        for name in ("MPost2", "MGreedy")
    }
    return found + speed_checks(seconds)


def _main_table(page, summary, n_further):
    page.heading("Scores and time")
    rows = []
    for key in [
        ("average link", "", "tree"),
        ("Ward", "", "tree"),
        ("prior", "", "draws"),
        *((*f, "draws") for f in FITS + FURTHER_FITS),
    ]:
        ours = summary[key]
        theirs = USPS.get(key[0]) if key[1] in ("", "Matérn") else None
        paper = [text(theirs[0]), text(theirs[1]), seconds_text(theirs[2])] if theirs else ["", "", ""]
        if key[0] == "prior":
            paper[1] = f"{USPS_PRIOR_AREA} (one subset)"
        seconds = text(ours["cpu_seconds"]) if "cpu_seconds" in ours else ""
        cells = [ours["subtree"], paper[0], ours["area"], paper[1], seconds, paper[2]]
        rows.append([key[0], key[1], *cells])
    header = ["", "covariance", "subtree", "*paper*", "area", "*paper*", "CPU seconds", "*paper*"]
    page.table(header, rows)
    page.say(
        f"Average link in the paper took less than a minute. The last four rows are of {n_further} of the subsets, so "
        "that they compare with the others only roughly."
    )


def _covariance_table(page, summary):
    page.heading("Which covariance serves")
    page.say(
        "Regrafting. Log joint is the mean of log p(X, tree | θ) + log p(θ): what the model itself thinks of the "
        "covariance. The lengths are in pixels, the noise a share of the amplitude."
    )
    names = ("amplitude", "length_y", "length_x", "noise")
    rows = []
    for covariance in COVARIANCES:
        found = summary["Regraft", covariance, "draws"]
        theta = [found.get(name, "") for name in names]
        rows.append([covariance, found["subtree"], found["area"], f"{found['log_joint'].mean:.0f}", *theta])
    page.table(["covariance", "subtree", "area", "log joint", *(name.replace("_", " ") for name in names)], rows)


def _summary_table(page, records, summary):
    page.heading("Do summaries of the posterior beat its single trees?")
    page.say(
        "Draws: mean score of the trees drawn. MAP: the tree with the highest log joint. MCC: maximum clade "
        "credibility. Mean log time: average linkage of the posterior mean of the log cophenetic times. The last "
        "column is the difference of areas to the draws, with its standard error over the subsets. The best of ten "
        "draws is chosen with the labels: no method, but a measure of how far single trees lie apart."
    )
    rows = []
    for sampler, covariance, kind in summary:
        if (sampler, covariance, "MCC") in summary:
            found = summary[sampler, covariance, kind]
            draws = (sampler, covariance, "draws")
            mean, error = _difference(records, (sampler, covariance, kind), draws, "area")
            gain = "" if kind == "draws" else signed(mean, error)
            rows.append([sampler, covariance, kind, found["subtree"], found["area"], gain])
    page.table(["", "covariance", "", "subtree", "area", "area minus draws'"], rows)


def _sweep_table(page, swept):
    summary = summarise(swept, ("length", "noise"))
    n = len({record["replicate"] for record in swept})
    page.heading("Matérn covariances with fixed length and noise")
    page.say(f"Regrafting, amplitude learnt, {n} subsets: subtree / area (log joint).")
    rows = []
    for length in LENGTHS:
        cells = []
        for noise in NOISES:
            found = summary[length, noise]
            cells.append(f"{found['subtree'].mean:.3f} / {found['area'].mean:.3f} ({found['log_joint'].mean:.0f})")
        rows.append([f"length {length:g}", *cells])
    page.table(["", *(f"noise {noise:g}" for noise in NOISES)], rows)


def _curves(page, case):
    """The paper's figure: ARI curves of one subset."""
    import matplotlib

    matplotlib.use("Agg")
    X, digits, seed = case
    trees = {
        "MPost2, Matérn": fit(X, "MPost2", "Matérn", seed),
        "MGreedy, Matérn": fit(X, "MGreedy", "Matérn", seed),
        "Regraft, Matérn": fit(X, "Regraft", "Matérn", seed),
        "Regraft, Spherical": fit(X, "Regraft", "Spherical", seed),
        "average link": linkage_tree(X, "average"),
        "Ward": linkage_tree(X, "ward"),
        "prior": _prior_tree(len(X), np.random.default_rng(seed)),
    }
    axes = ari_curves(trees, digits)
    page.figure(axes.figure, "usps_curves", "ARI curves of the first subset, with the areas under them")


if __name__ == "__main__":
    main(run, __doc__)
