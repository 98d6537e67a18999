"""A posterior from trees and what is known of their leaves, without a fit."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .._runtime.typing import ArrayLike
from ..model.data.leaves import leaves_of
from ..model.data.table import Table
from ..model.data.transform import TransformLike
from ..model.draws import Draws
from ..model.model import Model
from ..model.process.noise import NoiseLike, as_noise, check_errors
from ..tree.rooted import check_labels
from .posterior import Posterior
from .trees.stacked import read_only
from .validation import check_groups, check_model, check_table


def posterior_of_trees(
    children: Any,
    times: Any,
    *,
    labels: Iterable[Any] | None = None,
    X: ArrayLike | None = None,
    columns: Iterable[Any] | None = None,
    covariance: Any = None,
    noise: NoiseLike = 0.0,
    errors: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    row_labels: Iterable[Any] | None = None,
    used: ArrayLike | None = None,
    fitted: ArrayLike | None = None,
    transform: TransformLike = None,
    info: Mapping[str, Any] | None = None,
    chain: Any = None,
    **draws: Any,
) -> Posterior:
    """Trees as stacked arrays (T, n-1, 2) and (T, n-1), and what else `Model` and `Draws` have, by its name there.

    What does not fit the rest is refused.
    """
    n = np.shape(times)[-1] + 1
    names, leaf_of_row = check_labels(labels, n), check_groups(groups, n)
    n_rows = n if leaf_of_row is None else len(leaf_of_row)
    values, features = check_table(X, columns, n_rows)
    which, as_used = check_model(values, used, fitted)
    scales, settings = check_errors(errors, n_rows), as_noise(noise)
    row_names = names if leaf_of_row is None else check_labels(row_labels, n_rows)
    table = Table(read_only(np.empty((n_rows, 0))) if values is None else values, row_names, features)
    scales = None if scales is None else read_only(scales)
    leaves = leaves_of(table, settings, leaf_of_row, names, scales, are_apart=values is None)
    model = Model.of_parts(table, leaves, covariance, settings, which, as_used, transform, info)
    stacked = Draws(children, times, **{"log_weights": None, "log_joint": None, **draws}, series=chain)
    return Posterior(model, stacked, info or {})
