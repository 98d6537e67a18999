"""Layout of a tree on paper: tips side by side, each node above its children, small clades folded; and its direction.

Works for every `RootedTree`, whose nodes may have any number of children. Nothing is recursive.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis

from .._runtime.typing import ArrayLike
from .._runtime.validation import check_choice
from ..tree.rooted import RootedTree
from .style import as_text, new_axes

_MAX_WIDTH_PER_DOUBLING = 0.3  # a folded clade of m leaves is up to 1 + 0.3 log2(m) leaves wide,
_MIN_WIDTH_PER_DOUBLING = 0.15  # and at least 1 + 0.15 log2(m) where the number of tips is not given


class TreeLayout(NamedTuple):
    """A tree laid out on paper. Nodes inside folded clades have no place (NaN)."""

    tree: RootedTree
    tips: np.ndarray  # (t,) nodes at the lower end: leaves, and folded clades
    width: np.ndarray  # (t,) of each tip
    size: np.ndarray  # (nodes,) leaves under each node
    across: np.ndarray  # (nodes,) place of each node; leaves of an unfolded tree stand at 0 … n-1
    open_nodes: np.ndarray  # inner nodes that are drawn with their children, in order of time

    @property
    def total_width(self) -> float:
        return float(self.width.sum())

    @property
    def limits(self) -> tuple[float, float]:
        return -0.5, self.total_width - 0.5

    @property
    def folded(self) -> np.ndarray:
        """The tips that are folded clades."""
        return self.tips[self.tips >= self.tree.n]

    def branches(self) -> tuple[np.ndarray, np.ndarray]:
        """Return parent and child of every branch that is drawn."""
        children, n = child_lists(self.tree), self.tree.n
        parent, child = np.array([(node, c) for node in self.open_nodes.tolist() for c in children[node - n]]).T
        return parent, child

    def leaves_of_tips(self) -> list[np.ndarray]:
        """Return the leaves below each tip: itself, or those of a folded clade."""
        n, children = self.tree.n, child_lists(self.tree)
        tip_of = np.full(len(self.size), -1)
        tip_of[self.tips] = np.arange(len(self.tips))
        for node in range(self.open_nodes[0] - 1, n - 1, -1):
            tip_of[children[node - n]] = tip_of[node]
        ends = np.cumsum(np.bincount(tip_of[:n]))
        return np.split(np.argsort(tip_of[:n], kind="stable"), ends[:-1])


def arrange(
    tree: RootedTree, max_tips: int | None = None, room: float | None = None, ladder: bool = True
) -> TreeLayout:
    """Lay out a tree with this many tips, or as many as there is room for, the smaller clade of a node first.

    `room` is how many leaves would fit side by side; folded clades are made no wider than that allows.
    """
    n, children = tree.n, child_lists(tree)
    n_nodes = n + len(children)
    size = [1] * n
    for nodes in children:
        size.append(sum(size[child] for child in nodes))
    first_open = n + _first_open(children, np.log2(size), max_tips, room)
    tips, todo = [], [n_nodes - 1]
    while todo:
        node = todo.pop()
        if node < first_open:
            tips.append(node)
        else:
            below = children[node - n]
            todo.extend(reversed(sorted(below, key=size.__getitem__) if ladder else below))
    doublings = np.log2([size[node] for node in tips])
    per_doubling = _MAX_WIDTH_PER_DOUBLING
    if room is not None and len(tips) < room and doublings.any():
        per_doubling = min(per_doubling, (room - len(tips)) / doublings.sum())
    width = 1.0 + per_doubling * doublings
    across = np.full(n_nodes, np.nan)
    across[tips] = np.cumsum(width) - 0.5 * width - 0.5
    for node in range(first_open, n_nodes):
        of_children = across[children[node - n]]
        across[node] = 0.5 * (of_children.min() + of_children.max())
    return TreeLayout(tree, np.array(tips), width, np.array(size), across, np.arange(first_open, n_nodes))


def _first_open(children: list[list[int]], log_size: np.ndarray, max_tips: int | None, room: float | None) -> int:
    """Return the earliest merge that is drawn with its children; the last always is."""
    if max_tips is None and room is None:
        return 0
    n_merges = len(children)
    n_tips = 1 + np.cumsum([len(nodes) - 1 for nodes in reversed(children)])[::-1]
    if max_tips is not None:
        is_full = n_tips > max_tips
    else:
        added = np.array([log_size[nodes].sum() for nodes in children]) - log_size[-n_merges:]
        doublings = log_size[-1] + np.cumsum(added[::-1])[::-1]
        is_full = n_tips + _MIN_WIDTH_PER_DOUBLING * doublings > room
    return min(int(np.flatnonzero(is_full).max(initial=-1)) + 1, n_merges - 1)


def child_lists(tree: RootedTree) -> list[list[int]]:
    """Return the children of each inner node."""
    children = tree.children
    return children.tolist() if isinstance(children, np.ndarray) else [list(nodes) for nodes in children]


def node_clusters(tree: RootedTree, number: np.ndarray) -> np.ndarray:
    """Return the cluster that holds all leaves under each node, -1 where there are several."""
    of_node = number.tolist()
    for nodes in child_lists(tree):
        first = of_node[nodes[0]]
        of_node.append(first if all(of_node[child] == first for child in nodes) else -1)
    return np.array(of_node)


class Direction(NamedTuple):
    """The direction in which a tree grows, named by the side its root is on."""

    root: str

    @classmethod
    def of(cls, orientation: Any) -> "Direction":
        return cls(check_choice("orientation", orientation, ("top", "bottom", "left", "right")))

    @property
    def is_upright(self) -> bool:
        return self.root in ("top", "bottom")

    def new_axes(self, n_tips: int) -> Axes:
        """Make a figure that fits a tree with so many tips."""
        across = float(np.clip(0.8 + 0.17 * n_tips, 2.6, 9.0))
        return new_axes(max(across, 4.0), 4.5) if self.is_upright else new_axes(6.5, across)

    def points(self, across: ArrayLike, time: ArrayLike) -> np.ndarray:
        """Return (…, 2) positions on the axes."""
        pair = (across, time) if self.is_upright else (time, across)
        return np.stack(np.broadcast_arrays(*pair), axis=-1)

    def leaf_axis(self, ax: Axes) -> Axis:
        return ax.xaxis if self.is_upright else ax.yaxis

    def length_across(self, ax: Axes) -> float:
        """Return how many points of paper the leaves have between them."""
        return (ax.bbox.width if self.is_upright else ax.bbox.height) / ax.figure.dpi * 72.0

    def frame(self, ax: Axes, across: tuple[float, float], top: float, time_scale: str, time_label: str | None) -> None:
        """Set scale and limits, and keep only the spine of the time axis, which has a label unless that is None."""
        set_time, time_axis = (ax.set_ylim, ax.yaxis) if self.is_upright else (ax.set_xlim, ax.xaxis)
        if check_choice("time_scale", time_scale, ("linear", "sqrt")) == "sqrt":
            set_scale = ax.set_yscale if self.is_upright else ax.set_xscale
            set_scale("function", functions=(_signed_sqrt, _signed_square))
        times = (0.0, 1.03 * (top or 1.0))
        set_time(*(times if self.root in ("top", "right") else times[::-1]))
        if self.is_upright:
            ax.set_xlim(*across)
        else:
            ax.set_ylim(*across[::-1])  # the first leaf on top
        time_axis.set_label_text(time_label or "")
        for side, spine in ax.spines.items():
            spine.set_visible(time_label is not None and side == ("left" if self.is_upright else "bottom"))
        if time_label is None:
            time_axis.set_ticks([])
        ax.set_facecolor("none")

    def name_leaves(self, ax: Axes, positions: ArrayLike, names: Sequence[str], size: float | None) -> None:
        """Write the names at the leaves; with no size, leave the axis empty."""
        axis = self.leaf_axis(ax)
        side = {"top": "bottom", "bottom": "top", "left": "right", "right": "left"}[self.root]
        axis.set_ticks(np.asarray(positions) if size else [], labels=[as_text(name) for name in names] if size else [])
        axis.set_ticks_position(side)  # type: ignore[attr-defined]
        rotation = 90 if self.is_upright and any(len(name) > 3 for name in names) else 0
        axis.set_tick_params(length=0, pad=2, labelsize=size, rotation=rotation)


def _signed_sqrt(x: np.ndarray) -> np.ndarray:
    return np.sign(x) * np.sqrt(np.abs(x))


def _signed_square(x: np.ndarray) -> np.ndarray:
    return np.sign(x) * np.square(x)
