"""Learners from elsewhere as they are made: what their ``begin`` raises or forgets is said in one line."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import Any

import numpy as np

from noregret.errors import InputError, NoRegretError, one_line
from noregret.kernels.compiler.dispatch import bodies
from noregret.learners.base import Learner, SomeSpec


def guest_made(name: str, cls: type[Learner], spec: SomeSpec, arguments: Mapping[str, Any]) -> Learner:
    """Make a learner of another package, and look whether it is whole.

    Args:
        name: of the learner.
        cls: its class.
        spec: what it may know of the problem.
        arguments: what else it is made with.

    Raises:
        InputError: ``begin`` raises an error, or does not make what runs need; the message says which.
    """
    try:
        made = cls(spec, **arguments)
    except NoRegretError:
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise InputError(f"learner {name!r} cannot be made: {last.filename}:{last.lineno}: {one_line(error)}") from error
    check_state(name, made._state, spec)
    return made


def check_state(name: str, state: object, spec: SomeSpec) -> None:
    """Refuse a state that the loop over episodes cannot work on.

    Args:
        name: of the learner.
        state: its state.
        spec: what it knows of the problem.

    Raises:
        InputError: the state is missing, is no NamedTuple, has no bodies, or its policy or dual has another shape or type.
    """
    if not isinstance(state, tuple) or not hasattr(state, "_fields"):
        raise InputError(f"learner {name!r} has the state {state!r}; expected begin to make a NamedTuple of arrays")
    kind = type(state)
    if not bodies([kind]):
        raise InputError(
            f"learner {name!r} has a {kind.__name__} without plan and update; expected "
            f"noregret.kernels.compiler.dispatch.register_kernels({kind.__name__}, plan, update)"
        )
    shapes = {"policy": tuple(spec.available.shape), "Y": (spec.n_constraints,)} if hasattr(spec, "available") else {}
    for field, shape in shapes.items():
        array = getattr(state, field, None)
        if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype != np.float64:
            seen = f"shape {array.shape} of {array.dtype}" if isinstance(array, np.ndarray) else repr(array)
            raise InputError(f"learner {name!r}: {kind.__name__}.{field} is {seen}; expected an array {shape} of float64")
