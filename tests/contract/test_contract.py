"""What every learner and every problem keeps, by name: a new one is tested here as soon as it is registered."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from noregret import learners, problems
from noregret.errors import InputError
from noregret.problems.registry import is_built_in
from noregret.runs.loop import block
from noregret.testing import learner_checks, problem_checks
from noregret.testing.cases import small
from tests.support import OURS, trial

CHECKS = [
    pytest.param(check, id=f"{name}: {what}")
    for each, names in ((learner_checks, OURS), (problem_checks, filter(is_built_in, problems.names())))
    for name in names
    for what, check in each(name)
]


@pytest.mark.parametrize("check", CHECKS)
def test_contract(check: Callable[[], None]) -> None:
    check()


@pytest.mark.parametrize("name", OURS)
def test_our_learners_share_one_loop(name: str) -> None:
    assert trial(small(14, S=3, b=[1.0]), name, episodes=4, slater_gap=0.5)._block is block


def test_unknown_learners_are_refused_with_a_suggestion() -> None:
    with pytest.raises(InputError, match="did you mean 'primal-dual-lsvi'"):
        learners.make("primal-dual-lsvl", small().spec, episodes=4)
