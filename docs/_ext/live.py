"""Directives that show what code, commands and measurements really give.

example    Python that is run when the page is built, page by page, with what it prints, warns of and draws
help       what ``coaltree --help`` and its commands say
measured   lines of a file of docs/measured, with the command that printed them
all-measured  links to all these files
thumbnails  pictures that examples of other pages drew, as links to these
"""

import contextlib
import io
import json
import os
import re
import tempfile
import warnings
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[2]


def run_code(code, names, where):
    """Run `code` in the namespace `names`; return what it printed, and leave figures open."""
    output = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(output):
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, category, *_: print(f"{category.__name__}: {message}")
        try:
            exec(compile(code, where, "exec"), names)
        except Exception as error:
            raise ExtensionError(f"{where}: the example fails with {type(error).__name__}: {error}") from error
    return output.getvalue()


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
            output = run_code(code, names, f"{self.env.docname}:{self.lineno}")
        result = [nodes.literal_block(code, code, language="python")]
        if output:
            result.append(_printed(output))
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
    return nodes.literal_block(text, text, language="text", classes=["printed"])


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

    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        status = main([*command, "--help"])
    if status:
        raise ExtensionError(f"coaltree {' '.join(command)} --help ends with status {status}.")
    return _printed(output.getvalue())


class Measured(SphinxDirective):
    """Show docs/measured/NAME, or lines of it, with its command, its commit and a link to all of it.

    `part` keeps the paragraph whose first line has these words, `match` the lines that a regular expression matches.
    """

    required_arguments = 1
    option_spec = dict.fromkeys(("command", "part", "match"), directives.unchanged_required)

    def run(self):
        """Return the lines, and a sentence that says where they come from."""
        name, command = self.arguments[0], self.options["command"]
        path = ROOT / "docs" / "measured" / name
        self.env.note_dependency(str(path))
        text = path.read_text(encoding="utf-8")
        commit = re.search(r"commits? ([0-9a-f]{7})", text)
        shown = self.chosen(text)
        if not shown:
            raise ExtensionError(f"{self.env.docname}:{self.lineno}: nothing in {name} is what the page asks for.")
        source = f"`{command}`" + (f" at commit {commit[1]}" if commit else "")
        up = os.path.relpath(path, Path(self.env.doc2path(self.env.docname)).parent)
        return [_printed(shown), *self.parse_text_to_nodes(f"Printed by {source}: {{download}}`all of it <{up}>`.")]

    def chosen(self, text):
        """The lines that the page asks for."""
        if "part" in self.options:
            parts = re.split(r"\n\s*\n", text)
            text = next((part for part in parts if self.options["part"] in part.lstrip("\n").partition("\n")[0]), "")
        match = re.compile(self.options.get("match", ""))
        return "\n".join(line.rstrip() for line in text.strip("\n").splitlines() if match.search(line))


class AllMeasured(SphinxDirective):
    """Links to every file of docs/measured."""

    def run(self):
        """Return one paragraph."""
        folder = ROOT / "docs" / "measured"
        up = os.path.relpath(folder, Path(self.env.doc2path(self.env.docname)).parent)
        names = sorted(path.name for path in folder.iterdir())
        links = (f"{{download}}`{Path(name).stem.removeprefix('benchmarks_')} <{up}/{name}>`" for name in names)
        return self.parse_text_to_nodes(", ".join(links) + ".")


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


def read_notebook(app, docname, source):
    """Make examples of a notebook's cells, which are run as those of other pages."""
    if Path(app.env.doc2path(docname)).suffix == ".ipynb":
        source[0] = "\n\n".join(_as_markdown(cell) for cell in json.loads(source[0])["cells"])


def _as_markdown(cell):
    text = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return text
    if text.startswith("%"):
        return f"```text\n{text}\n```"
    alt = f":alt: {cell['metadata']['alt']}\n" if "alt" in cell["metadata"] else ""
    return f"```{{example}}\n{alt}{text}\n```"


def read_thumbnails_last(app, env, docnames):
    """Pages that show pictures of others are read after these have drawn them."""
    docnames.sort(key=lambda name: "{thumbnails}" in Path(env.doc2path(name)).read_text(encoding="utf-8"))


def setup(app):
    """Register the directives."""
    known = {"example": Example, "help": Help, "measured": Measured, "all-measured": AllMeasured}
    known |= {"thumbnails": Thumbnails}
    for name, directive in known.items():
        app.add_directive(name, directive)
    app.connect("source-read", read_notebook)
    app.connect("env-before-read-docs", read_thumbnails_last)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
