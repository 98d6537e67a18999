"""Layout of a tree on paper: tips side by side, each node above its children, small clades folded; and its axes.

Works for every `RootedTree`, whose nodes may have any number of children. Nothing is recursive.
"""

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from .._runtime.typing import ArrayLike
from .._runtime.validation import check_choice
from ..tree.rooted import RootedTree
from .style import MAX_NAME, MAX_UPRIGHT_NAME, as_texts, new_axes

MAX_UNFOLDED_LEAVES = 150  # that a new figure has room for; in larger trees clusters are folded
MIN_TIPS = 12  # of a tree whose clusters are folded: where there are fewer clusters, the largest are opened
_WIDTH_PER_DOUBLING = 0.2  # a folded clade of m leaves is 1 + 0.2 log2(m) leaves wide


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
        for node in range(len(self.size) - 1, n - 1, -1):
            if tip_of[node] >= 0:
                tip_of[children[node - n]] = tip_of[node]
        ends = np.cumsum(np.bincount(tip_of[:n]))
        return np.split(np.argsort(tip_of[:n], kind="stable"), ends[:-1])


def arrange(
    tree: RootedTree, max_tips: float = np.inf, room: float = np.inf, cluster: np.ndarray | None = None
) -> TreeLayout:
    """Lay out a tree, the children of a node in their order, folded as far as it takes.

    `max_tips` limits the number of tips, `room` their width in leaves. With `cluster`, as `node_clusters` returns it,
    clades of one cluster are folded where there are `MIN_TIPS` tips without opening them.
    """
    n, children = tree.n, child_lists(tree)
    size = [1] * n
    for nodes in children:
        size.append(sum(size[child] for child in nodes))
    n_nodes = len(size)
    width = 1.0 + _WIDTH_PER_DOUBLING * np.log2(size)
    is_open = _open_nodes(children, width, max_tips, room, cluster)
    tips, todo = [], [n_nodes - 1]
    while todo:
        node = todo.pop()
        if is_open[node]:
            todo.extend(children[node - n][::-1])
        else:
            tips.append(node)
    across = np.full(n_nodes, np.nan)
    across[tips] = np.cumsum(width[tips]) - 0.5 * width[tips] - 0.5
    open_nodes = np.flatnonzero(is_open)
    for node in open_nodes.tolist():
        of_children = across[children[node - n]]
        across[node] = 0.5 * (of_children.min() + of_children.max())
    return TreeLayout(tree, np.array(tips), width[tips], np.array(size), across, open_nodes)


def _open_nodes(
    children: list[list[int]], width: np.ndarray, max_tips: float, room: float, cluster: np.ndarray | None
) -> np.ndarray:
    """Return (nodes,) bool: the nodes that are drawn with their children, clades of several clusters and large ones
    first. The root always is."""
    root = len(width) - 1
    n = root + 1 - len(children)
    is_open = np.zeros(root + 1, dtype=bool)
    is_pure = np.zeros(root + 1, dtype=bool) if cluster is None else cluster >= 0
    taken, n_tips = float(width[root]), 1
    heap = [(False, 0.0, root)]
    while heap:
        pure, _, node = heappop(heap)
        below = children[node - n]
        taken += float(width[below].sum() - width[node])
        n_tips += len(below) - 1
        if node != root and (n_tips > max_tips or taken > room or (pure and n_tips > MIN_TIPS)):
            break
        is_open[node] = True
        for child in below:
            if child >= n:
                heappush(heap, (bool(is_pure[child]), -float(width[child]), child))
    return is_open


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


def time_scale_for(tree: RootedTree, time_scale: str) -> str:
    """Return "linear" or "sqrt"; "auto" is "sqrt" where half of the merges are in the youngest tenth of the time."""
    if check_choice("time_scale", time_scale, ("auto", "linear", "sqrt")) != "auto":
        return time_scale
    return "sqrt" if np.median(tree.times) < 0.1 * tree.times[-1] else "linear"


def sqrt_ticks(top: float, gap: float = 0.12) -> np.ndarray:
    """Return round numbers up to `top`, at least this share of the axis apart on a square-root scale."""
    step = 10.0 ** np.floor(np.log10(top))
    rounds = np.outer(step * 10.0 ** np.arange(0.0, -4.0, -1.0), [5.0, 2.0, 1.0]).ravel()
    ticks: list[float] = []
    for tick in rounds[rounds <= top]:
        if all(np.sqrt(other) - np.sqrt(tick) > gap * np.sqrt(top) for other in ticks):
            ticks.append(float(tick))
    return np.array([0.0, *(tick for tick in reversed(ticks) if tick > gap**2 * top)])


