"""Report of a posterior: one HTML file that needs nothing else, to open offline or to send to a colleague.

    page             all of it in one file
    summary_cards    the cards at the top: number of clusters, stability
    figures          tree and data, for the page's script
    partitions       clusters at every number of the slider
    annotations      classes and numbers of leaves beside the clusters
    coclustering     how often two leaves are together, uncertain leaves
    outliers         noise, outliers, rows of each leaf
    parameters       draws of covariance and noise
    model_checks     does the model hold?
    reproduce        settings, versions, call and command line
    svg, pixels      numbers of small pictures, matrices as characters
    text             text that browsers can show

They compute values; templates/ (Jinja2, autoescaped), page.css and script/ show them.
"""

from .page import report_html, write_report

__all__ = ["report_html", "write_report"]
