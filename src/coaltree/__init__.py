"""coaltree: Bayesian hierarchical clustering of continuous data with Kingman's coalescent.

Public names are those of `__init__.pyi`, loaded on first use, so that ``import coaltree`` costs little.
"""

from lazy_loader import attach_stub as _attach_stub

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)
