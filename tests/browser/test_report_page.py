"""The report page in a real browser: it opens without complaints, and does what a reader asks of it."""

import json
import re
from itertools import pairwise

import numpy as np
import pytest

import coaltree as ct
from coaltree.plotting import geometry
from coaltree.posterior.clusters.answer import answer_for
from coaltree.posterior.of_trees import posterior_of_trees
from coaltree.report import figures, write_report
from coaltree.report.summary_cards import cluster_cards, opening_number
from coaltree.report.text import percent
from tests.browser.chromium import Page
from tests.browser.posteriors import chain_posterior, leaf_names

N = 60
HOSTILE = (
    "</script><b>bold</b>",
    "<img src=x onerror='window.hacked=1'>",
    '" onmouseover="window.hacked=1',
    "{{script}} $& \\u003c",
    "<!-- <script>",
    "line\nbreak\tand\x00nul",
    "\u202ereversed",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def posterior():
    columns = tuple(f"measure {j}" for j in range(8))
    return chain_posterior(N, 8, 60, labels=leaf_names(N), columns=columns, noise=0.6)


@pytest.fixture(scope="module")
def report(posterior, folder):
    return write_report(posterior, folder / "report.html", n_clusters=4, title="Sixty things")


@pytest.fixture(scope="module")
def large(folder):
    return write_report(chain_posterior(2000, 16, 4), folder / "large.html", n_clusters=5)


@pytest.fixture
def opened(windows):
    """Open pages that are closed again, each having made no complaint and no request."""
    pages = []

    def open_page(path, **options):
        pages.append((Page(windows, path, **options), path))
        return pages[-1][0]

    yield open_page
    for page, path in pages:
        complaints, requests, files = page.complaints(), page.requests(), page.files_read()
        page.close()
        assert complaints == []
        assert requests == []
        assert files == [path.absolute().as_uri()]


@pytest.fixture
def page(opened, report):
    return opened(report)


def group_sizes(page):
    return page.evaluate("[...document.querySelectorAll('#groups tr')].map(row => Number(row.dataset.size))")


def tree_of(posterior):
    """The tree that the page shows; not one of the posterior's own, since smaller clades come first."""
    return figures.tree_figure(posterior)[0]


def wait_for_clusters(page, k):
    page.wait(f"document.querySelectorAll('#groups tr').length === {k}")


def sizes_of(posterior, k):
    return np.bincount(posterior.cut(k)).tolist()


# It opens


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(("width", "height", "mobile"), [(1280, 900, False), (390, 844, True)])
def test_page_opens_without_complaint_and_fits_its_window(opened, report, width, height, mobile, dark):
    page = opened(report, width=width, height=height, mobile=mobile, dark=dark)
    assert page.evaluate("document.title") == "Sixty things"
    assert page.evaluate("document.querySelectorAll('#drawing path.branch').length") > 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    red, green, blue = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (max(red, green, blue) < 60) == dark


def test_requests_and_errors_of_a_page_are_seen(windows, folder):
    path = folder / "leaky.html"
    path.write_text("<!doctype html><img src='http://localhost:1/x.png'><script>undefinedName</script>", "utf-8")
    page = Page(windows, path)
    assert page.requests() == ["http://localhost:1/x.png"]
    assert any("undefinedName" in complaint for complaint in page.complaints())
    page.close()


def equal_rows():
    children = [[0, 1], [4, 2], [5, 3]]
    return posterior_of_trees(np.tile(children, (5, 1, 1)), np.zeros((5, 3)), X=np.ones((4, 2)), chain=np.zeros(5, int))


def particles():
    post = chain_posterior(20, 3, 30)
    return posterior_of_trees(
        post.draws.children, post.draws.times, log_weights=np.linspace(0, 3, 30), log_evidence=-12.5
    )


def full_covariance():
    rng = np.random.default_rng(0)
    return chain_posterior(30, 5, 40, Phi=np.array([np.cov(rng.normal(size=(5, 30))) for _ in range(40)]))


@pytest.mark.parametrize(
    ("make", "k", "said"),
    [
        (lambda: chain_posterior(2, 3, 20), None, ""),
        (lambda: chain_posterior(3, 3, 20), None, ""),
        (lambda: chain_posterior(12, 3, 20), 1, ""),
        (lambda: chain_posterior(12, 3, 20), 12, ""),
        (equal_rows, None, ""),
        (particles, None, "log evidence -12.5"),
        (full_covariance, None, "Strongest:"),
    ],
    ids=["2 leaves", "3 leaves", "one cluster", "one leaf each", "equal rows", "particles", "full covariance"],
)
def test_pages_of_all_kinds_open_and_are_walked(opened, folder, request, make, k, said):
    post = make()
    page = opened(write_report(post, folder / f"{request.node.callspec.id}.html", n_clusters=k))
    assert sum(group_sizes(page)) == post.n
    assert said in " ".join(page.text("body").split())
    assert page.evaluate("document.getElementById('heat').hidden") == (post.model.X is None)
    page.evaluate("document.getElementById('plot').focus()")
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowUp", "Enter", "+", "ArrowLeft", "Escape"):
        page.key(key)
        page.settle()


# The cut


def test_slider_changes_the_clusters(page, posterior):
    assert group_sizes(page) == sizes_of(posterior, 4)
    colours = "[...document.querySelectorAll('#drawing path.branch')].map(p => p.getAttribute('class')).sort().join()"
    before = page.evaluate(colours)
    page.evaluate("document.getElementById('cut').focus()")
    for k in (5, 6, 7):
        page.key("ArrowRight")
        wait_for_clusters(page, k)
        assert group_sizes(page) == sizes_of(posterior, k)
    assert page.evaluate(colours) != before
    assert page.evaluate("document.getElementById('cut-number').value") == "7"
    assert page.text("#sizes").startswith(f"{max(sizes_of(posterior, 7))} leaves in the largest")
    for typed, shown in (("9", 9), ("37", 12)):  # as far as it is offered
        page.click("#cut-number")
        page.evaluate("document.getElementById('cut-number').select()")
        page.type(typed)
        wait_for_clusters(page, shown)
        assert group_sizes(page) == sizes_of(posterior, shown)


def test_cards_and_table_follow_the_slider(page, posterior):
    page.evaluate("document.getElementById('cut').focus()")
    page.key("ArrowLeft")
    wait_for_clusters(page, 3)
    answer = answer_for(posterior, 3)
    number_card, stability_card = cluster_cards(posterior, opening_number(posterior, 4), answer)
    assert page.text("#card-number") == number_card.heading + number_card.text
    assert page.text("#card-stability") == stability_card.heading + stability_card.text
    said = page.evaluate("[...document.querySelectorAll('#groups td.stability')].map(cell => cell.textContent)")
    found = answer.stability
    for text, word, jaccard in zip(said, found.words, found.jaccard, strict=True):
        assert text.startswith(f"{word} ")
        assert float(text.split()[1]) == pytest.approx(jaccard, abs=0.01)


def test_branches_are_coloured_where_all_their_leaves_agree(page, posterior):
    tree, labels = tree_of(posterior), posterior.cut(4)
    of_node = geometry.node_clusters(tree, labels)
    colours = {f"c{c}" for c in of_node if c >= 0} | {"ink"}
    drawn = page.evaluate("[...document.querySelectorAll('#drawing path.branch')].map(p => p.classList[1])")
    assert set(drawn) == colours
    # Grey lines: one for each merge of several clusters, and one for each branch to such a merge.
    grey = page.evaluate("document.querySelector('#drawing path.branch.ink').getAttribute('d')")
    mixed = np.count_nonzero(of_node < 0)
    assert grey.count("V") == mixed
    assert grey.count("H") == mixed - 1


def saved(page, button):
    page.evaluate("URL.createObjectURL = (blob) => { window.kept = blob.text(); return 'data:,'; }")
    page.evaluate("HTMLAnchorElement.prototype.click = () => {}")
    page.click(button)
    return page.evaluate("window.kept")


def test_clusters_are_saved_as_they_are_named(page, posterior):
    header, *rows = saved(page, "#save-clusters").splitlines()
    assert header == "row,cluster,probability,in_no_clade"
    answer = answer_for(posterior, 4)
    for row, label, cluster, share in zip(rows, posterior.labels, answer.labels, answer.probability, strict=True):
        assert row.startswith(f"{label},{cluster + 1},")
        assert float(row.split(",")[2]) == pytest.approx(share, abs=1e-3)
    assert [row.split(",")[3] for row in rows] == ["yes" if side else "" for side in answer.in_no_clade]


def test_tree_is_saved_as_newick(page, posterior):
    tree = ct.Tree.from_newick(saved(page, "#save-tree"), labels=posterior.labels)
    best = posterior.mean_tree()
    assert {frozenset(clade) for clade in tree.clades()} == {frozenset(clade) for clade in best.clades()}
    np.testing.assert_allclose(tree.times, best.times, rtol=1e-12)


# Pointing and walking


def test_hover_shows_support_and_interval(page, posterior):
    tree = tree_of(posterior)
    left, top, width, height = page.box("#drawing")
    seen = set()
    for share in np.linspace(0.05, 0.9, 40):
        page.move(left + 0.55 * width, top + share * height)
        page.settle() if not seen else None
        if page.evaluate("!document.getElementById('tip').hidden"):
            seen.add(page.text("#tip"))
    groups = [text for text in seen if text.startswith("Group of")]
    assert groups
    expected = np.column_stack([tree.sizes[tree.n :], 100 * posterior.clade_support(tree, kind="transfer")])
    for text in groups:
        said = re.match(r"Group of (\d+) leaves.*?In \D*(\d+)\D% of the sampled trees, or nearly", text).groups()
        assert (np.abs(expected - np.array(said, dtype=float)) <= [0, 1]).all(axis=1).any()
        interval = re.search(r"interval ([\d.e-]+) to ([\d.e-]+)", text)
        if interval is None:
            assert "too few sampled trees" in text
        else:
            assert float(interval[1]) <= float(interval[2])


def test_arrow_keys_walk_the_tree(page, posterior):
    tree = tree_of(posterior)
    page.evaluate("document.getElementById('plot').focus()")
    page.key("Home")
    page.wait(f"document.getElementById('plot-status').textContent.startsWith('Group of {N} leaves')")
    page.key("ArrowRight")
    page.settle()
    child = max(tree.children[-1], key=lambda v: tree.sizes[v])
    status = page.text("#plot-status")
    assert status.startswith(f"Group of {tree.sizes[child]} leaves")
    assert percent(round(posterior.clade_support(tree, kind="transfer")[child - tree.n], 3)) in status
    page.key("ArrowLeft")
    page.settle()
    assert page.text("#plot-status").startswith(f"Group of {N} leaves")
    for _ in range(N):
        page.key("ArrowRight")
    page.settle()
    assert "joins" in page.text("#plot-status")
    page.key("Escape")
    page.wait("!document.getElementById('plot').classList.contains('zoomed')")


def test_tab_key_reaches_everything_and_all_has_names_and_headings(page):
    reached = []
    while len(reached) < 40 and "together-plot" not in reached:
        page.key("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.className"))
    wanted = ["skip", "theme", "cut", "cut-number", "search", "zoom-in", "plot", "save-clusters", "together-plot"]
    assert [name for name in reached if name in wanted] == wanted
    nameless = [
        node["role"]["value"]
        for node in page.call("Accessibility.getFullAXTree")["nodes"]
        if any(p["name"] == "focusable" and p["value"]["value"] for p in node.get("properties", []))
        and node["role"]["value"] != "RootWebArea"
        and not node.get("name", {}).get("value")
    ]
    assert nameless == []
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map(h => Number(h.tagName[1]))")
    assert levels[0] == levels.count(1) == 1
    assert all(below - above <= 1 for above, below in pairwise(levels))
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


