"""The learners that plan by a linear program: each against the printed program and HiGHS, the parts, the reductions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noregret as nr
from noregret.errors import InputError
from noregret.kernels.steps import programs
from noregret.kernels.worlds import draws
from noregret.learners.programs import planning
from noregret.problems.base import TabularCMDP
from tests.reference import planning as literal
from tests.reference import world
from tests.support import small, told

REFERENCES: dict[str, type[literal.ReferencePlanning]] = {
    "ucrl-opt-lp": literal.UCRLOptLP,
    "optcmdp-bonus": literal.OptCMDPBonus,
    "uc-cfh": literal.UCCFH,
    "conrl": literal.ConRL,
    "cmdp-rl": literal.CMDPRL,
    "c-ucrl": literal.CUCRL,
    "dope": literal.DOPE,
    "optpess-lp": literal.OptPessLP,
    "posterior-sampling": literal.PosteriorSampling,
}
GAP = 0.4

CASES: list[tuple[str, int, dict[str, Any]]] = [
    ("ucrl-opt-lp", 2, {"bonus_scale": 0.05}),
    ("ucrl-opt-lp", 1, {"bonus_scale": 0.02, "replan": "always"}),
    ("ucrl-opt-lp", 2, {"bonus_scale": 0.02, "share": "transitions"}),
    ("optcmdp-bonus", 1, {"bonus_scale": 0.003, "share": "transitions"}),
    ("conrl", 1, {"bonus_scale": 0.01, "share": "all"}),
    ("dope", 1, {"bonus_scale": 0.002, "share": "transitions"}),
    ("posterior-sampling", 1, {"share": "transitions"}),
    ("posterior-sampling", 1, {"share": "all"}),
    ("ucrl-opt-lp", 1, {"preset": "theory"}),
    ("optcmdp-bonus", 2, {"bonus_scale": 0.003}),
    ("optcmdp-bonus", 1, {"preset": "theory"}),
    ("uc-cfh", 2, {"bonus_scale": 0.1}),
    ("uc-cfh", 1, {"preset": "theory"}),
    ("conrl", 2, {"bonus_scale": 0.01}),
    ("conrl", 1, {"preset": "theory"}),
    ("cmdp-rl", 2, {"bonus_scale": 0.1}),
    ("cmdp-rl", 1, {"preset": "theory"}),
    ("c-ucrl", 2, {"bonus_scale": 0.01}),
    ("c-ucrl", 1, {"preset": "theory"}),
    ("dope", 1, {"bonus_scale": 0.002}),
    ("dope", 1, {"preset": "theory", "safe_episodes": 7}),
    ("optpess-lp", 1, {"bonus_scale": 0.005}),
    ("optpess-lp", 1, {"bonus_scale": 0.005, "test": True, "replan": "always"}),
    ("optpess-lp", 1, {"bonus_scale": 0.005, "test": True, "anywhere": False, "C_r": 3.0}),
    ("optpess-lp", 1, {"preset": "theory"}),
    ("posterior-sampling", 2, {"prior": 0.3}),
    ("posterior-sampling", 1, {"preset": "theory"}),
    ("ucrl-opt-lp", 2, {"bonus_scale": 0.02, "tries": 3}),
    ("conrl", 1, {"bonus_scale": 0.01, "tries": 3, "replan": "squares"}),
    ("conrl", 1, {"bonus_scale": 0.01, "tries": 9, "share": "transitions"}),
    ("dope", 1, {"bonus_scale": 0.002, "tries": 3, "replan": "squares", "C_r": 20.0, "C_g": 3.5}),
    ("optpess-lp", 1, {"bonus_scale": 0.005, "test": True, "anywhere": False, "tries": 2}),
    ("posterior-sampling", 1, {"tries": 3, "replan": "squares"}),
    ("posterior-sampling", 1, {"tries": 5, "share": "all"}),
]


def problem_with(seed: int, m: int, noise: Any) -> TabularCMDP:
    return small(seed, H=3, S=3, A=2, m=m, masked=True, noise=noise, b=np.full(m, 1.3 if m == 1 else 1.1))


def twin(name: str, learner: Any, problem: TabularCMDP, K: int) -> Any:
    """The literal version with the constants that the learner says it uses."""
    own = {key: value for key, value in learner.constants.items() if key not in ("told", "safe_policy")}
    return REFERENCES[name](problem.spec, K=K, **own, **told(name, problem))


def agree(learner: Any, slow: Any, before: np.ndarray, unmet: int) -> None:
    """Check a plan against HiGHS: what it is worth, that the policy reaches it, and the answer to a program not met."""
    program, state = slow.program(), learner._state
    safe = getattr(slow, "safe_policy", None)
    if getattr(slow, "test", False) and not slow.certain(program, GAP):
        assert np.array_equal(state.policy, safe) and state.tally[planning.UNMET] == unmet + 1
        return
    scale = 1.0 + np.abs(program.worth).max() * slow.H
    best, lack = program.solve(), program.solve(elastic=True)
    if lack.fun > 1e-5 * scale:
        assert best.status == 2 and state.tally[planning.UNMET] == unmet + 1
        assert state.basis.found[-1] == pytest.approx(lack.fun, abs=1e-6 * scale)
        if safe is not None:
            assert np.array_equal(state.policy, safe)
        return
    assert state.tally[planning.UNMET] == unmet
    assert state.basis.found[0] == pytest.approx(-best.fun, abs=1e-6 * scale)
    assert (state.basis.found[1:-1] >= slow.b - 1e-6 * scale).all()
    mine = program.solve(policy=state.policy)
    if mine.status == 0:  # within its tolerance, HiGHS may call a policy that meets b exactly infeasible
        assert mine.fun == pytest.approx(best.fun, abs=1e-5 * scale)


@pytest.mark.parametrize(("name", "m", "given"), CASES)
@pytest.mark.parametrize("noise", [None, "bernoulli"])
def test_equals_the_printed_program_over_a_run(name: str, m: int, given: dict[str, Any], noise: Any) -> None:
    """Every plan is an optimum of the literal program; between plans the policy stands; the schedule is the paper's."""
    problem, K = problem_with(len(given) + m, m, noise), 40
    learner = nr.learners.make(name, problem.spec, episodes=K, **({"slater_gap": GAP} | told(name, problem) | given))
    slow = twin(name, learner, problem, K)
    rng = np.random.default_rng(5)
    plans = 0
    for k in range(K):
        before, unmet, made = learner._state.policy.copy(), int(learner._state.tally[planning.UNMET]), learner.notes()["plans"]
        uniforms = rng.random(2) if name == "posterior-sampling" else None
        policy = learner.plan(uniforms).policy
        wanted = "safe" if k < learner.constants.get("safe_episodes", 0) else slow.wants()
        assert (learner.notes()["plans"] > made) == (wanted == "plan"), k
        if wanted == "plan":
            slow.uniforms = tuple(uniforms) if uniforms is not None else ()
            agree(learner, slow, before, unmet)
            plans += 1
        else:
            assert np.array_equal(policy, slow.safe_policy if wanted == "safe" else before)
        episode = world.play(problem, policy, rng.random(world.width(problem)), rng.random(problem.horizon))
        learner.observe(*episode)
        slow.keep(*episode)
    assert plans > 3


