"""Posteriors in other programs' hands: NEXUS for tree viewers, ArviZ for diagnostics."""

import warnings
from typing import Any

import numpy as np

from .._runtime.aliases import PathLike
from .._runtime.files import replacing
from ..errors import CoaltreeWarning, InputError
from ..numerics.weighted import pick_evenly
from ..tree.nexus import nexus_lines
from . import clades, diagnostics
from .posterior import Posterior


def write_nexus(posterior: Posterior, path: PathLike) -> None:
    """Write all trees as NEXUS."""
    table = posterior.clade_table
    frequency = np.minimum(clades.frequencies(table, posterior.weights), 1.0)
    support = (frequency[ids] for ids in table.ids)
    lines = nexus_lines(posterior.children, posterior.times, posterior.weights, support, posterior.labels)
    with replacing(path) as file:
        file.writelines(f"{line}\n" for line in lines)


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
