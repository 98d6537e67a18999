"""What the result of a model check means: one sentence, and one argument of `fit` to try where there is one."""

import ast
import re
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..._runtime.formatting import shortened, shortlist
from ...model.covariance import Components, Diagonal, Scaled, Spherical
from ...model.covariance.components import MIN_COMPONENTS
from ...model.data.columns import rows_for_full
from ...model.data.transform import Preprocessor
from ...model.process.coalescent import lateness
from .check_statistics import Result, pairs_of

if TYPE_CHECKING:
    from ..posterior import Posterior

STUDENT, FULL, COMPONENTS = 'noise="student"', 'covariance="full"', 'covariance="components"'
CLEARLY_SKEWED = 3.5  # standardised discrepancies of a column from which on its logarithm is taken with the worst one's
MAX_NAMES = 10  # of columns in an option: of more the worst, or all where these are most of the columns

Explained = tuple[str, str]  # the sentence, and the argument or ""


def explain(name: str, posterior: "Posterior", result: Result, *, is_fine: bool) -> Explained:
    """What was seen in a sentence, and what to try unless all is fine."""
    fine, explain_failure = _EXPLANATIONS[name]
    return (fine, "") if is_fine else explain_failure(posterior, result)


def as_option(argument: str) -> str:
    """An argument of `coaltree.fit` as an option of the command: noise="student" as --noise student."""
    logs = re.fullmatch(r"transform=ct\.Preprocessor\((log|log1p)=(.*)\)", argument)
    if logs:
        columns = ast.literal_eval(logs[2])
        return " ".join(f"--{logs[1]} {shlex.quote(str(name))}" for name in (["all"] if columns is True else columns))
    name, _, value = argument.partition("=")
    return " ".join(filter(None, (f"--{name}", value.strip('"'))))


def _tails(posterior: "Posterior", result: Result) -> Explained:
    column = result.worst - (1 if posterior.draws.tail_scale is None else 2)  # negative: all, or the noise's scales
    where = "" if column < 0 else f" in {_column(posterior, column)}"
    if result.z[result.worst] < 0.0:
        return f"large differences{where} are rarer than the model says, which matters little to the tree", ""
    option = STUDENT if posterior.model.noise.settings.tails != "student" else ""
    return f"a few differences{where} are larger than the model allows, and decide where rows go", option


def _outliers(posterior: "Posterior", result: Result) -> Explained:
    if result.z[0] < 0.0:
        return "rows come in close pairs; repeated measurements of one thing should be one leaf", "groups="
    option = STUDENT if posterior.model.noise.settings.tails != "student" else ""
    every = max(1, len(posterior) // 100)
    late = np.mean([lateness(children) for children in posterior.draws.children[::every]], axis=0)
    latest = [posterior.labels[i] for i in np.argsort(-late, kind="stable")[:5]]
    return f"some rows are far from all others and join the tree late: {shortlist(latest)}", option


def _skewness(posterior: "Posterior", result: Result) -> Explained:
    d = len(posterior.model.coordinate_names)
    is_up, grows = result.z[result.worst] > 0.0, result.worst < d
    z = (1.0 if is_up else -1.0) * (result.z[:d] if grows else result.z[d:])
    others = int(np.count_nonzero(np.delete(z, result.worst % d) > CLEARLY_SKEWED))
    name = _column(posterior, result.worst % d) + (f" (and {others} more)" if others else "")
    end = "high" if is_up else "low"
    seen = f"{name} varies more where its values are {end}" if grows else f"{name} has a long tail of {end} values"
    return seen, _logarithms(posterior, z) if is_up else ""


def _logarithms(posterior: "Posterior", z: np.ndarray) -> str:
    """Logarithms of the worst column and of all clearly skewed ones, or of all; of counts log (1 + x)."""
    if isinstance(posterior.model.covariance, Components):  # no column is seen by itself
        return ""
    assert posterior.model.X is not None
    X = posterior.model.X if posterior.model.used is None else posterior.model.X[:, posterior.model.used]
    columns = np.flatnonzero(z >= min(CLEARLY_SKEWED, z.max()))
    lowest = np.nanmin(X[:, columns])
    if posterior.model.transform is not None or lowest < 0.0:
        return ""
    are_counts = lowest == 0.0 and not np.nanmax(X % 1.0)
    if np.nanmin(X) >= 0.0 and (are_counts or len(columns) > max(MAX_NAMES, 0.5 * X.shape[1])):
        columns, lowest = np.arange(X.shape[1]), np.nanmin(X)  # all of them
    else:
        columns = np.sort(columns[np.argsort(-z[columns], kind="stable")[:MAX_NAMES]])
    names = posterior.model.coordinate_names
    every = len(columns) == X.shape[1]
    log = True if every else [names[j] if posterior.model.columns is not None else int(names[j]) for j in columns]
    return f"transform=ct.{Preprocessor(log=log) if lowest > 0.0 else Preprocessor(log1p=log)!r}"


def _correlation(posterior: "Posterior", result: Result) -> Explained:
    d = len(posterior.model.coordinate_names)
    strongest = int(np.argmax(np.abs(result.z[:-1])))
    first, second = (_column(posterior, part[strongest]) for part in pairs_of(d))
    is_free = isinstance(posterior.model.covariance, Diagonal | Scaled | Spherical)
    beyond = "" if is_free else " more than the model says"
    correlation = f"(correlation {float(result.excess[strongest]):.2f})"
    seen = f"columns vary together{beyond}, {first} and {second} most {correlation}"
    if posterior.n >= rows_for_full(d):
        return seen, FULL
    return seen, COMPONENTS if min(posterior.n - 1, d) > MIN_COMPONENTS and not beyond else ""


def _column(posterior: "Posterior", number: int) -> str:
    """The name of a column of the model."""
    name = posterior.model.coordinate_names[number]
    return repr(shortened(name)) if posterior.model.columns is not None else f"column {name}"


#: The sentence where all is fine, and what explains a failure, by the name of the check.
_EXPLANATIONS: dict[str, tuple[str, Callable[["Posterior", Result], Explained]]] = {
    "tails": ("large differences are as rare as the model says", _tails),
    "outliers": ("single rows join the tree as early as they should", _outliers),
    "skewness": ("columns vary as much where values are high as where they are low", _skewness),
    "correlation": ("columns vary together no more than the model says", _correlation),
}