# --- the solver ------------------------------------------------------------------------------------------------------


def random_rows(seed: int, m: int, radius: float) -> tuple[Any, Any, literal.Program, TabularCMDP]:
    rng = np.random.default_rng(seed)
    problem = small(seed, H=3, S=4, A=2, m=m, masked=True, b=np.full(m, rng.uniform(0.3, 2.0)))
    H, S, A = problem.r.shape
    rows = programs.rows(H, S, A, 1 + m)
    rho = radius * rng.random(problem.P.shape)
    lower, upper = np.clip(problem.P - rho, 0, 1), np.clip(problem.P + rho, 0, 1)
    rows.worth[..., 0], rows.worth[..., 1:] = problem.r, np.moveaxis(problem.g, 0, -1)
    rows.lower[:], rows.room[:], rows.rest[:] = lower, upper - lower, np.maximum(1 - lower.sum(axis=3), 0)
    ends = rng.random((H, S, A)) < 0.1
    for array in (rows.lower, rows.room, rows.rest):
        array[ends] = 0.0
    return rows, programs.basis(H, S, A, m), literal.Program(rows.worth, lower, upper, ends, problem.spec), problem


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), m=st.integers(1, 3), radius=st.sampled_from([0.0, 0.05, 0.5]))
def test_the_simplex_method_over_policies_solves_the_extended_program(seed: int, m: int, radius: float) -> None:
    rows, basis, program, problem = random_rows(seed, m, radius)
    Y = np.random.default_rng(seed).random(m)
    met = programs.solve(rows, problem.mu, problem.b, problem.available, Y, basis)
    best = program.solve()
    if not met:
        assert best.status == 2 or basis.found[-1] < 1e-5
        assert basis.found[-1] == pytest.approx(program.solve(elastic=True).fun, abs=1e-6)
        return
    assert basis.found[0] == pytest.approx(-best.fun, abs=1e-6)
    assert (basis.found[1:-1] >= problem.b - 1e-6).all() and (Y >= 0.0).all()
    # the prices are those of the program: no vertex is worth more than the optimum at them
    programs.price(rows, problem.available, Y, basis)
    dual = problem.mu @ (basis.V[0, 0] + Y @ basis.V[0, 1:]) - Y @ problem.b
    assert dual == pytest.approx(-best.fun, abs=1e-6)


