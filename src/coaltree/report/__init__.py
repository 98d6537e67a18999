"""One page for one posterior: an HTML file that needs nothing else, to open offline or to send to a colleague.

    text           escaping, and numbers as people write them
    drawing        small pictures as SVG text: histograms, intervals, traces
    pixels         matrices as characters, one or two a cell, shrunk to what a screen can show
    figures        what the page's script draws: tree, data, co-clustering
    glance         the three cards at the top of the page
    offers         the partitions that the page can show
    known          classes and numbers that were not fitted, beside the clusters
    parameters     the covariance's parameters and their posteriors
    verdicts       convergence diagnostics, explained
    reproduce      settings and versions
    page           all of it in one file

Beside them lie page.html, page.css and the script's parts (script/), which are put into the page as they are.
"""

from .page import report_html, write_report

__all__ = ["report_html", "write_report"]
