"""`Posterior`: weighted trees, and what is asked of them: clades, summaries, clusters, new rows, diagnostics, files."""

from .posterior import Posterior, concat

__all__ = ["Posterior", "concat"]
