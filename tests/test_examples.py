"""Every file in examples/ is run as it is: it meets its limit and ends in under a minute."""

from __future__ import annotations

import importlib.util
import re
import sys
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import noregret as nr

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))
NEEDS = {"resource_gathering": "mo_gymnasium"}
#: Agents that meet their limit by plans on both sides of it: one plan alone says nothing, so they are judged while they learn.
ALTERNATE = {"frozen_lake", "admission_queue"}


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_meets_its_limit_in_under_a_minute(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip(NEEDS.get(path.stem, "noregret"))
    assert re.search(rf"python examples/{path.name}", path.read_text()), "an example says how to start it"
    main = load(path).main
    began = time.process_time()
    found = main()
    assert time.process_time() - began < 60.0
    said = capsys.readouterr().out
    if path.stem in ALTERNATE:
        before = len(found.values)
        assert found.objectives.meets(np.mean(found.values[-before // 4 :], axis=0)).all() and ": met" in said
        found.learn(500, progress_bar=False)
        assert found.objectives.meets(np.mean(found.values[before:], axis=0)).all()
    elif isinstance(found, nr.Agent):
        fresh = found.evaluate(200)
        assert all(fresh.satisfied), fresh
        assert "not met" not in said and ": met" in said
        assert found.objectives.meets(np.mean(found.values[-len(found.values) // 4 :], axis=0)).all()
    elif path.stem.startswith("live_"):  # killed in the middle: nothing is open, nothing is missing, and the limit is met
        assert found["episodes"]["open"] == 0 and found["episodes"]["complete"] >= 60 and found["trouble"] is None
        assert found["limits"][0]["met"], found["limits"]
        assert found["plan"]["version"] > 3 and "plans" in said
    else:
        assert isinstance(found, nr.RunResult)
        assert float(found.violation[:, -1].max()) == 0.0 and "violation 0.0" in said
