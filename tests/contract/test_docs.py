"""What README shows runs as it stands there, and the API reference leaves nothing out.

Here the chains are short; `make verify` runs every line as it is shown. The site's own examples are run when it is
built (`make docs`), which fails where one of them does.
"""

import doctest
import importlib
import inspect
import json
import re
import shlex
import shutil
import subprocess
from functools import cache
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest

import coaltree as ct

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(path for path in (ROOT / "docs").rglob("*.md") if "_made" not in path.parts)]
SOURCE = ROOT / "src"
WITH_EXAMPLES = sorted(
    ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    for path in SOURCE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)
NOTEBOOKS = sorted((ROOT / "docs" / "start").glob("*.ipynb"))


def blocks(text, *languages):
    """The fenced blocks of a page in some languages, without the options of a directive."""
    found = re.findall(r"^```(\S*)[^\n]*\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [re.sub(r"\A(:[a-z-]+:.*\n)+", "", body) for language, body in found if language in languages]


def python_of(page):
    """The Python of a page or notebook, without the lines that only a notebook understands."""
    text = page.read_text(encoding="utf-8")
    if page.suffix != ".ipynb":
        return blocks(text, "python")
    cells = ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    return [cell for cell in cells if not cell.startswith("%")]


def with_blocks(*languages):
    pages = [page for page in PAGES if blocks(page.read_text(encoding="utf-8"), *languages)]
    pages += NOTEBOOKS if "python" in languages else []
    return pytest.mark.parametrize("page", pages, ids=lambda page: str(page.relative_to(ROOT)))


def test_blocks_are_found():
    text = "```{example}\n:alt: words\nx = 1\n```\n\n```python\ny = 2\n```\n\n```\nz\n```\n"
    assert blocks(text, "python", "{example}") == ["x = 1\n", "y = 2\n"]
    assert len(PAGES) > 15 and len(NOTEBOOKS) == 3


as_shown_or_short = pytest.mark.parametrize("short", [pytest.param(False, id="as shown", marks=pytest.mark.slow), True])


@pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")
@as_shown_or_short
@with_blocks("python")
def test_python_runs(page, short, monkeypatch, tmp_path):
    from matplotlib import pyplot

    monkeypatch.chdir(tmp_path)
    pyplot.switch_backend("Agg")
    if short:
        fit = ct.fit
        monkeypatch.setattr(ct, "fit", lambda *args, **kwargs: fit(*args, **kwargs | {"n_samples": 8, "n_warmup": 4}))
    # One reader, one session: a later block may use the names of an earlier one.
    names = {"__name__": "__main__"}
    for block in python_of(page):
        exec(compile(block, str(page), "exec"), names)
    pyplot.close("all")
    assert len(names) > 1


@cache
def make_knows(*args):
    return subprocess.run(["make", "-n", *args], cwd=ROOT, capture_output=True).returncode == 0


def run_commands(page, shorten=None):
    """Run the commands of a page, each changed by `shorten`, which may leave one out by None."""
    from coaltree.cli import main

    text = "".join(blocks(page.read_text(encoding="utf-8"), "shell")).replace("\\\n", " ")
    lines = [shlex.split(line, comments=True) for line in text.splitlines()]
    assert all(line[0] in ("coaltree", "make", "pip", "git", "cd") for line in lines if line)
    for program, *shown in filter(None, lines):
        if program == "coaltree":
            args = shown if shorten is None else shorten(shown)
            assert args is None or main(args) == 0, args
        if program == "make" and shutil.which("make"):  # which Windows may not have
            assert make_knows(*shown), shown


@pytest.mark.slow
@with_blocks("shell")
def test_commands_run_as_shown(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    run_commands(page)


def test_commands_run(monkeypatch, tmp_path):
    """One reader of all pages, with few iterations, who does not repeat what an earlier page had."""
    from coaltree.cli.commands import warmup

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warmup, "use_everything", lambda folder: None)  # in test_warmup.py
    seen = [["demo"]]  # which test_demo.py runs with few iterations

    def shorten(args):
        if args in seen:
            return None
        seen.append(args)
        if args[0] != "fit" or "--help" in args:
            return args
        shutil.rmtree(args[args.index("--out") + 1], ignore_errors=True)  # of an earlier page
        return [*args, "--samples", "5", "--warmup", "3", "--jobs", "1"]

    pages = [page for page in PAGES if blocks(page.read_text(encoding="utf-8"), "shell")]
    assert len(pages) >= 2
    for page in pages:
        run_commands(page, shorten)
    assert {args[0] for args in seen} == set(commands())


def commands():
    from coaltree import cli

    return cli.commands.commands


COMMAND_LINE = ROOT / "docs" / "start" / "command_line.md"


def test_command_line_page_repeats_what_the_demo_prints():
    said = (ROOT / "docs" / "measured" / "demo.txt").read_text(encoding="utf-8")
    assert f"```text\n{said}```\n" in COMMAND_LINE.read_text(encoding="utf-8")


def test_command_line_page_shows_every_command():
    shown = " ".join(blocks(COMMAND_LINE.read_text(encoding="utf-8"), "shell"))
    assert {name for name in commands() if f"coaltree {name}" not in shown} == set()


def test_docs_are_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 90
    words = {page: len(page.read_text(encoding="utf-8").split()) for page in PAGES if "measured" not in page.parts}
    assert sum(words.values()) - words[ROOT / "README.md"] <= 12_000


def test_every_public_name_is_in_the_reference():
    reference = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs/reference").glob("*.md"))
    documented = set(re.findall(r"\.\. auto\w+:: (\S+)", reference))
    modules = {name: getattr(ct, name) for name in ("metrics", "plotting", "report", "scanpy")}
    public = set(ct.__all__) - set(modules) - {"__version__"}
    for name, module in modules.items():
        own = {inner for inner, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__}
        public |= {f"coaltree.{name}.{inner}" for inner in getattr(module, "__all__", own) if inner[0] != "_"}
    assert public - documented == set()


def public_docstrings():
    """{name: object} of public functions and classes, and of the methods of those that answer questions."""
    found = {}
    for name in set(ct.__all__) - {"__version__"}:
        value = getattr(ct, name)
        if not inspect.ismodule(value):
            found[name] = value
            continue
        own = [n for n, v in vars(value).items() if inspect.isfunction(v) and v.__module__ == value.__name__]
        found |= {f"{name}.{n}": getattr(value, n) for n in getattr(value, "__all__", own) if n[0] != "_"}
    for owner in (ct.Posterior, ct.Tree, ct.CoalescentClustering):
        parts = [part for part in owner.__mro__ if part.__module__.startswith("coaltree")]
        names = {n for part in parts for n, v in vars(part).items() if isinstance(v, FunctionType | classmethod)}
        found |= {f"{owner.__name__}.{n}": getattr(owner, n) for n in names if n[0] != "_"}
    return {n: v for n, v in found.items() if not (inspect.isclass(v) and issubclass(v, Exception | tuple))}


def test_public_docstrings_have_their_sections():
    public, lacking = public_docstrings(), []
    for name, value in public.items():
        wanted = ["Examples"]
        if not inspect.isclass(value):
            wanted += ["Returns", *(["Parameters"] if set(inspect.signature(value).parameters) - {"self"} else [])]
        lacking += [f"{name}: {s}" for s in wanted if f"\n{s}\n---" not in (inspect.getdoc(value) or "")]
    assert lacking == []
    assert {"Posterior.cut", "Tree.svg", "metrics.agreement", "fit", "Regraft"} <= set(public)


@pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")
@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_in_docstrings_run(module, monkeypatch, tmp_path):
    from matplotlib import pyplot

    monkeypatch.chdir(tmp_path)
    pyplot.switch_backend("Agg")
    failed, attempted = doctest.testmod(importlib.import_module(module), extraglobs={"ct": ct, "np": np})
    pyplot.close("all")
    assert failed == 0 and (attempted or module == "coaltree.scanpy")  # which is of AnnData


def test_links_between_pages_lead_somewhere():
    for page in [*PAGES, *NOTEBOOKS]:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_promises_name_tests_that_exist():
    page = (ROOT / "docs" / "background" / "reliability.md").read_text(encoding="utf-8")
    promised = page.split("## What is not promised")[0]
    rows = [line.split(" | ") for line in promised.splitlines() if line.startswith("| ") and "---" not in line]
    rows = [row for row in rows if row[0] != "| promise"]
    assert len(rows) > 8 and all(re.findall(r"`test_\w+`", row[-1]) for row in rows)
    files = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    known = {name for text in files for name in re.findall(r"^def (test_\w+)", text, flags=re.MULTILINE)}
    assert set(re.findall(r"`(test_\w+)`", page)) - known == set()
