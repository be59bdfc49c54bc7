"""Presets: a number that is given replaces that number; the preset's own number changes nothing; pairs that are refused."""

from __future__ import annotations

import ast
import inspect
import math
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret._system import formulas
from noregret.errors import InputError
from noregret.features import OneHot
from noregret.problems.continuous import ContinuousSpec
from tests.support import OURS, chosen, fitting, small, told

K = 500


def everything(value: Any) -> Any:
    """All that a learner works with: its state with the numbers in it, or the attributes of the dense one."""
    if hasattr(value, "_asdict"):
        return {key: everything(item) for key, item in value._asdict().items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


def finite(name: str, preset: str, gap: float | None, given: dict[str, Any]) -> Any:
    problem = fitting(name, small(H=3, S=4, A=3))
    safe = {"safe_policy": problem.available / 3.0} if preset == "safe" else {}
    made = nr.learners.make(
        name, problem.spec, episodes=K, preset=preset, slater_gap=gap, **told(name, problem) | safe, **given
    )  # fmt: skip
    return made, everything(made._state)


def dense(name: str, preset: str, gap: float | None, given: dict[str, Any]) -> Any:
    spec = ContinuousSpec(3, np.array([1.0]), OneHot(4, 2))
    made = nr.learners.make(name, spec, episodes=K, preset=preset, slater_gap=gap, **given)
    return made, everything(made.rule) | {"lam": made.lam}


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
    accepted = set(type(made).parameters)
    own = {key: value for key, value in made.constants.items() if key in accepted and key != "safe_policy"}
    assert len(own) > 1 or name == "uniform"
    for given in [*({key: value} for key, value in own.items()), own]:
        again, other = make(name, preset, gap, given)
        assert again.constants == made.constants, given
        assert other == state, given


NUMBERS = {"beta": 0.11, "eta": 0.3, "alpha": 2.5, "zeta": 0.01, "xi": 7.0, "utility_bonus": 0.9, "span_floor": 0.6}


@pytest.mark.parametrize("key", NUMBERS)
@pytest.mark.parametrize("preset", ["practical", "paper"])
def test_a_number_replaces_that_number_alone(preset: str, key: str) -> None:
    if (preset, key) == ("paper", "span_floor"):
        return  # it does nothing beside a constant bonus
    sizes: dict[str, Any] = {"H": 4, "A": 3, "d": 15, "m": 1, "K": 3000}
    usual = chosen(preset, None, **sizes)
    given = chosen(preset, None, **sizes | {key: NUMBERS[key]})
    follow = {"xi": {"eta"}, "beta": {"lam"}} if preset == "paper" else {"zeta": {"price_step"}}  # a larger ζ is meant
    different = {name for name, value in given.values.items() if value != usual[name]}
    assert different == {key} | follow.get(key, set()) and given.why[key] == "given"


def test_a_formula_may_name_sizes_other_constants_and_what_the_preset_has() -> None:
    usual = chosen("theory", 0.5)
    less = chosen("theory", 0.5, xi="0.1*usual")
    assert less.xi == 0.1 * usual.xi and less.why["xi"] == "0.1*usual: given"
    assert less.eta == pytest.approx(0.1 * usual.eta)  # η = ξ/√(KH²) follows
    assert chosen("practical", None, alpha="3*5/sqrt(K)", eta="alpha/H").eta == 1.5 / 4


def test_a_small_bonus_by_span_takes_its_ridge_along_so_that_an_untried_pair_reaches_the_cap() -> None:
    given = chosen("practical", None, H=4, A=3, d=15, m=1, K=3000, beta=1e-3)
    assert given.lam == pytest.approx((0.2 * 1e-3 / 4) ** 2)


def test_what_cannot_go_together_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"lam is 0\.001; with bonus 'span' expected at most"):
        nr.learners.make("primal-dual-lsvi", small().spec, episodes=10, beta=0.01, lam=1e-3)


# --- what is in force is what is written ----------------------------------------------------------------------------

WITH_TABLE = [(make, name, preset) for make, name, preset in CASES if nr.learners.get(name).table]


