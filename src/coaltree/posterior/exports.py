"""The methods of `Posterior` that hand it to other programs, to files and to notebooks; the work is done elsewhere."""

from typing import TYPE_CHECKING, Any, Literal, Self, cast

from .._runtime.typing import PathLike, ProgressLike
from .._runtime.validation import check_choice

if TYPE_CHECKING:
    from ..tree.tree import Tree
    from .posterior import Posterior


class Exports:
    """The methods of `Posterior` that write it down for others."""

    def set_output(self, *, transform: Literal["default", "pandas"] = "pandas") -> Self:
        """Say what `cut`, `membership`, `clade_support` and `node_times` return.

        "pandas" makes them Series and DataFrames, with the index of the DataFrame that was fitted: whole numbers and
        dates stay what they are. "default" makes them arrays. Until this is called, they are pandas objects where a
        DataFrame was fitted, and arrays elsewhere. Returns the posterior itself.
        """
        transform = check_choice("transform", transform, ("default", "pandas"))
        vars(self)["_output"] = "pandas" if transform == "pandas" else "numpy"
        return self

    def _repr_html_(self) -> str:
        from .io.notebook import posterior_html

        return posterior_html(cast("Posterior", self))

    def to_arviz(
        self,
        *,
        tail_scale: bool = False,
        log_likelihood: Literal["rows", "all"] | None = "rows",
        n_draws: int | None = None,
        n_jobs: int | None = None,
        progress: ProgressLike = "auto",
    ) -> Any:
        """The draws of θ, log joint, root time and tree length for ArviZ (`pip install "coaltree[arviz]"`).

        Parameters
        ----------
        tail_scale : whether to add the scales of Student's noise, one for each row of X.
        log_likelihood : what the group of that name holds. "rows", for ``arviz.loo`` and ``arviz.compare``: the log
            density of each row given all others (chain, draw, row), as in `loo`, which takes a while; "all", for
            priorsense: log p(X | tree, θ), of which the former is no part. None: nothing.
        n_draws, n_jobs, progress : as in `loo`, which then answers at once.

        Unless `log_likelihood` is None, log p(X | tree, θ) is also in ``sample_stats.log_likelihood``, and the group
        ``log_prior`` has the log prior of tree, covariance and noise.
        """
        from .io.exchange import to_arviz

        return to_arviz(
            cast("Posterior", self),
            tail_scale=tail_scale,
            log_likelihood=log_likelihood,
            n_draws=n_draws,
            n_jobs=n_jobs,
            progress=progress,
        )

    def to_nexus(self, path: PathLike, *, max_trees: int | None = 1000) -> None:
        """Write the sampled trees with their weights as NEXUS, which BEAST's tools, R's ape and DendroPy read.

        Parameters
        ----------
        path : file to write.
        max_trees : int or None
            How many trees at most, evenly spread by weight; None writes all of them.
        """
        from .io.exchange import write_nexus

        write_nexus(cast("Posterior", self), path, max_trees)

    def annotated_tree(self, tree: "Tree | None" = None, format: Literal["nexus", "newick"] = "nexus") -> str:
        """A tree as text, with what the posterior knows of each clade, for FigTree, ggtree (treeio), ape and DendroPy.

        Comments in BEAST's notation have the share of the posterior with just this clade (`posterior`), its transfer
        support (`transfer`), the time in this tree (`height`), and median and shortest interval with 95 % of its times
        (`height_median`, `height_95%_HPD`), which are left out where they would rest on a handful of trees.

        Parameters
        ----------
        tree : Tree, optional
            The mean tree by default.
        format : "nexus" or "newick"
            A whole NEXUS file, or one line of Newick whose inner nodes are named by their transfer support, for
            programs that pass over comments.
        """
        from .io.exchange import annotated_tree

        return annotated_tree(cast("Posterior", self), tree, format)

    def save(self, path: PathLike) -> None:
        """Write everything to one file, which `coaltree.load` reads."""
        from .io.archive import save

        save(cast("Posterior", self), path)
