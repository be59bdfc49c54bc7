"""What all learners share: one constructor, one registry for both kinds of states, states that say what they may hold."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

import numpy as np
import pytest

import noregret as nr
from noregret import learners
from noregret.errors import InputError, NoRegretError
from noregret.features import OneHot
from noregret.kernels.compiler.dispatch import register_kernels
from noregret.learners.arrays import check_numbers, flatten
from noregret.learners.base import Learner
from noregret.learners.fixed import FixedPolicy
from noregret.learners.presets import Constants, Number
from noregret.learners.registry import get_for
from noregret.problems.continuous import ContinuousSpec
from tests.support import OURS

CONTINUOUS = ContinuousSpec(3, [1.0], OneHot(2, 2))


@pytest.mark.parametrize("name", OURS)
def test_the_constructor_is_written_once(name: str) -> None:
    for cls in (learners.get(name), learners.get(name).vectors):
        if cls is not None and cls.__module__.startswith("noregret."):
            assert cls.__init__ is Learner.__init__


@pytest.mark.parametrize("name", OURS)
def test_no_function_of_a_learner_has_more_than_six_arguments(name: str) -> None:
    module: Any = inspect.getmodule(learners.get(name))
    for function in vars(module).values():
        python = getattr(function, "py_func", function)
        if inspect.isfunction(python) and python.__module__ == module.__name__:
            assert len(inspect.signature(python).parameters) <= 6, python


def test_one_name_serves_both_kinds_of_states() -> None:
    finite = nr.problems.load("random").spec
    assert get_for("primal-dual-lsvi", finite) is learners.get("primal-dual-lsvi")
    dense = get_for("primal-dual-lsvi", CONTINUOUS)
    assert issubclass(dense, learners.ContinuousLearner)
    assert dense.name == "primal-dual-lsvi"
    with pytest.raises(NoRegretError, match=r"learner of continuous states 'opdop'.*lsvi-ucb, primal-dual-lsvi"):
        learners.make("opdop", CONTINUOUS, episodes=3)


def test_a_learner_of_vectors_alone_is_registered_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    from noregret.learners import registry

    class Nothing(NamedTuple):
        Y: Any

    register_kernels(Nothing, lambda state: None, lambda state, states, actions, observed: None)

    class Lonely(learners.ContinuousLearner):
        name = "lonely"
        table = Constants(Number("beta", every=(1, "chosen")))

        def begin(self, c: Any) -> Any:
            return Nothing(np.zeros(1))

    monkeypatch.setitem(registry._learners, "lonely", Lonely)
    with pytest.raises(InputError, match=r"'lonely' cannot be made: .*abstract.*current, kept, memory_bound, observe_rows"):
        learners.make("lonely", CONTINUOUS, episodes=3)
    monkeypatch.setattr(Lonely, "__abstractmethods__", frozenset())
    monkeypatch.setitem(registry._learners, "lonely", Lonely)
    assert type(learners.make("lonely", CONTINUOUS, episodes=3)) is Lonely
    with pytest.raises(NoRegretError, match="learner of finite states 'lonely'"):
        learners.make("lonely", nr.problems.load("random").spec, episodes=3)


def test_a_fixed_policy_has_the_name_it_is_given() -> None:
    p = nr.problems.load("random")
    policy = p.available / p.available.sum(axis=2, keepdims=True)
    fixed = FixedPolicy(p.spec, episodes=5, policy=policy, called="habit")
    assert (fixed.name, FixedPolicy.name) == ("habit", "fixed")
    assert FixedPolicy(p.spec, episodes=5, policy=policy).name == "fixed"
    np.testing.assert_array_equal(fixed.plan().policy, policy)
    with pytest.raises(NoRegretError, match="polcy"):
        FixedPolicy(p.spec, episodes=5, polcy=policy)


def test_a_state_with_nan_is_refused() -> None:
    learner = learners.make("primal-dual-lsvi", nr.problems.load("random").spec, episodes=5)
    before = learner.state()
    with pytest.raises(InputError, match=r"state\['gram.fit'\] has nan"):
        learner.restore(before | {"gram.fit": before["gram.fit"] * np.nan})


def test_an_array_in_two_places_is_kept_once() -> None:
    learner = learners.make("primal-dual-lsvi", nr.problems.load("random").spec, episodes=5)
    entries = flatten(learner._state)
    assert {"Y", "policy", "tables.Q", "gram.visits"} <= entries.keys()
    assert not {"dual.Y", "tables.policy"} & entries.keys()
    check_numbers(learner._state, entries, entries)


def test_a_state_that_has_a_Q_but_no_V_still_plans() -> None:
    class Tables(NamedTuple):
        policy: Any
        Y: Any
        Q: Any  # not the estimates (H,J,S,A) that a Plan shows

    class Own(Learner):
        name = "own"
        table = Constants()

        def begin(self, c: Any) -> Tables:
            return Tables(np.full(self.spec.available.shape, 1.0 / self.spec.n_actions), np.zeros(1), np.zeros(3))

    learner = Own(nr.problems.load("random").spec, episodes=3)
    learner._planned = True  # nothing to compile
    plan = learner.plan()
    assert plan.Q_r is None and plan.V_r is None
    assert (plan.policy > 0.0).all()


@pytest.mark.parametrize("letter", ["K", "H", "S", "A", "d", "m"])
def test_a_size_is_no_parameter(letter):
    with pytest.raises(InputError, match=f"unknown parameter of primal-dual-lsvi '{letter}'"):
        learners.make("primal-dual-lsvi", nr.problems.load("random:S=3,A=2,H=3").spec, episodes=4, **{letter: 1.0})


def test_a_slater_gap_beyond_the_horizon_is_refused():
    with pytest.raises(InputError, match=r"slater_gap is 100; expected a positive number, at most the horizon 3, or None"):
        learners.make("primal-dual-lsvi", nr.problems.load("random:S=3,A=2,H=3").spec, episodes=4, slater_gap=100)
