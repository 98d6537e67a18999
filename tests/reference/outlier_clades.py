"""A clade with the noise scale of one of its leaves, by brute force: the joint density of each (y, branch, time).

The scale of the leaf is e^y; the clade below c is grafted anywhere.
"""

import math

import numpy as np

from tests.reference.regraft import branches, graft, log_joint, prune


def log_density(tree, X, unit, scale, half_df):
    """log p(X, tree, log s): coalescent, diffusion with leaf variances unit · s, and s inverse gamma (both half_df)."""
    leaf_var = [float(u * s) for u, s in zip(unit, scale, strict=True)]
    return log_joint(tree, X, leaf_var) - sum(half_df * (math.log(s) + 1.0 / s) for s in scale)


def masses(tree, c, X, unit, scale, leaf, half_df, ys, n_times=40, last=12.0):
    """{branch: (len(ys),) ∫ density dt} for all branches that the clade below c may join, up to a common factor."""
    rest, parent, _ = prune(tree, c)
    nodes, weights = np.polynomial.legendre.leggauss(n_times)
    logs, found = {}, {}
    for x, lower, upper in branches(rest, len(scale), c):
        upper = min(upper, lower + last)
        # more points where the branch begins: t = lower + width u², dt = 2 width u du
        u, width = 0.5 * (nodes + 1.0), upper - lower
        times, measure = lower + width * u * u, width * u * weights
        scales = [[math.exp(y) if i == leaf else s for i, s in enumerate(scale)] for y in ys]
        grid = [[log_density(graft(rest, parent, c, x, t), X, unit, s, half_df) for t in times] for s in scales]
        logs[x] = np.array(grid), measure
    top = max(float(grid.max()) for grid, _ in logs.values())
    for x, (grid, measure) in logs.items():
        found[x] = np.exp(grid - top) @ measure
    return found
