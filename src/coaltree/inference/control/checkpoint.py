"""Checkpoints: the state of a run in one archive, replaced in one stroke, and known by what it is a run of.

A process killed at any moment leaves either the old checkpoint or the new one. `fingerprint` is a digest of data and
settings by value, so that a checkpoint of another run is told apart. What is read is checked field by field, for
kernels trust the numbers of a chain: a file from a stranger is only data.
"""

import dataclasses
import hashlib
import os
import time
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ... import __version__
from ..._runtime import archive
from ..._runtime.schema import Array, Value, check_fields, is_finite, is_number
from ..._runtime.typing import PathLike
from ...errors import CoaltreeWarning, InputError
from ...model.process.noise import LEVEL, NoiseDraw
from ...posterior.diagnostics.covariance_selection import is_choice
from ...posterior.diagnostics.stop_reason import CONVERGED, ROUNDS_SPENT, SECONDS_SPENT
from ...posterior.trees.stacked import check_trees
from ...samplers.base import Sampler
from ...tree import Tree
from ..chains.chain import Chain, Rounds, concatenate_rounds

_KIND, _VERSION = "coaltree checkpoint", 5
SECONDS_BETWEEN = 10.0


class UnusableCheckpoint(InputError):
    """The checkpoint cannot be gone on from: it is damaged, or of another version."""


class AnotherRun(UnusableCheckpoint):
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
        try:
            content = self._read(run)
            states, kept = content["chains"], content["kept"]
            if len(states) != run.n_chains or len(kept) != run.n_chains:
                raise ValueError("it holds another number of chains")
            chains = [_chain_from(run, state) for state in states]
            if len({chain.round for chain in chains}) > 1:
                raise ValueError("its chains stand at different rounds")
            auto, plan = _auto_from(run, content["auto"], chains[0].round)
            rounds = [_rounds_from(run, plan, blocks, chains[0].round) for blocks in kept]
        except UnusableCheckpoint:
            raise
        except Exception as error:  # whatever odd values may lead to
            raise UnusableCheckpoint(str(archive.damaged(self.path, error))) from None
        run.seed, run.chains, run.kept, run.choice = content["seed"], chains, rounds, content["choice"]
        run.auto, run.plan = auto, plan

    def choice(self, run: Any, names: Iterable[str]) -> dict[str, Any] | None:
        """How the run in the file, if there is one, chose its covariance among these names."""
        if not os.path.exists(self.path):
            return None
        try:
            found = self._read(run)["choice"]
            if found is None or found["covariance"] not in set(names):
                raise ValueError("it does not say which covariance was chosen")
        except UnusableCheckpoint:
            raise
        except Exception as error:
            raise UnusableCheckpoint(str(archive.damaged(self.path, error))) from None
        return found

    def _read(self, run):
        try:
            content = archive.read(self.path, _KIND, _VERSION)
        except InputError as error:
            raise UnusableCheckpoint(str(error)) from None
        check_fields(content, _FIELDS)
        self._check_that_it_is_ours(content, run)
        return content

    def _check_that_it_is_ours(self, content, run):
        """Tell a checkpoint of another version or another run, which may be a good one, from a damaged one."""
        if content["coaltree"] != __version__:
            raise UnusableCheckpoint(
                f"the checkpoint {self.path!r} was left by coaltree {content['coaltree'][:30]!r} and this is "
                f"{__version__!r}, whose draws may differ; delete it, or give another path."
            )
        other_seed = self.seed_is_given and content["seed"] != run.seed
        if content["fingerprint"] != self.fingerprint or other_seed:
            what = "another random_state" if content["fingerprint"] == self.fingerprint else "other data or settings"
            raise AnotherRun(f"the checkpoint {self.path!r} belongs to {what}; delete it, or give another path.")

    def save(self, run: Any, finished: bool) -> None:
        """Write the state, unless the last time was a moment ago; never spend more than a small share on it."""
        began = time.monotonic()
        if began < self._next_save and not finished:
            return
        content = {
            "coaltree": __version__,
            "fingerprint": self.fingerprint,
            "seed": run.seed,
            "choice": run.choice,
            "auto": _state_of_auto(run.auto, run.plan),
            "chains": [_state_of(run.plan, chain) for chain in run.chains],
            "kept": [[concatenate_rounds(blocks)._asdict()] if blocks else [] for blocks in run.kept],
        }
        try:
            archive.write(self.path, _KIND, _VERSION, content)
        except InputError as error:  # a full disk: the last good one stays, and the run is worth more than the next
            message = f"the state of the run is not saved: {error} It goes on; what was saved before is kept."
            warnings.warn(message, CoaltreeWarning, stacklevel=2)
        ended = time.monotonic()
        self._next_save = ended + max(SECONDS_BETWEEN, 20.0 * (ended - began))


