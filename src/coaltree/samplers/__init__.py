"""Samplers of trees, each a small value of settings such as ``MPost2(n_particles=100)``.

They are found by name and loaded on first use, so that asking for one does not compile the others.
"""

import re
from importlib import import_module
from typing import Any

from ..errors import InputError
from .base import Sampler, SamplerLike

HOME_OF = {
    "Prior": "merging.prior",
    "PostPost": "merging.mpost",
    "MPost1": "merging.mpost",
    "MPost2": "merging.mpost",
    "SMC1": "merging.smc1",
    "Greedy": "merging.greedy",
    "MGreedy": "merging.greedy",
    "GreedyTeh": "merging.greedy",
    "Insertion": "regraft.insertion",
    "Regraft": "regraft.regraft",
}
_CLASS_OF_NAME = {re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower(): name for name in HOME_OF}  # post_post, mpost1, …

__all__ = ["as_sampler", *HOME_OF]


def __getattr__(name: str) -> Any:
    if name not in HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{HOME_OF[name]}"), name)


def as_sampler(spec: SamplerLike) -> Sampler:
    """Turn a name or a sampler object into a sampler object."""
    if isinstance(spec, str):
        if spec not in _CLASS_OF_NAME:
            raise InputError(f"sampler must be one of {', '.join(_CLASS_OF_NAME)} or a sampler object, not {spec!r}.")
        return __getattr__(_CLASS_OF_NAME[spec])()
    if isinstance(spec, type) and issubclass(spec, Sampler):
        raise InputError(f"sampler must be an object such as {spec.__name__}(), not the class itself.")
    if not isinstance(spec, Sampler):
        raise InputError(
            "sampler must be a name, or an object of a class derived from coaltree.samplers.base.Sampler, "
            f"not {spec!r}."
        )
    return spec
