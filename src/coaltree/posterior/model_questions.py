"""What is asked of a posterior about its model; a part of `Posterior`."""

from typing import TYPE_CHECKING, cast

from .._runtime.typing import ProgressLike

if TYPE_CHECKING:
    from .posterior import Posterior
    from .predictive.loo import LeaveOneOut


class ModelQuestions:
    """The methods of `Posterior` that are about how well its model describes the rows."""

    def loo(
        self, *, n_draws: int | None = None, n_jobs: int | None = None, progress: ProgressLike = "auto"
    ) -> "LeaveOneOut":
        """Leave-one-out: how well each row is predicted from all others, without fitting again.

        The row is what is left out, also where several rows measure one leaf (`groups`): the others then hold its
        place. Of a row with missing entries the observed ones count. Densities are those of the columns in their own
        units; copies of other rows have none, and are left aside. Up to 2,000 rows every branch of a tree is looked
        at; above, those that near rows lead to and a sample of the others, which makes densities a little uncertain.

        Parameters
        ----------
        n_draws : how many draws are asked, evenly spread; 200 by default, 100 above 2,000 rows.
        n_jobs : number of draws to ask at the same time, in threads; it changes nothing else.
        progress : True, False, "auto" (a progress bar on a terminal) or a function of (draws done, draws).

        Returns
        -------
        LeaveOneOut, with `elpd`, its standard error `se`, `pointwise` and ArviZ's diagnostic `pareto_k` of each row.
        """
        from .predictive.loo import loo

        return loo(cast("Posterior", self), n_draws=n_draws, n_jobs=n_jobs, progress=progress)
