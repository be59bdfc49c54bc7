"""What every learner keeps, by name: a new one is tested here as soon as it is registered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

from noregret import learners
from noregret.errors import InputError
from noregret.kernels.inverse import REFRESH
from noregret.learners.base import Learner
from noregret.problems.base import Spec, TabularCMDP
from noregret.runs.loop import block
from tests.reference import world as slow_world
from tests.support import small, told, trial

K = 24

PROBLEMS: dict[str, TabularCMDP] = {
    "one constraint": small(11, b=[1.2]),
    "masks, noise": small(12, masked=True, noise="bernoulli"),
    "masks, noise, two constraints": small(12, m=2, masked=True, noise="bernoulli"),
    "features, by next state": small(13, d=3, A=2, by_next=True, b=[1.2]),
}

#: Learners that are stated for one constraint and say so; :func:`test_several_constraints_are_taken_or_refused` checks that.
ONE_CONSTRAINT = {name for name in learners.names() if not learners.get(name).several}

pairs = pytest.mark.parametrize(
    ("name", "case"),
    [
        (name, case)
        for name in learners.names()
        for case, problem in PROBLEMS.items()
        if problem.n_constraints == 1 or name not in ONE_CONSTRAINT
    ],
)
every = pytest.mark.parametrize("name", learners.names())


def make(name: str, problem: TabularCMDP, **params: Any) -> Learner:
    return learners.make(name, problem.spec, episodes=K, slater_gap=0.5, **told(name, problem), **params)


def play(learner: Learner, problem: TabularCMDP, first: int, last: int) -> list[np.ndarray]:
    """Episodes first..last−1 of one fixed sequence of uniforms; the policies played."""
    policies = []
    for k in range(first, last):
        rng = np.random.default_rng(k)
        policy = learner.plan().policy
        policies.append(policy)
        u, v = rng.random(slow_world.width(problem)), rng.random(problem.horizon)
        learner.observe(*slow_world.play(problem, policy, u, v))
    return policies


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    assert one.keys() == other.keys()
    for key, value in one.items():
        np.testing.assert_array_equal(value, other[key], err_msg=key)


@pairs
def test_policies_are_distributions_over_what_is_available(name: str, case: str) -> None:
    problem = PROBLEMS[case]
    learner = make(name, problem)
    for policy in play(learner, problem, 0, K):
        assert policy.shape == problem.available.shape
        assert (policy >= 0.0).all()
        np.testing.assert_allclose(policy.sum(axis=2), 1.0, rtol=1e-12)
        assert (policy[~problem.available] == 0.0).all()
    for key, value in learner.state().items():
        assert np.isfinite(value).all(), key
    assert learner.dual.shape == (problem.n_constraints,)
    assert (learner.dual >= 0.0).all()


@pairs
def test_the_same_seed_gives_the_same_bits(name: str, case: str) -> None:
    problem = PROBLEMS[case]
    runs = [trial(problem, name, episodes=K, seed=3, slater_gap=0.5) for _ in range(2)]
    for one in runs:
        one.advance(K)
    np.testing.assert_array_equal(runs[0].curves, runs[1].curves)
    same(runs[0].learner.state(), runs[1].learner.state())
    if name != "uniform":
        other = trial(problem, name, episodes=K, seed=4, slater_gap=0.5)
        other.advance(K)
        assert any(not np.array_equal(value, other.learner.state()[key]) for key, value in runs[0].learner.state().items())


@pairs
def test_stop_and_restore_is_the_same_as_not_stopping(name: str, case: str) -> None:
    problem = PROBLEMS[case]
    straight, stopped = make(name, problem), make(name, problem)
    expected = play(straight, problem, 0, K)
    play(stopped, problem, 0, K // 2)
    saved = stopped.state()
    resumed = make(name, problem)
    resumed.restore(saved)
    play(stopped, problem, K // 2, K)  # what goes on does not move what was saved
    assert all(np.array_equal(a, b) for a, b in zip(play(resumed, problem, K // 2, K), expected[K // 2 :], strict=True))
    same(straight.state(), resumed.state())


@pairs
def test_asking_for_the_plan_changes_nothing(name: str, case: str) -> None:
    problem = PROBLEMS[case]
    asked, unasked = make(name, problem), make(name, problem)
    play(unasked, problem, 0, 6)
    for k in range(6):
        first = asked.plan()
        first.policy[:] = np.nan  # a plan is the caller's own copy
        assert np.isfinite(asked.plan().policy).all()
        play(asked, problem, k, k + 1)
    same(unasked.state(), asked.state())


@pairs
def test_inputs_are_left_alone(name: str, case: str) -> None:
    """The spec's arrays are read-only, so writing there would raise; those of an episode come back as they went in."""
    problem = PROBLEMS[case]
    spec = problem.spec
    assert not any(value.flags.writeable for value in vars(spec).values() if isinstance(value, np.ndarray))
    learner = make(name, problem)
    x, a, r, g = slow_world.play(
        problem, learner.plan().policy, np.full(slow_world.width(problem), 0.4), np.full(problem.horizon, 0.6)
    )
    before = [np.copy(array) for array in (x, a, r, g)]
    learner.observe(x, a, r, g)
    after = learner.state()
    for array, copy in zip((x, a, r, g), before, strict=True):
        np.testing.assert_array_equal(array, copy)
        array[...] = 0
    same(after, learner.state())


