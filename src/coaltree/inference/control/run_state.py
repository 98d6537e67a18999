"""Run state: where the chains of a fit stand, all that a checkpoint saves, and what each saved field must be.

Kernels trust the numbers of a chain, so that what is read is checked field by field: a file from a stranger is only
data. Whoever adds a field to `to_dict` adds it to the schema beside it: others are refused.
"""

from typing import Any, NamedTuple

import numpy as np

from ..._runtime.schema import Array, Value, check_fields, is_finite, is_number
from ...model.draws import Draws, State, concatenate
from ...model.model import Model
from ...model.process.noise import NOISE_LEVEL, NoiseDraw
from ...posterior.trees.stacked import check_trees
from ...samplers.base import Sampler
from ...tree import Tree
from ..chains.chain import Chain
from ..settings import CONVERGED, ITERATIONS_SPENT, SECONDS_SPENT, RunSettings


class RunState(NamedTuple):
    """Where a run stands: its chains, what they have kept, and when it looks at itself next."""

    seed: int
    n_warmup: int | None  # None until it is known when the warm-up ends
    next_look: int  # iteration
    chains: tuple[Chain, ...] = ()  # all after the same number of iterations
    draws: tuple[tuple[Draws, ...], ...] = ()  # of each chain, block by block
    thin: int = 1
    reason: str = ""  # why it has stopped, if it has
    log_joints: tuple[np.ndarray, ...] = ()  # (iteration,) of each chain, in a warm-up without a given end
    figures: dict[str, Any] | None = None  # at the last look; not saved

    @property
    def iteration(self) -> int:
        """Iterations that each chain has taken."""
        return self.chains[0].iteration if self.chains else 0

    @property
    def is_warmup(self) -> bool:
        """Whether the next iteration is one of the warm-up."""
        return self.n_warmup is None or self.iteration < self.n_warmup

    @property
    def n_draws(self) -> int:
        """Draws kept of each chain."""
        return sum(len(block.times) for block in self.draws[0]) if self.draws else 0

    @property
    def all_draws(self) -> Draws:
        """The draws of all chains, one chain after the other."""
        return concatenate([block for blocks in self.draws for block in blocks])

    @property
    def chain_of_draws(self) -> np.ndarray:
        """The number of the chain that each of these is of."""
        return np.repeat(np.arange(len(self.draws)), self.n_draws)

    def to_dict(self) -> dict[str, Any]:
        """All that a checkpoint saves."""
        return {
            "seed": self.seed,
            "n_warmup": self.n_warmup,
            "thin": self.thin,
            "next_look": self.next_look,
            "reason": "" if self.reason == SECONDS_SPENT else self.reason,  # there may be more next time
            "log_joints": list(self.log_joints),
            "chains": [_chain_to_dict(chain) for chain in self.chains],
            "draws": [concatenate(blocks)._asdict() if blocks else None for blocks in self.draws],
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any], model: Model, settings: RunSettings, first: "RunState") -> "RunState":
        """Undo `to_dict` for a run that began as `first`; ValueError where a field cannot be one of it."""
        if len(content["chains"]) != settings.n_chains or len(content["draws"]) != settings.n_chains:
            raise ValueError("it has another number of chains")
        chains = tuple(_chain_from_dict(state, model, settings) for state in content["chains"])
        if len({chain.iteration for chain in chains}) > 1:
            raise ValueError("its chains have taken different numbers of iterations")
        iteration, n_warmup, thin = chains[0].iteration, content["n_warmup"], content["thin"]
        check_fields({name: content[name] for name in _SCHEDULE}, _schedule_schema(settings, first, iteration))
        n_traces = settings.n_chains if n_warmup is None and iteration > 0 else 0
        traces = dict.fromkeys(map(str, range(n_traces)), Array("f", (iteration,), is_finite))
        check_fields({str(i): trace for i, trace in enumerate(content["log_joints"])}, traces, "log_joints.")
        if n_warmup is not None and content["next_look"] <= n_warmup:
            raise ValueError("it would look at draws before there are any")
        if content["reason"] and (n_warmup is None or n_warmup >= iteration):
            raise ValueError("it has stopped in its warm-up")
        n_draws = 0 if n_warmup is None else max(0, iteration - n_warmup) // thin
        draws = tuple(_draws_from_dict(block, model, n_draws) for block in content["draws"])
        fields = {name: content[name] for name in (*_SCHEDULE, "seed")}
        return cls(**fields | {"chains": chains, "draws": draws, "log_joints": tuple(content["log_joints"])})


FIELDS = {
    "seed": Value(int, lambda seed: seed >= 0),
    "n_warmup": Value(int, optional=True),
    "thin": Value(int),
    "next_look": Value(int),
    "reason": Value(str),
    "log_joints": Value(list),
    "chains": Value(list),
    "draws": Value(list),
}
_SCHEDULE = ("n_warmup", "thin", "next_look", "reason")
_RNG = {
    "bit_generator": Value(str, lambda name: name == "PCG64"),
    "state": {"state": Value(int, lambda s: 0 <= s < 2**128), "inc": Value(int, lambda s: 0 < s < 2**128 and s % 2)},
    "has_uint32": Value(int, lambda flag: flag in (0, 1)),
    "uinteger": Value(int, lambda s: 0 <= s < 2**32),
}
_NONE = Value((), optional=True)


