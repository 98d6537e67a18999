"""scikit-learn's digits: 1797 images of 8 × 8 pixels; not in the paper.

An example for users, with data that everyone has. Pixels 0 to 16 as they are; regrafting with a spherical covariance
and with a Matérn over the grid, both learnt, each from several seeds (mean ± standard deviation over them), beside
average linkage and Ward. Scores are by digit.
"""

import numpy as np

import coaltree as ct

from .common import (
    Page,
    agreement,
    ari_curves,
    linkage_tree,
    main,
    permutation_reference,
    quiet,
    replicate,
    summarise,
    text,
    timed,
    timed_warm,
)

REPLICATES = 3
ITERATIONS, WARMUP = 200, 100


def one_linkage(name, X, digits):
    tree, seconds = timed(lambda: linkage_tree(X, name.split()[0].lower()))
    return [{"method": name, "replicate": 0, "cpu_seconds": seconds} | agreement(tree, digits)]


def one_fit(name, X, digits, iterations, warmup, seed):
    post, seconds = timed_warm(
        name, lambda: fit(X, name, iterations, warmup, seed), lambda: fit(X[::50], name, 5, 1, seed)
    )
    record = {"method": name, "replicate": seed, "cpu_seconds": seconds} | agreement(post, digits)
    record |= agreement(post.mcc_tree(), digits, "_mcc") | {"log_joint": float(post.log_joint.mean()), "ess": post.ess}
    for parameter, draws in post.theta.items():
        for i, value in enumerate(np.ravel(draws.mean(axis=0))):
            record[f"{parameter}_{i}" if draws.ndim > 1 else parameter] = float(value)
    return [record]


def fit(X, name, iterations, warmup, seed):
    covariance = {"regraft, Spherical": ct.Spherical(), "regraft, Matérn": ct.Matern32((2.0, 2.0), 0.1, (8, 8))}[name]
    options = {"n_samples": iterations, "n_warmup": warmup, "n_chains": 1, "random_state": seed, "progress": False}
    return ct.fit(X, covariance, "regraft", noise=0.0, **options)


def run(options, n_images=None, iterations=ITERATIONS, warmup=WARMUP):
    from sklearn.datasets import load_digits

    X, digits = load_digits(return_X_y=True)
    X, digits = X[:n_images], digits[:n_images]
    replicates = options.replicates or REPLICATES
    said = f"{len(X)} images, {iterations} iterations after {warmup}, {replicates} seeds"
    page = Page("digits", "scikit-learn's digits", options, said)
    page.say(__doc__.strip().split("\n\n")[1])
    names = ("regraft, Spherical", "regraft, Matérn")
    cases = [(name, X, digits, iterations, warmup, seed) for name in names for seed in range(replicates)]
    records = replicate(one_fit, cases, options)
    records += replicate(one_linkage, [(name, X, digits) for name in ("average link", "Ward")], options)
    rng = np.random.default_rng(8)
    reference = permutation_reference(linkage_tree(X, "average"), digits, rng, 100)
    columns = ("subtree", "area", "subtree_mcc", "area_mcc", "ess", "cpu_seconds")
    summary = summarise(records, ("method",))
    rows = [[name, *(text(found[c]) if c in found else "" for c in columns)] for (name,), found in summary.items()]
    low = {name: f"{mean:.2f} (97.5 %: {high:.2f})" for name, (mean, high) in reference.items()}
    rows.append(["digits dealt out at random", low["subtree"], low["area"], *[""] * (len(columns) - 2)])
    page.table(["", "subtree", "area", "subtree, MCC", "area, MCC", f"ESS of {iterations}", "CPU seconds"], rows)
    joint = {name: summary[(name,)]["log_joint"].mean for name in names}
    page.say(
        f"Mean log joint: {joint[names[0]]:.0f} with the spherical covariance, {joint[names[1]]:.0f} with the Matérn. "
        "ESS is that of the log joint."
    )
    page.csv(records)
    with quiet():
        _figure(page, X, digits, iterations, warmup)
    page.write()


def _figure(page, X, digits, iterations, warmup):
    import matplotlib

    matplotlib.use("Agg")
    post = fit(X, "regraft, Spherical", max(5, iterations // 4), warmup, 0)
    axes = ari_curves(
        {"regraft, Spherical": post, "average link": linkage_tree(X, "average"), "Ward": linkage_tree(X, "ward")},
        digits,
    )
    page.figure(axes.figure, "digits_curves", "ARI curves, with the areas under them")
    axes = ct.plotting.dendrogram(post.mcc_tree(), clusters=digits.astype(str), max_leaves=60, time_scale="sqrt")
    page.figure(
        axes.figure, "digits_tree", "The MCC tree, folded to sixty tips, coloured by digit; grey where digits mix"
    )


if __name__ == "__main__":
    main(run, __doc__)
