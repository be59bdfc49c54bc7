"""Numbers written as formulas, such as ``min(0.1*H/sqrt(K), gamma/2)``: checked, and computed with nothing but arithmetic.

A formula has numbers, names, texts to compare with, ``+ - * / // % **``, comparisons, ``and``, ``or``, ``not``,
``x if y else z``, and calls of the functions in :data:`FUNCTIONS` or of functions that the caller adds. Everything else is
refused before anything is computed. All numbers are floats, so that a power cannot grow without end.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import CodeType

from noregret.errors import InputError, one_line

#: What every formula may call, and the constants it may name.
_CALLED = (math.sqrt, math.log, math.log2, math.exp, math.ceil, math.floor, round, abs, min, max)
FUNCTIONS: Mapping[str, object] = {function.__name__: function for function in _CALLED} | {"inf": math.inf, "pi": math.pi}

#: The most letters of a formula.
LONGEST = 500

_PARTS = (
    ast.Expression,
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.Compare,
    ast.IfExp,
    ast.Call,
    ast.Name,
    ast.Constant,
    ast.Load,
)
_ALLOWED = (*_PARTS, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)


class _Floats(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.copy_location(ast.Constant(float(node.value)), node) if type(node.value) is int else node


@lru_cache(maxsize=4096)
def _parsed(text: str) -> tuple[CodeType, frozenset[str]]:
    """The compiled formula, and the names in it."""
    if len(text) > LONGEST:
        raise InputError(f"the formula has {len(text):,} letters; expected at most {LONGEST:,}")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InputError(f"{text!r} is no number and no formula; expected such as 2.5 or '5/sqrt(K)'") from None
    for node in ast.walk(tree):
        fine = isinstance(node, _ALLOWED) and not isinstance(node, ast.MatMult | ast.BitAnd | ast.BitOr | ast.BitXor)
        if isinstance(node, ast.Constant):
            fine = type(node.value) in (int, float, str, bool)
        if isinstance(node, ast.Call):
            fine = isinstance(node.func, ast.Name) and not node.keywords
        if not fine:
            raise InputError(f"{text!r} is no formula: {type(node).__name__} is not allowed; expected arithmetic and names")
    names = frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    return compile(ast.fix_missing_locations(_Floats().visit(tree)), "<formula>", "eval"), names


class _Names(dict[str, object]):
    """The names of a formula, each looked up when the formula comes to it: a branch that is not taken needs nothing."""

    def __init__(self, lookup: Callable[[str], object]) -> None:
        super().__init__(FUNCTIONS)
        self.lookup = lookup

    def __missing__(self, name: str) -> object:
        return self.lookup(name)


def names_in(text: str) -> frozenset[str]:
    """The names that a formula mentions, functions included.

    >>> sorted(names_in("5/sqrt(K)"))
    ['K', 'sqrt']
    """
    return _parsed(text)[1]


def compute(text: str, lookup: Callable[[str], object]) -> object:
    """The value of a formula.

    Args:
        text: the formula.
        lookup: gives the value or function of a name that is not in :data:`FUNCTIONS`; raises KeyError where it knows none.

    Raises:
        InputError: the text is no formula, names something unknown, or cannot be computed.

    >>> compute("5/sqrt(K)", {"K": 100.0}.__getitem__)
    0.5
    """
    code, _ = _parsed(text)
    try:
        return eval(code, {"__builtins__": {}}, _Names(lookup))
    except InputError:
        raise
    except NameError as error:
        raise InputError(f"formula {text!r} names {error.name!r}, which is not known here") from None
    except Exception as error:
        raise InputError(f"formula {text!r} cannot be computed: {one_line(error)}") from None
