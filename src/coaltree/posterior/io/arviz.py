"""Draws for ArviZ: parameters, log joint, and what its leave-one-out and priorsense need."""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._runtime.typing import ProgressLike
from ..._runtime.validation import check_choice
from ...errors import InputError, warn_of_result
from ...numerics.weighted import pick_evenly
from ..diagnostics.ess import last_of_chains
from ..predictive.loo import cached_densities, check_n_draws, thinned
from ..predictive.row_densities import MIN_ROWS, log_parts
from ..validation import require_densities, require_fixed_directions

if TYPE_CHECKING:
    from ..posterior import Posterior


def to_arviz(posterior: "Posterior", tail_scale: bool, log_likelihood: str | None, **settings: Any) -> Any:
    """Draws as ArviZ's InferenceData (DataTree from ArviZ 1.0); `settings` are those of `Posterior.loo`.

    ArviZ knows no weights: unequal ones are turned into repeats (systematic resampling), with a warning. Chains are cut
    to the length of the shortest.
    """
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"\s*ArviZ is undergoing", FutureWarning)  # printed once a day
            import arviz
    except ImportError:
        raise InputError('to_arviz() needs ArviZ, which is not installed: pip install "coaltree[arviz]".') from None
    if log_likelihood is not None:
        check_choice("log_likelihood", log_likelihood, ("rows", "all"))
    index = _draws_of_chains(posterior)
    times, root_time = posterior.draws.times, posterior.draws.times[:, -1]
    draws = {**posterior.theta, "root_time": root_time, "tree_length": times.sum(axis=1) + root_time}
    names = _named_dimensions(posterior)
    if tail_scale:
        if posterior.draws.tail_scale is None:
            raise InputError("this posterior's noise has no Student tails, and so no tail_scale.")
        draws["tail_scale"] = posterior.draws.tail_scale
        names["dims"]["tail_scale"], names["coords"]["row"] = ["row"], list(posterior.model.table.labels)
    groups: dict[str, Any] = {"posterior": {name: values[index] for name, values in draws.items()}}
    if posterior.log_joint is not None:
        groups["sample_stats"] = {"lp": posterior.log_joint[index]}
    added: dict[str, Any] = {}
    try:
        require_densities(posterior, "the density of a row")
        require_fixed_directions(posterior)
        has_densities = posterior.model.n >= MIN_ROWS
    except InputError:
        has_densities = False
    if log_likelihood is not None and has_densities:
        parts = log_parts(posterior, index)
        total = parts.pop("log_likelihood")
        groups.setdefault("sample_stats", {})["log_likelihood"] = total
        added = {"log_prior": _dataset(parts), "log_likelihood": _dataset({"all": total})}
        if log_likelihood == "rows":
            added["log_likelihood"] = _row_densities(posterior, index, **settings)
    if int(arviz.__version__.split(".")[0]) >= 1:
        data = arviz.from_dict(groups, **names)
        for name, group in added.items():
            data[name] = group
    else:
        data = arviz.from_dict(**groups, **names)
        if added:
            data.add_groups(**added)
    return data


def _draws_of_chains(posterior: "Posterior") -> np.ndarray:
    """(chains, draws) numbers of the draws that ArviZ gets."""
    if posterior.draws.has_equal_weights:
        return last_of_chains(posterior.draws.chain)
    warn_of_result(
        "ArviZ has no weighted draws, so trees are repeated in proportion to their weights; use post.ess for the "
        "effective sample size.",
        stacklevel=4,
    )
    return pick_evenly(posterior.weights, len(posterior))[None]


def _named_dimensions(posterior: "Posterior") -> dict[str, Any]:
    """The columns' names for parameters that have an entry, or a row and a column, for each of them."""
    columns = list(posterior.model.coordinate_names)
    dims = {
        name: ["column", "other_column"][: draws.ndim - 1]
        for name, draws in posterior.theta.items()
        if draws.ndim in (2, 3) and set(draws.shape[1:]) == {len(columns)}
    }
    used = {dimension for dimensions in dims.values() for dimension in dimensions}
    return {"dims": dims, "coords": dict.fromkeys(sorted(used), columns)}


def _row_densities(
    posterior: "Posterior", index: np.ndarray, n_draws: int | None, n_jobs: int | None, progress: ProgressLike
) -> Any:
    """The log densities of rows given all others, (chain, draw, row), of the draws that leave-one-out uses."""
    place = thinned(np.broadcast_to(np.arange(index.shape[1]), index.shape), check_n_draws(posterior, n_draws))[0]
    draws = index[:, place].ravel()  # in the order of leave-one-out, which then finds them cached
    densities = cached_densities(posterior, draws, n_jobs, progress)
    stacked = densities.log_density.reshape(len(index), len(place), -1)
    return _dataset({"rows": stacked}, draw=place, row=[posterior.model.table.labels[i] for i in densities.rows])


def _dataset(values: dict[str, np.ndarray], **coords: Any) -> Any:
    """Arrays (chain, draw) or (chain, draw, row), with names along some of these; numbers by default."""
    import xarray

    shape = next(iter(values.values())).shape
    dims = ("chain", "draw", "row")[: len(shape)]
    numbers = {dim: np.arange(length) for dim, length in zip(dims, shape, strict=True)}
    return xarray.Dataset({name: (dims, array) for name, array in values.items()}, numbers | coords)
