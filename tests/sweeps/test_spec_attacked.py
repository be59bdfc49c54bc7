"""Sweep files that were made to break the reader: each is refused in one line, at once, before any problem is built."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

import noregret as nr
from noregret.errors import FileError, InputError
from noregret.sweeps import spec

GOOD = """
episodes = 200
problems = ["random:S=4,A=2,H=3"]

[[learners]]
name = "uniform"
"""


def refused(text: str, source: str = "sweep.toml") -> str:
    """The line with which a text is refused, within two seconds."""
    begin = time.perf_counter()
    with pytest.raises(InputError) as error:
        spec.parse(text, source)
    assert time.perf_counter() - begin < 2.0
    assert len(str(error.value)) < 500
    return str(error.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("trials = 1000000000000", "asks for 1000000000000 runs; expected at most 100,000 in one file"),
        ("seeds = 1e8", "expected at most 100,000 in one file"),
        ("seeds = 1e300", "expected at most 100,000 in one file"),
        ("trials = " + "9" * 4000, "expected at most 100,000 in one file"),
        ("trials = " + "9" * 5000, "is not TOML"),
        ("trials = -" + "9" * 4000, "trials is -999"),
        ('imports = [""]', "line 2: module '' cannot be imported; expected a dotted name"),
        ('imports = [".x"]', "line 2: module '.x' cannot be imported; expected a dotted name"),
        ('imports = ["a b"]', "line 2: module 'a b' cannot be imported; expected a dotted name"),
        ('imports = ["no_such_module_here"]', "line 2: module 'no_such_module_here' cannot be imported"),
        ("seeds = " + "[" * 5000 + "]" * 5000, "nested too deeply"),
        ("x" * 20_000 + " = 1", "unknown key"),
        ("starts = [" + " " * 200_000 + "0, 7]", "line 2: random:S=4,A=2,H=3: starts[1] is 7"),
    ],
    ids=range(13),
)
def test_one_line_for_each(line: str, message: str) -> None:
    if line.startswith("x"):
        with pytest.raises(InputError, match=message):
            spec.parse(f"\n{line}{GOOD}")
    else:
        assert message in refused(f"\n{line}{GOOD}")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"episodes": 0, "problems": ["queue"], "learners": [{"name": "uniform"}]}, "sweep, episodes: episodes is 0"),
        ({"episodes": 9, "problems": ["queue"], "learners": [{"name": "opdop", "grid": {"beta": []}}]},
         "sweep, learners.0.grid.beta: beta is "),
        (None, "spec is None; expected a file or a dictionary"),
        (3, "spec is 3; expected a file or a dictionary"),
    ],
)  # fmt: skip
def test_entries_of_a_dictionary_are_named_without_lines(spec: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message) as caught:
        nr.sweep(spec, tmp_path / "runs")
    assert "line" not in str(caught.value) and not (tmp_path / "runs").exists()


@pytest.mark.parametrize("body", ["raise RuntimeError('no luck')", "import sys; sys.exit(3)", "1 +", "raise ValueError"])
def test_a_module_that_raises(body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"raises_{abs(hash(body))}"
    (tmp_path / f"{name}.py").write_text(body)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert f"line 2: module {name!r} cannot be imported" in refused(f'\nimports = ["{name}"]{GOOD}')


def test_a_grid_of_billions_is_counted_and_not_made() -> None:
    grid = ", ".join(f"p{i} = [{', '.join(map(str, range(10)))}]" for i in range(10))
    assert "asks for 10000000000 runs" in refused(f"{GOOD}grid = {{ {grid} }}\n")


@pytest.mark.parametrize("space", [" ", "\t", "[", '"', "a."])
def test_long_lines_take_no_time(space: str) -> None:
    """The finder of lines was quadratic in the spaces after a bracket."""
    text = f"{GOOD}wrong = 1\n# {space * 100_000}\ny = '''\n[{space * 100_000}\n'''\n"
    assert "line 7: unknown key 'wrong'" in refused(text)


def test_a_pipe_in_place_of_a_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "sweep.toml")
    with pytest.raises(FileError, match="regular file"):
        spec.read(tmp_path / "sweep.toml")
