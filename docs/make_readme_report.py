"""The demo in docs/start/command_line.md: ``python docs/make_readme_report.py [FOLDER]`` runs `coaltree demo`.

It writes what the command says to docs/measured/demo.txt, which the page repeats, and docs/report.png, the upper part
of the report as a browser shows it (the system's Chromium, with Playwright, as in the tests of the report). What the
command leaves is thrown away unless a folder is named.
"""

import contextlib
import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from coaltree.cli import main

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent))

from tests.browser.chromium import FLAGS, find_browser  # noqa: E402

WIDTH, HEIGHT = 1280, 1400
COLOURS = 128  # enough for a page of lines and letters, at a third of the size


def output_of_demo(folder):
    """What the command prints, warnings included; folders are called as a reader's would be."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        assert main(["demo", "--out", str(folder)]) == 0
    lines = output.getvalue().replace(str(folder), "demo-output").splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("compiling kernels"))  # the first time


def photograph(page_file, picture):
    """The upper part of a page, light, as PNG of few colours."""
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=list(FLAGS))
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(page_file.absolute().as_uri())
        page.wait_for_timeout(1500)  # until the tree has unfolded
        page.screenshot(path=Path(folder) / "page.png")
        browser.close()
        with Image.open(Path(folder) / "page.png") as image:
            image.convert("RGB").quantize(COLOURS).save(picture, optimize=True)


with tempfile.TemporaryDirectory() as scratch:
    out = Path(sys.argv[1] if len(sys.argv) > 1 else scratch) / "demo-output"
    text = output_of_demo(out)
    print(text, end="")
    (DOCS / "measured" / "demo.txt").write_text(text, encoding="utf-8")
    photograph(out / "report.html", DOCS / "report.png")
