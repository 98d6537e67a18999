"""Settings, versions, and the Python call and command line that make the same posterior from the same data."""

import dataclasses
import hashlib
import json
import platform
import re
import shlex
from importlib.metadata import version
from typing import Any

import numpy as np

from .. import __version__
from .._runtime.formatting import number
from .._runtime.validation import is_whole
from ..errors import InputError
from ..model.process.noise import as_noise
from ..posterior.diagnostics.stop_reason import CONVERGED, ITERATIONS_SPENT
from ..posterior.io.pandas_output import INDEX
from ..posterior.leaf_annotations import KEPT
from ..posterior.posterior import Posterior
from ..samplers import as_sampler
from .figures import Data

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "joblib")
NO_SETTINGS = {
    "ties_given", "convergence", "stopping", "resample",
    INDEX, KEPT,
}  # fmt: skip
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


def summarize(posterior: Posterior, data: Data | None) -> dict[str, Any]:
    """Return the run as code and as a command, its settings in words, a checksum of the data, and versions."""
    info = [(name, value) for name, value in posterior.info.items() if name not in NO_SETTINGS]
    values = None if data is None else np.ascontiguousarray(data.given, dtype="<f8")
    return {
        "call": python_call(posterior),
        "command": command_line(posterior),
        "covariance": None if posterior.covariance is None else describe(posterior.covariance),
        "settings": [(SETTING_NAMES.get(name, name.replace("_", " ")), describe(value)) for name, value in info],
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


def python_call(posterior: Posterior) -> str | None:
    """Return the call of `fit` that repeats the run; None where its settings cannot be written as code."""
    arguments = _arguments(posterior)
    if arguments is None:
        return None
    lines = [f"    {name}={code}," for name, (code, _) in arguments.items()]
    return "\n".join(["import coaltree as ct", "", "posterior = ct.fit(", "    X,", *lines, ")"])


def command_line(posterior: Posterior) -> str | None:
    """Return the command that repeats the run; None where no option stands for one of its settings."""
    arguments = _arguments(posterior)
    if arguments is None or any(option is None for _, option in arguments.values()):
        return None
    options = {name.removeprefix("n_").replace("_", "-"): option for name, (_, option) in arguments.items()}
    options["seed"] = options.pop("random-state")
    options.pop("transform", None)
    words = _transform_words(posterior)
    log, axes = words.pop("log", []), words
    said = [f"--{name} {option}" for name, option in options.items()]
    said += ["--log all"] if log is True else [f"--log {shlex.quote(str(name))}" for name in log]
    said += [f"--{word} {axis}" for word, axis in axes.items()]
    return " ".join(["coaltree fit DATA --out FOLDER", *said])


def _transform_words(posterior: Posterior) -> dict[str, Any]:
    """What `fit` was given as transform."""
    return {} if posterior.transform is None else posterior.transform.words() or {}


def _arguments(posterior: Posterior) -> dict[str, tuple[str, object]] | None:
    """Arguments of `fit`, as Python code and as the value of an option (None where there is none)."""
    info = posterior.info
    if not posterior.is_chain or not {"seed", "sampler", "n_warmup"} <= info.keys() or posterior.covariance is None:
        return None
    n_chains, length = len(np.unique(posterior.chain)), _length(posterior)
    if length is None or len(posterior) % n_chains or not is_whole(info["seed"]):
        return None
    sampler, given = str(info["sampler"]), str(info.get("covariance_given", ""))
    name = given if given.isidentifier() else None
    covariance = "" if name else repr(posterior.covariance)
    if posterior.transform is not None and posterior.transform.words() is None:  # a transformer
        return None
    if not _PLAIN_CALL.fullmatch(sampler) or "array(" in covariance or len(sampler + covariance) > MAX_CHARACTERS:
        return None
    names = ("student", posterior.noise.level)  # "learn" is a level
    noise = next((name for name in names if as_noise(name) == posterior.noise), None)
    rows = {name: (name, "COLUMN") for name in ("errors", "groups") if getattr(posterior, name) is not None}
    return {
        "covariance": _named(name, covariance),
        "sampler": _named(_sampler_name(sampler), sampler),
        **{name: _named(value, "") for name, value in length.items()},
        **(
            {"resample": _named("columns", ""), "n_resamples": _named(n_chains, "")}
            if posterior.is_resampled
            else {"n_chains": _named(n_chains, "")}
        ),
        "random_state": _named(int(info["seed"]), ""),
        "noise": _named(noise, repr(posterior.noise)),
        **({"transform": (repr(words), "WORDS")} if (words := _transform_words(posterior)) else {}),
        **({"ties": _named("spread", "")} if info.get("ties_given") == "spread" else {}),
        **rows,
        **({"neighbors": ("neighbors", "FILE")} if info.get("neighbors_given") else {}),
    }


def _named(value: object, call: str) -> tuple[str, object]:
    """A value as code and as an option; without one, a call of our classes as users write it: ``ct.Full(…)``."""
    return (re.sub(r"\b([A-Z]\w*)\(", r"ct.\1(", call) if value is None else json.dumps(value)), value


def _sampler_name(sampler: str) -> str | None:
    """The name that stands for a sampler with default settings; None for others."""
    name = re.sub("(?<=[a-z])(?=[A-Z])", "_", sampler.partition("(")[0]).lower()
    try:
        return name if repr(as_sampler(name)) == sampler else None
    except InputError:
        return None


def _length(posterior: Posterior) -> dict[str, object] | None:
    """Arguments for the length of the run; None where the clock may have ended its warm-up or the run."""
    stopping, n_warmup = posterior.info.get("stopping"), posterior.info["n_warmup"]
    if stopping is None:
        n_samples = len(posterior) // len(np.unique(posterior.chain))
        return {"n_samples": n_samples, "n_warmup": int(n_warmup)} if is_whole(n_warmup) else None
    if not isinstance(stopping, dict) or "max_seconds" in stopping or not is_whole(stopping.get("max_iterations")):
        return None
    if stopping.get("reason") not in (CONVERGED, ITERATIONS_SPENT):
        return None
    warmup: Any = stopping.get("n_warmup_given")
    given = {"n_warmup": int(warmup)} if is_whole(warmup) else {}
    return {"n_samples": "auto", **given, "max_iterations": int(stopping["max_iterations"])}
