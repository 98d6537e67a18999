"""Settings, versions, and the Python call and command line that make the same posterior from the same data."""

import dataclasses
import hashlib
import platform
import re
from importlib.metadata import version
from typing import Any

import numpy as np

from .. import __version__
from .._runtime.formatting import number
from .._runtime.validation import is_whole
from ..model.process.noise import as_noise
from ..posterior.diagnostics.outliers import describe_noise, describe_rows
from ..posterior.diagnostics.stop_reason import CONVERGED, ROUNDS_SPENT
from ..posterior.io.pandas_output import INDEX
from ..posterior.leaf_annotations import KEPT
from ..posterior.posterior import Posterior
from .figures import Data

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "joblib")
NO_SETTINGS = {"convergence", "estimate", "choice", "stopping", INDEX, KEPT}
SETTING_NAMES = {
    "n_warmup": "warm-up iterations",
    "mean_accepted": "accepted updates",
    "mean_candidates": "candidates per update",
    "mean_missed": "missed updates",
    "n_distinct": "distinct rows",
}
MAX_CHARACTERS = 400  # of a setting
# A posterior may come from a stranger, and readers copy this code: only plain settings, such as Regraft(n_neighbors=8).
_PLAIN_CALL = re.compile(r"\w+\([\w\s=.,'-]*\)")


def settings(posterior: Posterior, data: Data | None) -> list[tuple[str, str]]:
    """Return everything recorded about the run, in words and plain numbers."""
    rows = [("leaves", f"{posterior.n:,}"), ("sampled trees", f"{len(posterior):,}")]
    if posterior.is_chain:
        rows.append(("chains", str(len(np.unique(posterior.chain)))))
    if posterior.covariance is not None:
        rows.append(("covariance", describe(posterior.covariance)))
    rows.append(("noise", describe_noise(posterior)))
    if posterior.groups is not None:
        rows.append(("rows", str(describe_rows(posterior))))
    rows += [
        (SETTING_NAMES.get(name, name.replace("_", " ")), describe(value))
        for name, value in posterior.info.items()
        if name not in NO_SETTINGS
    ]
    if data is not None:
        rows.append(("columns of data", f"{data.values.shape[1]:,}"))
        missing = int(np.isnan(data.given).sum())
        if missing:
            rows.append(("missing values", f"{missing:,}"))
        digest = hashlib.sha256(np.ascontiguousarray(data.given, dtype="<f8").tobytes()).hexdigest()
        rows.append(("checksum of the data", f"{digest[:16]} (SHA-256 of the float64 values)"))
    return rows


def versions() -> list[tuple[str, str]]:
    """Return the versions of what was installed when the page was made."""
    ours = [("coaltree", __version__), ("Python", platform.python_version())]
    system = ("system", f"{platform.system()} {platform.machine()}")
    return [*ours, *((name, version(name)) for name in PACKAGES), system]


def describe(value: Any) -> str:
    """Return a value as one would write it, arrays by their shape."""
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
    return text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 1] + "…"


def _length(posterior: Posterior) -> dict[str, Any] | None:
    """Arguments for the length of the run; None where the clock may have ended its warm-up or the run."""
    stopping = posterior.info.get("stopping")
    n_chains = len(np.unique(posterior.chain))
    if stopping is None:
        found: dict[str, Any] = {"n_samples": len(posterior) // n_chains, "n_warmup": int(posterior.info["n_warmup"])}
    elif (
        not isinstance(stopping, dict)
        or not is_whole(stopping.get("max_iterations"))
        or stopping.get("reason") not in (CONVERGED, ROUNDS_SPENT)
        or "max_seconds" in stopping
    ):
        return None
    else:
        warmup = stopping.get("n_warmup_given")
        found = {"n_samples": "auto"} | ({"n_warmup": int(warmup)} if is_whole(warmup) else {})
        found["max_iterations"] = int(stopping["max_iterations"])
    return found | {"n_chains": n_chains}


def python_call(posterior: Posterior) -> str | None:
    """Return the call of `fit` that repeats the run; None where its settings cannot be written as code."""
    info = posterior.info
    if not posterior.is_chain or not {"seed", "sampler", "n_warmup"} <= info.keys() or posterior.covariance is None:
        return None
    sampler, name = str(info["sampler"]), str(info.get("covariance_given", ""))
    covariance = repr(name) if name.isidentifier() else repr(posterior.covariance)
    is_plain = _PLAIN_CALL.fullmatch(sampler) and is_whole(info["seed"]) and is_whole(info["n_warmup"])
    if not is_plain or len(sampler + covariance) > MAX_CHARACTERS or "array(" in sampler + covariance:
        return None
    length = _length(posterior)
    if length is None or len(posterior) % length["n_chains"]:
        return None
    given = [name for name in ("errors", "groups") if getattr(posterior, name) is not None]
    lines = [
        "X,",
        f"covariance={_of_package(covariance)},",
        f"sampler={_of_package(sampler)},",
        "".join(f"{name}={value!r}, " for name, value in length.items()).rstrip().replace("'", '"'),
        f"random_state={info['seed']},",
        f"noise={_of_package(repr(posterior.noise))},",
        *(['metric="precomputed",'] if "distances" in info else []),
        *(f"{name}={name}," for name in [*given, *(["neighbors"] if info.get("neighbors_given") else [])]),
    ]
    return "import coaltree as ct\n\nposterior = ct.fit(\n    " + "\n    ".join(lines) + "\n)"


def command_line(posterior: Posterior) -> str | None:
    """Return the command that repeats the run; None where no option stands for one of its settings."""
    info = posterior.info
    covariance, sampler = str(info.get("covariance_given", "")), str(info.get("sampler", ""))
    named = ("student", posterior.noise.level)  # "learn" is a level
    noise = next((name for name in named if as_noise(name) == posterior.noise), None)
    is_named = covariance.isidentifier() and re.fullmatch(r"[A-Z]\w*\(\)", sampler)
    if python_call(posterior) is None or not is_named or noise is None:
        return None
    options = {
        "covariance": covariance,
        "sampler": re.sub(r"(?<=[a-z])(?=[A-Z])", "_", sampler[:-2]).lower(),
        **{name.removeprefix("n_").replace("_", "-"): value for name, value in (_length(posterior) or {}).items()},
        "seed": info["seed"],
        "noise": noise,
        **({"metric": "precomputed"} if "distances" in info else {}),
        **{name: "COLUMN" for name in ("errors", "groups") if getattr(posterior, name) is not None},
        **({"neighbors": "FILE"} if info.get("neighbors_given") else {}),
    }
    return "coaltree fit DATA --out FOLDER " + " ".join(f"--{name} {value}" for name, value in options.items())


def _of_package(call: str) -> str:
    """A call of our classes, as users write it: ``Full(…)`` becomes ``ct.Full(…)``."""
    return re.sub(r"\b([A-Z]\w*)\(", r"ct.\1(", call)
