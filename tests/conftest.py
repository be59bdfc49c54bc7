"""Options and marks shared by all tests."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import settings

# A shell starts what goes to the background with Ctrl-C ignored, and children inherit that; tests send it to themselves.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Numba compiles inside the first example, and other processes share the cores: no deadline, and the same examples each time.
settings.register_profile("noregret", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("noregret")


#: Files that take longest, in this order. They are begun first, so that no worker is left with a long one at the end.
FIRST = (
    "kernels/test_jit.py", "test_examples.py", "learners/test_continuous.py", "testing/test_guests.py", "runs/test_faults.py",
    "sweeps/test_sweeps.py", "contract/test_contract.py", "learners/test_practical.py", "runs/test_survives.py",
    "fuzz/test_fuzz.py", "learners/test_continuous_numbers.py", "site/test_site.py", "testing/test_pages.py",
    "experiments/test_compare.py", "store/test_checkpoints.py", "runs/test_clusters.py", "experiments/test_paper.py",
    "agent/test_agent_auto.py",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    places = {here / name: place for place, name in enumerate(FIRST)}
    items.sort(key=lambda item: places.get(item.path, len(FIRST)))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--regenerate-golden", action="store_true", help="write tests/contract/golden.json anew from this run")
    parser.addoption("--fuzz-cases", type=int, default=2000, help="how many damaged files tests/fuzz makes in all")
    parser.addoption("--site", help="a built site for tests/site to walk through, every page of it")
