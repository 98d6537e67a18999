"""How Sphinx builds the site: ``make docs``. Nothing is fetched; what the pages show is made by running their code."""

import re
import sys
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE / "_ext")]

import coaltree  # noqa: E402

project = "coaltree"
author = "the coaltree developers"
version = release = coaltree.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "live"]
source_suffix = {".md": "markdown", ".ipynb": "markdown"}
exclude_patterns = ["_*", "measured/*"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"coaltree {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
pygments_style = "friendly"

# Docstrings are plain text: types are words for people, `this` is code, and |Φ| is a determinant.
default_role = "code"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autodoc_class_signature = "separated"
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]

_of_properties: dict[str, list[str]] = {}
_LITERAL = re.compile(r"(``.+?``|`.+?`)")


def as_plain_text(app, what, name, obj, options, lines):
    """Shield what reStructuredText would take for markup, except code between backticks."""
    for i, line in enumerate(lines):
        parts = _LITERAL.split(line)
        parts[::2] = [re.sub(r"(?<!\\)([|*]|(?<=\w)_(?=\W|$))", r"\\\1", part) for part in parts[::2]]
        lines[i] = "".join(parts)
    lines[:] = _described(lines)
    if what == "property":
        _of_properties[name] = lines[:]


def _described(lines):
    """Move `name : a whole phrase` to two lines, since it describes the argument rather than types it."""
    section, result = False, []
    for line, following in pairwise([*lines, ""]):
        if line in ("Parameters", "Attributes", "Returns"):
            section = line != "Returns"
        name, colon, words = line.partition(" : ")
        phrase = not following.startswith("    ") or len(line) > 70
        if section and colon and phrase and not line.startswith(" "):
            result += [name, f"    {words}"]
        else:
            result.append(line)
    return result


def undo_napoleon(app, what, name, obj, options, lines):
    """Give properties their sentence back: napoleon takes what stands before a colon for a type."""
    if what == "property":
        lines[:] = _of_properties.pop(name)


def setup(app):
    """Let docstrings pass before and after napoleon reads them."""
    app.connect("autodoc-process-docstring", as_plain_text, priority=100)
    app.connect("autodoc-process-docstring", undo_napoleon, priority=900)
