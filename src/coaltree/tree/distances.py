"""How far apart two trees are.

"rf"            clades that one tree has and the other has not (Robinson & Foulds 1981, rooted)
"branch_score"  √ Σ_c (ℓ_a(c) - ℓ_b(c))², ℓ(c) the length of the branch above clade c or leaf, 0 where it is missing
                (Kuhner & Felsenstein 1994)
"cophenetic"    root mean square over pairs of leaves of the difference of their merge times
"""

import math
from collections.abc import Sequence

import numpy as np

from .._runtime.validation import check_choice
from ..errors import InputError
from .merges import leaf_keys
from .tree import Tree, in_leaf_order


def tree_distance(a: Tree, b: Tree, kind: str = "rf") -> float:
    """Distance between two trees with the same leaf labels; `kind` is "rf", "branch_score" or "cophenetic".

    Parameters
    ----------
    a, b : Tree
        Trees with the same leaf labels.
    kind : {"rf", "branch_score", "cophenetic"}
        The number of clades that only one of the trees has (Robinson & Foulds), the root of the summed squared
        differences of branch lengths, or the root mean square difference of the times at which two leaves meet.

    Returns
    -------
    float
        0 for equal trees.

    Examples
    --------
    >>> a = ct.Tree.from_newick("((a:1,b:1):2,(c:2,d:2):1);")
    >>> b = ct.Tree.from_newick("((a:1,c:1):2,(b:2,d:2):1);")
    >>> ct.tree_distance(a, b)
    4.0
    """
    check_choice("kind", kind, _DISTANCES)
    check_tree("a", a)
    check_tree("b", b)
    return _DISTANCES[kind](a, with_leaves_as(b, a.labels))


def check_tree(name: str, tree: object) -> None:
    """Refuse what is not a binary `Tree`."""
    if not isinstance(tree, Tree):
        raise InputError(f"{name} must be a Tree, such as post.mcc_tree(), not {type(tree).__name__}.")


def with_leaves_as(tree: Tree, labels: Sequence[str]) -> Tree:
    """Return `tree` with its leaves numbered as in `labels`, or refuse other labels."""
    check_tree("tree", tree)
    wanted = tuple(labels)
    if tree.labels == wanted:
        return tree
    unknown = set(tree.labels) - set(wanted)
    if unknown or len(wanted) != tree.n:
        named = f"; {min(unknown)!r} is in only one" if unknown else ""
        raise InputError(f"The trees must have the same leaf labels, but these differ{named}.")
    return in_leaf_order(tree, wanted)


def _robinson_foulds(a: Tree, b: Tree) -> float:
    n_shared = len(set(map(tuple, a.clade_keys().tolist())) & set(map(tuple, b.clade_keys().tolist())))
    return float(2 * (a.n - 1 - n_shared))


def _branch_score(a: Tree, b: Tree) -> float:
    lengths_a, lengths_b = _branch_lengths(a), _branch_lengths(b)
    difference = [lengths_a.get(c, 0.0) - lengths_b.get(c, 0.0) for c in lengths_a.keys() | lengths_b.keys()]
    return math.sqrt(math.fsum(x * x for x in difference))


def _cophenetic(a: Tree, b: Tree) -> float:
    pairs = np.triu_indices(a.n, 1)
    return float(np.sqrt(np.mean((a.cophenetic()[pairs] - b.cophenetic()[pairs]) ** 2)))


def _branch_lengths(tree: Tree) -> dict[tuple[int, ...], float]:
    """Map each node's key, leaves included, to the length of the branch above it; the root has none."""
    height = tree.node_times
    lengths = height[tree.parents[:-1]] - height[:-1]
    keys = np.concatenate([leaf_keys(tree.n), tree.clade_keys()[:-1]])
    return dict(zip(map(tuple, keys.tolist()), lengths.tolist(), strict=True))


_DISTANCES = {"rf": _robinson_foulds, "branch_score": _branch_score, "cophenetic": _cophenetic}
