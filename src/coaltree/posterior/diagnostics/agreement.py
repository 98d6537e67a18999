"""Do the chains give the same answer? The stability of the clusters shown, chain by chain.

For every cluster A of the suggested number (of 2, where that is 1), each chain has a mean of J_T(A), the similarity of
A with the closest clade of a draw (`closest_clades`). Chains agree where these means differ by at most 0.1.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..._runtime.once import once
from ..clusters.closest_clades import closest_clades
from .ess import by_chain

if TYPE_CHECKING:
    from ..posterior import Posterior

DIFFERENCE_ABOVE = 0.1  # of means of similarities; stable and doubtful clusters are 0.25 apart


class ChainAgreement(NamedTuple):
    """How well the chains of a posterior agree on its clusters."""

    n_clusters: int  #: the number of clusters that were compared, the suggested one (2, where that is 1)
    stability_difference: float  #: largest difference between two chains in the stability of one of these clusters


@once
def chains_agree(posterior: "Posterior") -> ChainAgreement | None:
    """Compare the chains; None where there are no two."""
    chains = by_chain(posterior.draws.chain)
    is_series = posterior.draws.is_chain and posterior.draws.has_equal_weights
    if not is_series or len(chains) < 2:
        return None
    k = max(posterior.suggest_n_clusters().n_clusters, 2)
    similarity = closest_clades(posterior.draws.children, np.asarray(posterior.cut(k))).similarity
    means = np.array([similarity[draws].mean(axis=0) for draws in chains])
    return ChainAgreement(k, float(np.ptp(means, axis=0).max()))
