"""Φ: how values diffuse along the tree, column against column; objects that whiten and learn."""

from collections.abc import Sequence

import numpy as np

from ..._runtime.validation import as_array, refusal
from ...errors import InputError
from ..data.table import aligned
from .base import Covariance, Statistics
from .components import Components
from .conjugate import Diagonal, Fixed, Full, Scaled, Spherical
from .grid import Matern32
from .kernels import Kernel, SquaredExponential
from .priors import InverseGamma, InverseWishart, LogNormal, LogUniform, Prior

__all__ = [
    "Components", "Covariance", "CovarianceLike", "Diagonal", "Fixed", "Full", "InverseGamma", "InverseWishart",
    "Kernel", "LogNormal", "LogUniform", "Matern32", "Prior", "Scaled", "Spherical", "SquaredExponential", "Statistics",
    "as_covariance",
]  # fmt: skip

CovarianceLike = str | Covariance | np.ndarray | Sequence[Sequence[float]]

_BY_NAME = {
    "spherical": Spherical,
    "scaled": Scaled,
    "diagonal": Diagonal,
    "full": Full,
    "components": Components,
    "squared_exponential": SquaredExponential,
    "matern32": Matern32,
}


def as_covariance(spec: CovarianceLike, d: int | None = None, names: Sequence[str] | None = None) -> Covariance:
    """Turn a name, a (d, d) array or a covariance object into a covariance, and check that it fits d columns.

    A DataFrame whose rows and columns are named as these columns are is put into their order.
    """
    if isinstance(spec, str) and spec == "auto":
        raise InputError('covariance="auto" is for fit, which learns it; here, name one or give a (d, d) array.')
    if isinstance(spec, str) and spec in _BY_NAME:
        covariance = _BY_NAME[spec]()
    elif isinstance(spec, Covariance):
        covariance = spec
    elif isinstance(spec, type) and issubclass(spec, Covariance):
        raise InputError(f"covariance must be an object such as {spec.__name__}(…), not the class itself.")
    elif hasattr(spec, "__array__") or isinstance(spec, (list, tuple)):
        if hasattr(spec, "iloc") and names is not None:
            spec = aligned("covariance", aligned("covariance", spec, names).T, names).T
        covariance = Fixed(as_array("covariance", spec))
    else:
        names = ", ".join(f'"{name}"' for name in ("auto", *_BY_NAME))
        raise refusal("covariance", f"{names}, a (d, d) array or a covariance object", spec)
    if d is not None:
        covariance.check(d)
    return covariance
