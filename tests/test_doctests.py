"""Every example in a docstring of the package gives what it says."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import noregret

ROOT = Path(noregret.__file__).parents[1]
PATHS = [path.relative_to(ROOT).with_suffix("") for path in (ROOT / "noregret").rglob("*.py")]
MODULES = sorted(".".join(path.parts).removesuffix(".__init__") for path in PATHS)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0


@pytest.mark.parametrize("name", ["Agent", "Constraint", "TabularCMDP", "evaluate", "solve", "problems.load", "problems.names"])
def test_there_is_an_example_of(name: str) -> None:
    thing = noregret
    for part in name.split("."):
        thing = getattr(thing, part)
    assert ">>> " in str(thing.__doc__)