# Finding


def test_search_finds_a_leaf(page):
    page.click("#search")
    page.type("uber 2")  # finds Über 2, Über 22
    page.wait("document.querySelectorAll('#matches [role=option]').length === 2")
    assert page.text("#match-0").startswith("Über 2 ")
    page.key("ArrowDown")
    page.key("ArrowDown")
    assert page.evaluate("document.querySelector('#matches [aria-selected=true]').textContent").startswith("Über 22")
    page.key("Enter")
    page.wait("!document.getElementById('tip').hidden")
    page.settle()
    assert page.text("#tip").startswith("Über 22")
    assert page.evaluate("document.querySelector('#drawing .found').textContent") == "Über 22"
    assert page.evaluate("document.getElementById('matches').hidden")
    page.click("#search")
    page.evaluate("document.getElementById('search').select()")
    page.type("no such leaf")
    page.wait("document.getElementById('matches').textContent.includes('no leaf')")


# Data and co-clustering


def test_heat_map_shows_the_data(page, posterior):
    order = tree_of(posterior).leaf_order()
    left, top, width, _ = page.box("#heat-canvas")
    head = page.evaluate("Number(document.querySelector('#drawing svg').getAttribute('y'))")
    rows = page.evaluate("Number(document.querySelector('#drawing svg').getAttribute('height'))")
    for position, column in ((0, 0), (17, 3), (N - 1, 7)):
        leaf = order[position]
        page.move(left + (column + 0.5) / 8 * width, top + head + (position + 0.5) / N * rows)
        page.wait(f"document.getElementById('heat-tip').textContent.startsWith({json.dumps(posterior.labels[leaf])})")
        shown = page.text("#heat-tip")
        assert f"measure {column}: " in shown
        value = float(re.search(r": ([-\d.e]+)", shown)[1])
        low, high = np.percentile(np.abs(posterior.model.X), [0, 99])
        assert value == pytest.approx(np.clip(posterior.model.X[leaf, column], -high, high), abs=0.02 * high + low)
    painted = page.evaluate(
        "(c => new Set(c.getContext('2d').getImageData(0, c.height / 2, c.width, 1).data).size)"
        "(document.getElementById('heat-canvas'))"
    )
    assert painted > 8


