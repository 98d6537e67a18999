"""Settings and versions: what it takes to make the same page from the same data."""

import dataclasses
import hashlib
import platform
import re
from importlib.metadata import version
from typing import Any

import numpy as np

from .. import __version__
from .._runtime.validation import is_whole
from ..posterior.diagnostics.outliers import describe_noise, describe_rows
from ..posterior.diagnostics.stop_reason import CONVERGED, ITERATIONS_SPENT
from ..posterior.io.pandas_output import INDEX
from ..posterior.leaf_annotations import KEPT
from ..posterior.posterior import Posterior
from .figures import Data
from .text import escape, number, table

_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "joblib")
_NOT_A_SETTING = {"convergence", "estimate", "choice", "stopping", INDEX, KEPT}
_NAMES = {
    "n_warmup": "warm-up rounds",
    "mean_accepted": "accepted updates",
    "mean_candidates": "candidates per update",
    "mean_missed": "missed updates",
    "n_distinct": "distinct rows",
}
_LONGEST = 400
_PLAIN_CALL = re.compile(r"\w+\([\w\s=.,'-]*\)")  # such as Regraft(n_neighbors=8)


def section(posterior: Posterior, data: Data | None) -> str:
    """A call where one can be given, and two tables."""
    call = _call(posterior)
    html = f"<p>This call gives the same posterior:</p>\n<pre><code>{escape(call)}</code></pre>\n" if call else ""
    html += '<div class="columns"><div><h3>Settings</h3>' + table(settings(posterior, data)) + "</div>"
    return html + "<div><h3>Versions</h3>" + table(versions()) + "</div></div>"


def settings(posterior: Posterior, data: Data | None) -> list[tuple[str, str]]:
    """Everything known about the run, in words and plain numbers."""
    rows = [("leaves", f"{posterior.n:,}"), ("sampled trees", f"{len(posterior):,}")]
    if posterior.is_chain:
        rows.append(("chains", str(len(np.unique(posterior.chain)))))
    if posterior.covariance is not None:
        rows.append(("covariance", describe(posterior.covariance)))
    rows.append(("noise", describe_noise(posterior)))
    if posterior.groups is not None:
        rows.append(("rows", str(describe_rows(posterior))))
    rows += [
        (_NAMES.get(name, name.replace("_", " ")), describe(value))
        for name, value in posterior.info.items()
        if name not in _NOT_A_SETTING
    ]
    if data is not None:
        rows.append(("columns of data", f"{data.values.shape[1]:,}"))
        missing = int(np.isnan(data.given).sum())
        if missing:
            rows.append(("missing values", f"{missing:,}"))
        digest = hashlib.sha256(np.ascontiguousarray(data.given, dtype="<f8").tobytes()).hexdigest()
        rows.append(("checksum of the data", f"{digest[:16]} (SHA-256 of the float64 values)"))
    return rows


def _length(posterior):
    """How long the run was asked to be; None where a clock may have had its say, in the warm-up or at the end."""
    info = posterior.info
    stopping = info.get("stopping")
    if stopping is None:
        n_chains = len(np.unique(posterior.chain))
        return f"n_samples={len(posterior) // n_chains}, n_warmup={info['n_warmup']}"
    max_iterations = stopping.get("max_iterations") if isinstance(stopping, dict) else None
    if not is_whole(max_iterations) or stopping.get("reason") not in (CONVERGED, ITERATIONS_SPENT):
        return None
    if "max_seconds" in stopping:
        return None
    given = stopping.get("n_warmup_given")
    return f'n_samples="auto"{f", n_warmup={given}" if is_whole(given) else ""}, max_iterations={max_iterations}'


def versions() -> list[tuple[str, str]]:
    """What was installed when the page was made."""
    ours = [("coaltree", __version__), ("Python", platform.python_version())]
    system = ("system", f"{platform.system()} {platform.machine()}")
    return [*ours, *((name, version(name)) for name in _PACKAGES), system]


def describe(value: Any) -> str:
    """A value as one would write it, arrays by their shape."""
    if isinstance(value, np.ndarray) and value.ndim:
        text = f"array of shape {value.shape}"
    elif isinstance(value, float | np.floating | np.ndarray):
        text = number(float(value), 5)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [(f.name, getattr(value, f.name)) for f in dataclasses.fields(value) if f.repr]
        inside = ", ".join(f"{name}={describe(item)}" for name, item in fields if item is not None)
        text = f"{type(value).__name__}({inside})"
    elif isinstance(value, dict):
        text = "{" + ", ".join(f"{name}: {describe(item)}" for name, item in value.items()) + "}"
    elif isinstance(value, list | tuple):
        text = "(" + ", ".join(describe(item) for item in value) + ")"
    else:
        text = str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _call(posterior):
    """The call of `fit` that repeats the run, where the settings can be written as code."""
    info = posterior.info
    if not posterior.is_chain or not {"seed", "sampler", "n_warmup"} <= info.keys() or posterior.covariance is None:
        return None
    n_chains = len(np.unique(posterior.chain))
    sampler, given = str(info["sampler"]), str(info.get("covariance_given", ""))
    covariance = repr(given) if given.isidentifier() else repr(posterior.covariance)
    length = _length(posterior)
    if (
        length is None
        or len(posterior) % n_chains
        or len(sampler + covariance) > _LONGEST
        or "array(" in sampler + covariance
    ):
        return None
    # A posterior may come from a stranger, and this is code that a reader will copy: only plain settings.
    if not (_PLAIN_CALL.fullmatch(sampler) and is_whole(info["seed"]) and is_whole(info["n_warmup"])):
        return None
    lines = [
        "import coaltree as ct",
        "",
        "posterior = ct.fit(",
        "    X,",
        f"    covariance={_of_package(covariance)},",
        f"    sampler={_of_package(sampler)},",
        f"    {length}, n_chains={n_chains},",
        f"    random_state={info['seed']},",
        f"    noise={_of_package(repr(posterior.noise))},",
        *(['    metric="precomputed",'] if "distances" in info else []),
        *(f"    {name}={name}," for name in ("errors", "groups") if getattr(posterior, name) is not None),
        *(["    neighbors=neighbors,"] if info.get("neighbors_given") else []),
        ")",
    ]
    return "\n".join(lines)


def _of_package(call):
    """A call of our classes, as users write it: ``Full(…)`` becomes ``ct.Full(…)``."""
    return re.sub(r"\b([A-Z]\w*)\(", r"ct.\1(", call)
