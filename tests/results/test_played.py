"""From regret to a policy: the mixture of the played policies as one Markov policy, and the reservoir."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.problems.policies import markov_policy
from noregret.runs.start import promised
from noregret.runs.streams import streams
from tests.support import begin, small, trial

K = 60


def by_hand(problem, name, seed=0, index=0, **options):
    """Play trial ``index`` with plan and observe: all policies, as the runner's loop has them."""
    from noregret.kernels.worlds import world as worlds

    learner = begin(problem, name, episodes=K, **options).learner
    world, (of_world, own) = worlds.compile_world(problem), streams(seed, index)
    scratch, policies = worlds.scratch_for(world), []
    u, v = of_world.random((K, worlds.world_width(problem))), own.random((K, problem.horizon))
    for k in range(K):
        policies.append(learner.plan().policy)
        worlds.play(world, policies[-1], u[k], v[k], scratch)
        learner.observe(scratch.states, scratch.actions, scratch.observed[:, 0], scratch.observed[:, 1:].T)
    return policies


@pytest.mark.parametrize("sparse", [False, True])
def test_each_policy_has_the_mean_values_of_the_policies_it_stands_for(sparse):
    problem = small(3, m=2, masked=True, sparse=sparse, b=[0.8, 1.1])
    result = nr.run(problem, episodes=K, trials=2, record_every=1, keep_policy=True, progress=False)
    first, second = by_hand(problem, "primal-dual-lsvi"), by_hand(problem, "primal-dual-lsvi", index=1)
    parts = {"mixture": slice(None), "tail": slice(K // 2, None), "last": slice(-1, None)}
    values = lambda policies: np.mean([np.append(*nr.evaluate(problem, pi)) for pi in policies], axis=0)  # noqa: E731
    for which, part in parts.items():
        for index, policies in ((0, first[part]), (1, second[part]), (None, first[part] + second[part])):
            found = np.append(*nr.evaluate(problem, result.policy(which, index)))
            np.testing.assert_allclose(found, values(policies), rtol=0, atol=1e-12)
            report = result.policy_report(which, index)
            np.testing.assert_allclose(np.append(report.V_r, report.V_g), found, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(result.policy("last", 1), second[-1])
    # what the mixture lacks is the regret and the signed violation, divided by K
    opt = nr.solve(problem)
    assert result.policy_report(trial=0).epsilon_reward == pytest.approx(result.regret[0, -1] / K, abs=1e-12)
    assert result.policy_report().epsilon_reward == pytest.approx(opt.value - values(first + second)[0], abs=1e-12)
    assert result.policy_report().epsilon_utility == pytest.approx((problem.b - values(first + second)[1:]).max(), abs=1e-12)


def test_keeping_policies_changes_no_bit_of_the_curves_and_blocks_change_no_bit_of_the_policies():
    problem = small(1)
    plain = nr.run(problem, episodes=K, trials=2, record_every=7, progress=False)
    kept = nr.run(problem, episodes=K, trials=2, record_every=7, progress=False, keep_policy=True)
    blocks = nr.run(problem, episodes=K, trials=2, record_every=7, progress=False, keep_policy=True, block_size=11, threads=1)
    for curve in ("regret", "hard_regret", "violations", "hard_violations", "dual"):
        np.testing.assert_array_equal(getattr(plain, curve), getattr(kept, curve))
    for which in ("mixture", "tail", "last"):
        np.testing.assert_array_equal(kept.policy(which), blocks.policy(which))
    assert trial(problem, episodes=3).kept is None


def test_a_fixed_policy_is_its_own_mixture_and_many_episodes_keep_nine_digits():
    problem = nr.problems.load("job-scheduling")
    result = nr.run(problem, "optimal", episodes=20_000, trials=1, keep_policy=True, progress=False)
    opt = nr.solve(problem)
    for which in ("mixture", "tail", "last"):
        report = result.policy_report(which)
        assert report.V_r == pytest.approx(opt.value, abs=1e-9)
        assert abs(report.epsilon_reward) < 1e-9 and abs(report.epsilon_utility) < 1e-9
        assert report.theorem is None and report.promised_reward is None


def test_the_promise_is_the_theorem_divided_by_the_episodes():
    problem = small(2, mu=0)
    result = nr.run(problem, episodes=K, trials=1, preset="theory", slater_gap="oracle", keep_policy=True, progress=False)
    report, sizes = result.policy_report(), {"d": 12, "H": 3, "K": K, "A": 3, "xi": result.constants["xi"]}
    assert report.theorem == "Theorem 1" and report.vacuous
    assert report.promised_reward == pytest.approx(nr.theory.regret_bound(**sizes) / K)
    assert report.promised_utility == pytest.approx(nr.theory.violation_bound(**sizes) / K)
    assert report.unmet is None
    last = result.policy_report("last")
    assert last.theorem is last.promised_reward is None and last.unmet == "Theorem 1 is about the mixture of all policies"


def test_no_theorem_is_named_for_a_run_that_it_does_not_cover():
    """Each hypothesis of Theorems 1 and 2 in turn; the sentence names it."""
    problem = small(2, mu=0)
    gap = nr.solve(problem).slater_gap

    def asked(options: dict[str, Any]) -> dict[str, Any]:
        return {"preset": "theory", "slater_gap": "oracle"} | options

    def of(world: Any = problem, learner: str = "primal-dual-lsvi", **options: Any) -> Any:
        trial = begin(world, learner, episodes=20, **asked(options))
        return promised(trial.key, trial.learner)

    assert of(zeta=gap / 4).theorem == "Theorem 2"
    assert of(slater_gap=gap / 3).theorem == "Theorem 1"  # any smaller γ will do
    assert of(beta=1e4).theorem == "Theorem 1"  # a larger C₁
    assert of(p=0.2).theorem == "Theorem 1"
    assert of(cap="H-h+1", lower_clip=True).theorem == "Theorem 1"
    phi = np.zeros((4, 3, 5))
    phi[..., 0] = 1.0
    for word, world, options in [
        ("λ is 0.5, and Theorem 1 has 1", problem, {"lam": 0.5}),
        ("β is 1, and Theorem 1 has dH√ι", problem, {"beta": 1.0}),
        ("α is 3, and Theorem 1 has", problem, {"alpha": 3.0}),
        ("α is", problem, {"alpha": "log(A)*K/(2*H)"}),
        ("η is 0.1, and Theorem 1 has", problem, {"eta": 0.1}),
        ("ξ is", problem, {"slater_gap": 1.5 * gap}),
        ("ζ is", problem, {"zeta": 0.6 * gap}),
        ("bonus is 'span', and the theorems are about", problem, {"bonus": "span", "span_floor": 1.0}),
        ("damping is True", problem, {"damping": True}),
        ("schedule is 'doubling'", problem, {"schedule": "doubling"}),
        ("rounding is 0.01", problem, {"rounding": 0.01}),
        ("the start is drawn", small(2), {}),
        ("the problem has 2 constraints", small(2, m=2, mu=0), {}),
        ("the problem is not linear in the features", problem, {"features": phi}),
        ("bonus is 'span'", problem, {"preset": "practical"}),
        ("λ is", problem, {"preset": "paper"}),
        ("no theorem with all its constants is known for opdop", problem, {"learner": "opdop", "preset": "practical"}),
    ]:
        said = of(world, **options)
        assert isinstance(said, str) and said.startswith(word) and "\n" not in said, (word, said)
    for options in ({"lam": 0.5}, {"zeta": gap / 4}):  # a run's report says the same
        run = nr.run(problem, episodes=20, trials=1, keep_policy=True, progress=False, **asked(options))
        made, said = run.policy_report(), of(**options)
        if isinstance(said, str):
            assert made.theorem is made.promised_reward is made.promised_utility is None and made.unmet == said
        else:
            assert (made.theorem, made.promised_reward, made.unmet) == ("Theorem 2", said.regret / 20, None)


def test_a_stopped_run_has_no_last_half():
    problem = small(1)
    opt = nr.solve(problem)
    from noregret.results import Played

    half = begin(problem, "uniform", episodes=K)
    half.keep_policies()
    half.advance(K // 2)
    promise = nr.theory.Promise("Theorem 1", K, 1.0, 1.0)
    played = Played(half.kept[None], problem.available, opt.value, problem.b, promise)
    played = played.valued(lambda pi: nr.evaluate(problem, pi))
    unmet = f"{K // 2} of {K} episodes were played, and Theorem 1 is about all of them"
    assert played.report("mixture", 0).unmet == unmet and played.report("mixture", 0).theorem is None
    assert played.report("mixture", 0).V_r == pytest.approx(nr.evaluate(problem, played.policy("last"))[0])
    with pytest.raises(nr.NoRegretError, match="stopped before its last half"):
        played.policy("tail")


def test_what_cannot_be_asked_for_is_refused():
    problem = small(1)
    plain = nr.run(problem, "uniform", episodes=5, trials=1, progress=False)
    with pytest.raises(ValueError, match="keep_policy was False"):
        plain.policy()
    kept = nr.run(problem, "uniform", episodes=5, trials=2, progress=False, keep_policy=True)
    with pytest.raises(ValueError, match=r"trial is 2; expected a whole number from 0 to 1"):
        kept.policy(trial=2)
    with pytest.raises(ValueError, match="unknown policy of a run 'first'"):
        kept.policy("first")


def test_markov_policy_by_hand():
    q = np.array([[[0.3, 0.1], [0.0, 0.0]]])
    available = np.array([[[True, True], [False, True]]])
    np.testing.assert_allclose(markov_policy(q, available), [[[0.75, 0.25], [0.0, 1.0]]])
