"""Numbers that docs/reference/paper.md states of the paper's experiment, computed anew."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

import noregret as nr
from noregret import learners

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "paper.md").read_text()
K, H, B, ZETA = 200_000, 10, 4.0, 0.1
ETA = 20 / math.sqrt(K * H**2)  # ξ/√(KH²), with ξ = 2H/γ and γ = 1 as the experiment has it


def part(name: str) -> str:
    """The paragraph of a place, its lines joined."""
    found = re.search(rf"\*\*{name} ·.*?(?=\n\n|\Z)", PAGE, re.DOTALL)
    assert found, name
    return " ".join(found[0].split())


def stated(pattern: str, name: str) -> list[float]:
    """The numbers of a place that a pattern finds."""
    found = re.search(pattern, part(name))
    assert found, pattern
    return [float(number.replace(",", "")) for number in found.groups()]


def test_three_rules_for_alpha() -> None:
    log = math.log(2)
    rules = (log * K / (2 * (1 + 20 + H)), log * K / (2 * H), K / (1 + 20 + H))
    assert "That is {:.0f}, {:.0f} or {:.0f}:".format(*rules) in part("I-1")


def test_the_gap_and_the_prices_are_those_of_the_program() -> None:
    problem = nr.problems.load("job-scheduling")
    best = nr.solve(problem)
    tight = nr.solve(problem, tighten=ZETA)
    gap, price, tight_price = best.slater_gap, float(best.dual[0]), float(tight.dual[0])
    assert f"more than {B + gap:.4f} of utility in that world, so the gap is {gap:.4f}," in part("I-2")
    assert f"the best dual is {price:.2f}." in part("I-2")
    assert f"The best price of the tightened problem is {tight_price:.3f}:" in part("I-25")
    assert f"{best.value - tight.value:.4f} an episode below V\\*" in part("I-4")
    assert stated(r"to about ([\d,]+),", "I-4") == pytest.approx([K * (best.value - tight.value)], rel=0.01)


def test_the_orders_of_efroni_s_two_are_those_of_the_table() -> None:
    for name in ("opt-dual", "opt-primal-dual"):
        order = learners.get(name).promise[0]  # in steps, T = HK
        found = re.fullmatch(r"√\(H([³⁵])S²AT\)", order)
        assert found, order
        assert f"√(H{'⁴' if found[1] == '³' else '⁶'}S²AK)" in part("I-24")


def test_how_slowly_the_printed_dual_rises() -> None:
    price = float(nr.solve(nr.problems.load("job-scheduling"), tighten=ZETA).dual[0])
    assert f"{ETA:.4f} in the experiment" in part("I-25")
    slow = stated(r"after (\d+) units of violation, which is (\d+) episodes", "I-25")
    assert slow == pytest.approx([price / ETA, price / ETA / B], abs=1.0)
