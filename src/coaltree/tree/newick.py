"""Newick text: written for any ultrametric tree, read for binary ones; in linear time and without recursion.

A subtree is a name, or (subtree, subtree, …) with an optional name, and after it a colon and the length of the
branch above it; the text ends in a semicolon. Names with blanks or punctuation stand in single quotes, a quote inside
is doubled, and [comments] may stand between any two parts. An underscore is one, quoted or not, as for R's `read.tree`,
to which quotes are part of a name; in NEXUS files and for DendroPy, one outside quotes means a blank.

Branch lengths are differences of times, written with the fewest digits that give back the same float. A time is read
as the greatest distance to a leaf below, which cannot decrease towards the root.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..errors import InputError
from .merges import in_order_of_time

TOLERANCE = 1e-6  # leaves' depths may differ by this share of the root's: most programs print six digits or more

_NEEDS_NO_QUOTES = re.compile(r"\w[\w.-]*")
_PART = re.compile(
    r"""(?P<blank>[ \t\r\n]++|\[[^\[\]]*+\])
      | (?P<mark>[(),:;])
      | (?P<word>[^ \t\r\n()\[\]',:;]++)
      | (?P<quoted>'[^']*+(?:''[^']*+)*+')""",
    re.VERBOSE,
)
_BRACKET = re.compile(r"[\[\]]")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def quote(label: str, underscores: bool = True) -> str:
    """Return the label as Newick wants it: bare where that is safe, else in single quotes.

    Without `underscores`, a label that has one is quoted, for readers to whom a bare underscore is a blank.
    """
    is_safe = _NEEDS_NO_QUOTES.fullmatch(label) and (underscores or "_" not in label)
    return label if is_safe else "'" + label.replace("'", "''") + "'"


def write(
    children: np.ndarray | Sequence[Sequence[int]], times: np.ndarray, names: Sequence[str], digits: int | None = None
) -> str:
    """Return a tree as one line of Newick.

    `children` lists the nodes that each inner node joins, `names` are those of all nodes, leaves first and the root
    last, and are written as they are (see `quote`). Branch lengths have so many significant `digits`, or all it takes.
    """
    n = len(names) - len(times)
    groups: Sequence[Sequence[int]] = children.tolist() if isinstance(children, np.ndarray) else children
    heights = [0.0] * n + times.tolist()
    after = [""] * len(names)  # what follows a node's name
    for k, group in enumerate(groups):
        for c in group:
            length = heights[n + k] - heights[c]
            after[c] = f":{length!r}," if digits is None else f":{length:.{digits}g},"
        after[group[-1]] = after[group[-1]][:-1]
    text, to_write = [], [len(names) - 1]
    while to_write:
        node = to_write.pop()
        if node >= n:
            text.append("(")
            to_write.append(~node)  # its name, once its children are written
            to_write.extend(reversed(groups[node - n]))
        elif node >= 0:
            text.append(names[node] + after[node])
        else:
            text.append(")" + names[~node] + after[~node])
    return "".join(text) + ";"


_EXPECTED = {  # in each state of `read`
    "start": "the name of a leaf or a '('",
    "closed": "a name, a branch length, a ',' or a ')'",
    "named": "a branch length, a ',' or a ')'; names with blanks or punctuation need single quotes",
    "colon": "a branch length",
    "measured": "a ',' or a ')'",
    "end": "nothing after the semicolon; one tree is read at a time",
}


class _Subtree(NamedTuple):
    node: int  # i for leaf i, ~k for the k-th closed group
    near: tuple[float, int]  # distance and number of the nearest leaf, and of the farthest
    far: tuple[float, int]

    def hung_by(self, length: float) -> "_Subtree":
        return _Subtree(self.node, (self.near[0] + length, self.near[1]), (self.far[0] + length, self.far[1]))


def read(text: str, keep_underscores: bool, tolerance: float) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Read one rooted, binary, ultrametric tree; anything else raises InputError with the place in the text.

    Returns children and times, merges in order of time, and labels, leaves in the order they were met.
    """
    labels: list[str] = []
    merges: list[tuple[_Subtree, _Subtree]] = []  # children always before their parent
    groups: list[list[_Subtree]] = []  # that are open, with the subtrees already in them
    latest, length = _Subtree(0, (0.0, 0), (0.0, 0)), None  # subtree, and the branch above it
    state, at = "start", 0
    for kind, value, at in _parts(text):
        is_mark = kind == "mark"
        if state == "start" and not is_mark:
            latest, length = _Subtree(len(labels), (0.0, len(labels)), (0.0, len(labels))), None
            labels.append(value if keep_underscores or kind == "quoted" else value.replace("_", " "))
            state = "named"
        elif state == "start" and value == "(":
            groups.append([])
        elif state == "closed" and not is_mark:
            state = "named"  # names of inner nodes, often supports, are passed over
        elif state == "colon" and not is_mark:
            state, length = "measured", _length(text, value, at)
        elif not is_mark or value == "(" or state in ("start", "colon", "end") or (value, state) == (":", "measured"):
            raise _wrong(text, at, f"expected {_EXPECTED[state]}")
        elif value in ":;":
            state = "colon" if value == ":" else "end"
        elif not groups or length is None:
            why = "a branch has no length; times are read from branch lengths"
            raise _wrong(text, at, why if groups else f"a '{value}' outside all parentheses")
        else:
            groups[-1].append(latest.hung_by(length))
            if len(groups[-1]) > 2 or (value == ")" and len(groups[-1]) < 2):
                number = "more than two children" if len(groups[-1]) > 2 else "only one child"
                raise _wrong(text, at, f"a node has {number}; only binary trees can be read")
            if value == ")":
                left, right = groups.pop()
                latest, length = _Subtree(~len(merges), min(left.near, right.near), max(left.far, right.far)), None
                merges.append((left, right))
            state = "start" if value == "," else "closed"
    if state == "start" and not groups:
        raise InputError("The Newick text holds no tree; it should look like '(a:1,b:1);'.")
    if groups or state in ("start", "colon"):
        raise _wrong(text, len(text), f"the text ends early, with {len(groups)} '(' not closed")
    _check_depths(latest, labels, tolerance)
    nodes = np.array([(left.node, right.node) for left, right in merges])
    times = np.array([max(left.far, right.far)[0] for left, right in merges])
    return *in_order_of_time(np.where(nodes >= 0, nodes, len(labels) + ~nodes), times), labels


def _check_depths(root: _Subtree, labels: Sequence[str], tolerance: float) -> None:
    """Refuse a tree of one leaf, and one whose leaves are not equally deep."""
    if len(labels) < 2:
        raise InputError(f"The Newick tree has only one leaf, {_short(labels[0])}; a tree needs at least two.")
    (near, near_leaf), (far, far_leaf) = root.near, root.far
    if not np.isfinite(far):
        raise InputError("The branch lengths of the Newick tree add up to more than a float can hold.")
    if far - near > tolerance * far:
        raise InputError(
            f"The tree is not ultrametric: leaf {_short(labels[near_leaf])} is {near:.9g} below the root and leaf "
            f"{_short(labels[far_leaf])} {far:.9g}, but all leaves must be at the same distance, within {tolerance:g} "
            "of the root's height."
        )


def _parts(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield kind (mark, word or quoted), value and place of each part of the text, without blanks and comments."""
    at = 1 if text.startswith("\ufeff") else 0
    while at < len(text):
        match = _PART.match(text, at)
        if match is None:
            if text[at] == "[":
                at = _end_of_nested_comment(text, at)
                continue
            what = "a quote that is never closed" if text[at] == "'" else "a ']' that closes no comment"
            raise _wrong(text, at, what)
        kind, value = match.lastgroup, match.group()
        if kind == "quoted":
            yield "quoted", value[1:-1].replace("''", "'"), at
        elif kind != "blank":
            yield str(kind), value, at
        at = match.end()


def _end_of_nested_comment(text: str, start: int) -> int:
    depth = 0
    for bracket in _BRACKET.finditer(text, start):
        depth += 1 if bracket.group() == "[" else -1
        if depth == 0:
            return bracket.end()
    raise _wrong(text, start, "a comment that is never closed")


def _length(text: str, value: str, at: int) -> float:
    length = float(value) if _NUMBER.fullmatch(value) else np.nan
    if not 0.0 <= length < np.inf:
        raise _wrong(text, at, f"branch length {_short(value)}; it must be a finite number that is not negative")
    return length


def _wrong(text: str, at: int, what: str) -> InputError:
    if text.lstrip()[:6].upper() == "#NEXUS":
        return InputError("The text is a NEXUS file; give the Newick text of one tree, from its first '(' to its ';'.")
    return InputError(f"The Newick text is wrong at character {at + 1} ({_short(text[at : at + 30])}): {what}.")


def _short(text: str) -> str:
    return repr(text) if len(text) <= 20 else repr(text[:20]) + "…"
