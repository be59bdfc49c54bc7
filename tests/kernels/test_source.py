"""The hash of what code does: blind to words, awake to every edit that a compiled function could run."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

import noregret
from noregret.kernels.compiler.source import code_hash
from tests.kernels.test_jit import SCRIPT, python

#: Two files as if they were part of the package: one whose functions are compiled, and one that it calls.
CALLER = '''
"""Words."""

import sys
from functools import cache
from typing import NamedTuple
import numpy as np
from noregret.kernels.compiler.jit import add_body, by_type, jit, overload
from noregret import invented_callee
from noregret.invented_callee import again

TABLE, LIMIT, PAIR = np.array([1.0, 2.0]), 3, (1, 2.0)


class State(NamedTuple):
    """More words."""
    left: object
    right: object


@by_type
def body(state):
    """Chosen by the state."""


def of_state(state):
    """Words of a body."""
    return state.left + again(LIMIT)


add_body(body, State, of_state)


def chosen(x):
    return x


@overload(chosen)
def _(x):
    return lambda x: x + 1


def outer(step):
    def inner(x):
        return x + step
    return inner


added = outer(1)


def kernel(state, x: int = 4) -> int:
    """Words of the function."""
    def local(y):
        """Words within."""
        return y * 2
    if x in {5, 6}:
        return TABLE[0] + PAIR[1]
    return body(state) + chosen(x) + added(x) + local(invented_callee.deep(x)) + np.sqrt(x)


class Learner:
    """Words of a class."""

    def method(self):
        return kernel(State(1, 2))

    @property
    def number(self):
        return 7
'''
CALLEE = """
from noregret.kernels.compiler.jit import jit

FAR = 10


@jit
def deep(x):
    return x + FAR


def again(x):
    return again(x - 1) if x > 0 else 0


def unused(x):
    return 1
"""

Hashed = Callable[..., str]


@pytest.fixture
def hashed() -> Iterator[Hashed]:
    """The hash of the kernel, or of another name, with pieces of the two files replaced."""
    names = ["noregret.invented_callee", "noregret.invented_caller"]

    def of(*edits: tuple[str, str], root: str = "kernel") -> str:
        texts = [CALLEE, CALLER]
        for old, new in edits:
            assert sum(text.count(old) for text in texts) == 1, old
            texts = [text.replace(old, new) for text in texts]
        for name, text in zip(names, texts, strict=True):
            module = sys.modules[name] = ModuleType(name)
            setattr(noregret, name.partition(".")[2], module)
            exec(compile(text, f"{name}.py", "exec"), vars(module))
        return code_hash([vars(sys.modules[names[1]])[root], vars(sys.modules[names[1]])["State"]])

    yield of
    for name in names:
        sys.modules.pop(name, None)
        vars(noregret).pop(name.partition(".")[2], None)


@pytest.mark.parametrize(
    "edit",
    [
        ("Words of the function.", "Other words."),
        ("Words within.", "Other words."),
        ("Words of a body.", "Other words."),
        ("FAR = 10", "# a remark\n\n\nFAR = 10"),
        ("x: int = 4) -> int", "x: object = 4) -> object"),
        ("left: object", "left: int"),
        ("def unused(x):\n    return 1", "def unused(x):\n    return 2"),
        ("return 7", "return 8"),
    ],
)
def test_words_types_and_lines_do_not_count(hashed: Hashed, edit: tuple[str, str]) -> None:
    assert hashed(edit) == hashed()


@pytest.mark.parametrize(
    "edit",
    [
        ("y * 2", "y * 3"),  # a function within
        ("{5, 6}", "{5, 7}"),
        ("= 4)", "= 5)"),  # what an argument is when not given
        ("[1.0, 2.0]", "[1.0, 2.5]"),  # an array
        ("LIMIT, PAIR = np.array([1.0, 2.0]), 3", "LIMIT, PAIR = np.array([1.0, 2.0]), 3.0"),
        ("(1, 2.0)", "(1, 3.0)"),
        ("state.left + again", "state.right + again"),  # a body that the type of the state chooses
        ("left: object\n    right: object", "right: object\n    left: object"),  # where a field is
        ("lambda x: x + 1", "lambda x: x + 2"),  # what is compiled in a function's place
        ("outer(1)", "outer(2)"),  # a variable of an enclosing function
        ("FAR = 10", "FAR = 11"),  # a constant of a callee in another file
        ("return x + FAR", "return FAR + x"),
        ("x > 0", "x > 1"),  # a callee of a callee that calls itself
        ("@jit\ndef deep", "def deep"),  # how a callee is compiled
        ("np.sqrt", "np.cbrt"),
        ("added = outer(1)", "added = again"),
    ],
)
def test_every_edit_of_what_is_run_counts(hashed: Hashed, edit: tuple[str, str]) -> None:
    assert hashed(edit) != hashed()


def test_of_a_class_its_methods_count(hashed: Hashed) -> None:
    before = hashed(root="Learner")
    assert hashed(("Words of a class.", "Other words."), root="Learner") == before
    for edit in [("return 7", "return 8"), ("State(1, 2)", "State(2, 1)"), ("FAR = 10", "FAR = 11")]:
        assert hashed(edit, root="Learner") != before


def test_code_outside_counts_by_its_name(hashed: Hashed) -> None:
    within = ("noregret.invented_caller",)

    def narrow(*edits: tuple[str, str]) -> str:
        hashed(*edits)
        return code_hash([sys.modules["noregret.invented_caller"].kernel], within)  # type: ignore[attr-defined]

    assert narrow(("FAR = 10", "FAR = 11")) == narrow()
    assert narrow(("y * 2", "y * 3")) != narrow()


def test_compiled_code_is_found_after_an_edit_of_words_and_made_again_after_another(tmp_path: Path) -> None:
    package = tmp_path / "noregret"
    shutil.copytree(Path(noregret.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    play = package / "kernels" / "worlds" / "world.py"

    def compiled() -> int:
        return int(python(SCRIPT, PYTHONPATH=str(tmp_path), NOREGRET_CACHE_DIR=str(tmp_path / "cache"))[1])

    def edit(old: str, new: str) -> None:
        text = play.read_text()
        assert old in text
        play.write_text(text.replace(old, new, 1))

    assert compiled() > 0
    edit('"""', '"""Other words. ')
    assert compiled() == 0
    edit("\nNEGLIGIBLE = ", "\nNEGLIGIBLE = 2 * ")
    assert compiled() > 0, "the loop is in another file than what was edited"
