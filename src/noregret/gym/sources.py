"""Where costs or utilities come from: what was asked for, checked before anything is played."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature

from numpy.typing import ArrayLike

from noregret.errors import InputError, shown, unknown_name

SOURCES = ("tuple", "vector", "utility", "cost")
#: One of these, a function of a step, or None for what the first step shows.
Source = str | Callable[..., ArrayLike] | None


def one_source(cost: Source, utility: Source, limited: bool) -> Source:
    """Give the one of ``cost`` and ``utility`` that was given.

    Args:
        cost: where costs come from.
        utility: where utilities come from; costs, too, where there is a limit.
        limited: whether there is a limit on costs.

    Raises:
        InputError: both are given, or a cost without a limit.
    """
    if cost is not None and utility is not None:
        raise InputError("cost and utility are both given; expected cost= with limit=, or utility= with threshold=")
    if cost is not None and not limited:
        raise InputError("cost is given without limit; expected limit=, the most total cost of an episode")
    return utility if cost is None else cost


def check_source(source: object) -> None:
    """Refuse what costs or utilities cannot be read from.

    Raises:
        InputError: it is neither a name nor a function of a step; the message says what a step is.
    """
    if source is None or (isinstance(source, str) and source in SOURCES):
        return
    if isinstance(source, str) and source.isidentifier():
        raise unknown_name("utility source", source, SOURCES)
    if not callable(source):
        raise InputError(
            f"cost or utility is {shown(source)}; expected a function (observation, action, next_observation, reward, info), a "
            f"text as Expression({str(source)!r}) of noregret.gym.expressions, or one of {', '.join(SOURCES)}"
        )
    try:
        taken = signature(source)
        taken.bind(*range(5))
    except ValueError:  # some functions of other languages do not say
        return
    except TypeError:
        raise InputError(
            f"cost or utility is a function of {taken}; expected one of five: (observation, action, next_observation, reward, "
            f"info)"
        ) from None
