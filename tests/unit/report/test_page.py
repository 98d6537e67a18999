"""The page as a file: well-formed, safe, small, the same each time. tests/browser looks at what it does."""

import base64
import hashlib
import html
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from jinja2 import UndefinedError

import coaltree as ct
from coaltree.report import page as templates
from coaltree.report import report_html, write_report
from coaltree.report.page import environment
from coaltree.report.text import printable
from tests.browser.posteriors import chain_posterior
from tests.pages import content_of, words_of
from tests.posteriors import grouped_posterior


class Checker(HTMLParser):
    """Sees to it that every element that must be closed is."""

    VOID = frozenset({"meta", "link", "input", "br", "img"})

    def __init__(self):
        super().__init__()
        self.open, self.faults = [], []

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        if "style" in names or any(name.startswith("on") for name in names):
            self.faults.append((tag, names))  # the page's own policy forbids both
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}>")


def assert_well_formed(text):
    checker = Checker()
    checker.feed(text)
    assert checker.faults == [] and checker.open == []


def test_page_is_well_formed_and_points_at_nothing_outside(page):
    assert_well_formed(page)
    assert not re.search(r"(?:src|href)\s*=\s*[\"']?\s*(?:https?:|//)", page)
    assert "@import" not in page
    assert "url(" not in page
    assert "default-src 'none'" in page


@pytest.mark.parametrize("name", ["</script><b>", "\"'><b><!--", "{{ 7 * 7 }}", "{% raw %}", "a\x00\u202eb"])
def test_page_escapes_names_in_every_section(name):
    """Leaves, rows, columns, parameters, annotations, settings and what a file may hold."""
    post = grouped_posterior(
        n=9,
        n_trees=40,
        labels=[f"{name} {i}" for i in range(9)],
        row_labels=[f"{name} {i}" for i in range(18)],
        columns=[f"{name} {j}" for j in range(3)],
        theta={name: np.ones(40), f"{name} entries": np.random.default_rng(0).gamma(3, 1, (40, 3))},
        info={"sampler": name, name: name, "covariance_given": name},
    )
    text = report_html(post, n_clusters=3, classes={name: [name] * 9}, title=name)
    assert "<b>" not in text
    assert not set("\x00\u202e") & set(text)
    assert words_of(text).count(printable(name)) > 10
    assert content_of(text)["tree"]["labels"] == [f"{printable(name)} {i}" for i in range(9)]
    assert_well_formed(text)


def test_page_policy_allows_its_own_script_and_style_alone(page):
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1])
    allowed = {kind: re.search(rf"{kind}-src 'sha256-([^']*)'", policy)[1] for kind in ("script", "style")}
    for kind, digest in allowed.items():
        (own,) = re.findall(rf"<{kind}>(.*?)</{kind}>", page, re.DOTALL)
        assert base64.b64encode(hashlib.sha256(own.encode()).digest()).decode() == digest


def test_templates_leave_only_the_pages_own_parts_unescaped():
    folder = Path(templates.__file__).parent / "templates"
    marked = {path.name: re.findall(r"(\w+) *\| *safe", path.read_text(encoding="utf-8")) for path in folder.iterdir()}
    assert {name: parts for name, parts in marked.items() if parts} == {
        "page.html": ["policy", "style", "content", "script"]
    }
    with pytest.raises(UndefinedError):
        environment().from_string("{{ missing }}").render()


def test_page_of_five_hundred_leaves_fits_a_mail():
    post = chain_posterior(500, 300, 8)
    post.theta["variances"] = np.random.default_rng(0).gamma(3, 1, (8, 300))
    text = report_html(post, n_clusters=5)
    assert content_of(text)["data"]["of"] == [500, 300]
    assert len(text.encode()) < 1_500_000


def test_write_report_replaces_a_file_only_with_force(tmp_path, posterior, page):
    path = write_report(posterior, tmp_path / "report.html", n_clusters=4)  # a second time, the same page
    assert path.read_text(encoding="utf-8") == page
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(ct.InputError, match="already exists"):
        write_report(posterior, path)
    assert "Another" in write_report(posterior, path, title="Another", force=True).read_text(encoding="utf-8")
    with pytest.raises(ct.InputError, match="is a folder"):
        write_report(posterior, tmp_path)
    with pytest.raises(ct.InputError, match="No such file or directory"):
        write_report(posterior, tmp_path / "nowhere" / "report.html")
