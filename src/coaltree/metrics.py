"""Measures of a tree where the truth or the classes are known, as in Henao & Lucas (2012).

Errors are of logarithms, because merge times grow exponentially. With e the errors of all entries,

    mse = mean e² ,   mae = mean |e| ,   mab = max |e| .

The paper does not say whether the error is of the posterior mean or of single draws: `of="mean"` averages the
(weighted) draws first, `of="draws"` averages the measures of the draws.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ._runtime.jit import jit
from ._runtime.typing import ArrayLike
from ._runtime.validation import as_labels, check_choice
from .errors import InputError
from .posterior import Posterior
from .posterior.io.pandas_output import in_order_of
from .posterior.trees.clades import mean_cophenetic
from .tree import Tree, unchecked_tree
from .tree.distances import with_leaves_as

Classes = ArrayLike | Mapping[str, Any]  # one for each leaf in order, or a mapping from label to class


class Errors(NamedTuple):
    """Mean squared, mean absolute and maximum absolute error over the entries."""

    mse: float  #: mean squared error
    mae: float  #: mean absolute error
    mab: float  #: maximum absolute error


class ARICurve(NamedTuple):
    """Adjusted Rand index for every number of clusters, 1 … n."""

    n_clusters: np.ndarray  #: (n,) numbers of clusters, 1 … n
    ari: np.ndarray  #: (n,) adjusted Rand index at each of them


class Agreement(NamedTuple):
    """How well clusters agree with known classes."""

    ari: float  #: adjusted Rand index, 0 on average for clusters drawn by lot, 1 for the classes themselves
    purity: float  #: share of the leaves that belong to the commonest class of their cluster
    table: np.ndarray  #: (clusters, classes) how many leaves are in both


def time_errors(estimate: Tree | Posterior, truth: Tree, of: str = "mean") -> Errors:
    """Errors of the sorted log merge times of a `Posterior` or `Tree` against the true tree's.

    Parameters
    ----------
    estimate : Tree or Posterior
        With the leaves of the truth.
    truth : Tree
        The true tree.
    of : {"mean", "draws"}
        Whether the posterior mean of the log times is compared, or each draw, whose errors are averaged by weight.

    Returns
    -------
    Errors
        Mean squared, mean absolute and maximum absolute error.

    Examples
    --------
    >>> X, truth = ct.simulate(8, 3, random_state=0)
    >>> post = ct.sample_trees(X, random_state=0, progress=False)
    >>> ct.metrics.time_errors(truth, truth).mse
    0.0
    >>> ct.metrics.time_errors(post, truth).mse > 0.0
    True
    """
    times, weights = _draws(estimate)[1:]
    if times.shape[1] != truth.n - 1:
        raise InputError(
            f"The estimate has {times.shape[1] + 1} leaves and the truth {truth.n}; they must have the same number."
        )
    return _errors(_log(times, "estimate"), weights, _log(truth.times, "truth"), of)


def distance_errors(estimate: Tree | Posterior, truth: Tree, of: str = "mean") -> Errors:
    """Errors of the log cophenetic matrix (each pair of leaves once) against the true tree's; leaves match by label.

    Parameters
    ----------
    estimate, truth, of
        As in `time_errors`.

    Returns
    -------
    Errors
        Mean squared, mean absolute and maximum absolute error over pairs of leaves.

    Examples
    --------
    >>> truth = ct.Tree.from_newick("((a:1,b:1):2,c:3);")
    >>> ct.metrics.distance_errors(ct.Tree.from_newick("(c:3,(b:1,a:1):2);"), truth).mab
    0.0
    """
    truth = with_leaves_as(truth, estimate.labels)
    children, times, weights = _draws(estimate)
    log_times = _log(times, "estimate")
    pairs = np.triu_indices(truth.n, 1)
    expected = _log(truth.cophenetic()[pairs], "truth")
    if of == "mean":
        mean = mean_cophenetic(children, log_times, weights)
        return _errors(mean[pairs][None], np.ones(1), expected, of)
    total = np.zeros(3)
    for tree_children, tree_times, weight in zip(children, times, weights, strict=True):
        distances = np.log(unchecked_tree(tree_children, tree_times, truth.labels).cophenetic()[pairs])
        total += weight * np.array(_errors(distances[None], np.ones(1), expected, of))
    return Errors(*total.tolist())


def parameter_errors(estimate: Posterior, name: str, truth: ArrayLike, of: str = "mean", log: bool = False) -> Errors:
    """Errors of a covariance parameter's draws, such as "length2", against its true value; with `log`, of its log.

    Parameters
    ----------
    estimate : Posterior
        With draws of the parameter.
    name : str
        The parameter, a key of `Posterior.theta`.
    truth : array-like
        Its true value.
    of : {"mean", "draws"}
        As in `time_errors`.
    log : bool
        Whether logarithms are compared.

    Returns
    -------
    Errors
        Mean squared, mean absolute and maximum absolute error over the entries.

    Examples
    --------
    >>> X, _ = ct.simulate(8, 3, random_state=0)
    >>> post = ct.fit(X, "spherical", n_samples=20, n_warmup=20, random_state=0, progress=False)
    >>> errors = ct.metrics.parameter_errors(post, "amplitude", 1.0, log=True)
    """
    if not isinstance(estimate, Posterior) or name not in estimate.theta:
        known = ", ".join(getattr(estimate, "theta", {})) or "none"
        raise InputError(f"parameter_errors needs a posterior with draws of {name!r}; its parameters: {known}.")
    draws = np.asarray(estimate.theta[name]).reshape(len(estimate), -1)
    expected = np.broadcast_to(np.asarray(truth, dtype=float), estimate.theta[name].shape[1:]).ravel()
    if log:
        draws, expected = _log(draws, "estimate"), _log(expected, "truth")
    return _errors(draws, estimate.weights, expected, of)


def subtree_score(tree: Tree | Posterior, classes: Classes) -> float:
    """N_subset / (n - C): the share of merges that could stay within one class, of C, and do.

    Parameters
    ----------
    tree : Tree or Posterior, of which it is the weighted mean over the trees
    classes : one class for each leaf in order, or a mapping from label to class

    Returns
    -------
    float
        1 if every class is a clade whose merges stay within it.

    Examples
    --------
    >>> tree = ct.Tree.from_newick("(((a:1,b:1):1,c:2):2,(d:3,e:3):1);")
    >>> ct.metrics.subtree_score(tree, ["x", "x", "x", "y", "y"])
    1.0
    """
    codes = _codes(tree, classes)
    n, n_classes = len(codes), int(codes.max()) + 1
    if n == n_classes:
        raise InputError("subtree_score is not defined when every leaf has its own class; give fewer classes.")
    children, _, weights = _draws(tree)
    return float(weights @ _pure_merges(children, codes)) / (n - n_classes)


def dendrogram_purity(tree: Tree | Posterior, classes: Classes) -> float:
    """Mean over pairs of leaves of one class of the share of that class under their common ancestor.

    1 if every class is a clade (Heller & Ghahramani 2005). Takes what `subtree_score` takes; exact, O(n C) a tree.

    Parameters
    ----------
    tree : Tree or Posterior
        Of a posterior, the weighted mean over its trees.
    classes : sequence or mapping
        One class for each leaf in order, or from label to class.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> tree = ct.Tree.from_newick("(((a:1,b:1):1,c:2):2,(d:3,e:3):1);")
    >>> ct.metrics.dendrogram_purity(tree, {"a": 1, "b": 1, "c": 1, "d": 2, "e": 2})
    1.0
    """
    codes = _codes(tree, classes)
    sizes = np.bincount(codes)
    n_pairs = float(np.sum(sizes * (sizes - 1.0))) / 2
    if n_pairs == 0:
        raise InputError("dendrogram_purity is not defined when every leaf has its own class; give fewer classes.")
    children, _, weights = _draws(tree)
    total = sum(w * _purity(pairs, codes, len(sizes)) for pairs, w in zip(children, weights, strict=True))
    return float(total) / n_pairs / float(weights.sum())


def ari_curve(tree: Tree | Posterior, classes: Classes) -> ARICurve:
    """Adjusted Rand index with the classes, for every number of clusters, of clusters labelled by majority.

    Cutting the tree into k clusters, each takes its commonest class (the first met, of several) as its label; the
    partition compared is that by labels, so the index is 1 for n clusters, and 0 for one (unless all is one class).
    For a `Posterior`, the weighted mean over its trees. O(n C) a tree.

    Parameters
    ----------
    tree, classes
        As in `dendrogram_purity`.

    Returns
    -------
    ARICurve
        Numbers of clusters, 1 … n, and the index of each.

    Examples
    --------
    >>> tree = ct.Tree.from_newick("(((a:1,b:1):1,c:2):2,(d:3,e:3):1);")
    >>> ct.metrics.ari_curve(tree, ["x", "x", "x", "y", "y"]).ari.tolist()
    [0.0, 1.0, 1.0, 1.0, 1.0]
    """
    codes = _codes(tree, classes)
    children, _, weights = _draws(tree)
    n, n_classes = len(codes), int(codes.max()) + 1
    ari = sum(w * _ari_curve(pairs, codes, n_classes) for pairs, w in zip(children, weights, strict=True))
    return ARICurve(np.arange(1, n + 1), np.asarray(ari))


def ari_auc(tree: Tree | Posterior | ARICurve, classes: Classes | None = None) -> float:
    """Area under the ARI curve by the trapezoid rule, over the number of clusters divided by n.

    Takes what `ari_curve` takes, or the curve itself.

    Parameters
    ----------
    tree : Tree, Posterior or ARICurve
        What is scored.
    classes : sequence or mapping
        As in `dendrogram_purity`; not for a curve.

    Returns
    -------
    float
        The area.

    Examples
    --------
    >>> tree = ct.Tree.from_newick("(((a:1,b:1):1,c:2):2,(d:3,e:3):1);")
    >>> round(ct.metrics.ari_auc(tree, ["x", "x", "x", "y", "y"]), 3)
    0.7
    """
    curve = tree if isinstance(tree, ARICurve) else ari_curve(tree, () if classes is None else classes)
    return float(np.sum(curve.ari[1:] + curve.ari[:-1])) / (2 * len(curve.ari))


def agreement(labels: ArrayLike, classes: ArrayLike) -> Agreement:
    """Compare clusters with known classes.

    Parameters
    ----------
    labels : (n,) clusters, such as those of `Posterior.cut`
    classes : (n,) classes of any kind, in the same order

    Returns
    -------
    Agreement
        Adjusted Rand index, purity, and the table of clusters (rows) and classes (columns), both in sorted order.

    Examples
    --------
    >>> ct.metrics.agreement([0, 0, 1], ["b", "b", "a"]).purity
    1.0
    """
    row, column = as_labels("labels", labels)[1], as_labels("classes", classes)[1]
    if len(row) != len(column):
        raise InputError(f"labels and classes must be of the same length, not {len(row)} and {len(column)}.")
    table = np.zeros((row.max() + 1, column.max() + 1), dtype=np.int64)
    np.add.at(table, (row, column), 1)
    return Agreement(_adjusted_rand(row, column), float(table.max(axis=1).sum() / len(row)), table)


def _draws(estimate: Tree | Posterior) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Stacked children and times, and weights, of the trees that count."""
    if isinstance(estimate, Tree):
        return estimate.children[None], estimate.times[None], np.ones(1)
    if not isinstance(estimate, Posterior):
        raise InputError(f"expected a Tree or a Posterior, not {type(estimate).__name__}.")
    counts = estimate.weights > 0
    return estimate.draws.children[counts], estimate.draws.times[counts], estimate.weights[counts]


