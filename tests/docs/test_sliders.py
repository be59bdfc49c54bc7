"""The interactive figures in a real browser: a slider moves b, and the optimum, the price and the policy follow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from tests import browser

ASSETS = Path(__file__).parents[2] / "docs" / "assets"
THRESHOLDS = (1.0, 3.0, 4.0, 4.3, 4.45)

pytestmark = pytest.mark.skipif(browser.find() is None, reason="not run: there is no Chromium on this machine")


def _page(folder: Path, kind: str, data: dict[str, Any]) -> Path:
    """A page as a notebook leaves it: the numbers inside, the script and the styles beside."""
    path = folder / f"{kind}.html"
    path.write_text(
        f'<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<link rel="stylesheet" href="{(ASSETS / "sliders.css").as_uri()}">'
        f'<script src="{(ASSETS / "sliders.js").as_uri()}"></script><body data-md-color-scheme="slate">'
        f'<div class="nr-slider" data-kind="{kind}"><script type="application/json">{json.dumps(data)}</script>'
        f'<p class="without">no scripts</p></div>'
    )
    return path


def _press(page: browser.Browser, key: str, code: int) -> None:
    for kind in ("keyDown", "keyUp"):
        page.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)


def _price() -> tuple[dict[str, Any], list[Any]]:
    problem = nr.problems.load("job-scheduling")
    solved = [nr.solve(problem.replace(b=b)) for b in THRESHOLDS]
    data = {
        "utility": "jobs", "action": "send", "steps": problem.horizon, "states": [str(x) for x in range(problem.n_states)],
        "start": 2, "b": list(THRESHOLDS), "value": [one.value for one in solved],
        "dual": [float(one.dual[0]) for one in solved], "gap": [one.slater_gap for one in solved],
        "policy": [np.rint(100 * one.policy[:, :, 1]).ravel().tolist() for one in solved],
        "reached": [(one.occupancy.sum(axis=2) > 1e-9).astype(int).ravel().tolist() for one in solved],
    }  # fmt: skip
    return data, solved


def test_the_price_of_a_constraint_follows_its_slider(tmp_path: Path) -> None:
    data, solved = _price()
    with browser.Browser() as page:
        page.size(390, 844, phone=True)
        page.open(_page(tmp_path, "price", data))
        page.wait("!!document.querySelector('.nr-slider .panels')")
        assert page.run("document.querySelector('.panel').contains(document.querySelector('input'))"), "it is under its curve"
        assert page.run("document.querySelector('.without')") is None
        assert page.run("document.documentElement.scrollWidth") <= 390
        seen = []
        page.run("document.querySelector('input').focus()")
        for i in (2, 3, 4):
            said = page.run("document.querySelector('.said').textContent")
            assert (
                f"V* = {solved[i].value:.4f}, price (dual) = {solved[i].dual[0]:.4f}, Slater gap = {solved[i].slater_gap:.4f}"
                in said
            )
            assert f"b = {THRESHOLDS[i]:.2f}" in page.run("document.querySelector('label span').textContent")
            cells = page.run("[...document.querySelectorAll('.cell')].map(cell => Number(cell.getAttribute('opacity')))")
            wanted = np.where(np.array(data["reached"][i]), 0.08 + 0.92 * np.array(data["policy"][i]) / 100, 0.0)
            assert np.allclose(cells, wanted)
            seen.append((page.run("document.querySelector('.dot').getAttribute('cy')"), tuple(cells)))
            _press(page, "ArrowRight", 39)
        assert len(set(seen)) == 3  # the point and the policy moved each time
        _press(page, "Home", 36)
        assert page.run("document.querySelector('input').getAttribute('aria-valuetext')").startswith("b 1.00")
        assert not page.complaints
        assert all(request.startswith("file:") for request in page.requests)


def test_the_constants_have_a_slider_each(tmp_path: Path) -> None:
    curves = [[[0, 10 * (i + 1), 100 * (i + 1) * (j + 1)] for j in range(3)] for i in range(2)]
    data = {
        "episodes": [0, 500, 1000], "beta": [0.1, 1.0], "lam": [0.001, 0.01, 1.0], "start": [0, 0], "H": 10,
        "regret": curves, "violation": [[[0, 5, 7 * (j + 1)] for j in range(3)] for _ in range(2)],
    }  # fmt: skip
    with browser.Browser() as page:
        page.open(_page(tmp_path, "constants", data))
        page.wait("!!document.querySelector('.nr-slider .panels')")
        bold = "document.querySelectorAll('.curve')[0].getAttribute('d')"
        first = page.run(bold)
        for i, j, untried in ((1, 0, ": always worth a try"), (1, 2, ": too little to be worth a try")):
            for n, value in ((0, i), (1, j)):
                page.run(f"document.querySelectorAll('input')[{n}].value = {value}")
                page.run(f"document.querySelectorAll('input')[{n}].dispatchEvent(new Event('input'))")
            said = page.run("document.querySelector('.said').textContent")
            assert f"regret {curves[i][j][-1]}, violation {7 * (j + 1)}." in said
            assert untried in said
            assert page.run(bold) != first
        assert not page.complaints
