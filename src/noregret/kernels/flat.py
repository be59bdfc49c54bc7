"""What makes inner loops fast: indices that cannot be negative, and tables read as one line of numbers.

Loops that walk several tables of (h,s,a) by one row number (h·S + s)·A + a are up to twice as fast as loops over the tables: an
access costs an addition in place of a product for each axis.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numba import extending, types
from numba.core import ir_utils
from numba.np import arrayobj

from noregret.kernels.jit import jit

_extending: Any = extending
_arrays: Any = arrayobj
_passes: Any = ir_utils

#: The type of indices in inner loops: Numba leaves out the wrap-around of negative ones. Count with each other only: an
#: unsigned and a signed number make a float.
index: Any = np.uint64


def flat(array: Any) -> Any:
    """The entries of a C-ordered array as one line.

    Compiled, this is a view that holds no reference to the array: it costs nothing to make, and must not outlive the array.
    """
    return array.reshape(-1)


@_extending.type_callable(flat)
def _(context):  # type: ignore[no-untyped-def]
    def kind(array):  # type: ignore[no-untyped-def]
        return types.Array(array.dtype, 1, "C") if isinstance(array, types.Array) and array.layout == "C" else None

    return kind


@_extending.lower_builtin(flat, types.Array)
def _(context, builder, signature, given):  # type: ignore[no-untyped-def]
    table = _arrays.make_array(signature.args[0])(context, builder, given[0])
    line = _arrays.make_array(signature.return_type)(context, builder)
    size, step = table.nitems, table.itemsize
    _arrays.populate_array(line, data=table.data, shape=[size], strides=[step], itemsize=step, meminfo=None)
    return line._getvalue()


def _is_the_same(view, given, aliases, of_arguments):  # type: ignore[no-untyped-def]
    _passes._add_alias(view, given[0].name, aliases, of_arguments)


#: Else Numba, when it puts a function in its caller's place, may take what is written through the view for dead code.
_passes.alias_func_extensions[flat.__name__, __name__] = _is_the_same


@partial(jit, inline=True)
def row(array: Any, h: int) -> Any:
    """Where step h is in an array that has an entry for each step, or one for all of them."""
    return min(h, len(array) - 1)
