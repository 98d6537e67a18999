"""Report of a posterior: one HTML file that needs nothing else, to open offline or to send to a colleague.

`page` puts it together. Each section has a file that computes its values (summary_cards, figures, partitions,
annotations, coclustering, parameters, reproduce) and a template (Jinja2, autoescaped) or a part of the script that
shows them; `svg` and `pixels` turn arrays into pictures.
"""

from .page import report_html, write_report

__all__ = ["report_html", "write_report"]
