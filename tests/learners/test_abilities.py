"""What each learner takes: listed as it is, and refusals name those that would do."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from noregret import learners
from noregret.cli import app
from noregret.errors import InputError
from noregret.learners.registry import abilities, fitting
from noregret.testing.cases import Case, small
from tests.support import OURS


@pytest.mark.parametrize("name", OURS)
def test_what_is_listed_is_true(name: str) -> None:
    """A learner that is said to take several constraints, or features, does; another one refuses them."""
    able = abilities(name)
    given = {"several constraints": (small(m=2), {}), "features": (small(), {"features": np.full((4, 3, 2), 0.5)})}
    for words, (problem, options) in given.items():
        if name == "uniform" or (learners.get(name).stepwise and words == "features"):
            continue
        if words in able:
            Case(name, problem).make(**options)
        else:
            with pytest.raises(InputError, match=r"constraints; .* is stated for 1|features are given"):
                Case(name, problem).make(**options)
    assert ("vectors" in able) == (learners.get(name).vectors is not None)


def test_a_refusal_names_learners_that_would_do() -> None:
    with pytest.raises(
        InputError, match=r"opdop is stated for 1.*; expected one that takes several, such as primal-dual-lsvi, "
    ):
        learners.make("opdop", small(m=2).spec, episodes=4)
    with pytest.raises(InputError, match=r"expected one that takes features, such as lsvi-bisection, primal-dual-lsvi, "):
        learners.make("opdop", small().spec, episodes=4, features=np.full((4, 3, 2), 0.5))
    assert "crpo" not in fitting("several constraints") and "opdop" not in fitting("features")


def test_the_list_says_what_each_takes() -> None:
    said = " ".join(CliRunner().invoke(app, ["list", "learners"]).output.split())
    assert "takes" in said and "needs a simulator" in said and "vectors" in said
    assert abilities("primal-dual-lsvi") == ["several constraints", "features", "vectors"]
