"""Layout of a tree on paper: tips side by side, each node above its children, small clades folded; and its direction.

Works for every `RootedTree`, whose nodes may have any number of children. Nothing is recursive.
"""

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, Locator

from .._runtime.typing import ArrayLike
from .._runtime.validation import check_choice
from ..tree.rooted import RootedTree
from .style import INCHES_PER_CHARACTER, MAX_NAME, MAX_UPRIGHT_NAME, NameStyle, as_texts, new_axes

MAX_UNFOLDED_LEAVES = 150  # that a new figure has room for; in larger trees clusters are folded
_MAX_WIDTH_PER_DOUBLING = 0.3  # a folded clade of m leaves is up to 1 + 0.3 log2(m) leaves wide,
_CROWDED_SHARE = 0.1  # of the root's time; where half of the merges are younger, the scale is a square root
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

    def extents(self) -> np.ndarray:
        """Return (nodes, 2) where the tips under each node begin and end; NaN inside folded clades."""
        ends = np.full((len(self.size), 2), np.nan)
        ends[self.tips] = self.across[self.tips][:, None] + 0.5 * self.width[:, None] * np.array([-1.0, 1.0])
        children, n = child_lists(self.tree), self.tree.n
        for node in self.open_nodes.tolist():
            below = ends[children[node - n]]
            ends[node] = below[:, 0].min(), below[:, 1].max()
        return ends

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


class Folding(NamedTuple):
    """Which clades are drawn as triangles. Without settings, none."""

    max_tips: int | None = None
    room: float | None = None  # how many leaves would fit side by side
    cluster: np.ndarray | None = None  # (nodes,) as `node_clusters` returns it: mixed clades are opened first,
    max_pure_tips: int | None = None  # and clades of one cluster only as long as there are fewer tips than this


def arrange(tree: RootedTree, folding: Folding = Folding(), ladder: bool = True) -> TreeLayout:  # noqa: B008
    """Lay out a tree, the smaller clade of a node first, folded as far as it takes.

    Folded clades are made no wider than the room allows.
    """
    n, children = tree.n, child_lists(tree)
    n_nodes = n + len(children)
    size = [1] * n
    for nodes in children:
        size.append(sum(size[child] for child in nodes))
    is_open = _open_nodes(children, np.array(size), folding)
    tips, todo = [], [n_nodes - 1]
    while todo:
        node = todo.pop()
        if not is_open[node]:
            tips.append(node)
        else:
            below = children[node - n]
            shown = sorted(below, key=size.__getitem__) if ladder else list(below)
            todo.extend(reversed(shown))
    doublings = np.log2([size[node] for node in tips])
    per_doubling, room = _MAX_WIDTH_PER_DOUBLING, folding.room
    if room is not None and len(tips) < room and doublings.any():
        per_doubling = min(per_doubling, (room - len(tips)) / doublings.sum())
    width = 1.0 + per_doubling * doublings
    across = np.full(n_nodes, np.nan)
    across[tips] = np.cumsum(width) - 0.5 * width - 0.5
    open_nodes = np.flatnonzero(is_open)
    for node in open_nodes.tolist():
        of_children = across[children[node - n]]
        across[node] = 0.5 * (of_children.min() + of_children.max())
    return TreeLayout(tree, np.array(tips), width, np.array(size), across, open_nodes)


