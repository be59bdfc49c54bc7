"""What every learner keeps."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noregret import learners
from noregret.kernels.compiler.guests import is_guest
from noregret.kernels.compiler.numba_private import left_over
from noregret.kernels.gram.inverse import REFRESH
from noregret.learners.base import Learner
from noregret.learners.fixed import FixedPolicy
from noregret.problems.base import Spec
from noregret.testing import apart
from noregret.testing.cases import Case, Check, K, expect, plan, problems, refused, run_checks, same, small

#: An episode of a problem with 4 states, 3 actions and 3 steps.
EPISODE: dict[str, ArrayLike] = {
    "states": [0, 1, 2, 3],
    "actions": [0, 1, 0],
    "rewards": [0.1, 0.2, 0.3],
    "utilities": [[0.5] * 3],
}


def check_learner(learner: str | type[Learner], **params: object) -> None:
    """Check that a learner keeps what runs, checkpoints and reports rely on.

    A learner of another package, or of a file of yours, is checked in a process of its own: there an index outside its array is
    an error, and a check that computes for more than a minute has failed.

    Args:
        learner: its name, or its class, which is registered.
        params: parameters to make it with.

    Raises:
        CheckError: the first check that fails, by its name and what was expected.

    Example:
        >>> from noregret.testing import check_learner
        >>> check_learner("uniform")
    """
    if not apart.is_apart():
        run_checks(learner, learner_checks(learner, **params))


def learner_checks(learner: str | type[Learner], **params: object) -> Iterator[Check]:
    """The checks of :func:`check_learner` one by one, each with its name.

    Those of a learner from elsewhere run in a process of their own, where indices are checked and nothing takes for ever.

    Args:
        learner: its name, or its class, which is registered.
        params: parameters to make it with.

    Example:
        >>> from noregret.testing import learner_checks
        >>> dict(learner_checks("uniform"))["unknown parameters are refused"]()
    """
    name = learner if isinstance(learner, str) else learners.register(learner).name
    cls = learners.get(name)
    if not is_guest(cls.__module__) or apart.is_apart():
        yield from checks_here(name, params)
        return
    if apart.place(cls) is None or not apart.can_be_told(params):
        why = "is in no file" if apart.place(cls) is None else "has parameters that are no numbers or texts"
        warnings.warn(
            f"learner {name!r} {why}: it is checked in this process, where a wrong index or a loop without end is not found",
            stacklevel=2,
        )
        yield from checks_here(name, params)
        return
    other = apart.Apart(cls, params)
    for check, _ in checks_here(name, params):
        yield check, partial(other.check, check)


def checks_here(name: str, params: dict[str, object]) -> Iterator[Check]:
    """The checks of a learner, to be run in this process."""
    cases = {case: Case(name, problem, params) for case, problem in problems().items()}
    for case, tried in cases.items():
        if tried.problem.n_constraints == 1 or learners.get(name).several:
            for check in ON_EACH:
                yield f"{_words(check)} ({case})", partial(check, tried)
    for check in ONCE:
        yield _words(check), partial(check, cases["masks, noise"])


def _words(check: Callable[[Case], None]) -> str:
    return check.__name__.replace("_", " ")


# --- on each problem ----------------------------------------------------------------------------------------------


def policies_are_distributions_over_what_is_available(case: Case) -> None:
    """Also: numbers of the state stay finite where they began so, and the dual has an entry for each constraint, at least 0."""
    learner, available = case.make(), case.problem.available
    infinite = {key for key, value in learner.state().items() if np.isinf(value).any()}  # such as a temperature α = ∞
    for k, policy in enumerate(case.play(learner, 0, K)):
        expect(policy.shape == available.shape, f"the policy has shape {policy.shape}; expected {available.shape}")
        expect((policy >= 0.0).all(), f"a probability of episode {k} is {policy.min()}; expected at least 0")
        off = np.abs(policy.sum(axis=2) - 1.0).max()
        expect(off <= 1e-12, f"probabilities of episode {k} miss the sum 1 by {off:.3g}")
        expect((policy[~available] == 0.0).all(), f"an action that is not available has probability in episode {k}")
    for key, value in learner.state().items():
        expect(np.isfinite(value).all() or (key in infinite and not np.isnan(value).any()), f"state[{key!r}] is not finite")
    dual, m = learner.dual, case.problem.n_constraints
    expect(dual.shape == (m,) and (dual >= 0.0).all(), f"dual is {dual}; expected {m} numbers, at least 0")


def a_seed_gives_the_same_bits(case: Case) -> None:
    """Whatever the length of the blocks; another seed gives another run, unless the learner does not learn."""
    whole, other = case.trial(), case.trial(steps=5)
    expect(np.array_equal(whole.curves, other.curves), "the curves of two runs with one seed differ")
    same(whole.learner.state(), other.learner.state(), "two runs with one seed")
    if not isinstance(whole.learner, FixedPolicy):
        state, another = whole.learner.state(), case.trial(seed=4).learner.state()
        expect(any(not np.array_equal(value, another[key]) for key, value in state.items()), "the seed changes nothing")


def stopping_and_restoring_changes_nothing(case: Case) -> None:
    """A learner restored from half way ends as the one that was not stopped."""
    straight, stopped, resumed = case.make(), case.make(), case.make()
    expected = case.play(straight, 0, K)[K // 2 :]
    case.play(stopped, 0, K // 2)
    saved = stopped.state()
    resumed.restore(saved)
    case.play(stopped, K // 2, K)  # what goes on does not move what was saved
    played = case.play(resumed, K // 2, K)
    expect(all(map(np.array_equal, played, expected)), "a restored learner plays other policies than one that was not stopped")
    same(straight.state(), resumed.state(), "restored, and not stopped")


def asking_for_the_plan_changes_nothing(case: Case) -> None:
    """A plan is the caller's own copy, and asking twice gives the same one."""
    asked, unasked = case.make(), case.make()
    case.play(unasked, 0, 6)
    for k in range(6):
        first = plan(asked, k)
        before = first.copy()
        first[:] = np.nan
        expect(np.array_equal(plan(asked, k + K), before), "asked twice, the plan differs")
        case.play(asked, k, k + 1)
    same(unasked.state(), asked.state(), "asked and not asked for its plan")


