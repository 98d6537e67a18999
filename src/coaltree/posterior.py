"""`Posterior`: weighted trees and what is asked of them.

The T draws are stacked arrays, children (T, n-1, 2) and times (T, n-1), with one weight each (they sum to 1); `trees`
makes `Tree` objects on demand. Every summary is weighted.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from .errors import InputError
from .tree import Tree


class TreeSequence(Sequence):
    """The trees of a posterior, made one at a time: it has a length, an index, slices and an iterator."""

    def __init__(self, children, times, labels):
        self._children, self._times, self._labels = children, times, labels

    def __len__(self):
        return len(self._times)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return TreeSequence(self._children[index], self._times[index], self._labels)
        return Tree._unchecked(self._children[index].astype(np.int64), self._times[index], self._labels)

    def __repr__(self):
        return f"<{len(self)} trees of {self._times.shape[1] + 1} leaves>"


class Posterior:
    """Weighted draws of trees (and covariance parameters) given the data.

    Parameters
    ----------
    children, times : arrays (T, n-1, 2) and (T, n-1), one tree each row, as in `Tree`.
    log_weights : (T,) up to a constant; equal by default.
    log_joint : (T,) log p(X, tree | θ) + log p(θ), where the sampler knows it.
    log_evidence : the sampler's estimate of log p(X), or None.
    labels : names of the leaves.
    theta : mapping from a parameter's name to its draws (T, …).
    chain : (T,) which chain a draw came from. Given for draws that follow one another, None for particles.
    X, covariance, leaf_noise : what was fitted, needed to place new rows.
    info : what the sampler has to say of its run.
    """

    def __init__(
        self,
        children,
        times,
        *,
        log_weights=None,
        log_joint=None,
        log_evidence=None,
        labels=None,
        theta=None,
        chain=None,
        X=None,
        covariance=None,
        leaf_noise=0.0,
        info=None,
    ):
        self._children = _frozen(children, np.int32)
        self._times = _frozen(times, np.float64)
        if self._times.ndim != 2 or self._times.size == 0 or self._children.shape != (*self._times.shape, 2):
            raise InputError(
                "A posterior needs at least one tree, with children of shape (T, n-1, 2) and times of shape (T, n-1), "
                f"not {self._children.shape} and {self._times.shape}."
            )
        self._labels = _check_labels(labels, self.n)
        self._log_weights = _frozen(_relative_log_weights(self._per_tree("log_weights", log_weights, 0.0)), np.float64)
        self._log_joint = None if log_joint is None else _frozen(self._per_tree("log_joint", log_joint), np.float64)
        self._chain = _frozen(self._per_tree("chain", chain, 0), np.int64)
        self._is_chain = chain is not None
        self._theta = {
            str(name): _frozen(self._per_tree(f"theta[{name!r}]", draws), np.float64)
            for name, draws in (theta or {}).items()
        }
        self.log_evidence = None if log_evidence is None else float(log_evidence)
        self.X = X
        self.covariance = covariance
        self.leaf_noise = float(leaf_noise)
        self.info = dict(info or {})

    def _per_tree(self, name, values, default=None):
        if values is None:
            return np.full(len(self), default)
        values = np.asarray(values)
        if values.shape[:1] != (len(self),):
            raise InputError(f"{name} must have one entry for each of the {len(self)} trees, not shape {values.shape}.")
        return values

    def __len__(self):
        return len(self._times)

    def __repr__(self):
        chains = len(np.unique(self._chain))
        return (
            f"<Posterior: {len(self)} trees of {self.n} leaves, {chains} chain{'s' * (chains > 1)}, ess {self.ess:.0f}>"
        )

    @property
    def n(self):
        """Number of leaves."""
        return self._times.shape[1] + 1

    @property
    def trees(self):
        """The trees, a lazy sequence of `Tree`."""
        return TreeSequence(self._children, self._times, self._labels)

    @property
    def labels(self):
        """Names of the leaves, a tuple of str."""
        return self._labels

    @property
    def weights(self):
        """(T,) weights that sum to 1."""
        weights = np.exp(self._log_weights - self._log_weights.max())
        return weights / weights.sum()

    @property
    def log_joint(self):
        """(T,) log p(X, tree | θ) + log p(θ), or None where the sampler does not know it."""
        return self._log_joint

    @property
    def theta(self) -> Mapping:
        """Draws of the covariance's parameters: name → (T, …)."""
        return self._theta

    @property
    def chain(self):
        """(T,) the chain of every draw."""
        return self._chain

    @property
    def ess(self):
        """Effective number of draws by the weights, 1 / Σ w²."""
        return float(1.0 / np.sum(self.weights**2))

    def map_tree(self):
        """The sampled tree with the highest log joint."""
        if self._log_joint is None:
            raise InputError("This posterior has no log_joint, so map_tree() cannot rank its trees: use mcc_tree().")
        return self.trees[int(np.nanargmax(np.where(self.weights > 0, self._log_joint, -np.inf)))]


def _frozen(array, dtype):
    """A read-only view in the given type; copied only where the type differs."""
    array = np.asarray(array, dtype=dtype).view()
    array.flags.writeable = False
    return array


def _check_labels(labels, n):
    labels = tuple(str(label) for label in (range(n) if labels is None else labels))
    if len(labels) != n:
        raise InputError(f"labels must name each of the {n} leaves, but {len(labels)} were given.")
    return labels


def _relative_log_weights(log_weights):
    """Shift so that the mean weight is 1: runs of any size can then be put together by concatenation."""
    log_weights = np.asarray(log_weights, dtype=np.float64)
    top = log_weights.max()
    if not np.isfinite(top) or np.isnan(log_weights).any():
        raise InputError("log_weights must be numbers, -inf allowed, with at least one finite; these are not.")
    return log_weights - top - np.log(np.mean(np.exp(log_weights - top)))
