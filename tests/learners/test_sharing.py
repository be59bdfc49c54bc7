"""Steps that learn together: what is shared, what says so, and which stored runs that concerns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import InputError
from noregret.learners import make
from noregret.runs.streams import streams
from tests.reference.world import play

COUNTS = ("primal-dual-lsvi", "lsvi-ucb", "lsvi-bisection", "opdop", "opt-dual", "opt-primal-dual", "optpess-primal-dual")


def model_of(learner: Any) -> Any:
    return getattr(learner._state, "gram", None) or learner._state.model


@pytest.mark.parametrize("name", COUNTS)
def test_practical_shares_what_is_declared_and_theory_nothing(name: str) -> None:
    spec = nr.problems.load("media-control:H=4,buffer=3").spec
    own = {} if name != "optpess-primal-dual" else {"share": "auto"}  # its form as printed scores better: it asks for it
    for preset, asked, steps in (("practical", own, 1), ("theory", {}, 4), ("practical", {"share": "nothing"}, 4)):
        learner = make(name, spec, episodes=10, preset=preset, slater_gap=1.0, **asked)
        assert len(model_of(learner).visits) == steps
        assert learner.constants["share"] == ("all" if steps == 1 else "nothing") and learner.explain["share"]
    alone = make(name, nr.problems.load("random:H=4").spec, episodes=10)
    assert alone.constants["share"] == "nothing"


def test_counts_of_all_steps_are_those_of_each_step_added_up() -> None:
    problem = nr.problems.load("media-control:H=4,buffer=3")
    one, apart = (make("opdop", problem.spec, episodes=30, share=share) for share in ("all", "nothing"))
    world, own = streams(0, 0)
    for _ in range(30):
        episode = play(problem, one.plan().policy, world.random(5), own.random(4))
        one.observe(*episode)
        apart.plan()
        apart.observe(*episode)
    np.testing.assert_array_equal(model_of(one).visits[0], model_of(apart).visits.sum(axis=0))
    np.testing.assert_allclose(model_of(one).fit[0, ..., 2:], model_of(apart).fit[..., 2:].sum(axis=0))


def test_what_cannot_be_shared_is_said() -> None:
    job, media = (nr.problems.load(name).spec for name in ("job-scheduling", "media-control"))
    assert make("primal-dual-lsvi", job, episodes=10).constants["share"] == "transitions"
    assert make("opdop", job, episodes=10).constants["share"] == "nothing"
    assert make("triple-q", media, episodes=10).constants["share"] == "nothing"
    with pytest.raises(InputError, match=r"unknown share 'all' \(known: auto, nothing\)"):
        make("triple-q", media, episodes=10, share="all")
    with pytest.raises(InputError, match="share is 'transitions'; expected 'nothing' or 'all' with rounding or schedule"):
        make("primal-dual-lsvi", job, episodes=10, schedule="doubling", share="transitions")
    with pytest.raises(InputError, match="bonus is 'variance'; expected with it one-hot features"):
        make("primal-dual-lsvi", nr.problems.load("linear").spec, episodes=10, bonus="variance")
    with pytest.raises(InputError, match="unknown share 'some'"):
        make("primal-dual-lsvi", media, episodes=10, share="some")


def test_a_certificate_by_confidence_shares_nothing() -> None:
    with pytest.raises(InputError, match="dual_estimate is 'pessimistic'; expected with it share 'nothing'"):
        nr.run("media-control", episodes=5, trials=1, preset="safe", safe_policy="safest", share="all", progress=False)
