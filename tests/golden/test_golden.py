"""Presets give the recorded constants and curves; the recorded constants, written out beside any preset, give the same curves.

The numbers are compared bit for bit where the processor and the packages are those of the recording, else to 1e-9.
``python -m tests.golden`` records them anew, on purpose only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from tests.golden.cases import cases, machine, read, unlabelled, written

THEN, RUNS = read()
SAME = machine() == THEN

#: Runs whose preset is still there; and runs that their constants determine, beside every preset that can stand there.
PRESETS = [name for name, (case, _) in RUNS.items() if not case.gone()]
WRITTEN = [(name, preset) for name, (case, _) in RUNS.items() for preset in case.beside()]


def agree(now: Mapping[str, Any], then: Mapping[str, Any]) -> None:
    """Compare numbers and words, entry by entry."""
    assert now.keys() == then.keys()
    for name, value in now.items():
        if isinstance(value, dict):
            agree(value, then[name])
        elif SAME or isinstance(value, str | bool):
            assert json.dumps(value) == json.dumps(then[name]), name  # by bits: 0.0 is not -0.0, and 1 is not 1.0
        else:
            np.testing.assert_allclose(value, then[name], rtol=1e-9, atol=1e-9, err_msg=name)


def test_the_file_holds_all_runs_and_no_others() -> None:
    wanted = cases().keys() | {name for name, (case, _) in RUNS.items() if case.gone() and case.written}
    assert wanted == RUNS.keys(), "python -m tests.golden records new runs and drops old ones"


def test_bits_are_compared() -> None:
    if not SAME:
        pytest.skip(f"recorded with {THEN}, this is {machine()}: numbers are compared to 1e-9 here")
    agree({"alpha": 0.1}, {"alpha": 0.1})
    with pytest.raises(AssertionError, match="alpha"):
        agree({"alpha": 0.1}, {"alpha": float(np.nextafter(0.1, 1.0))})


@pytest.mark.parametrize("name", PRESETS)
def test_presets_give_what_was_recorded(name: str) -> None:
    case, numbers = RUNS[name]
    agree(case.play(), numbers)


@pytest.mark.parametrize(("name", "preset"), WRITTEN)
def test_written_constants_give_what_was_recorded(name: str, preset: str) -> None:
    case, numbers = RUNS[name]
    agree(unlabelled(written(case, numbers, preset).play()), unlabelled(numbers))
