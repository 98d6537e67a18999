"""Newick text: written for any ultrametric tree, read for binary ones; in linear time and without recursion.

A subtree is a name, or (subtree, subtree, …) with an optional name, and after it a colon and the length of the
branch above it; the text ends in a semicolon. Names with blanks or punctuation stand in single quotes, a quote inside
is doubled, and [comments] may stand between any two parts, but not in each other. An underscore is one, quoted or not,
as for R's `read.tree`, to which quotes are part of a name; in NEXUS files and for DendroPy, one outside quotes means a
blank.

Branch lengths are differences of times, written with the fewest digits that give back the same float. A time is read
as the greatest distance to a leaf below, which cannot decrease towards the root.
"""

import re
from collections.abc import Iterator, Sequence

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


def read(text: str, keep_underscores: bool, tolerance: float) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Read one rooted, binary, ultrametric tree; anything else raises InputError with the place in the text.

    Returns children and times, merges in order of time, and labels, leaves in the order they were met.
    """
    labels: list[str] = []
    children: list[Sequence[int]] = []  # i for leaf i, ~k for merge k
    times: list[float] = []
    groups: list[list[tuple[int, float, float]]] = []  # that are open, with the subtrees already in them
    latest, length = (0, 0.0, 0.0), None  # node, nearest and farthest leaf below it; and the branch above it
    state, at = "start", 0
    for kind, value, at in _parts(text):
        is_mark = kind == "mark"
        if state == "start" and not is_mark:
            latest, length = (len(labels), 0.0, 0.0), None
            name = value[1:-1].replace("''", "'") if kind == "quoted" else value
            labels.append(name if keep_underscores or kind == "quoted" else name.replace("_", " "))
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
            node, near, far = latest
            groups[-1].append((node, near + length, far + length))
            if len(groups[-1]) > 2 or (value == ")" and len(groups[-1]) < 2):
                number = "more than two children" if len(groups[-1]) > 2 else "only one child"
                raise _wrong(text, at, f"a node has {number}; only binary trees can be read")
            if value == ")":
                nodes, nearest, farthest = zip(*groups.pop(), strict=True)
                latest, length = (~len(times), min(nearest), max(farthest)), None
                children.append(nodes)
                times.append(max(farthest))
            state = "start" if value == "," else "closed"
    if state == "start" and not groups:
        raise InputError("The Newick text holds no tree; it should look like '(a:1,b:1);'.")
    if groups or state in ("start", "colon"):
        raise _wrong(text, len(text), f"the text ends early, with {len(groups)} '(' not closed")
    if len(labels) < 2:
        raise InputError(f"The Newick tree has only one leaf, {_short(labels[0])}; a tree needs at least two.")
    _, near, far = latest
    if not np.isfinite(far):
        raise InputError("The branch lengths of the Newick tree add up to more than a float can hold.")
    if far - near > tolerance * far:
        raise InputError(
            f"The tree is not ultrametric: its leaves are from {near:.9g} to {far:.9g} below the root, but all must be "
            f"at the same distance, within {tolerance:g} of the root's height."
        )
    merged = np.array(children)
    return *in_order_of_time(np.where(merged >= 0, merged, len(labels) + ~merged), np.array(times)), labels


def _parts(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield kind (mark, word or quoted), text and place of each part of the text, without blanks and comments."""
    at = 1 if text.startswith("\ufeff") else 0
    while at < len(text):
        match = _PART.match(text, at)
        if match is None:
            wrong = {"'": "a quote that is never closed", "]": "a ']' that closes no comment"}
            raise _wrong(text, at, wrong.get(text[at], "a comment that is never closed, or has another in it"))
        if match.lastgroup != "blank":
            yield str(match.lastgroup), match.group(), at
        at = match.end()


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