def _schedule_schema(settings: RunSettings, first: RunState, iteration: int) -> dict[str, Any]:
    end = settings.max_iterations
    fixed = first.n_warmup is not None
    return {
        "n_warmup": Value(int, lambda n: n == first.n_warmup if fixed else 0 <= n < end, optional=not fixed),
        "thin": Value(int, lambda thin: 0 < thin <= (end if settings.is_auto else 1) and thin & (thin - 1) == 0),
        "next_look": Value(int, lambda look: iteration <= look <= end if settings.is_auto else look == first.next_look),
        "reason": Value(str, lambda reason: reason in ("", ITERATIONS_SPENT, *([CONVERGED] * settings.is_auto))),
    }


def _chain_to_dict(chain: Chain) -> dict[str, Any]:
    return {
        "children": chain.state.tree[0],
        "times": chain.state.tree[1],
        "theta": chain.state.covariance.theta,
        "noise": chain.state.noise._asdict(),
        "imputed": chain.state.imputed,
        "neighbors": chain.neighbors,
        "rng": chain.rng.bit_generator.state,
        "iteration": chain.iteration,
    }


def _chain_schema(model: Model, settings: RunSettings, iteration: Any) -> dict[str, Any]:
    n = model.n
    # Interrupted in its first iteration, a chain has no neighbours yet: those of few leaves are searched there.
    has_neighbors = n > 1 and iteration != 0 and type(settings.sampler).neighbors is not Sampler.neighbors
    is_learnt = model.noise.level is None

    def are_leaves(numbers: np.ndarray) -> bool:
        return bool(((numbers >= -1) & (numbers < n)).all())  # -1 is none

    return {
        "children": Array("i", (n - 1, 2)),
        "times": Array("f", (n - 1,), is_finite),
        "theta": {
            name: Value((int, float), is_number) if np.ndim(value) == 0 else Array("f", np.shape(value), is_finite)
            for name, value in model.covariance.theta.items()
        },
        "noise": {
            "level": Value(float, lambda level: is_number(level) and (level > 0.0 if is_learnt else level >= 0.0)),
            "tail_scale": Array("f", (model.n_scales,), _are_positive) if model.n_scales else _NONE,
        },
        "imputed": Array("f", (model.n_missing,), is_finite),
        "neighbors": Array("i", (None, n, None), are_leaves, optional=not has_neighbors),
        "rng": _RNG,
        "iteration": Value(int, lambda iteration: 0 <= iteration <= settings.max_iterations),
    }


def _chain_from_dict(content: Any, model: Model, settings: RunSettings) -> Chain:
    iteration = content.get("iteration") if isinstance(content, dict) else None
    check_fields(content, _chain_schema(model, settings, iteration))
    rng = np.random.default_rng()
    rng.bit_generator.state = content["rng"]
    tree = (np.array(content["children"]), np.array(content["times"]))
    if len(tree[1]):
        Tree(*tree)  # says what is wrong with it
    covariance, noise = model.covariance.with_theta(content["theta"]), NoiseDraw(**content["noise"])
    state = State(tree, covariance, noise, content["imputed"])
    return Chain(state, content["neighbors"], rng, content["iteration"])


def _draws_from_dict(content: Any, model: Model, n_draws: int) -> tuple[Draws, ...]:
    """What a chain has kept: one block, or none in the warm-up."""
    if (content is None) != (n_draws == 0):
        raise ValueError(f"a chain has {n_draws} draws at this iteration")
    if content is None:
        return ()
    theta = model.covariance.theta | ({NOISE_LEVEL: 1.0} if model.noise.level is None else {})
    schema = {
        "children": Array("i", (n_draws, model.n - 1, 2)),
        "times": Array("f", (n_draws, model.n - 1), is_finite),
        "log_weights": Array("f", (n_draws,), is_finite),
        "log_joint": Array("f", (n_draws,), is_finite),
        "log_evidence": _NONE,
        "info": {name: Array("f", (n_draws,)) for name in content["info"]},
        "theta": {name: Array("f", (n_draws, *np.shape(value)), is_finite) for name, value in theta.items()},
        "tail_scale": Array("f", (n_draws, model.n_scales), _are_positive) if model.n_scales else _NONE,
        "imputed": _NONE if model.missing is None else Array("f", (n_draws, model.n_missing), is_finite),
        "series": _NONE,
    }
    check_fields(content, schema)
    if model.n > 1:
        check_trees(content["children"], content["times"])
    return (Draws(**content),)


def _are_positive(scales: np.ndarray) -> bool:
    return bool(np.all((scales > 0.0) & (scales < np.inf)))
