"""Directives that show what code, commands and measurements really give.

example    Python that is run when the page is built, page by page, with what it prints, warns of and draws
help       what ``coaltree --help`` and its commands say
measured   a file of docs/measured, made by a command; the page says which where it is not there yet
results    the Markdown files that the paper's experiments left behind
thumbnails  pictures that examples of other pages drew, as links to these
"""

import contextlib
import io
import os
import re
import tempfile
import warnings
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from docutils.statemachine import StringList
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[2]


def run_code(code, names, where):
    """Run `code` in the namespace `names`; return what it said, and leave figures open."""
    said = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(said):
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, category, *_: print(f"{category.__name__}: {message}")
        try:
            exec(compile(code, where, "exec"), names)
        except Exception as error:
            raise ExtensionError(f"{where}: the example fails with {type(error).__name__}: {error}") from error
    return said.getvalue()


class Example(SphinxDirective):
    """Show Python, run it, and show what it prints and draws."""

    has_content = True
    option_spec = {"alt": directives.unchanged, "width": directives.unchanged}  # noqa: RUF012

    def run(self):
        """Return the code, its output and its figures as nodes."""
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        page = self.env.current_document if hasattr(self.env, "current_document") else self.env.temp_data
        names = page.setdefault("live_names", {"__name__": "__main__"})
        code = "\n".join(self.content)
        with _elsewhere():
            said = run_code(code, names, f"{self.env.docname}:{self.lineno}")
        result = [nodes.literal_block(code, code, language="python")]
        if said:
            result.append(_printed(said))
        for number in pyplot.get_fignums():
            page["live_count"] = page.get("live_count", 0) + 1
            name = f"{self.env.docname.replace('/', '-')}-{page['live_count']}.png"
            folder = Path(self.env.srcdir) / "_made"
            folder.mkdir(exist_ok=True)
            pyplot.figure(number).savefig(folder / name, dpi=150)
            alt = self.options.get("alt", "what the code above draws")
            picture = nodes.image(uri=f"/_made/{name}", alt=alt, classes=["made"])
            if "width" in self.options:
                picture["width"] = self.options["width"]
            result.append(picture)
        pyplot.close("all")
        return result


def _printed(text):
    text = text.rstrip()
    return nodes.literal_block(text, text, language="text", classes=["said"])


@contextlib.contextmanager
def _elsewhere():
    """Examples leave their files in a folder that is thrown away."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


class Help(Directive):
    """What ``coaltree --help`` prints, and what every command says of itself."""

    def run(self):
        """Return a heading and a literal block for each command."""
        from coaltree.cli import commands

        result = []
        for command in ([], *([name] for name in sorted(commands.commands))):
            result += [nodes.rubric("", " ".join(["coaltree", *command])), _help_of(command)]
        return result


def _help_of(command):
    from coaltree.cli import main

    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = main([*command, "--help"])
    if status:
        raise ExtensionError(f"coaltree {' '.join(command)} --help ends with status {status}.")
    return _printed(said.getvalue())


class Measured(SphinxDirective):
    """Show docs/measured/NAME as it is, or the command that makes it."""

    required_arguments = 1
    option_spec = {"command": directives.unchanged_required}  # noqa: RUF012

    def run(self):
        """Return the command, and the file where it is there."""
        path = ROOT / "docs" / "measured" / self.arguments[0]
        self.env.note_dependency(str(path))
        command = self.options["command"]
        intro = nodes.paragraph("", "", nodes.literal("", command), nodes.Text(" printed:"))
        if not path.exists():
            intro = nodes.paragraph("", "", nodes.Text("Not measured yet; run "), nodes.literal("", command))
            return [intro]
        return [intro, _printed(path.read_text(encoding="utf-8"))]


class Results(SphinxDirective):
    """Include every Markdown file of a folder one heading deeper, or say which command makes them.

    Those named in `order` come first, the others after them by name.
    """

    required_arguments = 1
    option_spec = {"command": directives.unchanged_required, "order": directives.unchanged}  # noqa: RUF012

    def run(self):
        """Parse the files as part of this page."""
        folder = ROOT / self.arguments[0]
        up = os.path.relpath(folder, Path(self.env.doc2path(self.env.docname)).parent)
        lines = []
        first = self.options.get("order", "").split()
        place = {name: i for i, name in enumerate(first)}
        for path in sorted(folder.glob("*.md"), key=lambda path: (place.get(path.stem, len(first)), path.name)):
            self.env.note_dependency(str(path))
            text = path.read_text(encoding="utf-8")
            text = re.sub(r"^#", "##", text, flags=re.MULTILINE)
            text = re.sub(r"!\[(.*?)\]\((?!https?:)(.+?)\)", rf"![\1]({up}/\2)", text)
            text = re.sub(r"(?<!!)\[.*?\]\((?!https?:)(.+?)\)", rf"`{self.arguments[0]}/\1`", text)
            lines += [*text.splitlines(), ""]
        if not lines:
            command = self.options["command"]
            return [nodes.paragraph("", "", nodes.Text("Not run yet; run "), nodes.literal("", command))]
        holder = nodes.section()
        self.state.nested_parse(StringList(lines, source=str(folder)), self.content_offset, holder, match_titles=True)
        return holder.children


class Thumbnails(SphinxDirective):
    """Pictures as links to the pages beside this one whose examples drew them: lines of page, number, words."""

    has_content = True

    def run(self):
        """Return a link with a picture and words for each line."""
        result = nodes.container(classes=["thumbnails"])
        for line in self.content:
            page, number, words = line.split(maxsplit=2)
            name = f"{self.env.docname.rpartition('/')[0]}/{page}".replace("/", "-")
            picture = nodes.image(uri=f"/_made/{name}-{number}.png", alt="", classes=["made"])
            link = nodes.reference("", "", picture, nodes.inline("", words), refuri=f"{page}.html")
            result += nodes.paragraph("", "", link)
        return [result]


def read_thumbnails_last(app, env, docnames):
    """Pages that show pictures of others are read after these have drawn them."""
    docnames.sort(key=lambda name: "{thumbnails}" in Path(env.doc2path(name)).read_text(encoding="utf-8"))


def setup(app):
    """Register the directives."""
    known = {"example": Example, "help": Help, "measured": Measured, "results": Results, "thumbnails": Thumbnails}
    for name, directive in known.items():
        app.add_directive(name, directive)
    app.connect("env-before-read-docs", read_thumbnails_last)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
