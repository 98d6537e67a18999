"""Where a row joins a tree, the slow way: every branch traced closely, for each scale of Student's noise on a grid."""

import math

import numpy as np

from coaltree.samplers.regraft.branch_density import trace
from coaltree.samplers.regraft.candidates import branch_of


def log_mass(cand, target):
    """The log mass of all candidates under normal noise."""
    masses = [
        trace(branch_of(cand.branches, i), target, cand.proposals, 0, 0.05)
        for i in range(int(cand.counts["candidates"][0]))
    ]
    return float(np.logaddexp.reduce(masses))


def log_mass_over_scales(log_mass_at, half_df, lowest=-8.0, highest=14.0, step=0.1):
    """log ∫ p(s) mass(s) ds by the trapezoidal rule over y = log s, s ~ InverseGamma(half_df, half_df)."""
    y, h = np.arange(lowest, highest, step), half_df
    log_prior = h * math.log(h) - math.lgamma(h) - h * (y + np.exp(-y))
    return float(np.logaddexp.reduce([log_mass_at(math.exp(one)) for one in y] + log_prior) + math.log(step))