def what_is_handed_over_is_left_alone(case: Case) -> None:
    """The arrays of an episode come back as they went in, and the learner keeps no view of them."""
    learner, problem = case.make(), case.problem
    policy = plan(learner)
    states = np.zeros(problem.horizon + 1, dtype=np.int64)
    rewards, utilities = np.full(problem.horizon, 0.5), np.full((problem.n_constraints, problem.horizon), 0.5)
    episode = (states, policy[:, 0].argmax(axis=1), rewards, utilities)
    before = [array.copy() for array in episode]
    learner.observe(*episode)
    after = learner.state()
    expect(all(map(np.array_equal, episode, before)), "observe changed the arrays it was given")
    for array in episode:
        array[...] = 0
    same(after, learner.state(), "what was observed was changed by its owner")


def the_loop_frees_what_it_makes(case: Case) -> None:
    """References are not counted in our loop, so an array that a callee made and handed to it would stay for ever."""
    episodes = 2 * REFRESH + 50  # visits enough for every exact inversion
    trial = case.trial(episodes, steps=0)
    trial.advance(1)  # compiles
    kept = left_over(lambda: trial.advance(episodes))
    expect(kept == 0, f"{kept} arrays were made in the loop and not freed")


# --- once ---------------------------------------------------------------------------------------------------------


def it_is_made_from_a_spec_that_knows_no_model(case: Case) -> None:
    """A learner is made without the model. It says its name, its summary, its constants, and where the constants come from."""
    spec = case.problem.spec
    known = {"P", "r", "g", "r_next", "g_next", "noise"} & (set(dir(Spec)) | set(vars(spec)))
    expect(not known, f"the spec tells {sorted(known)}; expected nothing of the model")
    writeable = [key for key, value in vars(spec).items() if isinstance(value, np.ndarray) and value.flags.writeable]
    expect(not writeable, f"{writeable} of the spec can be written to")
    learner = case.make()
    expect(learner.name == case.learner, f"its name is {learner.name!r}; expected {case.learner!r}")
    expect(learner.summary, "summary is empty; expected a line for noregret list learners")
    expect(isinstance(learner.constants, dict), f"constants is {learner.constants!r}; expected a dictionary")
    unknown = set(learner.explain) - set(learner.constants) - {"slater_gap"}
    expect(not unknown, f"explain speaks of {sorted(unknown)}, which are not among the constants")
    policy = learner._state.policy
    expect(policy.flags.c_contiguous and policy.dtype == np.float64, "the policy is not an array of float64 in C order")


def several_constraints_are_taken_or_refused(case: Case) -> None:
    """A learner that is stated for one says so with ``several = False``."""
    two = Case(case.learner, problems()["masks, noise, two constraints"], case.params)
    if learners.get(case.learner).several:
        expect(two.make().dual.shape == (2,), "the dual of a problem with two constraints has not two entries")
    else:
        with refused("a problem with two constraints", f"the problem has 2 constraints; {case.learner} is stated for 1"):
            two.make()