def _open_nodes(children: list[list[int]], size: np.ndarray, folding: Folding) -> np.ndarray:
    """Return (nodes,) bool: the nodes that are drawn with their children. The root always is.

    Clades of several clusters are opened first, then the largest, as long as there is room.
    """
    n_nodes = len(size)
    n = n_nodes - len(children)
    is_open = np.zeros(n_nodes, dtype=bool)
    if folding.max_tips is None and folding.room is None and folding.max_pure_tips is None:
        is_open[n:] = True
        return is_open
    most = np.inf if folding.max_tips is None else folding.max_tips
    most_pure = np.inf if folding.max_pure_tips is None else folding.max_pure_tips
    room = np.inf if folding.room is None else folding.room
    width = 1.0 + _MIN_WIDTH_PER_DOUBLING * np.log2(size)
    is_pure = np.ones(n_nodes, dtype=bool) if folding.cluster is None else folding.cluster >= 0
    taken, n_tips = float(width[-1]), 1
    heap = [(False, 0, n_nodes - 1)]
    while heap:
        pure, _, node = heappop(heap)
        below = children[node - n]
        taken += float(width[below].sum() - width[node])
        n_tips += len(below) - 1
        is_full = n_tips > most or taken > room or (pure and n_tips > most_pure)
        if is_full and node != n_nodes - 1:
            break
        is_open[node] = True
        for child in below:
            if child >= n:
                heappush(heap, (bool(is_pure[child]), -int(size[child]), child))
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


def time_scale_for(tree: RootedTree, given: str) -> str:
    """Return "linear" or "sqrt"; "auto" is "sqrt" where half of the merges are in the youngest tenth of the time."""
    if check_choice("time_scale", given, ("auto", "linear", "sqrt")) != "auto":
        return given
    return "sqrt" if np.median(tree.times) < _CROWDED_SHARE * tree.times[-1] else "linear"


def sqrt_ticks(top: float, gap: float = 0.12) -> np.ndarray:
    """Return round numbers up to `top`, at least this share of the axis apart on a square-root scale."""
    step = 10.0 ** np.floor(np.log10(top))
    rounds = np.outer(step * 10.0 ** np.arange(0.0, -4.0, -1.0), [5.0, 2.0, 1.0]).ravel()
    ticks: list[float] = []
    for tick in rounds[rounds <= top]:
        if all(np.sqrt(other) - np.sqrt(tick) > gap * np.sqrt(top) for other in ticks):
            ticks.append(float(tick))
    return np.array([0.0, *(tick for tick in reversed(ticks) if tick > gap**2 * top)])


def inches_across(n_tips: int) -> float:
    """Return the inches that the tips of a tree need side by side in a new figure."""
    most = max(9.0, 0.112 * n_tips) if n_tips <= MAX_UNFOLDED_LEAVES else 9.0
    return float(np.clip(1.2 + 0.17 * n_tips, 3.0, most))