# What each field of a file is. Whoever adds one to `save`, `_state_of` or `Rounds` adds it here: others are refused.
_FIELDS = {
    "coaltree": Value(str),
    "fingerprint": Value(str),
    "seed": Value(int, lambda seed: seed >= 0),
    "choice": Value(dict, is_choice, optional=True),
    "auto": Value(dict, optional=True),
    "chains": Value(list),
    "kept": Value(list),
}


_NOTHING = Value((), optional=True)  # None, and nothing else
_FIELDS_OF_RNG = {
    "bit_generator": Value(str, lambda name: name == "PCG64"),
    "state": {"state": Value(int, lambda s: 0 <= s < 2**128), "inc": Value(int, lambda s: 0 < s < 2**128 and s % 2)},
    "has_uint32": Value(int, lambda flag: flag in (0, 1)),
    "uinteger": Value(int, lambda s: 0 <= s < 2**32),
}


def _fields_of_state(run: Any, round: Any) -> dict[str, Any]:
    n, n_missing = run.plan.n_leaves(run.values), _n_missing(run)
    # interrupted in its first round, a chain has no lists yet: those of few leaves are made there
    has_lists = n > 1 and round != 0 and type(run.plan.sampler).neighbors is not Sampler.neighbors
    is_learnt = run.plan.noise.level is None
    return {
        "children": Array("i", (n - 1, 2)),
        "times": Array("f", (n - 1,), is_finite),
        "theta": {name: _like(value) for name, value in run.covariance.theta.items()},
        "noise": {
            "level": Value(float, lambda level: is_number(level) and (level > 0.0 if is_learnt else level >= 0.0)),
            "tail_scale": Array("f", (_n_scales(run),), _are_positive) if _n_scales(run) else _NOTHING,
        },
        "imputed": Array("f", (n_missing,), is_finite, optional=n_missing == 0),
        "neighbors": Array("i", (None, n, None), lambda near: _are_rows(near, n), optional=not has_lists),
        "rng": _FIELDS_OF_RNG,
        "round": Value(int, lambda round: 0 <= round <= run.rounds_per_chain),
    }


def _fields_of_rounds(run: Any, n_rounds: int, names: Iterable[str]) -> dict[str, Any]:
    n = run.plan.n_leaves(run.values)
    theta = run.covariance.theta | ({LEVEL: 1.0} if run.plan.noise.level is None else {})
    return {
        "children": Array("i", (n_rounds, n - 1, 2)),
        "times": Array("f", (n_rounds, n - 1), is_finite),
        "log_joint": Array("f", (n_rounds,), is_finite),
        "theta": {name: Array("f", (n_rounds, *np.shape(value)), is_finite) for name, value in theta.items()},
        "tail_scale": Array("f", (n_rounds, _n_scales(run)), _are_positive),
        "imputed": Array("f", (n_rounds, _n_missing(run)), is_finite),
        "info": {name: Array("f", (n_rounds,)) for name in names},
    }


def _are_rows(numbers, n):
    return ((numbers >= -1) & (numbers < n)).all()  # -1 is none


def _n_missing(run):
    return 0 if run.plan.missing is None else int(run.plan.missing.sum())


def _n_scales(run):
    return len(run.values) if run.plan.noise.half_df > 0.0 else 0


def _are_positive(scales):
    return bool(np.all((scales > 0.0) & (scales < np.inf)))


def _like(value):
    return Value((int, float), is_number) if np.ndim(value) == 0 else Array("f", np.shape(value), is_finite)