def test_coclustering_is_the_posteriors(page, posterior):
    order = tree_of(posterior).leaf_order()
    together = posterior.coclustering(4)
    row_of = {label: row for row, label in enumerate(posterior.labels)}
    left, top, width, height = page.box("#together-canvas")
    checked = 0
    for i in range(3, N, 8):
        for j in range(5, N, 9):
            page.move(left + 10 + (j + 0.5) / N * (width - 10), top + 10 + (i + 0.5) / N * (height - 10))
            text = page.text("#together-status")
            a, b = posterior.labels[order[i]], posterior.labels[order[j]]
            if a == b:
                continue
            assert text.startswith(f"{a} and {b} are together in")
            assert text.endswith("of the trees, at 4 clusters.")
            said = {"all": 1.0, "none": 0.0}.get(text.split("together in ")[1].split(" of ")[0])
            if said is None:
                said = float(re.search(r"(\d+)\s%", text)[1]) / 100
            assert said == pytest.approx(together[row_of[a], row_of[b]], abs=0.015)
            checked += 1
    assert checked > 30


# Names that look like markup


def test_names_are_never_markup(opened, folder):
    labels = [*HOSTILE, *(f"leaf {i}" for i in range(len(HOSTILE), 30))]
    columns = tuple(HOSTILE[j % len(HOSTILE)] + str(j) for j in range(14))
    draws = np.random.default_rng(0).random((20, 14))
    post = chain_posterior(30, 14, 20, labels=labels, columns=columns, variances=draws)
    post.info["note"] = HOSTILE[0]
    page = opened(write_report(post, folder / "hostile.html", title=HOSTILE[0]))
    assert page.evaluate("document.title") == HOSTILE[0]
    page.click("#search")
    page.type("</script>")
    page.key("Enter")
    page.wait("!document.getElementById('tip').hidden")
    assert page.text("#tip").startswith(HOSTILE[0])
    page.settle()
    assert page.evaluate("document.querySelectorAll('b, img').length") == 0
    assert page.evaluate("window.hacked") is None
    assert sum(group_sizes(page)) == 30