def test_the_generator_draws_what_it_says() -> None:
    """Means and variances of gamma and Dirichlet variables; the stream begins with the two uniforms."""
    stream, rng = np.zeros(1, dtype=np.uint64), literal.Draws(0.3, 0.8)
    draws.seed(stream, 0.3, 0.8)
    assert [draws.uniform(stream) for _ in range(5)] == [rng.uniform() for _ in range(5)]
    for shape in (0.05, 0.7, 1.0, 8.0):
        sample = np.array([draws.gamma(stream, shape) for _ in range(40_000)])
        assert sample.mean() == pytest.approx(shape, abs=5 * math.sqrt(shape / len(sample)))
        assert sample.var() == pytest.approx(shape, rel=0.12)
    alpha = np.array([0.5, 2.0, 3.5])
    drawn = []
    for _ in range(20_000):
        drawn.append(alpha.copy())
        draws.dirichlet(stream, drawn[-1])
    np.testing.assert_allclose(np.mean(drawn, axis=0), alpha / 6, atol=0.01)
    np.testing.assert_allclose(np.var(drawn, axis=0), alpha / 6 * (1 - alpha / 6) / 7, rtol=0.05)


@pytest.mark.filterwarnings("error")
def test_products_and_sums_wrap_around_in_silence() -> None:
    """Also where nothing is compiled."""
    for a, b in ((2**64 - 3, 2**63 + 11), (2**32 - 1, 2**32 + 1), (12345, 0x9E3779B97F4A7C15), (0, 2**64 - 1)):
        for function, exact in ((draws.plus, a + b), (draws.times, a * b)):
            for form in (function, getattr(function, "py_func", function)):
                assert int(form(np.uint64(a), np.uint64(b))) == exact % 2**64


# --- reductions ------------------------------------------------------------------------------------------------------


def freeze(learner: Any, problem: TabularCMDP, N: float = 1e12) -> None:
    """Counts that are N times the truth."""
    model = learner._state.model
    S, sums = problem.n_states, learner._state.sums
    model.visits[:] = N
    sums[..., 0], sums[..., 1], sums[..., 2:] = N, N * problem.r, N * np.moveaxis(problem.g, 0, -1)
    model.successors[:] = S
    model.successor[:] = np.arange(S)
    model.times[:] = N * problem.P


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("world_name", ["job-scheduling", "random:S=5,A=3,H=4,m=2,seed=3"])
def test_on_the_exact_model_without_a_bonus_it_plays_the_optimum(name: str, world_name: str) -> None:
    problem = nr.problems.load(world_name)
    if problem.n_constraints > 1 and not nr.learners.get(name).several:
        return
    given = {} if name == "posterior-sampling" else {"bonus_scale": 0.0}
    learner = nr.learners.make(name, problem.spec, episodes=100, share="nothing", **told(name, problem), **given)
    freeze(learner, problem)
    learner._state.tally[planning.WANTED] = 1
    policy = learner.plan(np.array([0.2, 0.7]) if name == "posterior-sampling" else None).policy
    optimum = nr.oracle.solve(problem)
    V_r, V_g = nr.evaluate(problem, policy)
    close = 1e-4 if name == "posterior-sampling" else 1e-8
    assert optimum.value == pytest.approx(V_r, abs=close)
    assert (V_g >= problem.b - close).all()
    np.testing.assert_allclose(learner.dual, optimum.dual, atol=1e-3 if name == "posterior-sampling" else 1e-6)


# --- what is refused -------------------------------------------------------------------------------------------------


def test_what_is_refused_names_the_entry() -> None:
    spec = small().spec
    for name in ("dope", "optpess-lp", "c-ucrl"):
        with pytest.raises(InputError, match=f"safe_policy is None; {name} needs a policy"):
            nr.learners.make(name, spec, episodes=10)
    with pytest.raises(InputError, match="replan"):
        nr.learners.make("ucrl-opt-lp", spec, episodes=10, replan="rounds")
    with pytest.raises(InputError, match="bonus_scale is -1"):
        nr.learners.make("conrl", spec, episodes=10, bonus_scale=-1)


def test_a_run_reports_its_plans() -> None:
    result = nr.run("streaming", "optcmdp-bonus", episodes=300, trials=1, progress=False)
    assert 3 < result.notes["plans"][0] < 300 and result.notes["safe plays"][0] == 0


def test_a_margin_beyond_what_can_be_had_is_scaled() -> None:
    """On job scheduling no policy has V_g > b + ½: the printed test with γ = 1 for a γ not known plays π₀ for ever."""
    told_of = {"safe_policy": "safest", "bonus_scale": 1e-4, "C_r": 3.0}
    for scale, all_safe in ((1.0, True), (0.1, False)):
        result = nr.run(
            "job-scheduling",
            "optpess-lp",
            episodes=300,
            trials=1,
            preset="tuned",
            progress=False,
            margin=0.5 * scale,
            **told_of,
        )
        assert result.constants["margin"] == 0.5 * scale
        assert (result.notes["safe plays"][0] == 300) == all_safe
