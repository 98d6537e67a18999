"""Checkpoints: the state of a run in one file, replaced in one stroke, with a fingerprint of data and settings.

A process killed at any moment leaves either the old checkpoint or the new one. The fingerprint is joblib's hash by
value, so that a checkpoint of another run is told apart; `run_state` checks every field of it.
"""

import os
import time
import warnings
from typing import Any

from ... import __version__
from ..._runtime import archive
from ..._runtime.atomic_write import as_path, check_writable
from ..._runtime.schema import Value, check_fields
from ..._runtime.typing import PathLike
from ...errors import CoaltreeWarning, InputError
from ...model.model import Model
from ..settings import RunSettings
from .run_state import FIELDS, RunState

_KIND, _VERSION = "coaltree checkpoint", 9
SECONDS_BETWEEN = 10.0  # two saves; more where a save takes long
MAX_TIME_SHARE = 1 / 20  # of the run that goes into saving


class UnusableCheckpoint(InputError):
    """The checkpoint cannot be resumed from: it is damaged, or of another version."""


class AnotherRun(UnusableCheckpoint):
    """The checkpoint belongs to a run of other data or settings."""


class Checkpoint:
    """The file from which a run can be resumed."""

    def __init__(self, path: PathLike, fingerprint: str, seed_is_given: bool) -> None:
        check_writable(as_path(path, "checkpoint"))  # before any work is done
        self.path: str = os.fspath(path)
        self.fingerprint: str = fingerprint
        self.seed_is_given: bool = seed_is_given
        self._next_save = 0.0

    def read(self, seed: int) -> dict[str, Any] | None:
        """The content, if there is a file and it belongs to this run; its nested fields are not checked yet."""
        if not os.path.exists(self.path):
            return None
        try:
            content = archive.read(self.path, _KIND, _VERSION)
        except InputError as error:
            raise UnusableCheckpoint(str(error)) from None
        try:
            check_fields(content, {"coaltree": Value(str), "fingerprint": Value(str), **FIELDS})
        except ValueError as error:
            raise self._damaged(error) from None
        if content["coaltree"] != __version__:
            raise UnusableCheckpoint(
                f"the checkpoint {self.path!r} was left by coaltree {content['coaltree'][:30]!r} and this is "
                f"{__version__!r}, whose draws may differ; delete it, or give another path."
            )
        is_other_run = content["fingerprint"] != self.fingerprint
        if is_other_run or (self.seed_is_given and content["seed"] != seed):
            what = "other data or settings" if is_other_run else "another random_state"
            raise AnotherRun(f"the checkpoint {self.path!r} belongs to {what}; delete it, or give another path.")
        return content

    def restore(self, model: Model, settings: RunSettings, first: RunState) -> RunState:
        """The state that the file holds of a run that began as `first`; that one itself where there is no file."""
        content = self.read(first.seed)
        if content is None:
            return first
        try:
            return RunState.from_dict(content, model, settings, first)
        except Exception as error:  # whatever crafted values may lead to
            raise self._damaged(error) from None

    def save(self, state: RunState, finished: bool) -> None:
        """Write the state, unless the last time was a moment ago."""
        began = time.monotonic()
        if began < self._next_save and not finished:
            return
        content = {"coaltree": __version__, "fingerprint": self.fingerprint, **state.to_dict()}
        try:
            archive.write(self.path, _KIND, _VERSION, content)
        except InputError as error:  # a full disk: the last good one stays, and the run is worth more than the next
            message = f"the state of the run is not saved: {error} The run continues; what was saved before is kept."
            warnings.warn(message, CoaltreeWarning, stacklevel=2)
        ended = time.monotonic()
        self._next_save = ended + max(SECONDS_BETWEEN, (ended - began) / MAX_TIME_SHARE)

    def _damaged(self, error: Exception) -> UnusableCheckpoint:
        return UnusableCheckpoint(str(archive.damaged(self.path, error)))
