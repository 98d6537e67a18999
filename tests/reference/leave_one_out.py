"""The density of a leaf given all others, by brute force over every tree that it can be grafted into."""

import math

import numpy as np

from tests.reference import regraft


def log_density_of_leaf(children, times, W, leaf, leaf_var, n_points=300):
    """log p(w_leaf | other rows, the tree without it) under Φ = I, on a fine grid of times; leaf_var is a list."""
    n = len(W)
    tree = regraft.from_arrays(children, times)
    rest, parent, _ = regraft.prune(tree, leaf)
    log_rest = log_joint_without(rest, W, leaf, leaf_var)
    total = 0.0
    for x, lower, upper in regraft.branches(rest, n, leaf):
        top = upper if math.isfinite(upper) else lower + 30.0
        half = np.geomspace(1e-8, 0.5, n_points)
        t = lower + (top - lower) * np.append(half[:-1], 1 - half[::-1])
        joint = [regraft.log_joint(regraft.graft(rest, parent, leaf, x, u), W, leaf_var) for u in t]
        total += np.trapezoid(np.exp(np.array(joint) - log_rest), t)
    return math.log(total)


def log_joint_without(rest, W, leaf, leaf_var):
    """log p(other rows, the tree without a leaf)."""
    roots = [node for node in rest if regraft.parent_of(rest, node) is None]
    return regraft.log_prior(rest) + regraft.message(rest, roots[0], W, leaf_var)[2]


def log_density_with_tails(children, times, W, leaf, leaf_var, df):
    """The same with the leaf's variance multiplied by s ~ InverseGamma(df/2, df/2), integrated over a grid of log s."""
    h = 0.5 * df
    y = np.linspace(-3.0, 7.0, 33)
    found = []
    for log_s in y:
        scaled = list(leaf_var)
        scaled[leaf] *= math.exp(log_s)
        log_prior = h * (math.log(h) - log_s - math.exp(-log_s)) - math.lgamma(h)
        found.append(log_density_of_leaf(children, times, W, leaf, scaled, 70) + log_prior)
    top = max(found)
    return top + math.log(np.trapezoid(np.exp(np.array(found) - top), y))
