"""What stays the same in every round of a run and is large: its rows, and the arrays of its plan.

Workers are sent it once (`sent_rows`). Plans and chains travel without it, and are put together with it where they
arrive; of a chain's rows only the entries that were missing, which are the chain's own, go with it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...model.data.neighbor_graph import NeighborGraph
from ...model.data.replicates import Replicates, Within
from ..chains.chain import Chain, Plan


@dataclass(frozen=True, eq=False)  # no tuple: it is held by weak references
class Unchanging:
    """Rows (N, d), missing entries being NaN, and what a plan says of them."""

    values: np.ndarray
    missing: np.ndarray | None = None
    error2: np.ndarray | None = None
    replicates: Replicates | None = None
    graph: NeighborGraph | None = None
    within: Within | None = None

    def copied(self) -> "Unchanging":
        """The same in arrays of its own: what another process is handed may be read-only, or gone after a task."""
        parts: list[Any] = [_each(np.array, part) for part in vars(self).values()]
        return Unchanging(*parts)

    def without(self, plan: Plan) -> Plan:
        """A plan to send."""
        light = plan._replace(missing=None, replicates=None, graph=None, within=None)
        return light._replace(noise=plan.noise._replace(error2=np.empty(0)))

    def within_plan(self, plan: Plan) -> Plan:
        """Undo `without`."""
        whole = plan._replace(missing=self.missing, replicates=self.replicates, graph=self.graph, within=self.within)
        return whole if self.error2 is None else whole._replace(noise=plan.noise._replace(error2=self.error2))

    def without_rows(self, chain: Chain) -> Chain:
        """A chain to send: in place of its rows those of their entries that it has drawn."""
        return chain._replace(values=np.empty(0) if self.missing is None else chain.values[self.missing])

    def with_rows(self, chain: Chain) -> Chain:
        """Undo `without_rows`."""
        if self.missing is None:
            return chain._replace(values=self.values)
        values = self.values.copy()
        values[self.missing] = chain.values
        return chain._replace(values=values)


def of_run(plan: Plan, values: np.ndarray) -> Unchanging:
    """What of a run does not change."""
    return Unchanging(values, plan.missing, plan.noise.error2, plan.replicates, plan.graph, plan.within)


def _each(do: Callable[[Any], Any], part: Any) -> Any:
    """An array, or the arrays of a tuple, after something was done to each; None stays None."""
    if isinstance(part, tuple):
        return type(part)(*(_each(do, inner) for inner in part))
    return do(part) if isinstance(part, np.ndarray) else part
