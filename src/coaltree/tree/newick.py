"""Newick text: written for any ultrametric tree, read for binary ones; in linear time and without recursion.

A subtree is a name, or (subtree, subtree, …) with an optional name, and after it a colon and the length of the
branch above it; the text ends in a semicolon. Names with blanks or punctuation stand in single quotes, a quote inside
is doubled, and [comments] may stand between any two parts. An underscore is one, quoted or not, as for R's `read.tree`,
to which quotes are part of a name; in NEXUS files and for DendroPy, one outside quotes means a blank.

Times are read as the greatest distance to a leaf below, which cannot decrease towards the root. Branch lengths are
differences of times, and written so that adding them up gives the very same times again: mostly the rounded
difference b does (child + b = parent), and where no float does, b has 28 digits and the reader minds them all.
"""

import math
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import chain, count
from typing import Any, NamedTuple

import numpy as np

from .._runtime.jit import jit
from ..errors import InputError
from .merges import in_order_of_time

TOLERANCE = 1e-6  # leaves' depths may differ by this share of the root's: most programs print six digits or more

_LONGEST_FLOAT = len("-1.2345678901234567e-123")

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


class Parsed(NamedTuple):
    """A tree read from text; merges are in order of time, leaves in the order they were met."""

    children: np.ndarray
    times: np.ndarray
    labels: tuple[str, ...]


def quote(label: str, underscores: bool = True) -> str:
    """Return the label as Newick wants it: bare where that is safe, else in single quotes.

    Without `underscores`, a label that has one is quoted, for readers to whom a bare underscore is a blank.
    """
    is_safe = _NEEDS_NO_QUOTES.fullmatch(label) and (underscores or "_" not in label)
    return label if is_safe else "'" + label.replace("'", "''") + "'"


def names_in_files(labels: Sequence[str]) -> list[str]:
    """Labels that survive a text file: a carriage return, which readers turn into a line feed, becomes a blank.

    Where two names become one, a number sets them apart.
    """
    taken = {label for label in labels if "\r" not in label}
    names = []
    for label in labels:
        name = label
        if "\r" in label:
            blank = label.replace("\r\n", " ").replace("\r", " ")
            name = next(one for one in chain([blank], (f"{blank} {i}" for i in count(2))) if one not in taken)
            taken.add(name)
        names.append(name)
    return names


def write(
    children: np.ndarray | Sequence[Sequence[int]], times: np.ndarray, names: Sequence[str], digits: int | None = None
) -> str:
    """Return a tree as one line of Newick.

    `children` lists the nodes that each inner node joins, `names` are those of all nodes, leaves first and the root
    last, and are written as they are (see `quote`). Branch lengths have so many significant `digits`, or all it takes.
    """
    n = len(names) - len(times)
    lists = _Lists.of(children)
    order, opened, is_last = _order(lists.joined, lists.starts, n)
    before = ["(" * count for count in opened.tolist()] + [")"] * len(times)
    after = ["" if last else "," for last in is_last.tolist()]
    lengths = [f":{length}" for length in _lengths(lists, times, n, digits)] + [""]
    texts = ["".join(parts) for parts in zip(before, names, lengths, after, strict=True)]
    return "".join([texts[node] for node in order.tolist()]) + ";"


class _Lists(NamedTuple):
    """The children of all inner nodes, one list after the other."""

    joined: np.ndarray
    starts: np.ndarray  # where each list begins, and where the last one ends

    @classmethod
    def of(cls, children: np.ndarray | Sequence[Sequence[int]]) -> "_Lists":
        if isinstance(children, np.ndarray):
            pairs = np.ascontiguousarray(children, dtype=np.int64)
            return cls(pairs.flatten(), 2 * np.arange(len(pairs) + 1))
        joined = np.fromiter(chain.from_iterable(children), np.int64)
        return cls(joined, np.cumsum([0, *map(len, children)]))


