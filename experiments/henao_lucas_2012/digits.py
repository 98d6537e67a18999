"""scikit-learn's digits: 1797 images of 8 × 8 pixels; not in the paper.

An example for users, with data that everyone has. Pixels 0 to 16 as they are; regrafting with a spherical covariance
and with a Matérn over the grid, both learnt, beside average linkage and Ward. Scores are by digit.
"""

import numpy as np

import coaltree as ct

from .common import Page, agreement, linkage_tree, main, permutation_reference, quiet, replicate, text, timed

ROUNDS, WARMUP = 100, 50


def one_method(name, X, digits, rounds, warmup):
    if name in ("average link", "Ward"):
        tree, seconds = timed(lambda: linkage_tree(X, name.split()[0].lower()))
        return [{"method": name, "cpu_seconds": seconds} | agreement(tree, digits)]
    post, seconds = timed(lambda: fit(X, name, rounds, warmup))
    record = {"method": name, "cpu_seconds": seconds} | agreement(post, digits)
    record |= agreement(post.mcc_tree(), digits, "_mcc") | {"log_joint": float(post.log_joint.mean()), "ess": post.ess}
    for parameter, draws in post.theta.items():
        for i, value in enumerate(np.ravel(draws.mean(axis=0))):
            record[f"{parameter}_{i}" if draws.ndim > 1 else parameter] = float(value)
    return [record]


def fit(X, name, rounds, warmup):
    covariance = {"regraft, Spherical": ct.Spherical(), "regraft, Matérn": ct.Matern32((2.0, 2.0), 0.1, (8, 8))}[name]
    options = {"n_samples": rounds, "n_warmup": warmup, "n_chains": 1, "random_state": 0, "progress": False}
    return ct.fit(X, covariance, "regraft", **options)


def run(options, n_images=None, rounds=ROUNDS, warmup=WARMUP):
    from sklearn.datasets import load_digits

    X, digits = load_digits(return_X_y=True)
    X, digits = X[:n_images], digits[:n_images]
    page = Page("digits", "scikit-learn's digits", options, f"{len(X)} images, {rounds} rounds after {warmup}")
    page.say(__doc__.strip().split("\n\n")[1])
    names = ("regraft, Spherical", "regraft, Matérn", "average link", "Ward")
    records = replicate(one_method, [(name, X, digits, rounds, warmup) for name in names], options)
    rng = np.random.default_rng(8)
    reference = permutation_reference(linkage_tree(X, "average"), digits, rng, 100)
    columns = ("subtree", "area", "subtree_mcc", "area_mcc", "log_joint", "ess", "cpu_seconds")
    rows = [[r["method"], *(text(r[c]) if c in r else "" for c in columns)] for r in records]
    low = {name: f"{mean:.2f} (97.5 %: {high:.2f})" for name, (mean, high) in reference.items()}
    rows.append(["digits dealt out at random", low["subtree"], low["area"], *[""] * (len(columns) - 2)])
    page.table(["", "subtree", "area", "subtree, MCC", "area, MCC", "log joint", "ESS", "CPU seconds"], rows)
    page.csv(records)
    with quiet():
        _figure(page, X, digits, rounds, warmup)
    page.write()


def _figure(page, X, digits, rounds, warmup):
    import matplotlib

    matplotlib.use("Agg")
    post = fit(X, "regraft, Spherical", rounds, warmup)
    axes = ct.plotting.ari_curves(
        {"regraft, Spherical": post, "average link": linkage_tree(X, "average"), "Ward": linkage_tree(X, "ward")},
        digits,
    )
    page.figure(axes.figure, "digits_curves", "ARI curves, with the areas under them")
    axes = ct.plotting.dendrogram(post.mcc_tree(), clusters=digits.astype(str), max_leaves=60, time_scale="sqrt")
    page.figure(axes.figure, "digits_tree", "The MCC tree, folded to sixty tips, coloured by digit")


if __name__ == "__main__":
    main(run, __doc__)
