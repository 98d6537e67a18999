"""What the result of a model check means: what was seen, why it matters, and what to change."""

import math
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..._runtime.formatting import shortened, some
from ...model.covariance import Diagonal, Scaled, Spherical
from ...model.data.columns import rows_for_full
from ...model.data.transform import CLEARLY, FEW_VALUES, SKEWED, are_skewed
from ...model.process.contrasts import lateness, shuffles
from ..trees.clades import leaves_under
from .check_statistics import Result, pairs_of

if TYPE_CHECKING:
    from ..posterior import Posterior

RESAMPLE = 'resample="columns"', "--resample columns"  # where no model of the columns helps: argument and option
_SOMEWHAT = 1.5  # from which on its logarithm is taken, where that of the worst one is
_MAX_NAMED = 3  # columns whose logarithms are advised one by one, if the word for skewed columns stands for more
_MAX_NAMED_AT_ALL = 24
_MIN_COLUMNS = 8  # to be resampled: fewer are no sample of anything
_MAX_TREES_FOR_LATENESS = 100


@dataclass(frozen=True)
class Advice:
    """What to do about a failed check; `str` gives it in a sentence, with arguments of `coaltree.fit`."""

    why: str  #: Why it matters.
    action: str = ""  #: What to do besides changing an argument.
    argument: str = ""  #: An argument of `coaltree.fit` to try, such as 'covariance="full"'.
    option: str = ""  #: The same as an option of `coaltree fit`; empty where there is none.

    def to_text(self, *, options: bool = False) -> str:
        """What to do, with arguments of Python or options of the command line."""
        change = self.argument
        if options and change:
            change = self.option or f"{change} in Python"
        return "; ".join(filter(None, (self.action, change and f"try {change}")))

    def __str__(self) -> str:
        return self.to_text()


def explain(name: str, posterior: "Posterior", result: Result, *, is_fine: bool) -> tuple[str, Advice | None]:
    """What was seen, in words, and what to do unless all is fine."""
    fine, explain_failure = _EXPLANATIONS[name]
    return (fine, None) if is_fine else explain_failure(posterior, result)


def _noise(posterior: "Posterior", result: Result) -> tuple[str, Advice]:
    student = {"argument": 'noise="student"', "option": "--noise student"}
    if result.z[0] < 0.0:
        seen = "rows that are close relatives differ more than the model allows: it has too little noise"
        why = "noise is then taken for branching, and small clades look surer than they are"
        if posterior.noise.is_learnt:
            return seen, Advice(why, "look for rows that repeat others but for rounding", "groups=", "--groups")
        return seen, Advice(why, **student)
    if posterior.noise.is_learnt:
        seen = "large groups lie farther apart than the tree expects from how little close relatives differ"
        return seen, Advice("well separated clusters do this without harm", "look at the other failed checks first")
    seen = "rows that are close relatives differ less than the model says: it has too much noise"
    return seen, Advice("real differences between close relatives are then taken for noise", **student)


def _tails(posterior: "Posterior", result: Result) -> tuple[str, Advice]:
    noise, is_heavy = posterior.noise, result.z[result.worst] > 0.0
    column = result.worst - (1 if posterior.tail_scale is None else 2)
    why_heavy = "a few large differences then decide where rows go"
    why_light = "counts, ranks and few distinct values do this; it matters little to the tree"
    if column == -2:
        seen = f"the noise has {'heavier' if is_heavy else 'lighter'} tails than Student's t with {noise.df:g} df"
        df = noise.df / 2 if is_heavy else noise.df * 4
        option = "" if is_heavy else "--noise learn"
        argument = f'noise=ct.Noise(tails="student", df={df:g})'
        return seen, Advice(why_heavy if is_heavy else why_light, "", argument, option)
    where = "" if column < 0 else f" in {_column(posterior, column)}"
    if not is_heavy:
        seen = f"contrasts have lighter tails than a normal distribution{where}"
        return seen, Advice(why_light, "no change is needed")
    seen = f"contrasts have heavier tails than a normal distribution{where}: most are small, a few are large"
    if noise.tails != "student":
        return seen, Advice(why_heavy, "", 'noise="student"', "--noise student")
    return seen, Advice(why_heavy, f"look at the largest values{where}", *_resampled(posterior))


def _outliers(posterior: "Posterior", result: Result) -> tuple[str, Advice]:
    if result.z[0] < 0.0:
        seen = "single rows join the tree earlier than they should: rows come in close pairs"
        why = "repeated measurements of one thing are then counted as separate leaves"
        return seen, Advice(why, "", "groups=", "--groups")
    seen = f"some rows are far from all others and join the tree late: {some(latest_leaves(posterior), 5)}"
    why = "outliers bend the tree"
    if posterior.noise.tails == "student":
        return seen, Advice(why, "look at these rows", *_resampled(posterior))
    return seen, Advice(why, "look at these rows", 'noise="student"', "--noise student")


