"""`concat`: posteriors of the same leaves put together."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp

from ...errors import InputError
from ..posterior import Posterior


def concat(posteriors: Sequence[Posterior]) -> Posterior:
    """Put posteriors of the same leaves together; chains are renumbered, and particles stay without order.

    Where all have a `log_evidence` (runs of an SMC sampler) a run counts by its evidence, so that the result is the
    one importance sample of all particles; otherwise each tree keeps its weight relative to the mean of its run.
    """
    posteriors = list(posteriors)
    if not posteriors or not all(isinstance(post, Posterior) for post in posteriors):
        raise InputError("concat takes a sequence of at least one Posterior.")
    first = posteriors[0]
    for number, post in enumerate(posteriors[1:], 1):
        _check_alike(post, first, number)
    log_weights = [post.log_weights for post in posteriors]
    evidence = [post.log_evidence for post in posteriors if post.log_evidence is not None]
    log_evidence = None
    if len(evidence) == len(posteriors):
        log_weights = [weights + value for weights, value in zip(log_weights, evidence, strict=True)]
        log_evidence = logsumexp(evidence, b=[len(post) / sum(map(len, posteriors)) for post in posteriors])
    pairs = np.concatenate([np.column_stack([np.full(len(post), i), post.chain]) for i, post in enumerate(posteriors)])
    chain = np.unique(pairs, axis=0, return_inverse=True)[1].ravel()
    about_rows: dict[str, Any] = {}
    if all(_same(post.X, first.X) for post in posteriors):
        names = ("X", "errors", "groups", "row_labels", "used", "fitted", "transform")
        about_rows = {name: getattr(first, name) for name in names}
        about_rows |= {name: _joined(posteriors, name) for name in ("tail_scale", "imputed")}
        about_rows["column_weights"] = _joined_weights(posteriors)
    return Posterior(
        np.concatenate([post.children for post in posteriors]),
        np.concatenate([post.times for post in posteriors]),
        log_weights=np.concatenate(log_weights),
        log_joint=_joined(posteriors, "log_joint"),
        log_evidence=log_evidence,
        labels=first.labels,
        theta={name: np.concatenate([post.theta[name] for post in posteriors]) for name in first.theta},
        chain=chain if any(post.is_chain for post in posteriors) else None,
        columns=first.columns,
        covariance=first.covariance,
        noise=first.noise,
        info=first.info,
        **about_rows,
    )


def _check_alike(post: Posterior, first: Posterior, number: int) -> None:
    """Refuse a posterior of other leaves, or of another model, than the first."""
    if post.labels != first.labels:
        raise InputError(
            f"Posterior {number} has other leaf labels than the first; only the same leaves can be joined."
        )
    for what, ours, theirs in (
        ("parameters", ", ".join(post.theta) or "none", ", ".join(first.theta) or "none"),
        ("covariance", type(post.covariance).__name__, type(first.covariance).__name__),
        ("noise", repr(post.noise), repr(first.noise)),
    ):
        if ours != theirs:
            raise InputError(f"Posterior {number} has other {what} than the first: {ours}, not {theirs}.")
    if post.is_resampled != first.is_resampled:
        raise InputError(
            f"columns were resampled in only one of posterior {number} and the first; join like with like."
        )
    if post.X is not None and first.X is not None and not _same(post.X, first.X):
        raise InputError(f"Posterior {number} is of another table than the first; only the same rows can be joined.")
    for name, what in (("used", "columns in the model"), ("errors", "errors"), ("groups", "groups")):
        if not _same(getattr(post, name), getattr(first, name)):
            raise InputError(f"Posterior {number} has other {what} than the first; fit the same table.")


def _joined(posteriors: list[Posterior], name: str) -> np.ndarray | None:
    """The draws of all posteriors, or None where one has none."""
    parts = [getattr(post, name) for post in posteriors]
    return None if any(part is None for part in parts) else np.concatenate(parts)


def _joined_weights(posteriors: list[Posterior]) -> np.ndarray | None:
    """The column weights of all chains, which are renumbered in this order."""
    parts = [post.column_weights[np.unique(post.chain)] for post in posteriors if post.column_weights is not None]
    return np.concatenate(parts) if parts else None


def _same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(a, b, equal_nan=True))
