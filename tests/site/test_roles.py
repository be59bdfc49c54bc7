"""Prose of docstrings on the site: subscripts and superscripts."""

from __future__ import annotations

import pytest
from tools.docsite.roles import _symbols


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("α = 1/(H^1.5 √(SAK))", "α = 1/(H<sup>1.5</sup> √(SAK))"),
        ("about K^0.93.", "about K<sup>0.93</sup>."),
        ("K₀ = K^(2/3)/2", "K₀ = K<sup>2/3</sup>/2"),
        ("K^(−5/7)/(H²I)", "K<sup>−5/7</sup>/(H²I)"),
        ("regret T^⅔ and T^¾", "regret T<sup>⅔</sup> and T<sup>¾</sup>"),
        ("x in R^D.", "x in R<sup>D</sup>."),
        ("Y^{t+1} after Y_k^t", "Y<sup>t+1</sup> after Y<sub>k</sub><sup>t</sup>"),
        ("K^2.", "K<sup>2</sup>."),
    ],
)
def test_exponents_are_whole(text: str, shown: str) -> None:
    assert _symbols(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("utilities g_1..g_m.", "utilities g<sub>1</sub>..g<sub>m</sub>."),
        ("V_{g_i,1}(x_1)", "V<sub>g<sub>i</sub>,1</sub>(x<sub>1</sub>)"),
        ("the file g_1.npz and x_max", "the file g_1.npz and x<sub>max</sub>"),
    ],
)
def test_subscripts_are_lower_also_within_others(text: str, shown: str) -> None:
    assert _symbols(text) == shown
