"""Posteriors in other programs' hands: NEXUS and annotated Newick for tree viewers, ArviZ for diagnostics."""

import warnings
from typing import Any

import numpy as np

from ..._runtime.atomic_write import replacing
from ..._runtime.typing import PathLike, ProgressLike
from ..._runtime.validation import check_choice, check_count
from ...errors import CoaltreeWarning, InputError
from ...model.covariance import InverseWishart
from ...numerics.weighted import pick_evenly, pick_trees
from ...tree.distances import with_leaves_as
from ...tree.newick import names_in_files, quote, write
from ...tree.nexus import drawn_trees, leaf_numbers, nexus_lines, node_comments
from ...tree.tree import Tree
from ..diagnostics import ess as diagnostics
from ..posterior import Posterior
from ..predictive.loo import draws_asked, kept_densities, thinned
from ..predictive.row_densities import can_be_asked, log_parts
from ..trees.node_times import heights

_PRIOR_DRAWS = 500
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
    tree = posterior.mean_tree() if tree is None else with_leaves_as(tree, posterior.labels)
    transfer = posterior.clade_support(tree, kind="transfer", output="numpy")
    found = heights(posterior, tree, HPD_LEVEL)
    known = {
        "posterior": posterior.clade_support(tree, output="numpy"),
        "transfer": transfer,
        "height": tree.times,
        "height_median": found.median,
        f"height_{100 * HPD_LEVEL:.0f}%_HPD": found.shortest,
    }
    comments = node_comments(known)
    if file_format == "nexus":
        text = write(tree.children, tree.times, leaf_numbers(tree.n) + comments)
        return "".join(f"{line}\n" for line in nexus_lines(tree.labels, [f"summary = [&R] {text}"]))
    names = [quote(label) for label in names_in_files(tree.labels)]
    # Programs that pass over comments show the names of inner nodes, as R's ape does.
    names += [f"{share:.4g}{comment}" for share, comment in zip(transfer, comments, strict=True)]
    return f"{write(tree.children, tree.times, names)}\n"


def to_arviz(
    posterior: Posterior,
    *,
    tail_scale: bool = False,
    log_likelihood: str | None = "rows",
    n_draws: int | None = None,
    n_jobs: int | None = None,
    progress: ProgressLike = "auto",
) -> Any:
    """Draws as ArviZ's InferenceData (DataTree from ArviZ 1.0); `Posterior.to_arviz` explains the parameters.

    ArviZ knows no weights: unequal ones are turned into repeats (systematic resampling), with a warning. Chains are cut
    to the length of the shortest.
    """
    try:
        import arviz
    except ImportError:
        raise InputError('to_arviz() needs ArviZ, which is not installed: pip install "coaltree[arviz]".') from None
    if log_likelihood is not None:
        check_choice("log_likelihood", log_likelihood, ("rows", "all"))
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
    names = _named_dimensions(posterior)
    if tail_scale:
        if posterior.tail_scale is None:
            raise InputError("this posterior's noise has no Student tails, and so no tail_scale.")
        draws["tail_scale"] = posterior.tail_scale
        names["dims"]["tail_scale"], names["coords"]["row"] = ["row"], list(posterior.row_labels)
    groups: dict[str, Any] = {"posterior": {name: values[index] for name, values in draws.items()}}
    if posterior.log_joint is not None:
        groups["sample_stats"] = {"lp": posterior.log_joint[index]}
    prior = _prior_draws(posterior)
    if prior:
        groups["prior"] = prior
    added: dict[str, Any] = {}
    if log_likelihood is not None and can_be_asked(posterior):
        parts = log_parts(posterior, index)
        of_all = parts.pop("log_likelihood")
        groups.setdefault("sample_stats", {})["log_likelihood"] = of_all
        added = {"log_prior": _dataset(parts, np.arange(index.shape[1]))}
        if log_likelihood == "all":
            added["log_likelihood"] = _dataset({"all": of_all}, np.arange(index.shape[1]))
        else:
            added["log_likelihood"] = _of_rows(posterior, index, n_draws, n_jobs, progress)
    if int(arviz.__version__.split(".")[0]) >= 1:
        data = arviz.from_dict(groups, **names)
        for name, group in added.items():
            data[name] = group
    else:
        data = arviz.from_dict(**groups, **names)
        if added:
            data.add_groups(**added)
    return data


def _named_dimensions(posterior) -> Any:
    """The columns' names for parameters that have an entry, or a row and a column, for each of them."""
    columns = list(posterior.model_columns)
    dims = {
        name: ["column", "other_column"][: draws.ndim - 1]
        for name, draws in posterior.theta.items()
        if draws.ndim in (2, 3) and set(draws.shape[1:]) == {len(columns)}
    }
    used = {dimension for of_one in dims.values() for dimension in of_one}
    return {"dims": dims, "coords": dict.fromkeys(sorted(used), columns)}


def _prior_draws(posterior):
    """{name: (1, draws, …)} of the learnt parameters of the covariance whose priors can be drawn from."""
    found = {}
    rng = np.random.default_rng(0)
    for name, prior in getattr(posterior.covariance, "priors", {}).items():
        if name not in posterior.theta:
            continue
        size = None if isinstance(prior, InverseWishart) else posterior.theta[name].shape[1:]
        try:
            found[name] = np.stack([prior.sample(rng, size) for _ in range(_PRIOR_DRAWS)])[None]
        except InputError:  # improper
            continue
    return found


def _of_rows(posterior, index, n_draws, n_jobs, progress):
    """The log densities of rows given all others, (chain, draw, row): of the draws that leave-one-out asks."""
    place = thinned(np.broadcast_to(np.arange(index.shape[1]), index.shape), draws_asked(posterior, n_draws))[0]
    chosen, inverse = np.unique(index[:, place].ravel(), return_inverse=True)
    if posterior.has_equal_weights:  # in the order in which leave-one-out asks, so that it need not ask again
        chosen, inverse = index[:, place].ravel(), np.arange(index[:, place].size)
    found = kept_densities(posterior, chosen, n_jobs, progress)
    stacked = found.log_density[inverse].reshape(len(index), len(place), -1)
    return _dataset({"rows": stacked}, place, [posterior.row_labels[i] for i in found.rows])


def _dataset(values, draws, rows=None):
    """Arrays (chain, draw), or (chain, draw, row) with these names of rows; `draws` are their numbers in a chain."""
    import xarray

    dims = ("chain", "draw") if rows is None else ("chain", "draw", "row")
    coords: dict[str, Any] = {"chain": np.arange(len(next(iter(values.values())))), "draw": draws}
    coords |= {} if rows is None else {"row": rows}
    return xarray.Dataset({name: (dims, array) for name, array in values.items()}, coords)
