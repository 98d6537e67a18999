"""Posteriors in other programs' hands: NEXUS and annotated Newick for tree viewers, ArviZ for diagnostics."""

import warnings
from typing import Any

import numpy as np

from .._runtime.aliases import PathLike
from .._runtime.checks import check_choice, check_count
from .._runtime.files import replacing
from ..errors import CoaltreeWarning, InputError
from ..numerics.weighted import pick_evenly, pick_trees
from ..tree.distances import with_leaves_as
from ..tree.newick import names_in_files, quote, write
from ..tree.nexus import drawn_trees, leaf_numbers, nexus_lines, node_comments
from ..tree.tree import Tree
from . import diagnostics
from .clade_times import heights
from .posterior import Posterior

HPD_LEVEL = 0.95  # the share of the interval that every program knows as height_95%_HPD


def write_nexus(posterior: Posterior, path: PathLike, max_trees: int | None) -> None:
    """Write at most so many trees, evenly spread by weight, as NEXUS; all of them for None."""
    chosen, weights = np.arange(len(posterior)), posterior.weights
    if max_trees is not None:
        check_count("max_trees", max_trees)
        if max_trees < len(posterior):
            chosen, weights = pick_trees(weights, max_trees)
    trees = drawn_trees(posterior.children[chosen], posterior.times[chosen], weights)
    with replacing(path) as file:
        file.writelines(f"{line}\n" for line in nexus_lines(posterior.labels, trees))


def annotated_tree(posterior: Posterior, tree: Tree | None, file_format: str) -> str:
    """A tree with what the posterior knows of its clades, as a NEXUS file or a line of Newick."""
    check_choice("format", file_format, ("nexus", "newick"))
    tree = posterior.summary_tree() if tree is None else with_leaves_as(tree, posterior.labels)
    transfer = posterior.clade_support(tree, kind="transfer")
    found = heights(posterior, tree, HPD_LEVEL)
    known = {
        "posterior": posterior.clade_support(tree),
        "transfer": transfer,
        "height": tree.times,
        "height_median": found.median,
        f"height_{100 * HPD_LEVEL:.0f}%_HPD": found.shortest,
    }
    comments = node_comments(known)
    if file_format == "nexus":
        text = write(tree.children.tolist(), tree.times, leaf_numbers(tree.n) + comments)
        return "".join(f"{line}\n" for line in nexus_lines(tree.labels, [f"summary = [&R] {text}"]))
    names = [quote(label) for label in names_in_files(tree.labels)]
    # Programs that pass over comments show the names of inner nodes, as R's ape does.
    names += [f"{share:.4g}{comment}" for share, comment in zip(transfer, comments, strict=True)]
    return f"{write(tree.children.tolist(), tree.times, names)}\n"


def to_arviz(posterior: Posterior, *, tail_scale: bool = False) -> Any:
    """Draws of θ, root time and tree length as ArviZ's InferenceData (DataTree from ArviZ 1.0), log joint as lp.

    With `tail_scale`, also those of the rows' scales, along a dimension `row` with the rows' names.

    ArviZ knows no weights: unequal ones are turned into repeats (systematic resampling), with a warning. Chains are cut
    to the length of the shortest.
    """
    try:
        import arviz
    except ImportError:
        raise InputError('to_arviz() needs ArviZ, which is not installed: pip install "coaltree[arviz]".') from None
    chosen, chain = np.arange(len(posterior)), posterior.chain
    if not posterior.has_equal_weights:
        warnings.warn(
            "ArviZ has no weighted draws, so trees are repeated in proportion to their weights; use post.ess for the "
            "effective sample size.",
            CoaltreeWarning,
            stacklevel=3,
        )
        chosen = pick_evenly(posterior.weights, len(posterior))
        chain = np.zeros(len(posterior), dtype=int)
    index = chosen[diagnostics.last_of_chains(chain)]
    times = posterior.times
    # Total branch length: m lineages during the wait with m left, Σ_m m Δ_m.
    lengths = np.diff(times, axis=1, prepend=0.0) @ np.arange(posterior.n, 1, -1)
    draws = {**posterior.theta, "root_time": times[:, -1], "tree_length": lengths}
    names: dict[str, Any] = {}
    if tail_scale:
        if posterior.tail_scale is None:
            raise InputError("this posterior's noise has no Student tails, and so no tail_scale.")
        draws["tail_scale"] = posterior.tail_scale
        names = {"dims": {"tail_scale": ["row"]}, "coords": {"row": list(posterior.row_labels)}}
    groups: dict[str, Any] = {"posterior": {name: values[index] for name, values in draws.items()}}
    if posterior.log_joint is not None:
        groups["sample_stats"] = {"lp": posterior.log_joint[index]}
    if int(arviz.__version__.split(".")[0]) >= 1:
        return arviz.from_dict(groups, **names)
    return arviz.from_dict(**groups, **names)
