"""Yeast cell cycle: 800 genes in 73 microarrays of four time courses, with missing values; not in the paper.

An example for users. Log ratios as they are; a squared exponential over time within each of the four experiments
(arrays of different experiments are independent), its length, noise and amplitude learnt, missing values drawn along
with the trees. Beside it a spherical covariance, and what one would do otherwise: column means for what is missing,
then average linkage (Euclidean, or of correlations) or Ward. Scores are by the five phases of the cycle that the
authors assigned. A twentieth of the observed values is hidden, to see how well missing values are filled in. Two
chains of each; ESS and R-hat are of the log joint.
"""

import numpy as np

import coaltree as ct
from coaltree.posterior.diagnostics.convergence import topology_ess_of

from .common import (
    Page,
    agreement,
    linkage_tree,
    load,
    main,
    permutation_reference,
    replicate,
    text,
    timed,
)

ITERATIONS, WARMUP, CHAINS = 600, 300, 2
SAMPLER = ct.Regraft(n_neighbors=24)  # with the default of 8 a third of the updates miss where they were
HIDDEN = 0.05
APART = 1e5  # minutes between experiments: far enough that they do not correlate


def kernel(experiment, minutes):
    """Squared exponential over the minutes within an experiment."""
    number = np.unique(experiment, return_inverse=True)[1]
    inputs = np.column_stack([minutes, APART * number])
    prior = ct.LogNormal(median=20.0**2, sd=1.5)  # about 20 minutes, give or take a factor 2
    return ct.SquaredExponential(20.0**2, 0.5, inputs, priors={"length2": prior})


def one_fit(name, X, covariance, hidden, phase, iterations, warmup):
    """Scores by phase, and how well the hidden values are filled in."""
    seen = X.copy()
    seen[hidden] = np.nan
    options = {"n_samples": iterations, "n_warmup": warmup, "n_chains": CHAINS, "random_state": 0, "progress": False}
    post, seconds = timed(lambda: ct.fit(seen, covariance, SAMPLER, noise=0.0, **options))
    drawn = post.draws.imputed[:, hidden[np.isnan(seen)]]
    low, high = np.quantile(drawn, [0.05, 0.95], axis=0)
    record = {"method": name, "cpu_seconds": seconds} | agreement(post, phase) | _errors(drawn.mean(axis=0), X[hidden])
    record["coverage"] = float(np.mean((low <= X[hidden]) & (X[hidden] <= high)))
    tree = post.mcc_tree()
    theta = {key: float(draws.mean()) for key, draws in post.theta.items()}
    mixing = {
        "ess": post.ess,
        "topology_ess": topology_ess_of(post),
        "r_hat": post.info["convergence"]["log_joint"]["r_hat"],
    }
    record |= agreement(tree, phase, "_mcc") | theta | mixing | {"log_joint": float(post.log_joint.mean())}
    return [record | {"tree": tree}]


def _errors(estimate, truth):
    return {"imputation_rmse": float(np.sqrt(np.mean((estimate - truth) ** 2)))}


def run(options, n_genes=None, iterations=ITERATIONS, warmup=WARMUP):
    data = load(options, "yeast_cellcycle.npz")
    X, phase = data["X"].astype(float)[:n_genes], data["phase"].astype(str)[:n_genes]
    rng = np.random.default_rng(7)
    hidden = (rng.random(X.shape) < HIDDEN) & ~np.isnan(X)
    said = f"{len(X)} genes, {CHAINS} chains of {iterations} iterations after {warmup}"
    page = Page("yeast", "Yeast cell cycle", options, said)
    page.say(__doc__.strip().split("\n\n")[1])
    covariances = {
        "regraft, squared exponential": kernel(data["experiment"], data["time_min"]),
        "regraft, Spherical": ct.Spherical(),
    }
    cases = [(name, X, covariance, hidden, phase, iterations, warmup) for name, covariance in covariances.items()]
    records = replicate(one_fit, cases, options)
    trees = [record.pop("tree") for record in records]
    records += _linkages(X, hidden, phase)
    reference = permutation_reference(linkage_tree(_filled(X), "average"), phase, rng, 100)
    _table(page, records, reference)
    page.csv(records)
    _figure(page, trees[0], phase)
    page.write()


def _filled(X):
    return np.where(np.isnan(X), np.nanmean(X, axis=0), X)


def _linkages(X, hidden, phase):
    from sklearn.impute import KNNImputer

    seen = np.where(hidden, np.nan, X)
    means, knn = _filled(seen), KNNImputer(n_neighbors=10).fit_transform(seen)
    records = []
    for name, method, metric, filled in (
        ("average link, column means", "average", "euclidean", means),
        ("average link of correlations, column means", "average", "correlation", means),
        ("Ward, column means", "ward", "euclidean", means),
        ("Ward, 10 nearest neighbours", "ward", "euclidean", knn),
    ):
        tree, seconds = timed(lambda f=filled, m=method, d=metric: linkage_tree(f, m, metric=d))
        record = {"method": name, "cpu_seconds": seconds} | agreement(tree, phase)
        records.append(record | _errors(filled[hidden], X[hidden]))
    return records


def _table(page, records, reference):
    page.heading("Trees, and missing values")
    page.say(
        "Subtree score and area by phase; error of the hidden values (root mean square, log2 ratio) and the share of "
        "them within their 90 % interval."
    )
    columns = ("subtree", "area", "subtree_mcc", "area_mcc", "imputation_rmse", "coverage", "length2", "noise", "ess")
    columns += ("r_hat", "cpu_seconds")
    rows = [[r["method"], *(text(r[c]) if c in r else "" for c in columns)] for r in records]
    low = {name: f"{mean:.2f} (97.5 %: {high:.2f})" for name, (mean, high) in reference.items()}
    rows.append(["phases dealt out at random", low["subtree"], low["area"], *[""] * (len(columns) - 2)])
    header = ["", "subtree", "area", "subtree, MCC", "area, MCC", "RMSE", "coverage", "length2 (min²)", "noise", "ESS"]
    page.table([*header, "R-hat", "CPU seconds"], rows)


def _figure(page, tree, phase):
    import matplotlib

    matplotlib.use("Agg")
    axes = ct.plotting.dendrogram(tree, clusters=phase, labels=False, max_leaves=None, time_scale="sqrt")
    page.figure(axes.figure, "yeast_tree", "The MCC tree of all genes (squared exponential), coloured by phase")


if __name__ == "__main__":
    main(run, __doc__)
