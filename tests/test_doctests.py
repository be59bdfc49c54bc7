"""The examples in docstrings run, and say what they say."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import pytest

import noregret

MODULES = ["noregret", *(found.name for found in pkgutil.walk_packages(noregret.__path__, "noregret."))]


@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith("__main__")])
def test_examples_in_docstrings(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0
