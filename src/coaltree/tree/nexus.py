"""NEXUS text of many trees, with weights and clade supports, as FigTree and DendroPy read them.

    tree tree_0 = [&R] [&W 0.25] ((a:1,b:1)[&posterior=0.75,height=1]:2,c:3)[&posterior=1,height=3];

[&R] says that the tree is rooted, [&W w] is its weight, and the comment after a node is what FigTree shows there.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from .newick import names_in_files, quote, write


def nexus_lines(
    children: np.ndarray, times: np.ndarray, weights: np.ndarray, support: Iterable[np.ndarray], labels: Sequence[str]
) -> Iterator[str]:
    """Yield the lines of the file, one tree at a time; `support` yields that of each tree's clades, (n-1,)."""
    names = [quote(label) for label in names_in_files(labels)]
    yield "#NEXUS"
    yield "begin taxa;"
    yield f"  dimensions ntax={len(labels)};"
    yield "  taxlabels"
    yield from (f"    {name}" for name in names)
    yield "  ;"
    yield "end;"
    yield "begin trees;"
    for t, (pairs, heights, weight, shares) in enumerate(zip(children, times, weights, support, strict=True)):
        inner = [f"[&posterior={s:.6g},height={h!r}]" for s, h in zip(shares.tolist(), heights.tolist(), strict=True)]
        text = write(pairs.tolist(), heights, names + inner)
        yield f"  tree tree_{t} = [&R] [&W {float(weight)!r}] {text}"
    yield "end;"
