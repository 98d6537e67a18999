"""Small pieces of HTML for notebooks: tables and pictures, with every name escaped."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


def html_table(header: Sequence[object], rows: Iterable[Sequence[object]], most: int = 20) -> str:
    """A table, the first cell of each row its heading; after `most` rows it says how many more there are."""
    every = list(rows)
    head = "".join(f"<th>{escape(str(name))}</th>" for name in header)
    body = "".join(
        f"<tr><th>{escape(str(first))}</th>{''.join(f'<td>{escape(str(cell))}</td>' for cell in cells)}</tr>"
        for first, *cells in every[:most]
    )
    more = f"<p>… and {len(every) - most:,} more</p>" if len(every) > most else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def svg_of(figure: Any) -> str:
    """A Matplotlib figure as an SVG element for the inside of a page; the same figure gives the same text."""
    from io import StringIO

    import matplotlib

    held = StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "coaltree", "svg.fonttype": "none"}):
        figure.savefig(held, format="svg", metadata={"Date": None})
    text = held.getvalue()
    return text[text.index("<svg") :]


def paragraph(text: object) -> str:
    """Text as a paragraph."""
    return f"<p>{escape(str(text))}</p>"
