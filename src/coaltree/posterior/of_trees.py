"""A posterior from trees and what is known of their leaves, without a fit."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .._runtime.typing import ArrayLike
from ..model.data.transform import TransformLike
from ..model.process.noise import NoiseLike
from .posterior import Posterior
from .validation import posterior_parts

if TYPE_CHECKING:
    from ..model.covariance import Covariance


def posterior_of_trees(
    children: ArrayLike,
    times: ArrayLike,
    *,
    log_weights: ArrayLike | None = None,
    log_joint: ArrayLike | None = None,
    log_evidence: float | None = None,
    labels: Iterable[Any] | None = None,
    theta: Mapping[str, ArrayLike] | None = None,
    chain: ArrayLike | None = None,
    X: ArrayLike | None = None,
    columns: Iterable[Any] | None = None,
    covariance: "Covariance | None" = None,
    noise: NoiseLike = 0.0,
    errors: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    row_labels: Iterable[Any] | None = None,
    tail_scale: ArrayLike | None = None,
    imputed: ArrayLike | None = None,
    used: ArrayLike | None = None,
    fitted: ArrayLike | None = None,
    transform: TransformLike = None,
    info: Mapping[str, Any] | None = None,
) -> Posterior:
    """Trees as stacked arrays (T, n-1, 2) and (T, n-1), and what else `Model` and `Draws` have, by its name there."""
    parts = dict(locals())
    return Posterior(*posterior_parts(parts), info or {})
