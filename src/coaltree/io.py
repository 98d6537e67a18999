"""Posteriors in files and in other programs' hands: save and load, NEXUS, ArviZ.

A saved posterior is one `archive` (plain arrays and a header, no pickle). The covariance, its priors and the settings
of a run are the package's own dataclasses and are written as their name and fields; scikit-learn's kernels as theirs.
"""

import dataclasses
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from . import archive, clades, mixing
from .errors import CoaltreeWarning, InputError
from .nexus import nexus_lines
from .posterior import Posterior

_KIND, _VERSION = "coaltree posterior", 1


def save(posterior: Posterior, path) -> None:
    """Write everything that a posterior holds to one file."""
    content = {
        "children": posterior._children,
        "times": posterior._times,
        "log_weights": posterior._log_weights,
        "log_joint": posterior.log_joint,
        "log_evidence": posterior.log_evidence,
        "labels": list(posterior.labels),
        "theta": dict(posterior.theta),
        "chain": posterior.chain if posterior._is_chain else None,
        "X": posterior.X,
        "columns": None if posterior.columns is None else list(posterior.columns),
        "covariance": _plain(posterior.covariance, "covariance"),
        "leaf_noise": posterior.leaf_noise,
        "imputed": posterior.imputed,
        "info": _plain(posterior.info, "info"),
    }
    archive.write(path, _KIND, _VERSION, content)


def load(path) -> Posterior:
    """Read a saved posterior. Large arrays stay in the file and are read as they are used."""
    content = archive.read(path, _KIND, _VERSION)
    try:
        log_weights, columns = content.pop("log_weights"), content.pop("columns")
        content["covariance"], content["info"] = _revived(content["covariance"]), _revived(content["info"])
        posterior = Posterior(content.pop("children"), content.pop("times"), log_weights=log_weights, **content)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{os.fspath(path)!r} is damaged and cannot be read ({error}).") from None
    posterior._log_weights = log_weights  # bit for bit
    posterior.columns = None if columns is None else tuple(columns)
    return posterior


def write_nexus(posterior: Posterior, path) -> None:
    """Write all trees as NEXUS, one at a time."""
    table = posterior._clades
    frequency = np.minimum(clades.frequencies(table, posterior.weights), 1.0)
    lines = nexus_lines(
        posterior._children, posterior._times, posterior.weights, _Looked(frequency, table.ids), posterior.labels
    )
    try:
        with open(Path(path), "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        raise InputError(f"{os.fspath(path)!r} cannot be written: {error.strerror or error}.") from None


class _Looked:
    """frequency[ids[t]] for one tree at a time."""

    def __init__(self, frequency, ids):
        self._frequency, self._ids = frequency, ids

    def __getitem__(self, t):
        return self._frequency[self._ids[t]]


def to_arviz(posterior: Posterior):
    """Draws of θ, root time and tree length as ArviZ's InferenceData (DataTree from ArviZ 1.0), log joint as lp.

    ArviZ knows no weights: unequal ones are turned into repeats (systematic resampling), with a warning. Chains are cut
    to the length of the shortest.
    """
    try:
        import arviz
    except ImportError:
        raise InputError('to_arviz() needs ArviZ, which is not installed: pip install "coaltree[arviz]".') from None
    chosen, chain = np.arange(len(posterior)), posterior.chain
    if np.ptp(posterior._log_weights) != 0:
        warnings.warn(
            "ArviZ has no weighted draws, so trees are repeated in proportion to their weights; use post.ess for the "
            "effective number of draws.",
            CoaltreeWarning,
            stacklevel=3,
        )
        edges = np.cumsum(posterior.weights)
        places = (np.arange(len(posterior)) + 0.5) / len(posterior)
        chosen = np.minimum(np.searchsorted(edges, places * edges[-1]), len(posterior) - 1)
        chain = np.zeros(len(posterior), dtype=int)
    chains = [chosen[draws] for draws in mixing.by_chain(chain)]
    length = min(len(draws) for draws in chains)
    index = np.stack([draws[-length:] for draws in chains])
    groups: dict[str, Any] = {
        "posterior": {name: draws[index] for name, draws in posterior.theta.items()}
        | {"root_time": posterior._times[:, -1][index], "tree_length": _tree_lengths(posterior._times)[index]}
    }
    if posterior.log_joint is not None:
        groups["sample_stats"] = {"lp": posterior.log_joint[index]}
    if int(arviz.__version__.split(".")[0]) >= 1:
        return arviz.from_dict(groups)
    return arviz.from_dict(**groups)


def _tree_lengths(times):
    """Total branch length: m lineages during the wait with m left, Σ_m m Δ_m."""
    n = times.shape[1] + 1
    return np.diff(times, axis=1, prepend=0.0) @ np.arange(n, 1, -1)


def _plain(value, where):
    """Replace our dataclasses and scikit-learn's kernels by their names and fields, which an archive can hold."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type) and _public(type(value).__name__) is type(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
        return {"__class__": type(value).__name__, "fields": _plain(fields, where)}
    if type(value).__module__ == "sklearn.gaussian_process.kernels":
        return {"__class__": f"sklearn {type(value).__name__}", "fields": _plain(value.get_params(deep=False), where)}
    if isinstance(value, dict):
        return {str(key): _plain(item, f"{where}[{key!r}]") for key, item in value.items()}
    if isinstance(value, list | tuple):
        items = [_plain(item, f"{where}[{i}]") for i, item in enumerate(value)]
        return items if isinstance(value, list) else tuple(items)
    if value is None or isinstance(value, bool | int | float | str | np.bool_ | np.integer | np.floating):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return value
    warnings.warn(
        f"{where} is a {type(value).__name__}, which cannot be saved; only its description is.",
        CoaltreeWarning,
        stacklevel=4,
    )
    return repr(value) if where.startswith("info") else None


def _revived(value):
    """Undo `_plain`; only the package's own dataclasses and scikit-learn's kernels are ever made."""
    if isinstance(value, list | tuple):
        return type(value)(_revived(item) for item in value)
    if not isinstance(value, dict):
        return value
    if "__class__" not in value:
        return {key: _revived(item) for key, item in value.items()}
    name, fields = value["__class__"], _revived(value["fields"])
    if name.startswith("sklearn "):
        from sklearn.gaussian_process import kernels

        cls = getattr(kernels, name.removeprefix("sklearn "))
        if not issubclass(cls, kernels.Kernel):
            raise ValueError(f"{name} is not a kernel")
        return cls(**fields)
    cls = _public(name)
    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise ValueError(f"{name} is not one of the package's values")
    return cls(**fields)


def _public(name):
    import coaltree

    return getattr(coaltree, name) if name in coaltree.__all__ else None
