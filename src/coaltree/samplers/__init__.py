"""Samplers of trees, each a small value of settings such as ``MPost2(n_particles=100)``.

They are found by name and loaded on first use, so that asking for one does not compile the others.
"""

import re

from lazy_loader import attach_stub

from .._runtime.validation import refusal
from ..errors import InputError
from .base import Sampler, SamplerLike

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
_CLASS_OF_NAME = {  # post_post, mpost1, …
    re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower(): name for name in __all__ if not name.startswith("Sampler")
}
__all__ += ["as_sampler"]


def as_sampler(spec: SamplerLike) -> Sampler:
    """Turn a name or a sampler object into a sampler object."""
    if isinstance(spec, str):
        if spec not in _CLASS_OF_NAME:
            raise InputError(f"sampler must be one of {', '.join(_CLASS_OF_NAME)} or a sampler object, not {spec!r}.")
        return __getattr__(_CLASS_OF_NAME[spec])()
    if isinstance(spec, type) and issubclass(spec, Sampler):
        raise InputError(f"sampler must be an object such as {spec.__name__}(), not the class itself.")
    if not isinstance(spec, Sampler):
        raise refusal("sampler", "a name, or an object of a class derived from coaltree.samplers.base.Sampler", spec)
    return spec