def the_loop_is_compiled_once(case: Case) -> None:
    """One compiled loop serves problems of all sizes: the types of the state's fields must not depend on the sizes."""
    m = 3 if learners.get(case.learner).several else 1
    other = Case(case.learner, small(15, S=5, A=2, m=m, H=4, noise="bernoulli"), case.params)
    block = Case(case.learner, small(14, S=3, b=[1.0]), case.params).trial()._block
    compiled: Any = getattr(block, "kernel", block)
    count = len(compiled.signatures)
    expect(other.trial()._block is block, "problems of two sizes have two loops")
    expect(len(compiled.signatures) == count, "the loop is compiled again for a problem of another size")


def unknown_parameters_are_refused(case: Case) -> None:
    """Unknown parameters and presets are refused; the message names them."""
    with refused("an unknown parameter", "'no_such_knob'"):
        case.make(no_such_knob=1)
    with refused("an unknown preset", "preset"):
        case.make(preset="no such preset")


def a_bad_episode_is_refused_and_forgotten(case: Case) -> None:
    """Shapes, ranges and types are checked before anything is learned."""
    bad: list[tuple[dict[str, Any], str]] = [
        ({"states": [0, 1, 2]}, "states has shape (3,)"),
        ({"states": [0, 1, 9, 3]}, "states[2] is 9; expected 0..3"),
        ({"states": [0.0, 1.0, 2.0, 3.0]}, "expected 4 integers"),
        ({"actions": [0, -1, 2]}, "actions[1] is -1"),
        ({"rewards": [0.1, float("nan"), 0.3]}, "rewards[1] is nan"),
        ({"rewards": [0.1, 1.5, 0.3]}, "rewards[1] is 1.5; expected a value in [0, 1]"),
        ({"utilities": [[0.5] * 3] * 2}, "utilities has shape (2, 3); expected (1, 3)"),
        ({"utilities": [[0.5, 0.5, -1.0]]}, "utilities[0, 2] is -1.0"),
        ({"rewards": ["x", 0.2, 0.3]}, "rewards is not an array of numbers"),
        ({"utilities": [[0.5], [0.1, 0.2]]}, "utilities is not an array of numbers"),
    ]
    single = Case(case.learner, problems()["one constraint"], case.params)
    learner = single.make()
    single.play(learner, 0, 1)
    plan(learner, 1)
    before = learner.state()
    for changes, words in bad:
        with refused(f"an episode with {changes}", words):
            learner.observe(**(EPISODE | changes))
        same(before, learner.state(), f"an episode with {changes} was refused")
    h, s, a = np.argwhere(~case.problem.available)[0]
    actions = np.argmax(case.problem.available[:, s], axis=1)
    actions[h] = a
    masked = case.make()
    plan(masked)
    with refused("an action that is not available", f"actions[{h}] is {a}; it is not available in state {s} at step {h}"):
        masked.observe(np.full(4, s), actions, [0.0] * 3, [[0.0] * 3])


def the_order_of_arrays_in_memory_does_not_matter(case: Case) -> None:
    """A problem with arrays in Fortran order, as .npz files may have them, gives the same curves."""
    names = ("P", "r", "g", "available")
    turned = case.problem.replace(**{name: np.asfortranarray(getattr(case.problem, name)) for name in names})
    curves = Case(case.learner, turned, case.params).trial().curves
    expect(np.array_equal(case.trial().curves, curves), "the curves differ")


def a_state_that_does_not_fit_is_refused_whole(case: Case) -> None:
    """Entries that are missing, too many, of another shape, or with numbers of no state."""
    learner = case.make()
    before = learner.state()
    first = sorted(before)[0]
    wrong = [
        {key: value for key, value in before.items() if key != first},
        before | {"extra": np.zeros(2)},
        before | {first: np.zeros((7, 7))},
    ]
    indices = ("active", "actives", "successor", "successors", "seen", "seen_state")
    named = [key for key in before if key.rpartition(".")[2] in indices and not is_guest(type(learner._state).__module__)]
    wrong += [before | {key: np.full_like(before[key], 1_000_000)} for key in named]
    for state in wrong:
        with refused("a state that does not fit", "state"):
            learner.restore(state)
        same(before, learner.state(), "a state was refused")


ON_EACH: tuple[Callable[[Case], None], ...] = (
    policies_are_distributions_over_what_is_available,
    a_seed_gives_the_same_bits,
    stopping_and_restoring_changes_nothing,
    asking_for_the_plan_changes_nothing,
    what_is_handed_over_is_left_alone,
    the_loop_frees_what_it_makes,
)
ONCE: tuple[Callable[[Case], None], ...] = (
    it_is_made_from_a_spec_that_knows_no_model,
    several_constraints_are_taken_or_refused,
    the_loop_is_compiled_once,
    unknown_parameters_are_refused,
    a_bad_episode_is_refused_and_forgotten,
    the_order_of_arrays_in_memory_does_not_matter,
    a_state_that_does_not_fit_is_refused_whole,
)