def _resampled(posterior: "Posterior", least: int = _MIN_COLUMNS) -> tuple[str, str]:
    """Argument and option to resample columns, where there are enough and none is tied to others, which is refused."""
    covariance = posterior.covariance
    if len(posterior.model_columns) < least or not isinstance(covariance, Spherical | Diagonal):
        return "", ""
    if "variances" in covariance.learnt and np.isnan(posterior.model_values()).any():
        return f'covariance="scaled", {RESAMPLE[0]}', f"--covariance scaled {RESAMPLE[1]}"
    return RESAMPLE


def latest_leaves(posterior: "Posterior", most: int = 5) -> list[str]:
    """Names of the leaves that join others latest, on average over the trees."""
    every = max(1, len(posterior) // _MAX_TREES_FOR_LATENESS)
    late = np.mean([lateness(children) for children in posterior.children[::every]], axis=0)
    return [posterior.labels[i] for i in np.argsort(-late, kind="stable")[:most]]


def _skewness(posterior: "Posterior", result: Result) -> tuple[str, Advice]:
    d = len(posterior.model_columns)
    column, is_up = result.worst % d, result.z[result.worst] > 0.0
    z = (1.0 if is_up else -1.0) * (result.z[:d] if result.worst < d else result.z[d:])
    name, high = _with_others(posterior, column, z), "high" if is_up else "low"
    if result.worst < d:
        seen = f"{name} varies more where its values are {high}"
    else:
        seen = f"{name} has a long tail of {high} values"
    return seen, _straightened(posterior, f"{high} values then weigh too much", column, z, is_up)


def _with_others(posterior: "Posterior", column: int, z: np.ndarray) -> str:
    """The name of a column, and how many more are clearly skewed."""
    others = int(np.count_nonzero(np.delete(z, column) > CLEARLY))
    return _column(posterior, column) + (f" (and {others} more)" if others else "")


def _straightened(posterior: "Posterior", why: str, worst: int, z: np.ndarray, is_up: bool) -> Advice:
    """What makes a column less skewed: its logarithm where that can be taken and was not yet, else something else."""
    has_few = _has_few_values(posterior)
    z = np.where(has_few, 0.0, z)  # no function changes these
    if has_few[worst] and z.max() < _SOMEWHAT:
        name = _column(posterior, worst)
        action = f"no function helps: {name} has two values, and so has every function of it"
        return Advice(why, action, *_resampled(posterior))
    worst = int(np.argmax(z))
    name = _with_others(posterior, worst, z)
    if posterior.transform is not None and posterior.transform.transformer is not None:
        return Advice(why, f"try another transformer, or the ranks of {name}")
    logged, given = _logged(posterior), posterior.given_values()
    given = given if posterior.used is None else given[:, posterior.used]
    is_positive = np.nanmin(given, axis=0) > 0.0
    candidates = np.flatnonzero((z > _SOMEWHAT) & is_positive & ~logged)
    if is_up and (z[candidates] > CLEARLY).any():  # the worst one is not always among them
        return Advice(why, "", *_logarithms(posterior, candidates, z, given))
    if logged[worst]:
        return Advice(why, f"try {'the ranks' if is_up else 'the square root'} of {name} in place of its logarithm")
    if not is_up or not is_positive[worst]:
        function = "square root" if is_up else "square"
        return Advice(why, f"try the {function} or the ranks of {name}", *_resampled(posterior))
    return Advice(why, "", *_logarithms(posterior, candidates, z, given))


def _logarithms(posterior: "Posterior", columns: np.ndarray, z: np.ndarray, given: np.ndarray) -> tuple[str, str]:
    """Argument and option for the logarithms of these columns of the model: of more than three by the word for skewed
    ones, if that is true of the worst of them.
    """
    names = posterior.model_columns
    if len(columns) == len(names):
        return 'transform="log"', "--log all"
    columns = columns[np.argsort(-z[columns], kind="stable")]
    if (
        len(columns) > _MAX_NAMED
        and SKEWED not in (posterior.columns or ())
        and are_skewed(given[:, columns[:1]]).all()
    ):
        return f'transform={{"log": "{SKEWED}"}}', f"--log {SKEWED}"
    few = np.sort(columns[:_MAX_NAMED_AT_ALL]).tolist()
    of = [names[j] if posterior.columns is not None else int(names[j]) for j in few]
    return f'transform={{"log": {of}}}', " ".join(f"--log {shlex.quote(names[j])}" for j in few)


def _has_few_values(posterior: "Posterior") -> np.ndarray:
    """(k,) whether each column of the model has at most two values, before ties were spread."""
    assert posterior.X is not None
    X = posterior.X if posterior.used is None else posterior.X[:, posterior.used]
    return np.array([len(np.unique(column[~np.isnan(column)])) <= FEW_VALUES for column in X.T])


def _logged(posterior: "Posterior") -> np.ndarray:
    """(k,) whether the logarithm of each column of the model was taken."""
    logged = np.zeros(0 if posterior.X is None else posterior.X.shape[1], bool)
    if posterior.transform is not None and posterior.transform.transformer is None:
        logged[posterior.transform.log] = True
    return logged if posterior.used is None else logged[posterior.used]


def _spread(posterior: "Posterior", result: Result) -> tuple[str, Advice]:
    times = math.exp(result.excess[result.worst])
    factor = f"{times:.1f} times" if times > 1.0 else f"{times:.2f} times"
    seen = f"{_column(posterior, result.worst)} varies {factor} as much along the tree as the covariance says"
    why = "columns that vary more than the covariance says weigh too much"
    if posterior.n >= rows_for_full(len(posterior.model_columns)):
        return seen, Advice(why, "", 'covariance="full"', "--covariance full")
    if isinstance(posterior.covariance, Diagonal | Spherical):
        return seen, Advice(why, "", 'covariance="diagonal"', "--covariance diagonal")
    return seen, Advice(why, "look at this column")


def _correlation(posterior: "Posterior", result: Result) -> tuple[str, Advice]:
    strongest = int(np.argmax(np.abs(result.z[:-1])))
    first, second = (_column(posterior, part[strongest]) for part in pairs_of(len(posterior.model_columns)))
    is_diagonal = isinstance(posterior.covariance, (Diagonal, Scaled, Spherical))
    beyond = "" if is_diagonal else " beyond what the covariance says"
    correlation = f"(correlation {float(result.excess[strongest]):.2f})"
    seen = f"columns vary together along the tree{beyond}, {first} and {second} most {correlation}"
    why = "correlated columns are counted as independent evidence"
    return seen, _with_correlation(posterior, why)


def _with_correlation(posterior: "Posterior", why: str) -> Advice:
    """A covariance that has correlations, where there are rows enough or an order of the columns to learn it from."""
    d = len(posterior.model_columns)
    is_diagonal = isinstance(posterior.covariance, (Diagonal, Scaled, Spherical))
    if posterior.n >= rows_for_full(d):
        return Advice(why, "", 'covariance="full"', "--covariance full")
    if is_diagonal and _are_numbers_in_order(posterior.columns):
        kernel = 'covariance="squared_exponential", inputs=X.columns.astype(float)'
        return Advice(why, "", kernel, "--covariance squared_exponential --inputs names")
    if not is_diagonal:
        return Advice(why, "look at these columns: the covariance does not describe how they vary together")
    return Advice(why, "", *_resampled(posterior, 2))


def _are_numbers_in_order(columns: tuple[str, ...] | None) -> bool:
    """Whether the columns are named by increasing numbers, as times and wavelengths are, and not merely counted."""
    try:
        numbers = np.array([float(name) for name in columns or ()])
    except ValueError:
        return False
    steps = np.diff(numbers)
    is_count = len(steps) > 0 and numbers[0] in (0.0, 1.0) and bool((steps == 1.0).all())
    return len(numbers) > 2 and bool(np.isfinite(numbers).all() and (steps > 0.0).all()) and not is_count


def _clades(posterior: "Posterior", result: Result) -> tuple[str, Advice]:
    if result.z[0] < 0.0:
        seen = "sister groups merge more alike than the coalescent's do"
        return seen, Advice("this matters little to the tree", "no change is needed")
    later = _later_clade(posterior)
    example = f", such as the {len(later)} rows {some(later, 3)}" if later else ""
    seen = f"some groups vary more than others: they merge later than their sister groups{example}"
    action = "try logarithms, where columns vary in proportion to their size; else fit such groups apart"
    return seen, Advice("merge times of such groups are too old", action)


def _later_clade(posterior: "Posterior") -> list[str]:
    """Names of the group that merges later than its sister, most clearly so, in the tree of the highest weight."""
    children = np.array(posterior.children[int(np.argmax(posterior.weights))])
    found = shuffles(children)
    if not len(found.z):
        return []
    k = int(np.argmax(np.abs(found.z)))
    side = children[found.merge[k], 0 if found.z[k] > 0.0 else 1]
    return [posterior.labels[i] for i in sorted(leaves_under(children, side))]


def _column(posterior: "Posterior", number: int) -> str:
    """The name of a column of the model."""
    name = posterior.model_columns[number]
    return repr(shortened(name)) if posterior.columns is not None else f"column {name}"


#: What is said where all is fine, and what explains a failure, by the name of the check.
_EXPLANATIONS: dict[str, tuple[str, Callable[["Posterior", Result], tuple[str, Advice]]]] = {
    "noise": ("contrasts of young and of old merges are of one size", _noise),
    "tails": ("contrasts have the tails of a normal distribution", _tails),
    "outliers": ("single rows join the tree as early as they should", _outliers),
    "skewness": ("columns are as variable where values are high as where they are low", _skewness),
    "spread of columns": ("columns vary as much as the covariance says", _spread),
    "correlation": ("columns vary independently of each other, or together as the covariance says", _correlation),
    "clades": ("sister groups merge at about the same times", _clades),
}