@every
def test_a_learner_is_made_from_a_spec_that_knows_no_model(name: str) -> None:
    spec = PROBLEMS["one constraint"].spec
    assert not {"P", "r", "g", "r_next", "g_next", "noise"} & set(dir(Spec)) | set(vars(spec)) & {"P", "r", "g"}
    learner = learners.make(name, spec, episodes=K, slater_gap=0.5, **told(name, PROBLEMS["one constraint"]))
    assert learner.name == name
    assert learner.summary
    assert isinstance(learner.constants, dict)
    assert set(learner.explain) <= set(learner.constants) | {"slater_gap"}


@every
def test_several_constraints_are_taken_or_refused(name: str) -> None:
    problem = PROBLEMS["masks, noise, two constraints"]
    if name in ONE_CONSTRAINT:
        with pytest.raises(InputError, match=f"the problem has 2 constraints; {name} is stated for 1"):
            make(name, problem)
    else:
        assert make(name, problem).dual.shape == (2,)


@every
def test_the_loop_is_compiled_once(name: str) -> None:
    m = 1 if name in ONE_CONSTRAINT else 3
    problem, other = small(14, S=3, b=[1.0]), small(15, S=5, A=2, m=m, H=4, noise="bernoulli")
    one = trial(problem, name, episodes=K, slater_gap=0.5)
    one.advance(K)
    compiled = one._block
    count = len(compiled.signatures)  # type: ignore[attr-defined]
    for again in (trial(problem, name, episodes=K, slater_gap=0.5), trial(other, name, episodes=K, slater_gap=0.5)):
        again.advance(K)
        assert again._block is compiled is block
    assert len(compiled.signatures) == count  # type: ignore[attr-defined]


@pairs
def test_the_loop_frees_what_it_makes(name: str, case: str) -> None:
    """References are not counted in the loop, so an array that a callee made and handed to it would stay for ever."""
    n = 2 * REFRESH + 50  # visits enough for every exact inversion
    one = trial(PROBLEMS[case], name, episodes=n, slater_gap=0.5)
    one.advance(1)  # compiles
    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        one.advance(n)
        after = rtsys.get_allocation_stats()
    finally:
        _nrt_python.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free


@every
def test_unknown_parameters_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="'no_such_knob'"):
        make(name, small(), no_such_knob=1)
    with pytest.raises(InputError, match="preset"):
        make(name, small(), preset="no such preset")