class Direction(NamedTuple):
    """The direction in which a tree grows: its root is at the left, or at the top if it is upright."""

    is_upright: bool

    @classmethod
    def of(cls, orientation: Any) -> "Direction":
        return cls(check_choice("orientation", orientation, ("left", "top")) == "top")

    def new_axes(self, n_tips: int, name_length: int = 0) -> Axes:
        """Make a figure that fits a tree with so many tips, and names of so many characters."""
        most = max(9.0, 0.112 * n_tips) if n_tips <= MAX_UNFOLDED_LEAVES else 9.0
        across = float(np.clip(1.2 + 0.17 * n_tips, 3.0, most))
        beside = 0.07 * min(name_length, MAX_UPRIGHT_NAME if self.is_upright else MAX_NAME)
        return new_axes(max(across, 5.5), 4.2 + beside) if self.is_upright else new_axes(6.0 + beside, across)

    def points(self, across: ArrayLike, time: ArrayLike) -> np.ndarray:
        """Return (…, 2) positions on the axes."""
        pair = (across, time) if self.is_upright else (time, across)
        return np.stack(np.broadcast_arrays(*pair), axis=-1)

    def length_across(self, ax: Axes) -> float:
        """Return how many points of paper the leaves have between them."""
        return (ax.bbox.width if self.is_upright else ax.bbox.height) / ax.figure.dpi * 72.0

    def frame(self, ax: Axes, across: tuple[float, float], top: float, time_scale: str) -> None:
        """Set scale and limits, and keep only the spine of the time axis."""
        latest, text = 1.03 * (top or 1.0), "time"
        if time_scale == "sqrt":
            text = "time (square-root scale)"
            (ax.set_yscale if self.is_upright else ax.set_xscale)("function", functions=(_signed_sqrt, _signed_square))
            length = (ax.bbox.height if self.is_upright else ax.bbox.width) * 72.0 / ax.figure.dpi
            ticks = sqrt_ticks(latest, max(0.1, (18.0 if self.is_upright else 30.0) / max(length, 1.0)))
            (ax.yaxis if self.is_upright else ax.xaxis).set_ticks(ticks, labels=[f"{tick:g}" for tick in ticks])
        if self.is_upright:
            ax.set(xlim=across, ylim=(0.0, latest), ylabel=text)
        else:
            ax.set(ylim=across[::-1], xlim=(latest, 0.0), xlabel=text)  # the first leaf on top
        for side, spine in ax.spines.items():
            spine.set_visible(side == ("left" if self.is_upright else "bottom"))
        ax.set_facecolor("none")

    def name_leaves(
        self,
        ax: Axes,
        positions: ArrayLike,
        names: Sequence[str],
        size: float | None,
        colors: Sequence[str] | None = None,
        distance: float = 0.0,
    ) -> None:
        """Write the names so many points of paper beside the leaves; with no size, leave the axis empty.

        They take at most half of the axes, which become smaller by it unless the figure makes room by itself.
        """
        axis: Any = ax.xaxis if self.is_upright else ax.yaxis
        at = np.asarray(positions, dtype=float)
        room = 0.5 * (ax.bbox.height if self.is_upright else ax.bbox.width) / ax.figure.dpi * 72.0
        longest = min(MAX_UPRIGHT_NAME if self.is_upright else MAX_NAME, max(4, int(room / (0.55 * (size or 1.0)))))
        texts = as_texts(names, longest) if size else []
        axis.set_ticks(at if size else [], labels=texts)
        axis.set_ticks_position("bottom" if self.is_upright else "right")
        per_unit = self.length_across(ax) / np.ptp(ax.get_xlim())
        is_turned = self.is_upright and _collide(texts, size or 0.0, at, per_unit)
        axis.set_tick_params(length=0, pad=2 + distance, labelsize=size, rotation=90 if is_turned else 0)
        for text, color in zip(axis.get_ticklabels(), colors if size and colors else (), strict=False):
            text.set_color(color)
        if texts and ax.figure.get_layout_engine() is None:
            figure: Any = ax.figure
            place = ax.get_subplotspec()
            box = ax.get_position() if place is None else place.get_position(figure)
            ax.set_position(box)  # also where it was made smaller before
            taken = figure.transSubfigure.inverted().transform_bbox(axis.get_tightbbox())
            aside, below = (0.0, box.y0 - taken.y0) if self.is_upright else (taken.x1 - box.x1, 0.0)
            ax.set_position(
                (box.x0, box.y0 + max(below, 0.0), box.width - max(aside, 0.0), box.height - max(below, 0.0))
            )


def _collide(texts: Sequence[str], size: float, positions: np.ndarray, points_per_unit: float) -> bool:
    """Whether names written side by side would touch, or are long enough to look better upright."""
    if any(len(text) > 3 for text in texts):
        return True
    gaps = np.diff(positions) * points_per_unit
    return any(0.32 * size * (len(a) + len(b) + 1) > gap for a, b, gap in zip(texts, texts[1:], gaps, strict=False))


def _signed_sqrt(x: np.ndarray) -> np.ndarray:
    return np.sign(x) * np.sqrt(np.abs(x))


def _signed_square(x: np.ndarray) -> np.ndarray:
    return np.sign(x) * np.square(x)
