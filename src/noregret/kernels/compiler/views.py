"""Arrays in compiled code that hold no reference to their memory, by Numba's extension interface.

Numba counts references to arrays: a tuple of twenty arrays that is handed on is twenty counts up and twenty down, of 5 ns each.
An array without an owner is not counted, and LLVM finds that out when it puts callees in their callers' place. Such an array
must not outlive the one it was made from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numba import extending, types
from numba.core import cgutils
from numpy.typing import NDArray

if TYPE_CHECKING:
    from llvmlite.ir import IRBuilder, Value
    from numba.core.base import BaseContext
    from numba.core.types import Type
    from numba.core.typing.context import Context
    from numba.core.typing.templates import Signature

Number = TypeVar("Number", bound=np.generic)

#: Parts of Numba's extension interface, with types.
_fields: Callable[[Type], Callable[..., Any]] = cgutils.create_struct_proxy
_pack: Callable[[IRBuilder, list[Value]], Value] = cgutils.pack_array


def flat(array: NDArray[Number]) -> NDArray[Number]:
    """The entries of a C-ordered array as one line.

    Compiled, this is a view without an owner: it costs nothing to make.
    """
    return array.reshape(-1)


@extending.type_callable(flat)
def _(context: Context) -> Callable[[Type], Type | None]:
    def kind(array: Type) -> Type | None:
        if not isinstance(array, types.Array) or array.layout != "C":
            return None
        return types.Array(array.dtype, 1, "C", readonly=not array.mutable)

    return kind


@extending.lower_builtin(flat, types.Array)  # type: ignore[no-untyped-call, untyped-decorator]
def _(context: BaseContext, builder: IRBuilder, signature: Signature, values: list[Value]) -> Value:
    table = _fields(signature.args[0])(context, builder, value=values[0])
    line = _fields(signature.return_type)(context, builder)
    line.data, line.nitems, line.itemsize = table.data, table.nitems, table.itemsize
    line.shape, line.strides = (_pack(builder, [size]) for size in (table.nitems, table.itemsize))
    line.meminfo, line.parent = table.meminfo.type(None), table.parent.type(None)
    return line._getvalue()


@extending.intrinsic
def unowned(typing: Context, given: Type) -> tuple[Signature, Callable[..., Value]]:
    """A tuple of anything, tuples and arrays among it, whose arrays hold no reference to their memory."""

    def build(context: BaseContext, builder: IRBuilder, signature: Signature, values: list[Value]) -> Value:
        return _without_owner(context, builder, given, values[0])

    return given(given), build


def _without_owner(context: BaseContext, builder: IRBuilder, kind: Type, value: Value) -> Value:
    if isinstance(kind, types.Array):
        array = _fields(kind)(context, builder, value=value)
        array.meminfo, array.parent = array.meminfo.type(None), array.parent.type(None)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        parts: Iterable[Type] = kind  # type: ignore[assignment]
        for i, part in enumerate(parts):
            bare = _without_owner(context, builder, part, builder.extract_value(value, i))
            value = builder.insert_value(value, bare, i)
    return value
