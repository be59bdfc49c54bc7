"""One thread for linear algebra: our matrices are small, and threads that wait for each other cost more than they bring."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


@cache
def _loaded() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  # loads the BLAS that compiled code calls
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_thread() -> AbstractContextManager[object]:
    """While it lasts, one thread for each BLAS: runs are side by side, and one order of sums makes them repeat."""
    context: AbstractContextManager[object] = _loaded().limit(limits=1, user_api="blas")
    return context


def pin_one_thread() -> None:
    """:func:`one_thread` for good, in a process of our own."""
    one_thread().__enter__()
