"""Which columns make a group: how far a cluster lies from its sister clade, and from all other rows, column by column.

The sister S of a group A is the other side of the merge above it in the mean tree. In draw t let A_t and S_t be the
clades closest to them (`closest_clades`), and z_ij the values of the leaves without their noise, drawn given that tree,
its noise and its draw of missing entries. With s_j the standard deviation of column
j within A and S,

    d_j = mean_t (z̄_j(A_t) - z̄_j(S_t)) / s_j ,      and likewise beside all leaves outside A_t ,

with quantiles over the draws. The variance of the whole column counts as one row of s_j, so that a column that is
constant within A and S has a finite difference. Columns are ranked by the end of the interval that is closer to 0.

z is drawn by Matheron's rule: a table z* + e* that the model makes on the tree, z = z* + E[z | X - z* - e*].
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from ..._runtime.threads import single_threaded_blas
from ..._runtime.typing import ArrayLike
from ..._runtime.validation import as_array, check_level
from ...errors import InputError
from ...model.process.diffusion import simulate_data
from ...model.process.leaf_messages import expected_leaves
from ...numerics.weighted import pick_trees, weighted_quantile
from ...tree.merges import layout, parents
from ..io.pandas_output import in_order_of
from ..trees.group_support import read_group
from ..trees.leaf_order import model_values
from ..validation import require_model
from .closest_clades import closest_clades, leaves_under
from .stability import read_labels

if TYPE_CHECKING:
    import pandas

    from ..posterior import Posterior

LEVEL = 0.9  # of the intervals
AGAINST = ("sister", "others")
_MIN_DRAWS, _MAX_DRAWS, _MAX_CELLS = 10, 100, 5_000_000  # draws that are used; fewer of large tables
_SEED = 4


class Explanation(NamedTuple):
    """Standardised differences of G groups in k columns, to their sister clades (0) and to all other leaves (1)."""

    names: tuple[Any, ...]  # (G,) the labels of the groups
    columns: tuple[str, ...]  # (k,)
    members: np.ndarray  # (G, n) of bool
    sisters: np.ndarray  # (G, n) of bool, in the mean tree
    effect: np.ndarray  # (2, G, k) posterior means
    low: np.ndarray  # (2, G, k) ends of the intervals
    high: np.ndarray

    def order(self, group: int, against: int = 0) -> np.ndarray:
        """(k,) numbers of the columns, those first that surely differ most from the sister clade."""
        low, high, effect = (part[against, group] for part in (self.low, self.high, self.effect))
        sure = np.where(low * high > 0.0, np.minimum(np.abs(low), np.abs(high)), 0.0)
        return np.lexsort((-np.abs(effect), -sure.round(12)))

    def frame(self) -> "pandas.DataFrame":
        """A line for each group and column, groups in order, columns by rank."""
        import pandas

        lines = []
        for g, name in enumerate(self.names):
            for rank, j in enumerate(self.order(g).tolist()):
                values = [part[against, g, j] for against in (0, 1) for part in (self.effect, self.low, self.high)]
                lines.append((name, self.columns[j], rank + 1, *map(float, values)))
        ends = [f"{against}{end}" for against in AGAINST for end in ("", "_low", "_high")]
        return pandas.DataFrame(lines, columns=["cluster", "column", "rank", *ends])

    def in_words(self, group: int, most: int = 3) -> str:
        """Such as "alcohol +2.1 (1.9 to 2.4), hue -1.2 (-1.4 to -1.0)": the first columns whose sign is sure."""
        shown = [j for j in self.order(group).tolist() if self.low[0, group, j] * self.high[0, group, j] > 0.0]
        return ", ".join(f"{self.columns[j]} {difference(self, group, j)}" for j in shown[:most])


def difference(explained: Explanation, group: int, column: int, against: int = 0) -> str:
    """A difference and its interval as text: "+2.1 (1.9 to 2.4)"."""
    effect, low, high = (part[against, group, column] for part in (explained.effect, explained.low, explained.high))
    return f"{effect:+.1f} ({low:.1f} to {high:.1f})"


def columns_by_cluster(effect: np.ndarray, most: int) -> list[int]:
    """Numbers of the columns of effect (G, k) with the largest entries, listed by the group where each is largest."""
    size = np.abs(effect).max(axis=0)
    chosen = np.argsort(-size, kind="stable")[:most]
    home = np.abs(effect[:, chosen]).argmax(axis=0)
    order: list[int] = chosen[np.lexsort((-size[chosen], home))].tolist()
    return order


def explain(posterior: "Posterior", groups: ArrayLike | Iterable[Any], level: float = LEVEL) -> Explanation:
    """Explain all clusters of a partition, or one group of leaves; `Posterior.explain` says what `groups` may be."""
    check_level("level", level)
    named = as_array("groups", in_order_of(groups, posterior))
    if named.shape == (posterior.n,) and named.dtype != bool:
        clusters, numbers = read_labels(named, posterior)
        return explain_groups(posterior, _members(numbers), tuple(clusters.tolist()), level)
    return explain_groups(posterior, read_group(posterior, cast("Iterable[Any]", groups))[None], (0,), level)


def explain_partitions(posterior: "Posterior", partitions: Sequence[np.ndarray]) -> list[Explanation | None]:
    """`explain` of several partitions, numbered 0 … k-1, in one walk over the draws.

    None for a single cluster, and for all of a posterior without values to explain clusters by.
    """
    explained: list[Explanation | None] = [None] * len(partitions)
    masks = {i: _members(labels) for i, labels in enumerate(partitions) if labels.max() > 0}
    try:
        require_model(posterior, "explain")
    except InputError:
        return explained
    if not masks:
        return explained
    whole, first = explain_groups(posterior, np.concatenate([*masks.values()]), (), LEVEL), 0
    for i, mask in masks.items():
        part = slice(first, first + len(mask))
        first += len(mask)
        values = (each[:, part] for each in (whole.effect, whole.low, whole.high))
        explained[i] = Explanation(tuple(range(len(mask))), whole.columns, mask, whole.sisters[part], *values)
    return explained


def _members(numbers: np.ndarray) -> np.ndarray:
    """(k, n) of bool: the leaves of each of the clusters 0 … k-1."""
    return np.asarray(numbers == np.arange(numbers.max() + 1)[:, None])


def explain_groups(posterior: "Posterior", members: np.ndarray, names: tuple[Any, ...], level: float) -> Explanation:
    """Explain groups of leaves, members (G, n) of bool, none of them all leaves."""
    require_model(posterior, "explain")
    if members.all(axis=1).any():
        raise InputError("a group of all leaves has nothing to be compared with; give at least two clusters.")
    sisters = np.array([sister_of(posterior.mean_tree().children, rows) for rows in members])
    unit = np.array([_unit(posterior, rows, beside) for rows, beside in zip(members, sisters, strict=True)])
    d = len(posterior.model.used_columns)
    n_draws = int(np.clip(_MAX_CELLS // (posterior.n * d), _MIN_DRAWS, _MAX_DRAWS))
    draws, weights = pick_trees(posterior.weights, n_draws)
    with single_threaded_blas():
        steps = _differences(posterior, draws, members, sisters)
        drawn = np.array([step / unit for step in steps])  # (draws, 2, G, k)
    ends = np.array([(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    columns = drawn.reshape(len(draws), -1).T
    quantiles = np.array([weighted_quantile(values, weights, ends) for values in columns])
    low, high = quantiles.T.reshape(2, *drawn.shape[1:])
    effect = np.tensordot(weights, drawn, 1)
    return Explanation(names, posterior.model.used_columns, members, sisters, effect, low, high)


def sister_of(children: np.ndarray, group: np.ndarray) -> np.ndarray:
    """(n,) of bool: the leaves on the other side of the merge above a group of a tree, without the group's own.

    A group that is no clade is looked for by its closest clade. What hangs above it and is mostly of the group belongs
    to it. All others are the sister where there is no merge above.
    """
    place, above, node = layout(children), parents(children), _closest(children, group)
    while above[node] >= 0:
        pair = children[above[node] - len(group)]
        beside = place.leaves(int(pair[0] if pair[1] == node else pair[1]))
        if np.count_nonzero(group[beside]) <= 0.5 * len(beside):
            sister = np.zeros(len(group), bool)
            sister[beside] = True
            sister[group] = False
            return sister
        node = int(above[node])
    return ~group


def _closest(children: np.ndarray, group: np.ndarray) -> int:
    """The node that is the closest clade of a tree to a group (n,) of bool."""
    return int(closest_clades(children[None], np.where(group, 0, -1)).nodes[0, 0])


def _unit(posterior: "Posterior", group: np.ndarray, sister: np.ndarray) -> np.ndarray:
    """(k,) standard deviation of each column within a group and its sister; the whole column counts as one row."""
    values = np.ma.masked_invalid(model_values(posterior.model))
    squares, df = values.var(axis=0).filled(0.0), np.ones(values.shape[1])
    for part in (values[group], values[sister]):
        n_seen = part.count(axis=0)
        squares += n_seen * part.var(axis=0).filled(0.0)
        df += np.maximum(n_seen - 1, 0)
    unit = np.sqrt(squares / df)
    return np.where(unit > 0.0, unit, 1.0)


def _differences(
    posterior: "Posterior", draws: np.ndarray, members: np.ndarray, sisters: np.ndarray
) -> Iterator[np.ndarray]:
    """(2, G, k) differences of each draw, in the units of the columns: to the sister clade, and to all other leaves."""
    rng = np.random.default_rng(_SEED)
    for t in draws.tolist():
        values = _leaf_values(posterior, t, rng)
        own, beside = (_closest_leaves(posterior.draws.children[t], groups) for groups in (members, sisters))
        is_inner, is_outer = ((a <= b).all(axis=1, keepdims=True) for a, b in ((own, beside), (beside, own)))
        own, beside = own & ~(beside & is_outer & ~is_inner), beside & ~(own & is_inner)
        lost = ~own.any(axis=1) | own.all(axis=1) | ~beside.any(axis=1)  # not there at all: as in the mean tree
        own[lost], beside[lost] = members[lost], sisters[lost]
        mean, *others = (part @ values / part.sum(axis=1, keepdims=True) for part in (own, beside, ~own))
        yield mean - np.array(others)


def _closest_leaves(children: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """(G, n) of bool: the leaves of the closest clade of a tree to each of the groups (G, n)."""
    nodes = np.array([_closest(children, group) for group in groups])
    return next(leaves_under(children[None], [nodes]))


def _leaf_values(posterior: "Posterior", t: int, rng: np.random.Generator) -> np.ndarray:
    """(n, k) a draw of the leaves' values without noise, given tree, parameters and missing entries of draw t."""
    state, group = posterior.model.state_of(posterior.draws, t), posterior.model.leaves.distinct.leaf
    values, variances = posterior.model.leaf_messages(state)
    values, variances = np.asarray(values[group]), variances[group]
    in_columns = getattr(state.covariance, "columns_of", np.asarray)  # of components: what these say of the columns
    if not variances.any():
        return np.asarray(in_columns(values))
    tree, d = posterior.trees[t], values.shape[1]
    whitener = state.covariance.whitener(d)
    made = simulate_data(tree, d, rng, whitener.color)
    noise = np.sqrt(variances)[:, None] * whitener.color(rng.standard_normal(values.shape))
    made += expected_leaves(np.array(tree.children), np.array(tree.times), values - made - noise, variances)
    return np.asarray(in_columns(made))