@pytest.mark.parametrize(("make", "name", "preset"), WITH_TABLE)
def test_what_is_in_force_is_what_the_table_says(make: Any, name: str, preset: str) -> None:
    """Every entry of the column, evaluated by Python itself with the constants in force, is the constant in force."""
    made, _ = make(name, preset, 0.4, {})
    cls, spec = type(made), made.spec
    column = cls.column(spec, preset, {"share": made.constants.get("share", "nothing")}, None)
    names = {"gamma": 0.4, "known": True, **cls.sizes(spec, K, None), **formulas.FUNCTIONS, **made.constants}
    for row in cls.table:
        value, reason = row.entry(column, cls.table.like)
        assert reason and (row.name == "share" or reason in made.explain[row.name])
        if (formula := row.formula(value)) is not None:
            assert made.explain[row.name].startswith(formula)
            value = eval(formula, {"__builtins__": {}}, names)
        if row.name != "share":
            force = made.constants[row.name]
            assert force == value or math.isclose(force, value, rel_tol=1e-12), row.name


def test_the_flagship_names_every_option_in_its_docstring() -> None:
    from noregret.learners.lsvi import primal_dual
    from noregret.learners.lsvi.table import TABLE

    for name, row in TABLE.rows.items():
        on = row.entry("practical", TABLE.like)[0] != row.entry("theory", TABLE.like)[0]
        assert f"``{name}``" in (primal_dual.__doc__ or "") or not on, f"{name} is on by default; expected it in the docstring"
    quoted = re.findall(r'``(\w+)`` "([^"]+)"', primal_dual.__doc__ or "")
    assert len(quoted) > 5
    for name, word in quoted:
        words = TABLE.rows[name].words  # type: ignore[union-attr]
        assert word in words, f"{name} is never {word!r}; expected one of {words}"


@pytest.mark.parametrize("name", sorted({name for _, name, _ in WITH_TABLE}))
def test_no_docstring_quotes_a_number_that_the_table_has(name: str) -> None:
    """Numbers with a decimal point or an exponent, in any docstring of its file, and of its file for vectors."""
    forms = [cls for cls in (nr.learners.get(name), nr.learners.get(name).vectors) if cls is not None]
    entries = [str(entry) for cls in forms for row in cls.table for entry, _ in row.columns.values()]
    quoted = re.compile(r"(?<![\w.])\d+(?:\.\d+(?:e-?\d+)?|e-?\d+)(?![\w.])")
    numbers = {float(number) for entry in entries for number in quoted.findall(entry)}
    assert numbers or name not in ("primal-dual-lsvi", "reward-free"), "the pattern finds nothing"
    explained = ast.Module | ast.ClassDef | ast.FunctionDef
    nodes = [node for cls in forms for node in ast.walk(ast.parse(inspect.getsource(sys.modules[cls.__module__])))]
    texts = [ast.get_docstring(node) or "" for node in nodes if isinstance(node, explained)]
    assert len(texts) >= 3
    said = {float(number) for text in texts for number in quoted.findall(text)}
    assert not said & numbers, said & numbers


def test_what_is_from_memory_is_not_called_printed() -> None:
    recalled = [name for name in nr.learners.names() if nr.learners.get(name).source == "memory"]
    assert {"cspda", "optpess-primal-dual", "uc-cfh"} <= set(recalled)
    own = [(name, row) for name in recalled for row in nr.learners.get(name).table]
    shared = ("share", "lam", "cap", "lower_clip")  # rows that many learners have alike
    reasons = [(name, why) for name, row in own if row.name not in shared for _, why in row.columns.values()]
    assert [each for each in reasons if "printed" in each[1] or "the paper's" in each[1]] == []


def test_the_run_of_the_issue() -> None:
    """``noregret run random -k 3000 -t 3`` and the same with its own β, α and η."""
    problem = nr.problems.load("random")
    usual = nr.run(problem, episodes=300, trials=1, record_every=100, progress=False)
    own = {key: usual.constants[key] for key in ("beta", "alpha", "eta")}
    again = nr.run(problem, episodes=300, trials=1, record_every=100, progress=False, **own)
    for curve in ("regret", "hard_violations", "dual"):
        np.testing.assert_array_equal(getattr(usual, curve), getattr(again, curve))


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
