"""What all pictures share: colours that colour-blind readers can tell apart, axes, and which way a tree grows."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.lines import Line2D

from .._runtime.formatting import shortened
from .._runtime.typing import ArrayLike
from .._runtime.validation import check_choice
from ..errors import InputError
from ..posterior.io.pandas_output import in_order_of
from ..posterior.posterior import Posterior
from ..tree.cuts import check_cut, side_branches
from ..tree.merges import canonical
from ..tree.rooted import RootedTree
from ..tree.tree import Tree

# Six of Okabe and Ito's colours (the yellow is too light for a line), then four of Paul Tol's.
PALETTE = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#882255", "#999933", "#332288", "#44AA99",
)  # fmt: skip
INK = "#3A3A3A"  # branches, and whatever belongs to no cluster
PALE = "#B8B8B8"
MISSING: dict[str, Any] = {"facecolor": "#efefef", "hatch": "//////", "edgecolor": "#c9c9c9", "linewidth": 0.0}

LARGEST_FONT = 9.0
SMALLEST_FONT = 5.0  # points; below this a label is not printed at all
_LINE = 1.2  # height of a line of text as a multiple of its font


def new_axes(width: float, height: float) -> Axes:
    """Make a figure of this size in inches and return its only axes."""
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def show_missing(ax: Axes) -> None:
    """Hatch what lies under a heat map, so that missing cells, which are transparent, are seen as missing."""
    ax.patch.set(**MISSING)


def font_that_fits(points_per_line: float) -> float | None:
    """Return the font size for lines this far apart, or None where it would be too small to read."""
    size = min(LARGEST_FONT, points_per_line / _LINE)
    return size if size >= SMALLEST_FONT - 1e-6 else None


def color_of(cluster: int) -> str:
    """Return the colour of a cluster, the same in every picture; after ten they come again. Outliers are pale."""
    return PALE if cluster < 0 else PALETTE[cluster % len(PALETTE)]


class Clusters(NamedTuple):
    """Numbered clusters of leaves, their names if they had any, and which leaves are in side branches."""

    number: np.ndarray  # (n,) 0, 1, … in order of first leaf; -1 for outliers
    names: list[str] | None
    side_branch: np.ndarray  # (n,) bool


def as_clusters(
    tree: RootedTree, clusters: ArrayLike | None, n_clusters: int | None, *posteriors: object
) -> Clusters | None:
    """Return the clusters asked for: labels of any kind, one per leaf, or a number to cut into.

    It is the first of `posteriors` that is cut, and the tree where none of them is one. Side branches are known where
    something is cut.
    """
    if clusters is not None and n_clusters is not None:
        raise InputError("give clusters or n_clusters, not both.")
    posterior = next((given for given in posteriors if isinstance(given, Posterior)), None)
    if n_clusters is not None and posterior is not None:
        row_of = {label: row for row, label in enumerate(posterior.labels)}
        if row_of.keys() == set(tree.labels):
            rows = [row_of[label] for label in tree.labels]
            beside = side_branches(posterior.mean_tree().children, check_cut(posterior.n, n_clusters))
            return Clusters(posterior.cut(n_clusters, output="numpy")[rows], None, beside[rows])
    if n_clusters is not None:
        if not isinstance(tree, Tree):
            raise InputError("only a binary tree can be cut into n_clusters; give clusters, one per leaf, instead.")
        return Clusters(tree.cut(n_clusters), None, side_branches(tree.children, check_cut(tree.n, n_clusters)))
    if clusters is None:
        return None
    given = np.asarray(in_order_of(clusters, tree))
    if given.shape != (tree.n,):
        raise InputError(f"clusters must have shape ({tree.n},), one per leaf, not {given.shape}.")
    nowhere = np.zeros(tree.n, dtype=bool)
    if np.issubdtype(given.dtype, np.integer) and given.min() >= -1:
        return Clusters(given, None, nowhere)  # already numbers: keep them, and with them their colours
    values, first = np.unique(given, return_index=True)
    return Clusters(canonical(given), [str(value) for value in values[np.argsort(first)]], nowhere)


def as_text(name: str) -> str:
    """Return a name as Matplotlib shows it unchanged; a pair of dollars would make it a formula. Long ones are cut."""
    return shortened(name).replace("$", r"\$")


class Direction(NamedTuple):
    """Which way a tree grows: the side its root is on."""

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
        size = ax.bbox.width if self.is_upright else ax.bbox.height
        return float(size) / ax.figure.dpi * 72.0

    def frame(self, ax: Axes, width: tuple[float, float], height: tuple[float, float], time_label: str | None) -> None:
        """Set limits (leaves across, time along), keep the one spine that has a scale, and name it."""
        if self.is_upright:
            ax.set_xlim(*width)
            ax.set_ylim(*(height if self.root == "top" else height[::-1]))
            ax.set_ylabel(time_label or "")
        else:
            ax.set_ylim(*width[::-1])  # the first leaf on top
            ax.set_xlim(*(height if self.root == "right" else height[::-1]))
            ax.set_xlabel(time_label or "")
        scale = "left" if self.is_upright else "bottom"
        for side, spine in ax.spines.items():
            spine.set_visible(side == scale and time_label is not None)
        if time_label is None:
            (ax.yaxis if self.is_upright else ax.xaxis).set_ticks([])
        ax.set_facecolor("none")

    def name_leaves(self, ax: Axes, positions: np.ndarray, names: Sequence[str], size: float | None) -> None:
        """Write the names where the leaves end; with no size, leave the axis empty."""
        axis = self.leaf_axis(ax)
        side = {"top": "bottom", "bottom": "top", "left": "right", "right": "left"}[self.root]
        axis.set_ticks(positions if size else [], labels=[as_text(name) for name in names] if size else [])
        axis.set_ticks_position(side)  # type: ignore[attr-defined]
        rotation = 90 if self.is_upright and any(len(name) > 3 for name in names) else 0
        axis.set_tick_params(length=0, pad=2, labelsize=size, rotation=rotation)


def add_legend(ax: Axes, direction: Direction, handles: list[Line2D], title: str | None = None) -> None:
    """Put a legend in one line outside the picture, where neither branches nor names are, beside one there may be."""
    if title is not None:
        handles = [Line2D([], [], ls="", label=title), *handles]
    earlier = ax.get_legend()
    above = direction.root != "bottom"
    corner: Any = f"{'lower' if above else 'upper'} {'left' if earlier is None else 'right'}"
    ax.legend(
        handles=handles,
        loc=corner,
        bbox_to_anchor=(0.0 if earlier is None else 1.0, 1.0 if above else 0.0),
        ncols=len(handles),
        fontsize=7,
        frameon=False,
        handlelength=1.0,
        handletextpad=0.4,
        columnspacing=1.2,
        borderaxespad=0.2,
    )
    if earlier is not None:
        ax.add_artist(earlier)


def add_legend_outside(ax: Axes, handles: list[Line2D], n_columns: int = 4) -> None:
    """Put a legend of several lines, read column by column, below the whole figure, or above it if there is one."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.legend(
        handles=handles,
        loc="outside upper center" if figure.legends else "outside lower center",
        ncols=min(n_columns, len(handles)),
        fontsize=7,
        frameon=False,
        handlelength=1.0,
        handletextpad=0.4,
        columnspacing=1.6,
    )


def draw_scale(ax: Axes, direction: Direction, time_scale: str) -> None:
    """Make the time axis linear, or the square root of time, which spreads the many late merges near the leaves."""
    if check_choice("time_scale", time_scale, ("linear", "sqrt")) == "sqrt":
        set_scale = ax.set_yscale if direction.is_upright else ax.set_xscale
        set_scale("function", functions=(_signed_sqrt, _signed_square))


def _signed_sqrt(x):
    return np.sign(x) * np.sqrt(np.abs(x))


def _signed_square(x):
    return np.sign(x) * np.square(x)
