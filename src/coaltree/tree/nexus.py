"""NEXUS text of trees, as FigTree, BEAST's tools, treeio, ape and DendroPy read it.

    begin trees;
      translate
        1 a,
        2 'b_1'
      ;
      tree tree_1 = [&R] [&W 0.25] (1:3,2:3)[&posterior=0.75,height_95%_HPD={2.5,3.5}];
    end;

Leaves are numbers that the translate block names, and names with an underscore, a blank here, are quoted. [&R] says
that the tree is rooted, [&W w] is its weight, and the comment after a node has its annotations, in BEAST's notation.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from .newick import quote, write


def nexus_lines(labels: Sequence[str], trees: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a file; `trees` are texts such as those of `drawn_trees`, made one by one."""
    names = [quote(label.replace("\r", " "), underscores=False) for label in labels]
    yield from ("#NEXUS", "begin taxa;", f"  dimensions ntax={len(labels)};", "  taxlabels")
    yield from (f"    {name}" for name in names)
    yield from ("  ;", "end;", "begin trees;", "  translate")
    yield from (f"    {i} {name}{',' if i < len(names) else ''}" for i, name in enumerate(names, 1))
    yield "  ;"
    yield from (f"  tree {tree}" for tree in trees)
    yield "end;"


def drawn_trees(children: np.ndarray, times: np.ndarray, weights: np.ndarray) -> Iterator[str]:
    """Yield stacked trees, each with its weight."""
    names = [*leaf_numbers(times.shape[1] + 1), *[""] * times.shape[1]]
    for t, (pairs, heights, weight) in enumerate(zip(children, times, weights, strict=True)):
        yield f"tree_{t} = [&R] [&W {float(weight)!r}] {write(pairs, heights, names, digits=10)}"


def leaf_numbers(n: int) -> list[str]:
    """How the leaves are called in the trees of a file with a translate block."""
    return [str(i) for i in range(1, n + 1)]


def node_comments(annotations: Mapping[str, np.ndarray]) -> list[str]:
    """One comment for each node, of arrays (nodes,) or, for ranges, (nodes, 2); what is NaN is left out."""
    texts: list[list[str]] = [[] for _ in next(iter(annotations.values()))]
    for name, values in annotations.items():
        for node, value in zip(texts, values, strict=True):
            if not np.isnan(value).any():
                numbers = ",".join(f"{number:.6g}" for number in np.ravel(value))
                node.append(f"{name}={numbers}" if np.ndim(value) == 0 else f"{name}={{{numbers}}}")
    return [f"[&{','.join(parts)}]" if parts else "" for parts in texts]
