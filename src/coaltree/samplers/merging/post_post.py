"""PostPost (Teh et al. 2008): pair and time from their exact joint posterior of one step.

Each pair is drawn in proportion to Z_C, its integral cut to v > r, which needs one quadrature for every pair that
can matter; v then follows the cut generalized inverse Gaussian, and the weight factor is Σ_C Z_C:
that of MPost without its correction, so they share a kernel.
"""

from dataclasses import dataclass

import numpy as np

from ...model.process.whitened import Problem
from .mpost import grow
from .pair_weights import CUT
from .population import MergingPopulation
from .smc import SMC


@dataclass(frozen=True)
class PostPost(SMC):
    """Each merge from its exact one-step posterior, pair and time."""

    def population(self, problem: Problem, streams: np.ndarray) -> MergingPopulation:
        return MergingPopulation(problem, streams, grow, CUT, False, True, True)
