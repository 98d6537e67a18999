"""Lists of names in messages."""


def some(names, most: int = 6) -> str:
    """Return a list of names, shortened where there are many: "a, b, c and 1,000 more"."""
    shown = ", ".join(map(str, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"
