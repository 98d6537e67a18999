"""Checkpoints: the state of a run in one archive, replaced in one stroke, and known by what it is a run of.

A process killed at any moment leaves either the old checkpoint or the new one. `fingerprint` is a digest of data and
settings by value, so that a checkpoint of another run is told apart.
"""

import dataclasses
import hashlib
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .._runtime import archive
from .._runtime.aliases import PathLike
from ..errors import InputError
from ..tree import Tree
from .chain import Chain, Rounds, concatenate_rounds

_KIND, _VERSION = "coaltree checkpoint", 1
SECONDS_BETWEEN = 10.0


class AnotherRun(InputError):
    """The checkpoint was left by a run of other data or settings."""


class Checkpoint:
    """The file from which a run can go on."""

    def __init__(self, path: PathLike, fingerprint: str, seed_is_given: bool) -> None:
        _check_writable(path)
        self.path: str = os.fspath(path)
        self.fingerprint: str = fingerprint
        self.seed_is_given: bool = seed_is_given
        self._next_save = 0.0

    def restore(self, run: Any) -> None:
        """Take up the run where the file left it, if there is one."""
        if not os.path.exists(self.path):
            return
        content = archive.read(self.path, _KIND, _VERSION)
        other_seed = self.seed_is_given and content["seed"] != run.seed
        if content["fingerprint"] != self.fingerprint or other_seed:
            what = "another random_state" if content["fingerprint"] == self.fingerprint else "other data or settings"
            raise AnotherRun(f"the checkpoint {self.path!r} belongs to {what}; delete it, or give another path.")
        run.seed = content["seed"]
        run.chains = [_chain_from(run, state) for state in content["chains"]]
        run.kept = [[Rounds(**rounds) for rounds in blocks] for blocks in content["kept"]]

    def save(self, run: Any, finished: bool) -> None:
        """Write the state, unless the last time was a moment ago; never spend more than a small share on it."""
        began = time.monotonic()
        if began < self._next_save and not finished:
            return
        content = {
            "fingerprint": self.fingerprint,
            "seed": run.seed,
            "chains": [_state_of(run.plan, chain) for chain in run.chains],
            "kept": [[concatenate_rounds(blocks)._asdict()] if blocks else [] for blocks in run.kept],
        }
        archive.write(self.path, _KIND, _VERSION, content)
        ended = time.monotonic()
        self._next_save = ended + max(SECONDS_BETWEEN, 20.0 * (ended - began))


def _state_of(plan, chain):
    return {
        "children": chain.tree[0],
        "times": chain.tree[1],
        "theta": chain.covariance.theta,
        "imputed": None if plan.missing is None else chain.values[plan.missing],
        "neighbors": chain.neighbors,
        "rng": chain.rng.bit_generator.state,
        "round": chain.round,
    }


def _chain_from(run, state):
    values = run.values
    if run.plan.missing is not None:
        values = values.copy()
        values[run.plan.missing] = state["imputed"]
    rng = np.random.default_rng()
    rng.bit_generator.state = state["rng"]
    tree = (np.array(state["children"]), np.array(state["times"]))
    covariance = run.covariance.with_theta(state["theta"])
    return Chain(tree, covariance, values, state["neighbors"], rng, state["round"])


def _check_writable(path):
    """Refuse a path that cannot become a file, before any work is done."""
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"checkpoint must be a path, not {path!r}.")
    path = Path(path)
    if not path.parent.is_dir():
        raise InputError(f"the checkpoint's folder {str(path.parent)!r} does not exist; create it first.")
    if path.is_dir():
        raise InputError(f"checkpoint must name a file, and {str(path)!r} is a folder.")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"the checkpoint's folder {str(path.parent)!r} cannot be written to.")


def fingerprint(value: Any) -> str:
    """A digest of a value: numbers, strings, arrays, containers, and objects by the values of their settings."""
    digest = hashlib.sha256()
    _feed(digest, value)
    return digest.hexdigest()


def _feed(digest, value):
    def say(*words):
        digest.update(("|".join(map(str, words)) + ";").encode())

    if isinstance(value, np.ndarray) and value.dtype != object:
        say("array", value.dtype.str, value.shape)
        digest.update(np.ascontiguousarray(value).tobytes())
    elif value is None or isinstance(value, (bool, int, float, str, np.generic)):
        say(type(value).__name__, repr(value))
    elif isinstance(value, Mapping):
        say("dict", len(value))
        for key in sorted(value, key=repr):
            _feed(digest, key)
            _feed(digest, value[key])
    elif isinstance(value, (list, tuple, np.ndarray)):
        say("sequence", len(value))
        for item in value:
            _feed(digest, item)
    else:
        say(type(value).__module__, type(value).__qualname__)
        _feed(digest, _settings(value))


def _settings(value):
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Tree):
        return {"children": value.children, "times": value.times, "labels": value.labels}
    if hasattr(value, "get_params"):  # scikit-learn's kernels
        return value.get_params(deep=False)
    return {name: setting for name, setting in vars(value).items() if not name.startswith("_")}
