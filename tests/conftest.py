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


#: Files that take longest, in this order. They are begun first, so that no worker is left with a long one at the end. The
#: contract compiles every learner, one after the other; what else is begun meanwhile compiles other things, or finds those.
FIRST = (
    "contract/test_contract.py", "kernels/test_jit.py", "learners/test_continuous.py", "test_examples.py", "site/test_site.py",
    "runs/test_commands_killed.py", "runs/test_survives.py", "testing/test_guests.py", "cli/test_learn.py",
    "runs/test_clusters.py", "fuzz/test_fuzz.py", "golden/test_golden.py", "live/test_postgres.py", "live/test_crash.py",
    "report/test_leaderboard.py", "site/test_reference.py",
    "sweeps/test_sweeps.py", "learners/test_practical.py", "learners/test_least_squares_learners.py", "runs/test_faults.py",
    "testing/test_pages.py", "results/test_played.py", "learners/test_continuous_numbers.py", "experiments/test_compare.py",
    "store/test_checkpoints.py", "agent/test_agent.py", "report/test_report_page.py", "agent/test_agent_auto.py",
    "learners/test_cells.py", "learners/test_safe.py", "experiments/test_paper.py", "cli/test_cli.py",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    places = {here / name: place for place, name in enumerate(FIRST)}
    items.sort(key=lambda item: places.get(item.path, len(FIRST)))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fuzz-cases", type=int, default=2000, help="how many damaged files tests/fuzz makes in all")
    parser.addoption("--kills", type=int, default=4, help="how often each test in tests/live kills what it tests")
    parser.addoption("--requests", type=int, default=400, help="how many spoiled requests tests/live sends")
    parser.addoption("--site", help="a built site for tests/site to walk through, every page of it")
