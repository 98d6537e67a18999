"""Posteriors in files: save and load.

A saved posterior is one `archive` (plain arrays and a header, no pickle). The covariance, its priors and the settings
of a run are the package's own dataclasses and are written as their name and fields; scikit-learn's kernels as theirs.
"""

import dataclasses
import os
import warnings

from .. import samplers
from .._runtime import archive
from .._runtime.aliases import PathLike
from ..errors import CoaltreeWarning, InputError
from ..model import covariance
from .posterior import Posterior, with_log_weights

_KIND, _VERSION = "coaltree posterior", 1


def save(posterior: Posterior, path: PathLike) -> None:
    """Write everything that a posterior holds to one file."""
    content = {name: getattr(posterior, name) for name in Posterior.__annotations__ if name != "is_chain"}
    content["labels"], content["theta"] = list(posterior.labels), dict(posterior.theta)
    content["chain"] = posterior.chain if posterior.is_chain else None
    content["columns"] = None if posterior.columns is None else list(posterior.columns)
    archive.write(path, _KIND, _VERSION, content, default=_plain)


def load(path: PathLike) -> Posterior:
    """Read a saved posterior. Large arrays stay in the file and are read as they are used."""
    content = archive.read(path, _KIND, _VERSION)
    try:
        log_weights = content.pop("log_weights")
        content["covariance"], content["info"] = _revived(content["covariance"]), _revived(content["info"])
        posterior = Posterior(content.pop("children"), content.pop("times"), log_weights=log_weights, **content)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{os.fspath(path)!r} is damaged and cannot be read ({error}).") from None
    return with_log_weights(posterior, log_weights)


def _plain(value, where):
    """Our dataclasses and scikit-learn's kernels as their names and fields; of anything else, a description."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type) and _public(type(value).__name__) is type(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
        return {"__class__": type(value).__name__, "fields": fields}
    if type(value).__module__ == "sklearn.gaussian_process.kernels":
        return {"__class__": f"sklearn {type(value).__name__}", "fields": value.get_params(deep=False)}
    if isinstance(value, dict):
        return {str(key): item for key, item in value.items()}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
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
    """The package's own value of that name: a covariance, a prior or a sampler; None for any other name."""
    for room in (samplers, covariance):
        if name in room.__all__:
            return getattr(room, name)
    return None
