"""Arrays without their owner, for the loops of kernels.

Numba counts references to the owner of an array wherever one is taken out of a tuple or sliced: an atomic addition and
a call in the midst of a loop, which made sweeps a third slower. A borrowed array has no owner. Whoever called the
kernel holds the arrays meanwhile.
"""

from typing import Any

from numba.core.cgutils import get_null_value
from numba.core.types.containers import BaseTuple
from numba.core.types.npytypes import Array
from numba.extending import intrinsic


@intrinsic
def borrow(typing: Any, value: Any) -> Any:
    """The same array, or tuple with all arrays in it, without owners: the first thing that a kernel does."""

    def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _without_owners(context, builder, signature.return_type, values[0])

    return value(value), write


def _without_owners(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Write null over the owners in a value of a Numba type."""
    if isinstance(kind, BaseTuple):
        for i, part in enumerate(kind):
            element = _without_owners(context, builder, part, builder.extract_value(value, i))
            value = builder.insert_value(value, element, i)
    elif isinstance(kind, Array):
        fields = context.data_model_manager[kind]
        for place in map(fields.get_field_position, ("meminfo", "parent")):
            value = builder.insert_value(value, get_null_value(value.type.elements[place]), place)
    return value
