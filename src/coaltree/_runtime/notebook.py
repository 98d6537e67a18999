"""Small pieces of HTML for notebooks: tables, with every name escaped."""

from collections.abc import Iterable, Sequence
from html import escape


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


def paragraph(text: object) -> str:
    """Text as a paragraph."""
    return f"<p>{escape(str(text))}</p>"
