"""Pieces of HTML for notebooks: escaped, shortened, and the same each time."""

from coaltree._runtime.notebook import html_table, paragraph


def test_html_table_escapes_cells_and_counts_what_it_leaves_out():
    text = html_table(["<a>", "b"], [["x & y", i] for i in range(5)], most=3)
    assert "<th>&lt;a&gt;</th>" in text and "<th>x &amp; y</th><td>0</td>" in text
    assert text.count("<tr>") == 4 and text.endswith("<p>… and 2 more</p>")
    assert "more" not in html_table(["a"], [["x"]])


def test_paragraph_escapes_its_text():
    assert paragraph("<b>") == "<p>&lt;b&gt;</p>"