@jit
def _order(joined, starts, n):
    """Nodes in the order they are written, children first; brackets opened before each leaf; who is a last child."""
    n_inner = len(starts) - 1
    n_nodes = n + n_inner
    size = np.ones(n_nodes, np.int64)  # nodes of a subtree
    first = np.arange(n_nodes)  # its first leaf
    opened = np.zeros(n, np.int64)
    is_last = np.zeros(n_nodes, np.bool_)
    is_last[-1] = True
    for k in range(n_inner):
        for c in joined[starts[k] : starts[k + 1]]:
            size[n + k] += size[c]
        first[n + k] = first[joined[starts[k]]]
        opened[first[n + k]] += 1
        is_last[joined[starts[k + 1] - 1]] = True
    place = np.empty(n_nodes, np.int64)
    place[-1] = n_nodes - 1
    for k in range(n_inner - 1, -1, -1):
        end = place[n + k] - 1
        for j in range(starts[k + 1] - 1, starts[k] - 1, -1):
            place[joined[j]] = end
            end -= size[joined[j]]
    order = np.empty(n_nodes, np.int64)
    for v in range(n_nodes):
        order[place[v]] = v
    return order, opened, is_last


def _lengths(lists, times, n, digits):
    """Return the length above each node but the root as text: of so many digits, or node + length being its parent."""
    above = np.empty(len(lists.joined))
    above[lists.joined] = np.repeat(times, np.diff(lists.starts))
    below = np.append(np.zeros(n), times)[:-1]
    difference = above - below
    if digits is not None:
        return [f"{length:.{digits}g}" for length in difference.tolist()]
    texts = [repr(length) for length in difference.tolist()]
    for i in np.flatnonzero(below + difference != above):
        texts[i] = f"{Decimal(above[i]) - Decimal(below[i]):.27e}"  # longer than any float, so that the reader knows
    return texts


def read(text: str, keep_underscores: bool = True, tolerance: float = TOLERANCE) -> Parsed:
    """Read one rooted, binary, ultrametric tree; anything else raises InputError with the place in the text."""
    tree = _Builder(tolerance)
    state = "start"  # of a subtree; then "closed", "named", "colon", "measured"; "end" after the semicolon
    for kind, value, at in _parts(text):
        if state == "end":
            raise _wrong(text, at, "text goes on after the semicolon, but one tree is read at a time")
        if kind in ("word", "quoted"):
            if state == "start":
                keep = keep_underscores or kind == "quoted"
                tree.add_leaf(value if keep else value.replace("_", " "))
                state = "named"
            elif state == "closed":
                state = "named"  # names of inner nodes (often supports) are not ours to keep
            elif state == "colon":
                tree.length = _length(text, value, at)
                state = "measured"
            else:
                raise _wrong(text, at, "two names in a row; a name with blanks or punctuation needs single quotes")
        elif value == "(":
            if state != "start":
                raise _wrong(text, at, "a '(' follows a finished subtree; a comma belongs between them")
            tree.groups.append([])
        elif state == "start":
            raise _wrong(text, at, "a leaf has no name")
        elif state == "colon":
            raise _wrong(text, at, "a number must follow the colon")
        elif value == ":":
            if state == "measured":
                raise _wrong(text, at, "a second branch length")
            state = "colon"
        elif value == ";":
            if tree.groups:
                raise _wrong(text, at, f"{len(tree.groups)} '(' not closed")
            state = "end"
        else:
            if not tree.groups:
                raise _wrong(text, at, f"a '{value}' outside all parentheses")
            if tree.length is None:
                raise _wrong(text, at, "a branch has no length; times are read from branch lengths")
            if not tree.add_to_group():
                raise _wrong(text, at, "a node has more than two children; only binary trees can be read")
            if value == ")" and not tree.close_group():
                raise _wrong(text, at, "a node has only one child; only binary trees can be read")
            state = "start" if value == "," else "closed"
    if state == "start" and not tree.groups:
        raise InputError("The Newick text holds no tree; it should look like (a:1,b:1);")
    if tree.groups or state in ("start", "colon"):
        raise _wrong(text, len(text), f"the text ends early, with {len(tree.groups)} '(' not closed")
    return tree.finish()


