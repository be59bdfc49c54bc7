"""Costs written as text, such as ``action != 1`` or ``abs(next_obs[0]) > 0.5``: parsed, checked, and never evaluated as Python.

Known are the names in :data:`NAMES`, numbers, ``+ - * / // % **``, comparisons, ``and``, ``or``, ``not``, ``x if y else z``,
and the functions in :data:`FUNCTIONS`. Entries are taken by a number or a text in brackets: ``obs[0]``, ``info["fuel"]``.
Truth values count as 0 and 1.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from noregret.errors import InputError, one_line, shown

#: What a name stands for: all as the environment has it; ``step`` counts from 0.
NAMES = ("action", "obs", "next_obs", "reward", "step", "info")
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs, "min": min, "max": max, "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos,
}  # fmt: skip
#: Letters of an expression, and how deep its parts may lie in each other.
LONGEST, DEEPEST = 1000, 50

_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
_COMPARED: dict[type, Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}  # fmt: skip
_UNARY: dict[type, Callable[[Any], Any]] = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_}

Values = Mapping[str, Any]
Part = Callable[[Values], Any]


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

    def __call__(self, obs: Any, action: Any, next_obs: Any, reward: Any, info: Any, step: int = 0) -> float:
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
            with np.errstate(all="ignore"):
                found = np.asarray(self._part(values), dtype=np.float64)
        except Exception as error:
            raise InputError(f"step {step}: expression {self.text!r} cannot be computed: {one_line(error)}") from None
        if found.size != 1 or not np.isfinite(found).all():
            raise InputError(f"step {step}: expression {self.text!r} is {shown(found.tolist())}; expected one finite number")
        return float(found.item())

    def __repr__(self) -> str:
        """The text."""
        return f"Expression({self.text!r})"

    def _made(self, node: ast.AST, depth: int) -> Part:
        """A function that computes a part of the expression; whatever is not known is refused."""
        if depth > DEEPEST:
            raise InputError(f"expression {shown(self.text)} has parts in parts {depth} deep; expected at most {DEEPEST}")

        def made(each: ast.AST) -> Part:
            return self._made(each, depth + 1)

        match node:
            case ast.Constant(value=bool() | int() | float() as number):
                return lambda values: number
            case ast.Name(id=name):
                if name not in NAMES:
                    raise InputError(
                        f"expression {self.text!r} has the unknown name {name!r}; expected {', '.join(NAMES)} or a function: "
                        f"{', '.join(FUNCTIONS)}"
                    )
                return lambda values: values[name]
            case ast.Subscript():
                return self._entry(node, depth)
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
                given, function = [made(arg) for arg in args], FUNCTIONS[name]
                return lambda values: function(*(arg(values) for arg in given))
            case ast.Call(func=ast.Name(id=name)) if name not in FUNCTIONS:
                raise InputError(f"expression {self.text!r} has the unknown function {name!r}; expected {', '.join(FUNCTIONS)}")
        part = ast.unparse(node)
        raise InputError(
            f"expression {self.text!r} has {shown(part)}, which is not allowed; expected numbers, comparisons, and, or, not, "
            f"+ - * / ** and the names {', '.join(NAMES)}"
        )

    def _entry(self, node: ast.Subscript, depth: int) -> Part:
        """``obs[0]``, ``info["fuel"]``, or an entry of these."""
        inner = node.value
        if not (isinstance(inner, ast.Subscript) or (isinstance(inner, ast.Name) and inner.id in NAMES[:3] + NAMES[5:])):
            raise InputError(
                f"expression {self.text!r}: brackets follow {ast.unparse(inner)!r}; expected obs, next_obs, action or info"
            )
        match node.slice:
            case ast.Constant(value=str() | int() as key) if not isinstance(key, bool):
                pass
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as last)):
                key = -last
            case _:
                raise InputError(
                    f"expression {self.text!r}: [{ast.unparse(node.slice)}]; expected a number or a text in brackets"
                )
        whole = self._made(inner, depth + 1)
        return lambda values: whole(values)[key]


def together(texts: list[str]) -> Callable[..., Any]:
    """One function for several expressions: it gives a number for each."""
    parts = [Expression(text) for text in texts]
    if len(parts) == 1:
        return parts[0]

    def costs(obs: Any, action: Any, next_obs: Any, reward: Any, info: Any, step: int = 0) -> list[float]:
        return [part(obs, action, next_obs, reward, info, step) for part in parts]

    costs.takes_step = True  # type: ignore[attr-defined]
    return costs
