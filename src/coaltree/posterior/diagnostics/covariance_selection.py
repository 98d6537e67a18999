"""How ``covariance="best"`` was decided: ``info["choice"]`` of a posterior in words. A file may hold anything."""

from collections.abc import Mapping
from typing import Any

_COLUMNS = ("elpd", "difference", "standard_error", "weight")
_MAX_UNRELIABLE_SHARE = 0.1  # of the rows, without a word about it


def is_choice(table: Any) -> bool:
    """Whether this is the table that `fit` leaves there."""
    if not isinstance(table, Mapping) or not isinstance(table.get("covariance"), str):
        return False
    names, failed = table.get("names"), table.get("failed", {})
    if not (isinstance(names, list) and names and all(isinstance(name, str) for name in names)):
        return False
    columns: list[Any] = [table.get(name) for name in _COLUMNS]
    if not all(isinstance(column, list) and len(column) == len(names) for column in columns):
        return False
    numbers = [value for column in columns for value in column] + [table.get("n_rows"), table.get("n_draws")]
    return all(isinstance(value, int | float) for value in numbers) and isinstance(failed, Mapping)


def in_a_line(table: Any) -> str | None:
    """Such as "full, best of 4 by leave-one-out of 150 rows: diagonal -12.3 ± 4.5 nats"; None for other things."""
    if not is_choice(table):
        return None
    others = zip(table["names"][1:], table["difference"][1:], table["standard_error"][1:], strict=True)
    said = ", ".join(f"{name} {difference:+.1f} ± {error:.1f}" for name, difference, error in others)
    line = f"{table['covariance']}, best of {len(table['names'])} by leave-one-out of {table['n_rows']} rows"
    line += f": {said} nats" if said else ""
    unreliable = table.get("n_unreliable")
    if isinstance(unreliable, list) and len(unreliable) == len(table["names"]):
        worst = max((n for n in unreliable if isinstance(n, int)), default=0)
        if worst > _MAX_UNRELIABLE_SHARE * table["n_rows"]:
            line += f"; unreliable: Pareto k > 0.7 for up to {worst} of {table['n_rows']} rows"
    return line + "".join(f"; {name} could not be fitted" for name in table.get("failed", {}))
