"""Options and marks shared by all tests."""

from __future__ import annotations

import pytest
from hypothesis import settings

# Numba compiles inside the first example, and other processes share the cores: no deadline, and the same examples each time.
settings.register_profile("noregret", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("noregret")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--regenerate-golden", action="store_true", help="write tests/contract/golden.json anew from this run")
    parser.addoption("--fuzz-cases", type=int, default=2000, help="how many damaged files tests/fuzz makes in all")
