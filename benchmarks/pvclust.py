"""Bootstrap probabilities (BP) and approximately unbiased ones (AU) of the groups of an average linkage.

By the multiscale bootstrap of columns (Shimodaira 2002), as the R package pvclust reports them: `multiscale_bootstrap`
computes them by NumPy and SciPy, `of_r` runs pvclust itself, where R and the package are installed (Debian:
r-cran-pvclust). Groups are the bytes of packed masks of rows.
"""

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.stats import norm

from .off_model import masks_of

SCALES = np.linspace(0.5, 1.4, 10)  # shares of the columns that are drawn
BOOTSTRAPS = 200  # at each scale
MIN_SCALES = 3  # at which a share is neither 0 nor 1, to fit a line
NOT_INSTALLED = "pvclust is not installed: its BP and AU are computed here by NumPy and SciPy alone"
_SCRIPT = """
suppressMessages(library(pvclust))
where <- commandArgs(trailingOnly = TRUE)
rows <- as.matrix(read.csv(file.path(where[1], "rows.csv"), header = FALSE))
before <- proc.time()
found <- pvclust(t(rows), method.hclust = "average", method.dist = "euclidean", nboot = as.integer(where[2]),
                 r = seq(0.5, 1.4, by = 0.1), iseed = as.integer(where[3]), quiet = TRUE)
seconds <- sum((proc.time() - before)[1:2])
table <- cbind(found$hclust$merge, found$edges$bp, found$edges$au, seconds)
write.table(table, file.path(where[1], "found.csv"), sep = ",", row.names = FALSE, col.names = FALSE)
"""


def multiscale_bootstrap(X, rng):
    """{group: BP} and {group: AU} of the groups of an average linkage, and {group: share} of bootstrapped trees.

    With π_r the share of a group in trees of r d columns drawn with replacement, -Φ⁻¹(π_r) = v √r + c / √r is fitted by
    weighted least squares; BP = Φ(-v - c), AU = Φ(c - v). Both are 0 or 1 where too few shares are neither.
    """
    n, d = X.shape
    found = {}
    for size in np.round(SCALES * d).astype(int).tolist():
        trees = [_merges(X[:, rng.integers(d, size=size)]) for _ in range(BOOTSTRAPS)]
        found[size / d] = shares_of(trees, n)
    own, every = {}, np.array(list(found))
    for group in shares_of([_merges(X)], n):
        shares = np.array([of_scale.get(group, 0.0) for of_scale in found.values()])
        own[group] = _fitted(shares, every)
    bp, au = ({group: both[i] for group, both in own.items()} for i in range(2))
    return bp, au, found[1.0]


def _fitted(shares, r):
    """BP and AU of a group with such shares at each scale r."""
    inside = (shares > 0.0) & (shares < 1.0)
    if inside.sum() < MIN_SCALES:
        return 2 * (float(shares.mean() >= 0.5),)
    shares, r = shares[inside], r[inside]
    z = -norm.ppf(shares)
    root = np.sqrt(BOOTSTRAPS * norm.pdf(z) ** 2 / (shares * (1.0 - shares)))
    design = np.column_stack([np.sqrt(r), 1.0 / np.sqrt(r)]) * root[:, None]
    v, c = np.linalg.lstsq(design, z * root, rcond=None)[0]
    return float(norm.cdf(-v - c)), float(norm.cdf(c - v))


def _merges(X):
    return linkage(X, "average")[:, :2].astype(np.int64)


def shares_of(trees, n):
    """{group: share of the trees (T, n-1, 2) that have it}, single leaves and the whole apart."""
    masks = np.concatenate([np.packbits(masks_of(children)[n:-1], axis=1) for children in trees])
    groups, counts = np.unique(masks, axis=0, return_counts=True)
    return {group.tobytes(): count / len(trees) for group, count in zip(groups, counts, strict=True)}


@cache
def is_installed():
    """Whether there is an R that has pvclust."""
    if shutil.which("Rscript") is None:
        return False
    return subprocess.run(["Rscript", "-e", "library(pvclust)"], capture_output=True).returncode == 0


def of_r(X, seed):
    """{group: BP} and {group: AU} as pvclust computes them, and its seconds of all processors."""
    with tempfile.TemporaryDirectory() as folder:
        np.savetxt(Path(folder) / "rows.csv", X, delimiter=",", fmt="%.17g")
        command = ["Rscript", "-e", _SCRIPT, folder, str(BOOTSTRAPS), str(seed)]
        subprocess.run(command, check=True, capture_output=True)
        found = np.loadtxt(Path(folder) / "found.csv", delimiter=",")
    merge = found[:, :2].astype(np.int64)
    children = np.where(merge < 0, -merge - 1, merge + len(X) - 1)  # R counts leaves as -1, -2, …, and merges from 1
    groups = [np.packbits(mask).tobytes() for mask in masks_of(children)[len(X) : -1]]
    bp, au = (dict(zip(groups, column[:-1].tolist(), strict=True)) for column in (found[:, 2], found[:, 3]))
    return bp, au, float(found[0, 4])
