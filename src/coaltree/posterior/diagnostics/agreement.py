"""Do the chains give the same answer? Clusters and supports of each chain's own trees, beside those of the others.

Each chain has a mean tree of its own. Cut into the suggested number of clusters (2 where that is 1), these are compared
by the adjusted Rand index: the smallest between two chains. Where the posterior is vague it is below 1 however long
chains are, and so is that of the two halves of one chain, which says how much is to be expected (the smallest). Of the
clades of the common mean tree with at least a twentieth of the leaves, the transfer support in each chain's draws is
compared: the largest difference between two chains, less three times its standard error, which the means of batches of
consecutive draws tell. What is left chance would not explain: chains that are held apart hardly vary, chains that
visit the same states for different times do. Whether they vary often enough is for effective sample sizes to say.

Of a large table some leaves stand for all, always the same, and of long chains some draws.
"""

import warnings
from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._runtime.formatting import field_docs
from ..._runtime.validation import as_number
from ...errors import ClusterSizeWarning, InputError
from ...tree import Tree
from ...tree.merges import restricted_trees
from ..clusters.n_clusters import suggest_from_rows
from ..clusters.partitions import adjusted_rand
from ..trees.transfer_support import greatest, transfers
from .ess import by_chain
from .watched import evenly_spaced

if TYPE_CHECKING:
    from ..posterior import Posterior

MAX_LEAVES = 2_000  # of a larger table so many are looked at
MAX_DRAWS = 200  # of each chain
MIN_DRAWS = 8  # of each chain: two mean trees of four draws each
MIN_CLADE_SHARE, MIN_CLADE = 0.05, 4  # share and number of the leaves, from which on the support of a clade is compared
ARI_SHORTFALL = 0.05  # by which chains may agree less than halves of one chain do
MAX_BATCHES = 10  # of consecutive draws of a chain
N_ERRORS = 3.0  # standard errors of the largest of some forty differences that are put down to chance


@field_docs(
    n_clusters="The suggested number of clusters; of 1, chains are compared at 2.",
    ari="Adjusted Rand index of the clusters of the two chains that agree least.",
    ari_of_halves="That of the halves of the chain that agrees least with itself; NaN where chains agree anyway.",
    support_difference="Largest difference between chains in the transfer support of a clade of 5 % of the leaves, "
    "less three times its standard error.",
)
class ChainAgreement(NamedTuple):
    """How well the chains of a posterior agree on what is shown of it."""

    n_clusters: int
    ari: float
    ari_of_halves: float
    support_difference: float

    @property
    def gives_same_clusters(self) -> bool:
        """Whether chains agree as well as halves of one chain do; of one cluster there is nothing to agree on."""
        return self.n_clusters == 1 or not self.ari < min(self.ari_of_halves, 1.0) - ARI_SHORTFALL


def from_info(stopping: Any) -> ChainAgreement | None:
    """What ``info["stopping"]`` says of it, None where it was not looked at; a file may hold anything."""
    if not isinstance(stopping, Mapping):
        return None
    names = ("n_clusters", "ari", "ari_of_halves", "support_difference")
    n_clusters, *figures = (as_number(stopping.get(name)) for name in names)
    return ChainAgreement(int(n_clusters), *figures) if 1 <= n_clusters < np.inf and not np.isnan(figures[0]) else None


def same_clusters(found: ChainAgreement) -> str:
    """Such as "the chains give the same clusters: ARI 0.97"."""
    if found.n_clusters == 1:
        return f"one cluster is suggested; cut into two, the chains' trees have ARI {found.ari:.2f}"
    if np.isnan(found.ari_of_halves) or found.ari >= 1.0 - ARI_SHORTFALL:
        return f"the chains give the same clusters: ARI {found.ari:.2f}"
    beside = f"ARI {found.ari:.2f}, halves of one chain {found.ari_of_halves:.2f}"
    what = "as much the same clusters as halves of one do" if found.gives_same_clusters else "different clusters"
    return f"the chains give {what}: {beside}"


def chains_agree(posterior: "Posterior") -> ChainAgreement | None:
    """Compare the chains; None where there is one, or where trees or draws are too few to have an answer each."""
    chains = by_chain(posterior.chain)
    is_series = posterior.is_chain and posterior.has_equal_weights and not posterior.is_resampled
    if not is_series or len(chains) < 2 or posterior.n < 4 or min(map(len, chains)) < MIN_DRAWS:
        return None
    part, n_clusters = _part_of(posterior)
    chains, k = by_chain(part.chain), max(n_clusters, 2)
    trees = [part[draws].mean_tree() for draws in chains]
    ari = min(_ari(a, b, k) for a, b in combinations(trees, 2))
    of_halves = np.nan
    if ari < 1.0 - ARI_SHORTFALL:
        halves = [[part[half].mean_tree() for half in np.array_split(draws, 2)] for draws in chains]
        of_halves = min(_ari(first, second, k) for first, second in halves)
    return ChainAgreement(n_clusters, ari, of_halves, _support_difference(part, chains))


def _part_of(posterior: "Posterior") -> tuple["Posterior", int]:
    """Evenly spaced draws of each chain over some leaves, and the number of clusters suggested for these."""
    evenly = [draws[evenly_spaced(len(draws), MAX_DRAWS)] for draws in by_chain(posterior.chain)]
    part = posterior[np.concatenate(evenly)]
    if posterior.n <= MAX_LEAVES:
        try:
            return part, posterior.suggest_n_clusters().n_clusters
        except InputError:  # rows of which something is missing
            return part, suggest_from_rows(part, None).n_clusters
    leaves = np.sort(np.random.default_rng(0).choice(posterior.n, MAX_LEAVES, replace=False))
    children, times = restricted_trees(part.children, part.times, leaves)
    rows, chain = posterior.whitened_rows, part.chain
    part = type(posterior)(children, times, chain=chain)
    return part, suggest_from_rows(part, None if rows is None else rows[leaves]).n_clusters


def _ari(a: Tree, b: Tree, k: int) -> float:
    with warnings.catch_warnings():  # that clusters are smaller than usual is nothing to tell here
        warnings.simplefilter("ignore", ClusterSizeWarning)
        return adjusted_rand(a.cut(k), b.cut(k))


def _support_difference(part: "Posterior", chains: list[np.ndarray]) -> float:
    """The largest difference between chains in the transfer support of large clades, less what chance explains."""
    tree, n = part.mean_tree(), part.n
    sizes = tree.sizes[n:]
    is_large = (sizes >= max(MIN_CLADE, MIN_CLADE_SHARE * n)) & (sizes < n)
    none = np.empty(0, np.int64)

    def supports_in(draws: np.ndarray) -> np.ndarray:
        found = transfers(tree, part.children[draws], np.full(len(draws), 1.0 / len(draws)), none)
        return np.asarray(1.0 - found.distance[is_large] / greatest(sizes[is_large], n))

    n_batches = min(MAX_BATCHES, len(chains[0]) // 2)
    batches = np.array([[supports_in(batch) for batch in np.array_split(draws, n_batches)] for draws in chains])
    support, variance = batches.mean(axis=1), batches.var(axis=1, ddof=1) / n_batches
    differences = [
        np.abs(support[a] - support[b]) - N_ERRORS * np.sqrt(variance[a] + variance[b])
        for a, b in combinations(range(len(chains)), 2)
    ]
    return float(np.max(differences, initial=0.0))