def _errors(draws: np.ndarray, weights: np.ndarray, truth: np.ndarray, of: str) -> Errors:
    check_choice("of", of, ("mean", "draws"))
    if of == "mean":
        draws, weights = (weights @ draws)[None], np.ones(1)
    error = np.abs(draws - truth)
    return Errors(*(float(weights @ per_draw) for per_draw in (np.mean(error**2, 1), np.mean(error, 1), error.max(1))))


def _log(values: np.ndarray, whose: str) -> np.ndarray:
    if np.any(values <= 0):
        raise InputError(
            f"The {whose} has values that are not positive (identical rows?), which have no log to compare."
        )
    return np.log(values)


def _codes(tree: Tree | Posterior, classes: Classes) -> np.ndarray:
    """Classes of the leaves as numbers 0 … C-1 in order of first leaf."""
    if isinstance(classes, Mapping):
        missing = [label for label in tree.labels if label not in classes]
        if missing:
            raise InputError(f"classes has no class for leaf {missing[0]!r}; give one for each label.")
        classes = [classes[label] for label in tree.labels]
    codes = as_labels("classes", in_order_of(classes, tree), tree.n)[1]
    first = np.unique(codes, return_index=True)[1]
    return np.argsort(np.argsort(first))[codes]


@jit
def _pure_merges(children: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The number of merges of each tree whose leaves are all of one class."""
    n_trees, n = len(children), len(codes)
    counts = np.zeros(n_trees)
    code = np.empty(2 * n - 1, np.int64)
    code[:n] = codes
    for t in range(n_trees):
        for k in range(n - 1):
            a, b = code[children[t, k, 0]], code[children[t, k, 1]]
            code[n + k] = a if a == b else -1
            counts[t] += code[n + k] >= 0
    return counts


@jit
def _purity(children: np.ndarray, codes: np.ndarray, n_classes: int) -> float:
    """Σ over merges and classes of (pairs of the class that meet there) · (its share of the leaves below)."""
    n = len(codes)
    counts = np.zeros((n, n_classes))  # of the classes in a cluster; a merge reuses its first child's row
    row, size = np.arange(2 * n - 1), np.ones(2 * n - 1)
    for i in range(n):
        counts[i, codes[i]] = 1.0
    total = 0.0
    for k in range(n - 1):
        left, right = children[k]
        own, other = counts[row[left]], counts[row[right]]
        size[n + k] = size[left] + size[right]
        for a in range(n_classes):
            total += own[a] * other[a] * (own[a] + other[a]) / size[n + k]
            own[a] += other[a]
        row[n + k] = row[left]
    return total


@jit
def _ari_curve(children: np.ndarray, codes: np.ndarray, n_classes: int) -> np.ndarray:
    """ARI of majority labels after n-1, …, 0 merges: entry k - 1 is for k clusters.

    A merge changes the label of at most its own leaves: with c_a of class a moving from label x to z, the table of
    classes by labels changes in two columns, and so do the three sums of pairs from which the index is made.
    """
    n = len(codes)
    counts = np.zeros((n, n_classes), np.int32)  # of the classes in a cluster; a merge reuses its first child's row
    row, label = np.arange(2 * n - 1), np.empty(2 * n - 1, np.int64)
    label[:n] = codes
    for i in range(n):
        counts[i, codes[i]] = 1
    sizes = np.bincount(codes, minlength=n_classes)  # of the labels
    table = np.diag(sizes)
    in_class = 0.5 * np.sum(sizes * (sizes - 1))
    in_label = both = in_class
    pairs = 0.5 * n * (n - 1)
    ari = np.empty(n)
    ari[n - 1] = 1.0
    for k in range(n - 1):
        left, right = children[k]
        own, other = counts[row[left]], counts[row[right]]
        z = 0
        for a in range(n_classes):
            if own[a] + other[a] > own[z] + other[z]:
                z = a
        for c in children[k]:
            x = label[c]
            if x == z:
                continue
            moved = np.int64(0)
            for a in range(n_classes):
                c_a = np.int64(counts[row[c], a])
                if c_a == 0:
                    continue
                both += c_a * (c_a + table[a, z] - table[a, x])
                table[a, x] -= c_a
                table[a, z] += c_a
                moved += c_a
            in_label += moved * (moved + sizes[z] - sizes[x])
            sizes[x] -= moved
            sizes[z] += moved
        for a in range(n_classes):
            own[a] += other[a]
        row[n + k] = row[left]
        label[n + k] = z
        expected = in_class * in_label / pairs
        largest = 0.5 * (in_class + in_label)
        ari[n - 2 - k] = 1.0 if largest == expected else (both - expected) / (largest - expected)
    return ari


def _adjusted_rand(a: np.ndarray, b: np.ndarray) -> float:
    """Adjusted Rand index of two partitions, labels (n,) from 0: 1 where they are equal, about 0 by chance."""
    table = np.bincount(a * (int(b.max()) + 1) + b, minlength=(int(a.max()) + 1) * (int(b.max()) + 1))
    table = table.reshape(int(a.max()) + 1, -1)
    both, first, second = (_pairs(counts) for counts in (table, table.sum(axis=1), table.sum(axis=0)))
    expected = first * second / max(_pairs(np.array([len(a)])), 1.0)
    most = 0.5 * (first + second)
    return 1.0 if most == expected else float((both - expected) / (most - expected))


def _pairs(counts: np.ndarray) -> float:
    """Σ c (c - 1) / 2"""
    counts = counts.astype(np.float64)
    return float((0.5 * counts * (counts - 1.0)).sum())