class Direction(NamedTuple):
    """The direction in which a tree grows, named by the side its root is on."""

    root: str

    @classmethod
    def of(cls, orientation: Any) -> "Direction":
        return cls(check_choice("orientation", orientation, ("top", "bottom", "left", "right")))

    @property
    def is_upright(self) -> bool:
        return self.root in ("top", "bottom")

    def new_axes(self, n_tips: int, name_length: int = 0) -> Axes:
        """Make a figure that fits a tree with so many tips, and names of so many characters."""
        across = inches_across(n_tips)
        beside = INCHES_PER_CHARACTER * min(name_length, MAX_UPRIGHT_NAME if self.is_upright else MAX_NAME)
        return new_axes(max(across, 5.5), 4.2 + beside) if self.is_upright else new_axes(6.0 + beside, across)

    def points(self, across: ArrayLike, time: ArrayLike) -> np.ndarray:
        """Return (…, 2) positions on the axes."""
        pair = (across, time) if self.is_upright else (time, across)
        return np.stack(np.broadcast_arrays(*pair), axis=-1)

    def length_across(self, ax: Axes) -> float:
        """Return how many points of paper the leaves have between them."""
        return (ax.bbox.width if self.is_upright else ax.bbox.height) / ax.figure.dpi * 72.0

    def frame(self, ax: Axes, across: tuple[float, float], top: float, time_scale: str, time_label: str | None) -> None:
        """Set scale and limits, and keep only the spine of the time axis, which has a label unless that is None."""
        set_time, time_axis = (ax.set_ylim, ax.yaxis) if self.is_upright else (ax.set_xlim, ax.xaxis)
        if time_scale == "sqrt":
            set_scale = ax.set_yscale if self.is_upright else ax.set_xscale
            set_scale("function", functions=(signed_sqrt, signed_square))
        times = (0.0, 1.03 * (top or 1.0))
        set_time(*(times if self.root in ("top", "right") else times[::-1]))
        if self.is_upright:
            ax.set_xlim(*across)
        else:
            ax.set_ylim(*across[::-1])  # the first leaf on top
        said = f"{time_label} (square-root scale)" if time_label and time_scale == "sqrt" else time_label
        time_axis.set_label_text(said or "")
        if time_scale == "sqrt" and time_label is not None:
            time_axis.set_major_locator(SqrtLocator())
            time_axis.set_major_formatter(FuncFormatter(lambda time, _: f"{time:g}"))
        for side, spine in ax.spines.items():
            spine.set_visible(time_label is not None and side == ("left" if self.is_upright else "bottom"))
        if time_label is None:
            time_axis.set_ticks([])
        ax.set_facecolor("none")

    def branches(self, across: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Return (m, points, 2) lines, each with a right angle, from places and times (m, 2) of parent and child."""
        return self.points(across[:, [0, 1, 1]], times[:, [0, 0, 1]])

    def triangle(self, apex: tuple[float, float], base: tuple[float, float]) -> np.ndarray:
        """Return the corners of a triangle with an apex (place, time) and a base between two places at time 0."""
        return self.points([apex[0], *base], [apex[1], 0.0, 0.0])

    def box(self, across: tuple[float, float], times: tuple[float, float]) -> np.ndarray:
        """Return the corners of a rectangle."""
        (first, last), (low, high) = across, times
        return self.points([first, first, last, last], [low, high, high, low])

    def name_leaves(self, ax: Axes, positions: ArrayLike, names: Sequence[str], style: NameStyle) -> None:
        """Write the names beside the leaves; with no size, leave the axis empty."""
        axis: Any = ax.xaxis if self.is_upright else ax.yaxis
        size, at = style.size, np.asarray(positions, dtype=float)
        side = {"top": "bottom", "bottom": "top", "left": "right", "right": "left"}[self.root]
        texts = as_texts(names, MAX_UPRIGHT_NAME if self.is_upright else MAX_NAME) if size else []
        axis.set_ticks(at if size else [], labels=texts)
        axis.set_ticks_position(side)
        is_turned = self.is_upright and _collide(texts, size or 0.0, at, self.length_across(ax) / np.ptp(ax.get_xlim()))
        axis.set_tick_params(length=0, pad=2 + style.distance, labelsize=size, rotation=90 if is_turned else 0)
        for text, color in zip(axis.get_ticklabels(), style.colors if size and style.colors else (), strict=False):
            text.set_color(color)


def _collide(texts: Sequence[str], size: float, positions: np.ndarray, points_per_unit: float) -> bool:
    """Whether names written side by side would touch, or are long enough to look better upright."""
    if any(len(text) > 3 for text in texts):
        return True
    gaps = np.diff(positions) * points_per_unit
    return any(0.32 * size * (len(a) + len(b) + 1) > gap for a, b, gap in zip(texts, texts[1:], gaps, strict=False))


class SqrtLocator(Locator):
    """Ticks of a square-root scale at round numbers, as many as the axis has room for when it is drawn."""

    def __call__(self) -> list[float]:
        """Return the ticks for the limits and the length that the axis has now."""
        axis: Any = self.axis
        box, is_upright = axis.axes.bbox, axis.axis_name == "y"
        length = max((box.height if is_upright else box.width) * 72.0 / axis.axes.figure.dpi, 1.0)
        return sqrt_ticks(max(axis.get_view_interval()), max(0.1, (18.0 if is_upright else 30.0) / length)).tolist()

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        """Return the ticks between 0 and the larger limit, on an axis of some length."""
        return sqrt_ticks(max(vmin, vmax)).tolist()


def signed_sqrt(x: np.ndarray) -> np.ndarray:
    """Return the square root, with the sign of x."""
    return np.sign(x) * np.sqrt(np.abs(x))


def signed_square(x: np.ndarray) -> np.ndarray:
    """Return the square, with the sign of x."""
    return np.sign(x) * np.square(x)
