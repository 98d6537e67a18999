"""Posteriors in files: save and load.

A saved posterior is one `archive` (plain arrays and a header, no pickle), and each field is checked when it is read: a
file that is not trusted is only data. The covariance, its priors and the settings of a run are the package's own
dataclasses and are written as their name and fields; scikit-learn's kernels as theirs.
"""

import dataclasses
import os
from typing import Any

import numpy as np

from ... import samplers
from ..._runtime import archive
from ..._runtime.typing import PathLike
from ...errors import InputError, warn_of_result
from ...model import covariance
from ...model.data.transform import Preprocessor
from ...model.process.noise import Noise
from ..of_trees import posterior_of_trees
from ..posterior import Posterior, with_log_weights

IN_FOLDER = "posterior.npz"  # name of the file in the output folder of `coaltree fit`
_KIND, _VERSION = "coaltree posterior", 8
_MAX_VALUE = 1e153  # of X, so that sums of squares are finite


def save(posterior: Posterior, path: PathLike, run: dict[str, Any] | None = None) -> None:
    """Write everything that a posterior holds to one file; for a checkpoint also what its `run` needs to resume."""
    model, draws = posterior.model, posterior.draws
    content = {name: value for name, value in draws._asdict().items() if name not in ("info", "series")}
    content |= {
        "chain": draws.series,
        "theta": dict(draws.theta),
        "labels": list(posterior.labels),
        "X": model.X,
        "columns": None if model.columns is None else list(model.columns),
        "row_labels": list(model.table.labels),
        "covariance": model.covariance,
        "noise": model.noise.settings,
        "errors": model.leaves.errors,
        "groups": model.leaves.groups,
        "used": model.used,
        "fitted": model.fitted,
        "transform": model.transform,
        "info": posterior.info,
        "run": run,
    }
    archive.write(path, _KIND, _VERSION, content, default=_plain)


def load(path: PathLike) -> Posterior:
    """Read a saved posterior: its file, or the output folder of ``coaltree fit``.

    Parameters
    ----------
    path : str or path-like
        The file, or the folder with its ``posterior.npz``.

    Returns
    -------
    Posterior
        With the draws, the model and the settings that were saved.

    Examples
    --------
    >>> X, _ = ct.simulate(8, 3, random_state=0)
    >>> ct.sample_trees(X, random_state=0, progress=False).save("posterior.npz")
    >>> ct.load("posterior.npz").n
    8
    """
    if isinstance(path, str | os.PathLike) and os.path.isdir(path):
        path = os.path.join(path, IN_FOLDER)
    posterior, run = read(path)
    if run is not None:
        raise InputError(f"{str(path)!r} is the checkpoint of a run that has not ended; the same fit resumes from it.")
    return posterior


def read(path: PathLike) -> tuple[Posterior, dict[str, Any] | None]:
    """A posterior and, of a checkpoint, its run, its fields checked by what takes them; not those of the run."""
    content = archive.read(path, _KIND, _VERSION)
    try:
        run = content.pop("run")
        for name in ("covariance", "noise", "transform", "info"):
            content[name] = _revived(content[name])
        posterior = posterior_of_trees(**content)
        _check_values(posterior)
        return with_log_weights(posterior, content["log_weights"]), run
    except Exception as error:  # whatever wrong values may lead to
        raise archive.damaged(path, error) from None


def _check_values(posterior: Posterior) -> None:
    """Refuse numbers that are not finite or too large, and parts that do not fit, which a posterior would take."""
    model, draws = posterior.model, posterior.draws
    learnt = [values for values in (draws.tail_scale, draws.imputed, *draws.theta.values()) if values is not None]
    tables = [table for table in (model.X, model.fitted) if table is not None]
    if np.isnan(draws.log_evidence or 0.0) or not all(np.isfinite(values).all() for values in learnt):
        raise ValueError("draws of theta, tail_scale, imputed or log_evidence are not finite")
    if any(np.nanmax(np.abs(table), initial=0.0) >= _MAX_VALUE for table in tables):
        raise ValueError("X has infinite values, or too large ones")
    if model.X is not None and draws.imputed is None and model.n_missing:
        raise ValueError("X has missing values, of which there are no draws")
    if model.transform is not None and (model.X is None or model.transform.n_features_in_ != model.X.shape[1]):
        raise ValueError("transform is of another number of columns")
    if model.covariance is not None and not isinstance(model.covariance, covariance.Covariance):
        raise ValueError("covariance is not one")
    if model.covariance is not None and model.X is not None:
        model.covariance.check(len(model.used_columns))


def _plain(value: Any, where: str) -> Any:
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
    warn_of_result(
        f"{where} is a {type(value).__name__}, which cannot be saved; only its description is.", stacklevel=4
    )
    return repr(value) if where.startswith("info") else None


def _revived(value: Any) -> Any:
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


def _public(name: str) -> Any:
    """The package's own value of that name: a covariance, a prior, a sampler or a noise; None for any other name."""
    for room in (samplers, covariance):
        if name in room.__all__:
            return getattr(room, name)
    return {"Noise": Noise, "Preprocessor": Preprocessor}.get(name)
