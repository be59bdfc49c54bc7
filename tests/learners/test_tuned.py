"""Scales of a preset's numbers, and what a search found: data that presets are made of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import noregret as nr
from noregret import learners
from noregret.errors import InputError
from noregret.learners import tuned
from noregret.sweeps.tune import parse_range
from tests.support import fitting, small, told

OURS = [name for name in learners.names() if learners.get(name).__module__.startswith("noregret.")]
SEARCHED = [name for name in OURS if learners.get(name).space]


def made(name: str, preset: str = "practical", gap: float | None = None, **given: Any) -> Any:
    problem = fitting(name, small(H=3, S=4, A=3))
    return learners.make(name, problem.spec, episodes=500, preset=preset, slater_gap=gap, **told(name, problem), **given)


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Winners in place of those of the package."""

    def put(winners: Any) -> None:
        monkeypatch.setattr(tuned, "packaged", lambda: winners)

    return put


def test_a_scale_multiplies_the_presets_number_and_says_so() -> None:
    with tuned.ignored():
        usual, twice = made("opdop", "theory", 0.5), made("opdop", "theory", 0.5, eta_scale=2.0, xi_scale=0.5)
    assert twice.constants["eta"] == 2.0 * usual.constants["eta"] and twice.constants["xi"] == 0.5 * usual.constants["xi"]
    assert "times 2" in twice.explain["eta"] and twice.constants["alpha"] == usual.constants["alpha"]


def test_numbers_that_follow_from_a_scaled_one_follow() -> None:
    with tuned.ignored():
        usual, less = made("primal-dual-lsvi", "theory", 0.5), made("primal-dual-lsvi", "theory", 0.5, xi_scale=0.1)
    assert less.constants["eta"] == pytest.approx(0.1 * usual.constants["eta"])  # η = ξ/√(KH²)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"eta_scale": 2.0, "eta": 1.0}, "eta_scale is 2.0 and eta is 1.0; expected one of them"),
        ({"share_scale": 2.0}, "share_scale is 2; share is no number"),
        ({"zeal_scale": 2.0}, "unknown parameter of opdop 'zeal_scale'"),
        ({"eta_scale": -1.0}, "eta_scale is -1.0; expected a positive number"),
        ({"eta_scale": "much"}, "eta_scale is 'much'; expected a number"),
    ],
)
def test_scales_that_make_no_sense_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        made("opdop", **given)


@pytest.mark.parametrize("name", SEARCHED)
def test_the_printed_form_with_scales_needs_no_slater_gap_and_is_the_theory_but_for_them(name: str) -> None:
    assert "tuned" in learners.get(name).presets
    with tuned.ignored():
        scaled, printed = made(name, "tuned"), made(name, "theory", 1.0)
    assert scaled.constants == printed.constants
    made(name, "tuned")


@pytest.mark.parametrize("name", SEARCHED)
@pytest.mark.parametrize("form", ["theory", "practical"])
def test_every_space_names_parameters_that_the_learner_takes(name: str, form: str) -> None:
    ranges = dict(parse_range(text) for text in learners.get(name).space[form])
    assert all(learners.get(name).knows(key) for key in ranges)
    preset = "tuned" if form == "theory" else form
    for key in ranges:
        if not key.endswith("_scale") or key in learners.get(name).parameters:
            continue
        number = key.removesuffix("_scale")
        with tuned.ignored():
            assert made(name, preset, **{key: 1.7}).constants[number] != made(name, preset).constants[number]


def test_the_winners_of_the_package_are_well_formed() -> None:
    for name, forms in tuned.packaged().items():
        space = learners.get(name).space
        assert forms.keys() <= set(tuned.PRESETS)
        for preset, winner in forms.items():
            ranges = dict(parse_range(text) for text in space["theory" if preset == "tuned" else preset])
            assert winner.keys() <= ranges.keys()
            made(name, preset)
    found = json.loads((Path(__file__).parents[2] / "benchmarks" / "tuning" / "tuned.json").read_text("utf-8"))
    assert found == tuned.packaged()  # what the search left is what the package has


def test_winners_are_the_preset_and_give_way_to_what_is_given(found: Any) -> None:
    found({"opdop": {"practical": {"eta_scale": 3.0, "bonus_scale": 0.5}, "tuned": {"eta_scale": 7.0}}})
    with tuned.ignored():
        base = made("opdop").constants
    now = made("opdop")
    assert now.constants["eta"] == 3.0 * base["eta"] and now.constants["bonus_scale"] == 0.5
    assert "tuned" in now.explain["eta"] and now.explain["bonus_scale"].startswith("tuned")
    assert made("opdop", eta=0.3).constants["eta"] == 0.3
    assert made("opdop", eta_scale=2.0).constants["eta"] == 2.0 * base["eta"]
    assert made("opdop", "theory", 1.0).constants["eta"] * 7.0 == pytest.approx(made("opdop", "tuned").constants["eta"])


def test_runs_of_other_winners_have_other_names(found: Any) -> None:
    def meaning(**params: Any) -> int:
        return nr.learners.meaning("opdop", "practical", params)

    found({})
    assert meaning() == 1
    found({"opdop": {"practical": {"eta_scale": 3.0}}})
    first = meaning()
    assert first > 4 and first % 4 == 1 and meaning(eta=1.0) == meaning(eta_scale=2.0) == 1
    assert nr.learners.meaning("opdop", "theory", {}) == 1
    found({"opdop": {"practical": {"eta_scale": 4.0}}})
    assert meaning() not in (1, first)
