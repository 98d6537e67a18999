"""`Posterior`: weighted trees, and what is asked of them: clades, summaries, clusters, new rows, diagnostics, files."""

from .io.concat import concat
from .posterior import Posterior

__all__ = ["Posterior", "concat"]
