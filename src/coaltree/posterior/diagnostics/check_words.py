"""What each check says in words: what was seen, and which argument to try where something is wrong."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..._runtime.formatting import shortened, some
from ...model.covariance import Diagonal, Scaled, Spherical
from ...model.process.pivots import lateness, shuffles
from ..posterior import Posterior
from ..trees.clades import leaves_under
from .check_statistics import pairs_of

_STUDENT = 'noise="student", which tells odd rows from the others'
_CLEARLY = 3.5  # standard deviations, for a column to be counted with the worst
_LEARN = 'noise="student" (the default of fit) or noise="learn"'


class Sentence(NamedTuple):
    """What a sentence is made of."""

    posterior: Posterior
    verdict: str
    worst: int  # the entry of the statistic that is farthest off
    z: np.ndarray  # of all entries
    seen: np.ndarray  # the statistic, mean over trees, less that of what the model draws

    @property
    def is_fine(self) -> bool:
        return self.verdict == "fine"

    def column(self, number: int) -> str:
        """The name of a column of the model."""
        name = self.posterior.model_columns[number]
        return repr(shortened(name)) if self.posterior.columns is not None else f"column {name}"


def what_it_means(name: str, found: Sentence) -> tuple[str, str]:
    """What was seen, and what to try."""
    return _WORDS[name](found)


def _noise(found):
    if found.is_fine:
        return "contrasts of young and of old merges are of one size", ""
    noise = found.posterior.noise
    if found.z[0] < 0.0:
        said = "rows that are close relatives differ more than the model lets them: it has too little noise"
        advice = f"try {_LEARN}"
        if noise.is_learnt:
            advice = "the noise is learnt already: look for rows that repeat others but for rounding, or try groups="
    else:
        said = "rows that are close relatives differ less than the model says: it has too much noise"
        advice = f"try {_LEARN}"
        if noise.is_learnt:
            said = "large groups lie farther apart than the tree expects from how little close relatives differ"
            advice = "well separated clusters do this, and it does them no harm; mend what other checks find first"
    return said, advice


def _tails(found):
    noise, heavy = found.posterior.noise, found.z[found.worst] > 0.0
    column = found.worst - (1 if found.posterior.tail_scale is None else 2)
    if found.is_fine:
        return "contrasts have the tails of a normal distribution", ""
    if column == -2:
        said = f"the noise has {'heavier' if heavy else 'lighter'} tails than Student's t with {noise.df:g} df"
        other = f'ct.Noise(tails="student", df={noise.df / 2 if heavy else noise.df * 4:g})'
        return said, f"try noise={other}" + ("" if heavy else ' or noise="learn"')
    where = "" if column < 0 else f" in {found.column(column)}"
    if not heavy:
        said = f"contrasts have lighter tails than a normal distribution{where}"
        return said, "values that are counts, ranks or of few kinds do this; it matters little to the tree"
    said = f"contrasts have heavier tails than a normal distribution{where}: most are small, a few are large"
    if noise.tails != "student":
        return said, f"try {_STUDENT}"
    return said, f"look at the largest values{where}, and try {'its logarithm' if where else 'logarithms'} or ranks"


def _odd_rows(found):
    if found.is_fine:
        return "single rows join the tree as early as they should", ""
    post = found.posterior
    if found.z[0] < 0.0:
        return "single rows join the tree earlier than they should: rows come in close pairs", (
            "rows that measure the same thing repeatedly can be named by groups="
        )
    said = f"some rows are far from all others and join the tree late: {some(latest_leaves(post), 5)}"
    advice = "look at these rows"
    return said, f"{advice}, and try {_STUDENT}" if post.noise.tails != "student" else advice


def latest_leaves(posterior: Posterior, most: int = 5) -> list[str]:
    """Names of the leaves that join others latest, on average over the trees."""
    every = max(1, len(posterior) // 100)
    late = np.mean([lateness(children) for children in posterior.children[::every]], axis=0)
    return [posterior.labels[i] for i in np.argsort(-late, kind="stable")[:most]]


def _skewness(found):
    if found.is_fine:
        return "columns are as variable where values are high as where they are low", ""
    d = len(found.posterior.model_columns)
    column, name = found.worst % d, found.column(found.worst % d)
    up = found.z[found.worst] > 0.0
    alike = found.z[:d] if found.worst < d else found.z[d:]
    others = int(np.count_nonzero((alike if up else -alike) > _CLEARLY)) - 1
    if others > 0:
        name += f" (and {others} more)"
    if found.worst < d:
        said = f"{name} varies more where its values are {'high' if up else 'low'}"
    else:
        said = f"{name} has a long tail of {'high' if up else 'low'} values"
    values = found.posterior.model_values()[:, column]
    positive = np.nanmin(values) > 0.0
    if up:
        advice = f"try the {'logarithm' if positive else 'square root or the ranks'} of {name}"
    else:
        advice = f"try the square or the ranks of {name}"
    return said, advice


def _spread(found):
    if found.is_fine:
        return "columns vary as much as the covariance says", ""
    times = math.exp(found.seen[found.worst])
    much = f"{times:.1f} times" if times > 1.0 else f"{times:.2f} times"
    said = f"{found.column(found.worst)} varies {much} as much along the tree as the covariance says"
    return said, 'try covariance="diagonal", or "full"'


def _correlation(found):
    if found.is_fine:
        return "columns vary independently of each other, or together as the covariance says", ""
    strongest = int(np.argmax(np.abs(found.z[:-1])))
    first, second = (part[strongest] for part in pairs_of(len(found.posterior.model_columns)))
    share = float(found.seen[strongest])
    diagonal = isinstance(found.posterior.covariance, (Diagonal, Scaled, Spherical))
    beyond = "" if diagonal else " beyond what the covariance says"
    said = (
        f"columns vary together along the tree{beyond}, {found.column(first)} and {found.column(second)} most "
        f"(correlation {share:.2f})"
    )
    return said, 'try covariance="full"'


def _clades(found):
    if found.is_fine:
        return "sister groups merge at about the same times", ""
    if found.z[0] < 0.0:
        return "sister groups merge more alike than the coalescent's do", ""
    later = _later_clade(found.posterior)
    such = f", such as the {len(later)} rows {some(later, 3)}" if later else ""
    said = f"some groups vary more than others: they merge later than their sister groups{such}"
    return said, "a logarithm evens out columns that vary in proportion to their size; else fit such groups apart"


def _later_clade(posterior):
    """Names of the group that merges later than its sister, most clearly so, in the tree of the highest weight."""
    tree = int(np.argmax(posterior.weights))
    children = np.array(posterior.children[tree])
    found = shuffles(children)
    if not len(found.z):
        return []
    k = int(np.argmax(np.abs(found.z)))
    side = children[found.merge[k], 0 if found.z[k] > 0.0 else 1]
    return [posterior.labels[i] for i in sorted(leaves_under(children, side))]


_WORDS: dict[str, Callable[[Sentence], tuple[str, str]]] = {
    "noise": _noise,
    "tails": _tails,
    "odd rows": _odd_rows,
    "skewness": _skewness,
    "spread of columns": _spread,
    "correlation": _correlation,
    "clades": _clades,
}