class _Builder:
    """The tree read so far. A subtree is referred to by i for leaf i and by ~k for the k-th closed group."""

    def __init__(self, tolerance):
        self.tolerance = tolerance
        self.labels: list[str] = []
        self.merges: list[tuple[int, int]] = []  # pairs of references, children always before their parent
        self.times: list[float] = []
        self.length: Any = None  # of the branch above the latest subtree
        self._latest: Any = None  # reference, and its nearest and farthest leaf: (distance, leaf)
        self.groups: list[list] = []  # of the open groups, the subtrees already in them

    def add_leaf(self, label):
        leaf = len(self.labels)
        self.labels.append(label)
        self._latest, self.length = (leaf, (0.0, leaf), (0.0, leaf)), None

    def add_to_group(self):
        """Hang the latest subtree by its branch into the open group; False if that is full."""
        reference, (near, near_leaf), (far, far_leaf) = self._latest
        group = self.groups[-1]
        group.append((reference, (_add(near, self.length), near_leaf), (_add(far, self.length), far_leaf)))
        return len(group) <= 2

    def close_group(self):
        """Make the open group the latest subtree; False if it has one child only."""
        group = self.groups.pop()
        if len(group) != 2:
            return False
        (left, left_near, left_far), (right, right_near, right_far) = group
        far = max(left_far, right_far)
        self._latest, self.length = (~len(self.merges), min(left_near, right_near), far), None
        self.merges.append((left, right))
        self.times.append(far[0])
        return True

    def finish(self):
        if not self.merges:
            raise InputError(f"The Newick tree has only one leaf, {_short(self.labels[0])}; a tree needs at least two.")
        _, (near, near_leaf), (far, far_leaf) = self._latest
        if not np.isfinite(far):
            raise InputError("The branch lengths of the Newick tree add up to more than a float can hold.")
        if far - near > self.tolerance * far:
            raise InputError(
                f"The tree is not ultrametric: leaf {_short(self.labels[near_leaf])} is {near:.9g} below the root and "
                f"leaf {_short(self.labels[far_leaf])} {far:.9g}, but all leaves must be at the same distance, within "
                f"{self.tolerance:g} of the root's height."
            )
        n = len(self.labels)
        pairs = np.array(self.merges)
        children, times = in_order_of_time(np.where(pairs >= 0, pairs, n + ~pairs), np.array(self.times))
        return Parsed(children, times, tuple(self.labels))


def _parts(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield kind (mark, word or quoted), value and place of each part of the text, without blanks and comments."""
    at = 1 if text.startswith("\ufeff") else 0
    while at < len(text):
        found = _PART.match(text, at)
        if found is None:
            if text[at] == "[":
                at = _end_of_nested_comment(text, at)
                continue
            what = "a quote that is never closed" if text[at] == "'" else "a ']' that closes no comment"
            raise _wrong(text, at, what)
        kind, value = found.lastgroup, found.group()
        if kind == "quoted":
            yield "quoted", value[1:-1].replace("''", "'"), at
        elif kind != "blank":
            yield str(kind), value, at
        at = found.end()


def _end_of_nested_comment(text, start):
    depth = 0
    for bracket in _BRACKET.finditer(text, start):
        depth += 1 if bracket.group() == "[" else -1
        if depth == 0:
            return bracket.end()
    raise _wrong(text, start, "a comment that is never closed")


def _length(text, value, at):
    """Return the length as the sum of two floats, the second for digits that the first has no room for."""
    length = float(value) if _NUMBER.fullmatch(value) else np.nan
    if not (np.isfinite(length) and length >= 0):
        raise _wrong(text, at, f"branch length {_short(value)}; it must be a finite number that is not negative")
    if len(value) <= _LONGEST_FLOAT or length < 1e-290:
        return length, 0.0
    return length, float(Decimal(value) - Decimal(length))


def _add(distance, length):
    first, rest = length
    return math.fsum((distance, first, rest)) if rest else distance + first


def _wrong(text, at, what):
    if text.lstrip()[:6].upper() == "#NEXUS":
        return InputError("The text is a NEXUS file; give the Newick text of one tree, from its first '(' to its ';'.")
    return InputError(f"The Newick text is wrong at character {at + 1} ({_short(text[at : at + 30])}): {what}.")


def _short(text):
    return repr(text) if len(text) <= 20 else repr(text[:20]) + "…"
