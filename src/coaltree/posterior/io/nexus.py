"""Trees for other programs' viewers: NEXUS and annotated Newick."""

from typing import TYPE_CHECKING

import numpy as np

from ..._runtime.atomic_write import replacing
from ..._runtime.once import once
from ..._runtime.typing import PathLike
from ..._runtime.validation import check_count
from ...numerics.weighted import pick_trees
from ...tree.distances import with_leaves_as
from ...tree.newick import quote, write
from ...tree.nexus import drawn_trees, leaf_numbers, nexus_lines, node_comments
from ...tree.tree import Tree
from ..diagnostics.convergence import shown_support
from ..trees.node_times import heights

if TYPE_CHECKING:
    from ..posterior import Posterior

HPD_LEVEL = 0.95  # of the interval that every program knows as height_95%_HPD


def write_nexus(posterior: "Posterior", path: PathLike, max_trees: int | None) -> None:
    """Write at most so many trees, evenly spread by weight, as NEXUS; all of them for None."""
    draws, weights = np.arange(len(posterior)), posterior.weights
    if max_trees is not None and check_count("max_trees", max_trees) < len(posterior):
        draws, weights = pick_trees(weights, max_trees)
    trees = drawn_trees(posterior.draws.children[draws], posterior.draws.times[draws], weights)
    with replacing(path) as file:
        file.writelines(f"{line}\n" for line in nexus_lines(posterior.labels, trees))


def annotated_tree(posterior: "Posterior", tree: Tree | None = None, file_format: str = "nexus") -> str:
    """A tree, the mean tree by default, with support and times of each clade, as a NEXUS file or a line of Newick."""
    tree = posterior.mean_tree() if tree is None else with_leaves_as(tree, posterior.labels)
    transfer, comments = annotations(posterior, tree)
    if file_format == "nexus":
        text = write(tree.children, tree.times, leaf_numbers(tree.n) + comments)
        return "".join(f"{line}\n" for line in nexus_lines(tree.labels, [f"summary = [&R] {text}"]))
    names = [quote(label.replace("\r", " ")) for label in tree.labels]
    # Programs that pass over comments show the names of inner nodes, as R's ape does.
    supports = ["" if np.isnan(share) else f"{share:.4g}" for share in transfer]
    names += map(str.__add__, supports, comments)
    return f"{write(tree.children, tree.times, names)}\n"


@once
def annotations(posterior: "Posterior", tree: Tree) -> tuple[np.ndarray, list[str]]:
    """Transfer supports (n-1,) of a tree's clades, and what is written beside each, whatever the format."""
    transfer = shown_support(posterior, tree)
    median, shortest = heights(posterior, tree, HPD_LEVEL)
    comments = node_comments(
        {
            "posterior": np.asarray(posterior.clade_support(tree)),
            "transfer": transfer,
            "height": tree.times,
            "height_median": median,
            f"height_{100 * HPD_LEVEL:.0f}%_HPD": shortest,
        }
    )
    return transfer, comments
