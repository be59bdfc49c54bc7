"""The options of ``primal-dual-lsvi`` beyond the printed algorithm, and what the practical preset reaches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.learners import make
from noregret.learners.lsvi.table import TABLE
from noregret.runs.streams import streams
from tests.reference.practical import ReferencePractical
from tests.reference.world import play, width
from tests.support import chosen

OPTIONS = {
    "bonus by span": {"bonus": "span", "span_floor": 0.2, "utility_bonus": 0.5, "lam": 1e-4},
    "fading bonus": {"bonus": "span", "span_floor": 0.2, "lam": 1e-3, "late_bonus": 0.1, "noise_bonus": 0.3},
    "plain dual": {"dual_estimate": "plain", "dual_prior": 0.5},
    "damped": {"damping": True, "eta": 3.0},
    "pessimistic dual": {
        "bonus": "span", "span_floor": 0.2, "utility_bonus": 0.5, "lam": 1e-4, "dual_estimate": "pessimistic", "pessimism": 0.5,
    },
    "observed dual": {"dual_estimate": "observed"},
    "corrected dual": {"dual_estimate": "corrected", "dual_prior": 0.5, "damping": True, "eta": 3.0},
    "no wind-up": {"anti_windup": True, "zeta": 0.0},
    "one regression": {"share": "all", "bonus": "span", "span_floor": 0.2, "utility_bonus": 0.5, "lam": 1e-4},
    "timetable": {"share": "transitions", "dual_estimate": "plain", "dual_prior": 0.5},
    "timetable, by span": {"share": "transitions", "bonus": "span", "span_floor": 0.2, "utility_bonus": 0.5, "lam": 1e-4},
    "noise": {"bonus": "span", "span_floor": 0.2, "utility_bonus": 0.5, "lam": 1e-4, "noise_bonus": 0.3},
    "timetable, fading": {"share": "transitions", "bonus": "span", "span_floor": 0.2, "lam": 1e-3, "late_bonus": 0.1},
    "noise, one regression": {"share": "all", "noise_bonus": 0.3},
    "noise, timetable": {"share": "transitions", "noise_bonus": 0.3, "dual_estimate": "plain", "dual_prior": 0.5},
    "anytime": {"schedule": "anytime"},
    "all": {
        "bonus": "span", "span_floor": 0.2, "utility_bonus": 0.5, "lam": 1e-4, "dual_estimate": "plain", "dual_prior": 0.5,
        "damping": True, "schedule": "anytime",
    },
}  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("features", ["one-hot", "table"])
@pytest.mark.parametrize("m", [1, 2])
def test_every_option_matches_its_slow_version(options: dict, features: str, m: int) -> None:
    problem = nr.problems.load(f"random:seed={m},S=4,A=3,H=3,m={m}")
    problem = problem.replace(b=problem.b + 1.0)  # out of reach, so that the dual has to move
    problem = problem.replace(noise="bernoulli") if "noise_bonus" in options else problem
    phi = nr.features.one_hot(4, 3) if features == "one-hot" else np.random.default_rng(m).dirichlet(np.ones(3), (4, 3))
    constants = {"lam": 0.3, "beta": 0.8, "alpha": 5.0, "eta": 0.3, "xi": 5.0, "zeta": 0.05, "cap": "H-h+1", "lower_clip": True}
    constants |= options
    learner = make("primal-dual-lsvi", problem.spec, episodes=40, features=phi, preset="paper", **constants)
    slow = ReferencePractical(phi, 3, problem.b, **constants)
    world, own = streams(3, 0)
    for _ in range(40):
        fast, literal = learner.plan(), slow.plan()
        for key in ("Q_r", "Q_g", "V_r", "V_g", "policy"):
            np.testing.assert_allclose(getattr(fast, key), getattr(literal, key), atol=1e-9, err_msg=key)
        np.testing.assert_allclose(learner.dual, slow.Y, atol=1e-9)
        episode = play(problem, literal.policy, world.random(width(problem)), own.random(3))
        learner.observe(*episode)
        slow.observe(*episode)
    assert learner.dual.max() > 0


@pytest.mark.parametrize("retry_bonus", [0.0, 0.3])
@pytest.mark.parametrize("share", ["nothing", "all"])
def test_a_bonus_by_variance_matches_its_slow_version(share: str, retry_bonus: float) -> None:
    options = {
        "bonus": "variance",
        "span_floor": 0.2,
        "utility_bonus": 0.5,
        "lam": 1e-4,
        "dual_estimate": "plain",
        "noise_bonus": 0.2,
        "retry_bonus": retry_bonus,
    }
    test_every_option_matches_its_slow_version(options | {"dual_prior": 0.5, "share": share}, "one-hot", 2)


def test_the_safe_preset_says_what_it_needs() -> None:
    problem = nr.problems.load("streaming:seed=3")
    with pytest.raises(nr.NoRegretError, match="safe_policy is None; preset 'safe' needs a policy"):
        make("primal-dual-lsvi", problem.spec, episodes=10, preset="safe")
    with pytest.raises(nr.NoRegretError, match="with a safe_policy expected 'pessimistic'"):
        make("primal-dual-lsvi", problem.spec, episodes=10, safe_policy=nr.oracle.safest(problem))
    with pytest.raises(nr.NoRegretError, match="safe_policy is 'best'; expected an array"):
        nr.run(problem, episodes=10, preset="safe", safe_policy="best")
    with pytest.raises(nr.NoRegretError, match="safe_policy is 'safest'; preset 'safe' needs a policy"):
        make("primal-dual-lsvi", problem.spec, episodes=10, preset="safe", safe_policy="safest")


@pytest.mark.parametrize(
    ("policy", "message"),
    [(np.ones((1, 1, 1)), "safe_policy has shape"), (np.zeros, r"safe_policy\[0, 0\] sums to 0"), (np.ones, "sums to 3")],
)
def test_a_safe_policy_that_is_none_is_refused(policy: Any, message: str) -> None:
    problem = nr.problems.load("random:seed=1,S=4,A=3,H=3")
    given = policy(problem.r.shape) if callable(policy) else policy
    with pytest.raises(nr.NoRegretError, match=message):
        make("primal-dual-lsvi", problem.spec, episodes=10, preset="safe", safe_policy=given)
    with pytest.raises(nr.NoRegretError, match=message):
        nr.run(problem, episodes=10, preset="safe", safe_policy=given)


def test_a_safe_policy_that_is_not_safe_is_named() -> None:
    problem = nr.problems.load("random:seed=1,S=4,A=3,H=3,fraction=0.9")
    with pytest.warns(UserWarning, match="safe_policy is not safe: its utility 'utility' is .*, below"):
        result = nr.run(problem, episodes=5, trials=1, preset="safe", safe_policy=np.full(problem.r.shape, 1 / 3))
    assert result.hard_violation[0, -1] > 0.0  # what was warned of


def test_safety_is_not_promised_for_each_of_several_starts() -> None:
    problem = nr.problems.load("random:seed=1,S=4,A=3,H=3")
    given = {"episodes": 20, "trials": 1, "preset": "safe", "safe_policy": "safest"}
    with pytest.raises(nr.NoRegretError, match="starts has several states; with a safe_policy expected one"):
        nr.run(problem, starts=[0, 1], **given)
    assert nr.run(problem, starts=1, **given).hard_violation[0, -1] == 0.0


def test_given_numbers_are_used_as_the_paper_uses_them() -> None:
    numbers = {"lam": 0.5, "beta": 0.3, "alpha": 7.0, "eta": 0.1, "xi": 3.0, "zeta": 0.0, "cap": "H", "lower_clip": False}
    printed = {name: TABLE.rows[name].entry("theory", TABLE.like)[0] for name in TABLE.rows}
    for preset in ("theory", "paper"):
        constants = chosen(preset, **numbers)
        assert {name: constants[name] for name in numbers} == numbers, preset
        assert {constants.why[name] for name in numbers} == {"given"}
        others = TABLE.rows.keys() - numbers.keys()
        assert {name: constants[name] for name in others} == {name: printed[name] for name in others}


def test_a_span_bonus_that_leaves_the_unvisited_below_the_cap_is_refused() -> None:
    with pytest.raises(nr.NoRegretError, match=r"lam is 1; with bonus 'span' expected at most"):
        chosen("practical", None, lam=1.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bonus": "spam"}, "unknown bonus 'spam'; did you mean 'span'"),
        ({"damping": 1}, "damping is 1; expected True or False"),
        ({"beta": -1}, "beta is -1; expected a number of at least 0"),
        ({"alpha": "5/sqrt(L)"}, "formula '5/sqrt.L.' names 'L', which is not known here"),
        ({"alpha": "2*alpha"}, "alpha is given by a formula that needs alpha itself"),
        ({"betta": 1}, "unknown parameter of primal-dual-lsvi 'betta'; did you mean 'beta'"),
    ],
)
def test_bad_parameters_are_refused(given: dict, message: str) -> None:
    with pytest.raises(nr.NoRegretError, match=message):
        chosen("practical", None, **given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bonus": "constant", "span_floor": 0.3}, "span_floor is 0.3; it does nothing here: expected none, or bonus != 'cons"),
        ({"dual_estimate": "observed", "dual_prior": 0.1}, "dual_prior is 0.1; it does nothing here"),
        ({"pessimism": 0.1}, "pessimism is 0.1; it does nothing here: expected none, or dual_estimate == 'pessimistic'"),
        ({"dual_estimate": "observed", "damping": True}, "damping is True; it does nothing here"),
        ({"dual_estimate": "corrected", "anti_windup": True}, "anti_windup is True; it does nothing here"),
        ({"p": 0.2}, "p is 0.2; it does nothing here"),
        ({"dual_estimate": "pessimistic"}, "dual_estimate is 'pessimistic'; expected with it bonus 'span'"),
        ({"rounding": 0.1, "alpha": 3.0}, "alpha is 3; with rounding the policy is greedy: leave alpha out"),
        ({"rounding": 0.1, "schedule": "doubling"}, "rounding is 0.1; expected with it neither schedule 'doubling'"),
        ({"share": "transitions", "schedule": "doubling"}, "share is 'transitions'; expected 'nothing' or 'all'"),
        ({"bonus": "variance", "one_hot": False}, "bonus is 'variance'; expected with it one-hot features"),
    ],
)
def test_an_option_that_does_nothing_or_contradicts_another_is_refused(given: dict, message: str) -> None:
    with pytest.raises(nr.NoRegretError, match=message):
        chosen("practical", None, **given)


def test_a_number_that_only_a_formula_needs_is_no_idle_one() -> None:
    assert chosen("practical", 0.5, zeta="theorem_2(1e-4)", p=0.2).zeta != chosen("practical", 0.5, zeta="theorem_2(1e-4)").zeta


@pytest.mark.parametrize(("name", "limit"), [("random:seed=4", 400), ("streaming:seed=21", 400), ("linear:seed=21", 150)])
def test_the_default_is_good_on_problems_it_was_not_tuned_on(name: str, limit: float) -> None:
    """Hard regret plus hard violation at K = 10⁴; playing at random costs thousands."""
    problem = nr.problems.load(name)
    result = nr.run(problem, episodes=10_000, trials=2, record_every=10_000, progress=False)
    score = (result.hard_regret + result.hard_violation)[:, -1]
    assert score.max() < limit


def test_no_pair_of_a_queue_is_given_up_for_ever() -> None:
    """In trial 8 a pair has bad luck in its first next states; without the bonus that tries it again the trial is stuck."""
    result = nr.run("queue", episodes=3000, trials=9, seed=3, record_every=100, progress=False)
    assert result.stuck == 0.0
    assert (result.hard_regret + result.hard_violation)[:, -1].max() < 600


# --- a dual that features cannot fool ------------------------------------------------------------------------------


def wrong_features(b: float) -> nr.TabularCMDP:
    """One step, two first states, and features that tell them apart by their length only.

    Action 1 brings the utility in state 0 alone. The regression on the line through 0 believes that it brings 0.6 on average,
    from however much data; it brings 0.5.
    """
    g = np.array([[[0.0, 1.0], [0.0, 0.0]]])
    phi = np.stack([np.eye(2), 0.5 * np.eye(2)])
    r = np.array([[[1.0, 0.0], [1.0, 0.0]]])
    return nr.TabularCMDP(np.full((1, 2, 2, 2), 0.5), r, g, b, [0.5, 0.5], features=phi)


@pytest.mark.parametrize("b", [0.2, 0.4])
@pytest.mark.parametrize("dual_estimate", ["plain", "observed", "corrected"])
def test_the_mean_utility_reaches_b_although_the_features_are_wrong(b: float, dual_estimate: str) -> None:
    options = {"episodes": 8000, "trials": 4, "record_every": 8000, "progress": False, "zeta": 0.0}
    result = nr.run(wrong_features(b), "primal-dual-lsvi", dual_estimate=dual_estimate, **options)
    short = result.violation[:, -1] / 8000  # [b − mean of V_g]₊
    if dual_estimate == "plain":
        assert short.max() > 0.15 * b
    else:
        assert short.max() < 0.05 * b


@pytest.mark.parametrize("dual_estimate", ["observed", "corrected"])
def test_a_price_cannot_wind_up_beyond_the_evidence(dual_estimate: str) -> None:
    problem = nr.problems.load("media-control:H=30,limit=1")
    problem = problem.replace(b=problem.b + 5.0)  # out of reach for ever
    learner = make("primal-dual-lsvi", problem.spec, episodes=200, dual_estimate=dual_estimate)
    world, own = streams(0, 0)
    for k in range(200):
        learner.observe(*play(problem, learner.plan().policy, world.random(31), own.random(30)))
        assert learner.dual[0] <= 2.5 * np.sqrt(k + 1)
    assert learner.dual[0] > 10.0  # and it does rise