def test_unknown_learners_are_refused_with_a_suggestion() -> None:
    with pytest.raises(InputError, match="did you mean 'primal-dual-lsvi'"):
        learners.make("primal-dual-lsvl", small().spec, episodes=K)


GOOD: dict[str, Any] = {"states": [0, 1, 2, 3], "actions": [0, 1, 2], "rewards": [0.1, 0.2, 0.3], "utilities": [[0.5] * 3]}


@every
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"states": [0, 1, 2]}, r"states has shape \(3,\)"),
        ({"states": [0, 1, 9, 3]}, r"states\[2\] is 9; expected 0..3"),
        ({"states": [0.0, 1.0, 2.0, 3.0]}, "expected 4 integers"),
        ({"actions": [0, -1, 2]}, r"actions\[1\] is -1"),
        ({"rewards": [0.1, float("nan"), 0.3]}, r"rewards\[1\] is nan"),
        ({"rewards": [0.1, 1.5, 0.3]}, r"rewards\[1\] is 1.5; expected a value in \[0, 1\]"),
        ({"utilities": [[0.5] * 3] * 2}, r"utilities has shape \(2, 3\); expected \(1, 3\)"),
        ({"utilities": [[0.5, 0.5, -1.0]]}, r"utilities\[0, 2\] is -1.0"),
        ({"rewards": ["x", 0.2, 0.3]}, "rewards is not an array of numbers"),
        ({"utilities": [[0.5], [0.1, 0.2]]}, "utilities is not an array of numbers"),
    ],
)
def test_a_bad_episode_is_refused_and_forgotten(name: str, changes: dict[str, Any], message: str) -> None:
    learner = make(name, PROBLEMS["one constraint"])
    learner.observe(**GOOD)
    learner.plan()
    before = learner.state()
    with pytest.raises(InputError, match=message):
        learner.observe(**(GOOD | changes))
    same(before, learner.state())


@every
def test_an_unavailable_action_is_refused(name: str) -> None:
    problem = PROBLEMS["masks, noise"]
    h, s, a = np.argwhere(~problem.available)[0]
    states, actions = np.full(4, s), np.argmax(problem.available[:, s], axis=1)
    actions[h] = a
    with pytest.raises(InputError, match=rf"actions\[{h}\] is {a}; it is not available in state {s} at step {h}"):
        make(name, problem).observe(states, actions, [0.0] * 3, [[0.0] * 3])


@every
def test_the_order_of_arrays_in_memory_does_not_matter(name: str) -> None:
    """Fortran order, as .npz files may have it; also of tables that are derived from the mask."""
    problem = PROBLEMS["masks, noise"]
    arrays = (problem.P, problem.r, problem.g)
    turned = problem.replace(**{key: np.asfortranarray(value) for key, value in zip("Prg", arrays, strict=True)})
    turned = turned.replace(available=np.asfortranarray(problem.available))
    one, other = (trial(p, name, episodes=K, seed=3, slater_gap=0.5) for p in (problem, turned))
    one.advance(K)
    other.advance(K)
    np.testing.assert_array_equal(one.curves, other.curves)


@every
def test_a_state_with_numbers_of_no_state_is_refused(name: str) -> None:
    learner = make(name, PROBLEMS["one constraint"])
    before = learner.state()
    for key in before:
        if key.rpartition(".")[2] in ("active", "actives", "successor", "successors", "seen", "seen_state"):
            with pytest.raises(InputError, match=r"expected whole numbers from 0 to"):
                learner.restore(before | {key: np.full_like(before[key], 1_000_000)})
    same(before, learner.state())


@every
def test_a_state_that_does_not_fit_is_refused_whole(name: str) -> None:
    learner = make(name, PROBLEMS["one constraint"])
    before = learner.state()
    first = sorted(before)[0]
    for wrong in (
        {key: value for key, value in before.items() if key != first},
        before | {"extra": np.zeros(2)},
        before | {first: np.zeros((7, 7))},
    ):
        with pytest.raises(InputError, match="state"):
            learner.restore(wrong)
        same(before, learner.state())
