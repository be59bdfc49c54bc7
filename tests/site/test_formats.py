"""The page about formats names every field that is written, and none that is not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import noregret as nr
from noregret.agent import files
from noregret.problems import npz
from noregret.sweeps import spec

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "formats.md").read_text()
PARTS = {part.partition("\n")[0]: part for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)}


def fields(text: str) -> list[str]:
    """The names in the first column of the tables of some text."""
    return [
        name
        for cell in re.findall(r"^\| ((?:`[^`]+`(?:, )?)+) \|", text, re.MULTILINE)
        for name in re.findall("`([^`]+)`", cell)
    ]


def test_a_problem() -> None:
    told = fields(PARTS["A problem: `.npz`"])
    assert sorted([*told, "phi"]) == sorted([*npz.REQUIRED, *npz.OPTIONAL])
    assert told[:5] == list(npz.REQUIRED)


def test_a_sweep() -> None:
    first, _, second = PARTS["A sweep: `.toml`"].partition("Each `[[learners]]` has")
    assert sorted(fields(first)) == sorted(spec._TOP)
    assert sorted(fields(second)) == sorted(spec._LEARNER)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("kept")
    nr.run("machine-load", "uniform", episodes=3, trials=1, out=out, progress=False)
    (folder,) = [path.parent for path in out.glob("runs/*/run.json")]
    return folder


def test_a_run(kept: Path) -> None:
    record = json.loads((kept / "run.json").read_text())
    _, record_part, run_part, curves_part = re.split(
        r"^`run.json`:|^Its entry `run`:|^`curves.npz`, where", PARTS["The store"], flags=re.MULTILINE
    )
    assert sorted(fields(record_part)) == sorted(record)
    assert sorted(fields(run_part)) == sorted(record["run"])
    with np.load(kept / "curves.npz") as curves:
        assert sorted(fields(curves_part)) == sorted(curves.files)
        assert record["last"].keys() < set(curves.files)


def test_an_agent(tmp_path: Path) -> None:
    agent = nr.Agent(nr.problems.load("streaming"), episodes=4)
    agent.save(tmp_path / "agent.npz")
    with np.load(tmp_path / "agent.npz") as arrays:
        written = {name for name in arrays.files if not name.startswith(("state.", "flight."))}
        meta = json.loads(bytes(arrays["meta"]))
    part, _, meta_part = PARTS["An agent: `.npz`"].partition("| entry of `meta`")
    assert set(fields(part)) == written | {"actions", "flight.…", "state.…"}
    assert set(fields(meta_part)) == meta.keys() == files.META.keys()


def test_the_page_about_promises_names_tests_that_are_there() -> None:
    root = Path(__file__).parents[2]
    for page in ("promises", "oracle"):
        named = re.findall(r"`(?:tests/)?([\w/]+\.py|\w+/)`", (root / "docs" / "how" / f"{page}.md").read_text())
        assert len(named) > 4
        assert [name for name in named if not (root / "tests" / name).exists()] == []
