"""Presets: a number that is given replaces that number; the preset's own number changes nothing; pairs that are refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import InputError
from noregret.features import OneHot
from noregret.learners import presets, tuned
from noregret.problems.continuous import ContinuousSpec
from tests.support import fitting, small, told

K = 500


def everything(value: Any) -> Any:
    """All that a learner works with: its state with the numbers in it, or the attributes of the dense one."""
    if hasattr(value, "_asdict"):
        return {key: everything(item) for key, item in value._asdict().items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


def finite(name: str, preset: str, gap: float | None, given: dict[str, Any]) -> Any:
    problem = fitting(name, small(H=3, S=4, A=3))
    safe = {"safe_policy": problem.available / 3.0} if preset in ("safe", "cautious") else {}
    made = nr.learners.make(
        name, problem.spec, episodes=K, preset=preset, slater_gap=gap, **told(name, problem) | safe, **given
    )  # fmt: skip
    return made, everything(made._state)


def dense(name: str, preset: str, gap: float | None, given: dict[str, Any]) -> Any:
    spec = ContinuousSpec(3, np.array([1.0]), OneHot(4, 2))
    made = nr.learners.make(name, spec, episodes=K, preset=preset, slater_gap=gap, **given)
    return made, everything(made.rule) | {"lam": made.lam}


OURS = [name for name in nr.learners.names() if nr.learners.get(name).__module__.startswith("noregret.")]
CASES = [(finite, name, preset) for name in OURS for preset in nr.learners.get(name).presets]
CASES += [
    (dense, name, preset) for name in ("primal-dual-lsvi", "lsvi-ucb") for preset in nr.learners.get(name).vectors.presets
]


@pytest.mark.parametrize(("make", "name", "preset"), CASES)
@pytest.mark.parametrize("gap", [None, 0.4])
def test_to_give_a_presets_own_number_changes_nothing(make: Any, name: str, preset: str, gap: float | None) -> None:
    """Every constant alone, and all at once."""
    if preset == "theory" and gap is None and name != "triple-q":
        gap = 0.7
    made, state = make(name, preset, gap, {})
    accepted = {*type(made).parameters, "replan", "merge_tol"} if make is dense else set(type(made).parameters)
    if make is dense:
        accepted |= set(nr.learners.get(name).parameters)
    own = {key: value for key, value in made.constants.items() if key in accepted and key != "safe_policy"}
    if name == "lsvi-ucb":  # its Y and α are no parameters
        own = {key: value for key, value in own.items() if key in nr.learners.get(name).parameters}
    assert len(own) > 1 or name == "uniform"
    for given in [*({key: value} for key, value in own.items()), own]:
        again, other = make(name, preset, gap, given)
        assert again.constants == made.constants, given
        assert other == state, given


NUMBERS = {"beta": 0.11, "eta": 0.3, "alpha": 2.5, "zeta": 0.01, "xi": 7.0, "utility_bonus": 0.9, "span_floor": 0.6}


@pytest.mark.parametrize("key", NUMBERS)
@pytest.mark.parametrize("preset", ["practical", "simple"])
def test_a_number_replaces_that_number_alone(preset: str, key: str) -> None:
    sizes: dict[str, Any] = {"H": 4, "A": 3, "d": 15, "m": 1, "K": 3000, "slater_gap": None}
    usual, _ = presets.primal_dual(preset, **sizes)
    given, why = presets.primal_dual(preset, **sizes, **{key: NUMBERS[key]})
    formulas = {"beta": {"lam"}} if preset == "simple" else {}
    different = {name for name, value in vars(given).items() if value != vars(usual)[name]}
    assert different == {key} | formulas.get(key, set()) and why[key] == "given"


def test_a_small_bonus_by_span_takes_its_ridge_along_so_that_an_untried_pair_reaches_the_cap() -> None:
    sizes: dict[str, Any] = {"H": 4, "A": 3, "d": 15, "m": 1, "K": 3000, "slater_gap": None}
    given, _ = presets.primal_dual("practical", **sizes, beta=1e-3)
    assert given.lam == pytest.approx((0.2 * 1e-3 / 4) ** 2)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"alpha_rule": "alg1"}, "alpha_rule is 'alg1' and alpha_schedule is 'anytime'"),
        ({"alpha": "text"}, "alpha_rule is 'text' and alpha_schedule is 'anytime'"),
        ({"alpha": 3.0, "alpha_rule": "alg1"}, "alpha is 3 and alpha_rule is 'alg1'; expected one of them"),
        ({"restart": "doubling", "eta_schedule": "anytime"}, "restart is 'doubling'; expected alpha_schedule and eta_schedule"),
        ({"beta": 0.01, "lam": 1e-3}, "lam is 0.001; with bonus 'span' expected at most"),
    ],
)
def test_what_cannot_go_together_is_refused_by_name(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        nr.learners.make("primal-dual-lsvi", small().spec, episodes=10, **given)


def test_the_run_of_the_issue() -> None:
    """``noregret run random -k 3000 -t 3`` and the same with its own β, α and η."""
    problem = nr.problems.load("random")
    usual = nr.run(problem, episodes=300, trials=1, record_every=100, progress=False)
    own = {key: usual.constants[key] for key in ("beta", "alpha", "eta")}
    again = nr.run(problem, episodes=300, trials=1, record_every=100, progress=False, **own)
    for curve in ("regret", "hard_violations", "dual"):
        np.testing.assert_array_equal(getattr(usual, curve), getattr(again, curve))


def test_stored_runs_of_the_old_meaning_keep_their_names_and_new_ones_get_others() -> None:
    from noregret.runs.prepare import prepare
    from noregret.store import RunKey
    from noregret.sweeps.spec import parse

    text = 'episodes = 50\nproblems = ["random:S=4,A=2,H=3"]\n[[learners]]\nname = "primal-dual-lsvi"\n'
    (plain,) = parse(text, "x").keys
    assert plain.meaning == 1 and "meaning" not in plain.canonical()
    (given,) = parse(text + "params = { beta = 0.2 }\n", "x").keys
    old = RunKey("random:S=4,A=2,H=3", "primal-dual-lsvi", 50, record_every=1, params={"beta": 0.2})
    assert given.meaning == 2 and given.id != old.id
    assert RunKey.from_json(given.to_json()) == given
    with pytest.raises(InputError, match="meaning is 1; preset 'practical', beta has meaning 2 in this version"):
        prepare(old.problem).start(old)
    for preset, params in (("paper", {"beta": 0.2}), ("simple", {"beta": 0.2}), ("practical", {"zeta": 0.1})):
        assert nr.learners.meaning("primal-dual-lsvi", preset, params) == 1
    with tuned.ignored():
        assert nr.learners.meaning("optimal", "practical", {}) == nr.learners.meaning("opdop", "practical", {"eta": 1.0}) == 1


def test_every_option_of_algorithm_1_is_on_the_list_of_departures() -> None:
    """The first column of docs/algorithm1.md names each parameter that primal-dual-lsvi takes; every preset is explained."""
    page = (Path(__file__).parents[2] / "docs" / "algorithm1.md").read_text(encoding="utf-8")
    table = page.split("## Options that depart")[1].split("## What the paper leaves open")[0]
    listed = {
        name for line in table.splitlines() if line.startswith("|") for name in re.findall(r"`(\w+)`", line.split("|")[1])
    }
    learner = nr.learners.get("primal-dual-lsvi")
    assert set(learner.parameters) <= listed, set(learner.parameters) - listed
    practical = (Path(__file__).parents[2] / "docs" / "practical.md").read_text(encoding="utf-8")
    assert all(f'"{preset}"' in practical or f"`{preset}`" in page for preset in learner.presets)