# Large, and small


def test_page_of_two_thousand_leaves_stays_light(opened, large):
    page = opened(large)
    elements = "document.querySelectorAll('*').length"
    assert page.evaluate(elements) < 2500
    page.evaluate("document.getElementById('cut').focus()")
    for k in (6, 7, 8):
        page.key("ArrowRight")
        wait_for_clusters(page, k)
    left, top, width, height = page.box("#drawing")
    for _ in range(12):
        page.wheel(left + 0.5 * width, top + 0.4 * height, -80, ctrl=True)
        page.settle()
        assert page.evaluate(elements) < 2500
    assert page.evaluate("document.querySelectorAll('#drawing .names text').length") > 2
    page.drag(left + 0.5 * width, top + 0.5 * height, to=(left + 0.5 * width, top + 0.2 * height))
    page.settle()
    page.click("#search")
    page.type("1234")
    page.key("Enter")
    page.wait("document.getElementById('tip').textContent.startsWith('1234')")


def test_long_names_fit_a_phone(opened, folder):
    labels = [f"{'a very long name without end ' * 6}{i}" for i in range(40)]
    columns = tuple("W" * 80 + str(j) for j in range(5))
    post = chain_posterior(40, 5, 20, labels=labels, columns=columns)
    page = opened(write_report(post, folder / "long.html", title="T" * 200), width=360, height=740, mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    shown = page.evaluate("[...document.querySelectorAll('#drawing .names text')].map(one => one.textContent)")
    assert len(set(shown)) == 40 and all("…" in name for name in shown)


def test_annotations_are_shown_and_compared_at_every_number_of_clusters(posterior, folder, opened):
    classes = {"kind": [f"kind <{i % 3}>" if i else None for i in range(N)], "age": np.linspace(0, 1, N)}
    page = opened(write_report(posterior, folder / "annotations.html", n_clusters=4, classes=classes))

    def counts():
        rows = "[...document.querySelectorAll('#annotations table')[0].tBodies[0].rows]"
        return page.evaluate(f"{rows}.map(row => [...row.cells].slice(1).map(cell => Number(cell.textContent) || 0))")

    for k in (4, 2):
        page.evaluate(f"(document.getElementById('cut-number').value = {k}, 0)")
        page.evaluate("document.getElementById('cut-number').dispatchEvent(new Event('input')) && 0")
        page.settle()
        answer = answer_for(posterior, k)
        codes = np.array([-1 if i == 0 else i % 3 for i in range(N)])
        expected = [[int(((answer.labels == c) & (codes == j)).sum()) for j in (0, 1, 2, -1)] for c in range(k)]
        assert counts() == expected
        found = ct.metrics.agreement(answer.labels[1:], codes[1:])
        words = page.evaluate("document.querySelector('#annotations p').textContent")
        assert f"Adjusted Rand index {found.ari:.2f}" in words
        assert f"purity {found.purity:.2f}" in words
    assert page.evaluate("document.getElementById('annotations-legend').textContent").startswith("kind:kind <0>")
    assert page.evaluate("document.querySelectorAll('#drawing .strip').length") > 4


def test_points_means_and_numbers_can_be_seen_and_saved(page, posterior):
    assert not page.evaluate("document.getElementById('scatter').hidden")
    header, *points = saved(page, "#save-scatter").splitlines()
    assert header == "row,cluster,component_1,component_2,outlier"
    labels = posterior.cut(4)
    assert [int(line.split(",")[-4]) for line in points] == (labels + 1).tolist()
    X = np.asarray(posterior.model.X) - np.mean(posterior.model.X, axis=0)
    if figures.scales_differ(posterior.model.X):
        X /= X.std(axis=0)
    left, sizes, _ = np.linalg.svd(X, full_matrices=False)
    for j in (0, 1):
        shown = np.array([float(line.split(",")[-3 + j]) for line in points])
        np.testing.assert_allclose(shown, left[:, j] * sizes[j], atol=2e-3 * np.ptp(left[:, j] * sizes[j]))
    header, *means = saved(page, "#save-means").splitlines()
    assert header == "column,cluster,mean,difference_to_sister,low,high"
    for line in means:
        name, cluster, mean = line.split(",")[:3]
        column = posterior.model.columns.index(name)
        own = posterior.model.X[labels == int(cluster) - 1, column].mean()
        assert float(mean) == pytest.approx(own, rel=1e-3, abs=1e-6)
    header, *numbers = saved(page, "#save-numbers").splitlines()
    assert header == "n_clusters,stability"
    candidates = posterior.suggest_n_clusters().candidates
    assert [int(line.split(",")[0]) for line in numbers] == candidates["n_clusters"].tolist()


def test_heat_map_is_split_by_clusters_or_regrouped_by_an_annotation(posterior, folder, opened):
    kind = np.array([None, "one", "two"] * (N // 3))
    path = write_report(posterior, folder / "split.html", n_clusters=4, classes={"kind": kind}, force=True)
    page = opened(path)
    options = "[...document.getElementById('split').options].map((o) => o.text).join()"
    assert page.evaluate(options) == "clusters,kind,nothing"
    order = tree_of(posterior).leaf_order()
    by_class = np.concatenate([order[kind[order] == one] for one in ("one", "two", None)])
    drawn = []
    for chosen, expected in (("clusters", order), ("0", by_class), ("nothing", order), ("clusters", order)):
        page.evaluate(f"(document.getElementById('split').value = {chosen!r}, 0)")
        page.evaluate("document.getElementById('split').dispatchEvent(new Event('change')) && 0")
        page.settle()
        assert page.evaluate("document.getElementById('plot').hidden") == (chosen == "0")
        left, top, width, _ = page.box("#heat-canvas")
        svg = "document.querySelector('#drawing svg')"
        head, rows = page.evaluate(f"['y', 'height'].map((name) => Number({svg}.getAttribute(name)))")
        for position in (0, 17, 25, N - 1):
            page.move(left + width - 5, top + head + (position + 0.5) / N * rows)
            name = json.dumps(posterior.labels[expected[position]])
            page.wait(f"document.querySelector('#heat-tip strong').textContent === {name}")
        page.move(left + width / 2, 1)
        page.settle()
        drawn.append(page.evaluate("document.getElementById('heat-canvas').toDataURL()"))
    assert len(set(drawn)) == 3 and drawn[0] == drawn[3]
