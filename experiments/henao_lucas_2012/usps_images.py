"""USPS digits: how much the preparation of the images matters.

The subsets of `usps`, their images as they are; with the mean image subtracted and each then scaled to unit length
(Euclidean distances are then those of the angle between images); or with each image's own mean subtracted and then
scaled (distances are those of correlation). The paper does not say which it used. Regrafting: 20 iterations after 20.
"""

import numpy as np

from .common import Page, agreement, figure, linkage_tree, load, main, replicate, signed, summarise
from .paper import USPS
from .usps import REPLICATES, fit, subset

PREPARATIONS = {
    "as they are": lambda X: X,
    "mean image subtracted, unit length": lambda X: _unit(X - X.mean(axis=0)),
    "own mean subtracted, unit length": lambda X: _unit(X - X.mean(axis=1, keepdims=True)),
}
TREES = ("average link", "Ward", "MGreedy, Spherical", "Regraft, Spherical")
ITERATIONS = 20


def _unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def one_subset(X, digits, seed):
    records = []
    for how, prepare in PREPARATIONS.items():
        images = prepare(X)
        for name in TREES:
            if name in ("average link", "Ward"):
                tree = linkage_tree(images, name.split()[0].lower())
            else:
                tree = fit(images, *name.split(", "), seed, ITERATIONS, ITERATIONS)
            records.append({"replicate": seed, "preparation": how, "tree": name} | agreement(tree, digits))
    return records


def run(options, per_digit=50):
    data = load(options, "usps.npz")
    replicates = options.replicates or REPLICATES
    page = Page("usps_images", "USPS digits: the images' scale", options, f"{replicates} subsets of {10 * per_digit}")
    page.say(__doc__.strip().split("\n\n")[1])
    cases = [(*subset(data["X"], data["y"], seed, per_digit), seed) for seed in range(replicates)]
    records = replicate(one_subset, cases, options)
    summary = summarise(records, ("preparation", "tree"))
    area = {(r["replicate"], r["preparation"], r["tree"]): r["area"] for r in records}
    rows = []
    for (how, name), found in summary.items():
        gain = figure([area[seed, how, name] - area[seed, how, TREES[0]] for seed in range(replicates)])
        over = "" if name == TREES[0] else signed(gain.mean, gain.sd / replicates**0.5)
        rows.append([how, name, found["subtree"], found["area"], over])
    for name in ("average link", "MGreedy", "MPost2"):
        theirs = USPS[name]
        over = "" if name == TREES[0] else f"{theirs[1].mean - USPS[TREES[0]][1].mean:+.2g}"
        rows.append(["*paper*", name if name == TREES[0] else f"{name}, Matérn", *theirs[:2], over])
    page.table(["images", "tree", "subtree", "area", "area minus average link's"], rows)
    page.csv(records)
    page.write()


if __name__ == "__main__":
    main(run, __doc__)