def _state_of(plan, chain):
    return {
        "children": chain.tree[0],
        "times": chain.tree[1],
        "theta": chain.covariance.theta,
        "noise": chain.noise._asdict(),
        "imputed": None if plan.missing is None else chain.values[plan.missing],
        "neighbors": chain.neighbors,
        "rng": chain.rng.bit_generator.state,
        "round": chain.round,
    }


def _chain_from(run, state):
    check_fields(state, _fields_of_state(run, state.get("round") if isinstance(state, dict) else None))
    values = run.values
    if run.plan.missing is not None:
        values = values.copy()
        values[run.plan.missing] = state["imputed"]
    rng = np.random.default_rng()
    rng.bit_generator.state = state["rng"]
    tree = (np.array(state["children"]), np.array(state["times"]))
    if len(tree[1]):
        Tree(*tree)  # says what is wrong with it
    covariance = run.covariance.with_theta(state["theta"])
    return Chain(tree, covariance, NoiseDraw(**state["noise"]), values, state["neighbors"], rng, state["round"])


def _state_of_auto(auto, plan):
    if auto is None:
        return None
    return {
        "n_warmup": plan.n_warmup,
        "thin": plan.thin,
        "next_look": auto.next_look,
        "reason": "" if auto.reason == SECONDS_SPENT else auto.reason,  # there may be more of them next time
        "log_joints": list(auto.log_joints),
    }


def _fields_of_auto(auto: Any, round: int) -> dict[str, Any]:
    return {
        "n_warmup": Value(int, lambda n: 0 <= n < auto.max_iterations, optional=True),
        "thin": Value(int, lambda thin: 0 < thin <= auto.max_iterations and thin & (thin - 1) == 0),  # a power of 2
        "next_look": Value(int, lambda look: round <= look <= auto.max_iterations),
        "reason": Value(str, lambda reason: reason in ("", CONVERGED, ROUNDS_SPENT)),
        "log_joints": Value(list),
    }


def _auto_from(run, state, round):
    """Where a run stands whose draws say how long it is, and its plan; a run of given length has no such state."""
    if (run.auto is None) != (state is None):
        raise ValueError("it has another kind of length")
    if run.auto is None:
        return None, run.plan
    check_fields(state, _fields_of_auto(run.auto, round))
    n_warmup, joints = state["n_warmup"], state["log_joints"]
    n_traces = run.n_chains if n_warmup is None and round > 0 else 0
    of_chains = dict.fromkeys(map(str, range(n_traces)), Array("f", (round,), is_finite))
    check_fields({str(number): trace for number, trace in enumerate(joints)}, of_chains, "log_joints.")
    if n_warmup is not None and state["next_look"] <= n_warmup:
        raise ValueError("it is to look at draws before there are any")
    if state["reason"] and (n_warmup is None or n_warmup >= round):
        raise ValueError("it has stopped in its warm-up")
    auto = run.auto._replace(next_look=state["next_look"], reason=state["reason"], log_joints=tuple(joints))
    return auto, run.plan._replace(n_warmup=n_warmup, thin=state["thin"])


def _rounds_from(run, plan, blocks, round):
    """What a chain has kept after `round` rounds: one block, or none in the warm-up."""
    n_rounds = 0 if plan.n_warmup is None else max(0, round - plan.n_warmup) // plan.thin
    if not isinstance(blocks, list) or len(blocks) != (n_rounds > 0):
        raise ValueError(f"a chain at round {round} keeps {n_rounds} rounds, in one block")
    for block in blocks:
        check_fields(block, _fields_of_rounds(run, n_rounds, dict(block["info"])))
        if run.plan.n_leaves(run.values) > 1:
            check_trees(block["children"], block["times"])
    return [Rounds(**block) for block in blocks]


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
        say(type(value).__name__)  # not its module, which may move: a run goes on after an update that moves it
        _feed(digest, _settings(value))


def _settings(value):
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Tree):
        return {"children": value.children, "times": value.times, "labels": value.labels}
    if hasattr(value, "get_params"):  # scikit-learn's kernels
        return value.get_params(deep=False)
    return {name: setting for name, setting in vars(value).items() if not name.startswith("_")}
