"""Costs written as text, such as ``action != 1`` or ``abs(next_obs[0]) > 0.5``: parsed, checked, and never evaluated as Python.

Known are the names in :data:`NAMES`, numbers, ``+ - * / // % **``, comparisons, ``and``, ``or``, ``not``, ``x if y else z``,
and the functions in :data:`FUNCTIONS`. Entries are taken by a number or a text in brackets: ``obs[0]``, ``info["fuel"]``.
Truth values count as 0 and 1. Every name and entry becomes a Python number before anything is computed with it, so that small
integers of NumPy do not wrap around. A part that is not a number (NaN) is an error, wherever in the expression it is.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

from noregret.errors import InputError, one_line, shown

#: What a name stands for: all as the environment has it; ``step`` counts from 0.
NAMES = ("action", "obs", "next_obs", "reward", "step", "info")
FUNCTIONS: dict[str, Callable[..., float]] = {"abs": abs, "min": min, "max": max}
FUNCTIONS |= {function.__name__: function for function in (math.sqrt, math.exp, math.log, math.sin, math.cos)}
#: Letters of an expression, and how deep its parts may lie in each other.
LONGEST, DEEPEST = 1000, 50

_BINARY: dict[type, Callable[[float, float], float]] = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}
_BINARY |= {ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod}
_COMPARED: dict[type, Callable[[float, float], bool]] = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt}
_COMPARED |= {ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne}
_UNARY: dict[type, Callable[[float], float]] = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_}

Values = Mapping[str, object]
#: What a name or an entry stands for, as the environment has it; and a part of an expression, which is a number.
Thing = Callable[[Values], Any]
Part = Callable[[Values], float]


class Expression:
    """One number a step, from a text. It serves as ``utility=`` of an agent.

    Raises:
        InputError: the text is no expression of the kind that the head of this module describes; the message says where.

    >>> cost = Expression("action != 1 and abs(next_obs[0]) > 0.5")
    >>> cost(None, 2, [0.7], -1.0, {})
    1.0
    """

    #: The caller hands over the number of the step too.
    takes_step = True

    def __init__(self, text: str) -> None:
        self.text = text
        if len(text) > LONGEST:
            raise InputError(f"expression has {len(text):,} letters; expected at most {LONGEST:,}")
        try:
            tree = ast.parse(text.strip(), mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            where = f" at letter {error.offset}" if isinstance(error, SyntaxError) and error.offset else ""
            raise InputError(f"expression {text!r} cannot be read{where}; expected such as 'action != 1'") from None
        self._part = self._made(tree.body, 0)

    def __call__(self, obs: object, action: object, next_obs: object, reward: object, info: object, step: int = 0) -> float:
        """The number of a step.

        Args:
            obs: the observation before the action.
            action: as the environment takes it.
            next_obs: the observation after it.
            reward: of the step.
            info: of the step.
            step: how many steps of the episode came before.

        Raises:
            InputError: the expression cannot be computed there, or is no finite number.
        """
        values = {"action": action, "obs": obs, "next_obs": next_obs, "reward": reward, "step": step, "info": info}
        try:
            number = float(self._part(values))
        except Exception as error:
            raise InputError(f"step {step}: expression {self.text!r} cannot be computed: {one_line(error)}") from None
        if not math.isfinite(number):
            raise InputError(f"step {step}: expression {self.text!r} is {number}; expected one finite number")
        return number

    def __repr__(self) -> str:
        """The text."""
        return f"Expression({self.text!r})"

    def _made(self, node: ast.expr, depth: int) -> Part:
        """A function that computes a part of the expression; whatever is not known is refused."""
        if depth > DEEPEST:
            raise InputError(f"expression {shown(self.text)} has parts in parts {depth} deep; expected at most {DEEPEST}")
        computed, text = self._computed(node, depth), ast.unparse(node)
        return lambda values: _number(computed(values), text)

    def _computed(self, node: ast.expr, depth: int) -> Thing:
        """What :meth:`_made` computes, before it is made a Python number."""

        def made(each: ast.expr) -> Part:
            return self._made(each, depth + 1)

        match node:
            case ast.Constant(value=bool() | int() | float() as number):
                return lambda values: number
            case ast.Name() | ast.Subscript():
                return self._thing(node, depth)
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                base, exponent = made(left), made(right)
                return lambda values: float(base(values)) ** float(exponent(values))  # whole numbers could grow without end
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                one, two, binary = made(left), made(right), _BINARY[type(op)]
                return lambda values: binary(one(values), two(values))
            case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
                inner, unary = made(operand), _UNARY[type(op)]
                return lambda values: unary(inner(values))
            case ast.BoolOp(op=op, values=parts):
                each, both = [made(part) for part in parts], all if isinstance(op, ast.And) else any
                return lambda values: both(part(values) for part in each)
            case ast.Compare(left=left, ops=ops, comparators=rights) if all(type(op) in _COMPARED for op in ops):
                terms, signs = [made(each) for each in (left, *rights)], [_COMPARED[type(op)] for op in ops]
                return lambda values: all(sign(terms[i](values), terms[i + 1](values)) for i, sign in enumerate(signs))
            case ast.IfExp(test=test, body=body, orelse=other):
                asked, then, otherwise = made(test), made(body), made(other)
                return lambda values: then(values) if asked(values) else otherwise(values)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
                numbers, function = [made(arg) for arg in args], FUNCTIONS[name]
                return lambda values: function(*(arg(values) for arg in numbers))
            case ast.Call(func=ast.Name(id=name)) if name not in FUNCTIONS:
                raise InputError(f"expression {self.text!r} has the unknown function {name!r}; expected {', '.join(FUNCTIONS)}")
        raise InputError(
            f"expression {self.text!r} has {shown(ast.unparse(node))}, which is not allowed; expected numbers, comparisons, "
            f"and, or, not, + - * / ** and the names {', '.join(NAMES)}"
        )

    def _thing(self, node: ast.expr, depth: int) -> Thing:
        """What a name or an entry stands for, such as ``obs``, ``obs[0]`` or ``info["wheels"]["left"]``."""
        if depth > DEEPEST:
            raise InputError(f"expression {shown(self.text)} has parts in parts {depth} deep; expected at most {DEEPEST}")
        if isinstance(node, ast.Name):
            name = node.id
            if name not in NAMES:
                raise InputError(
                    f"expression {self.text!r} has the unknown name {name!r}; expected {', '.join(NAMES)} or a function: "
                    f"{', '.join(FUNCTIONS)}"
                )
            return lambda values: values[name]
        assert isinstance(node, ast.Subscript)
        inner = node.value
        if not isinstance(inner, ast.Name | ast.Subscript) or (isinstance(inner, ast.Name) and inner.id in ("reward", "step")):
            raise InputError(
                f"expression {self.text!r}: brackets follow {ast.unparse(inner)!r}; expected obs, next_obs, action or info"
            )
        key, whole = self._key(node.slice), self._thing(inner, depth + 1)
        return lambda values: whole(values)[key]

    def _key(self, node: ast.expr) -> str | int:
        """What stands in brackets."""
        match node:
            case ast.Constant(value=str() | int() as key) if not isinstance(key, bool):
                return key
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as last)):
                return -last
        raise InputError(f"expression {self.text!r}: [{ast.unparse(node)}]; expected a number or a text in brackets")


def _number(value: object, text: str) -> float:
    """A value as a Python number: a truth value is 0 or 1, and integers have as many digits as they need.

    Raises:
        InputError: the value is no single real number, or is NaN.
    """
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "size", 1) == 1:
        value = item()
    if not isinstance(value, Real):
        raise InputError(f"{text} is {shown(value)}; expected one finite number")
    number = int(value) if isinstance(value, Integral) else float(value)
    if number != number:
        raise InputError(f"{text} is nan; expected one finite number")
    return number


def together(texts: list[str]) -> Callable[..., float | list[float]]:
    """One function for several expressions: it gives a number for each."""
    parts = [Expression(text) for text in texts]
    if len(parts) == 1:
        return parts[0]

    def costs(obs: object, action: object, next_obs: object, reward: object, info: object, step: int = 0) -> list[float]:
        return [part(obs, action, next_obs, reward, info, step) for part in parts]

    costs.takes_step = True  # type: ignore[attr-defined]
    return costs
