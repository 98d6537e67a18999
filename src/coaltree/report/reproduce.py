"""Settings and versions of the run, and a checksum of the data."""

import hashlib
import platform
from importlib.metadata import version
from typing import Any

import numpy as np

from .. import __version__
from ..model.data.table import INDEX
from ..posterior.leaf_annotations import KEPT
from ..posterior.posterior import Posterior

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "joblib")
NO_SETTINGS = {"convergence", "stopping", INDEX, KEPT}
MAX_CHARACTERS = 400  # of a setting


def summarize(posterior: Posterior) -> dict[str, Any]:
    """Return the settings of the run in words, a checksum of the data, and versions."""
    info = [(name, value) for name, value in posterior.info.items() if name not in NO_SETTINGS]
    values = None if posterior.model.X is None else np.ascontiguousarray(posterior.model.X, dtype="<f8")
    return {
        "covariance": None if posterior.model.covariance is None else describe(posterior.model.covariance),
        "settings": [(name.replace("_", " "), describe(value)) for name, value in info],
        "n_missing": 0 if values is None else int(np.isnan(values).sum()),
        "checksum": None if values is None else hashlib.sha256(values.tobytes()).hexdigest()[:16],
        "versions": [
            ("coaltree", __version__),
            ("Python", platform.python_version()),
            *((name, version(name)) for name in PACKAGES),
            ("system", f"{platform.system()} {platform.machine()}"),
        ],
    }


def describe(value: Any) -> str:
    """Return a value as one would write it, long arrays shortened."""
    with np.printoptions(threshold=6, edgeitems=2, precision=5):
        text = " ".join(str(value).split())
    return text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 1] + "…"
