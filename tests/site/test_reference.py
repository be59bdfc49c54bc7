"""The reference has a page for every room of the package."""

from __future__ import annotations

from pathlib import Path

import noregret as nr

ROOT = Path(__file__).parents[2]


def test_every_room_has_a_page() -> None:
    from tools.docsite.reference import ROOMS

    folder = ROOT / "src" / "noregret"
    rooms = {path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert set(ROOMS) == {name for name in rooms if not name.startswith("_")}


def test_runs_are_played_by_one_process_a_core(tmp_path: Path, monkeypatch) -> None:
    from tools.docsite import runs
    from tools.docsite.site import Site

    said: list[str] = []
    monkeypatch.setenv("DOCS_CACHE", str(tmp_path))
    runs.play_all(Site(log=said.append), ["uniform", "no-such-learner"])
    assert [line.split(":")[0] for line in said] == ["learner 1 of 2", "learner 2 of 2"]
    kept = {path.name for path in (tmp_path / "store" / "runs").iterdir() if not path.name.startswith(".")}
    assert len(kept) == runs.TRIALS * len(runs.small())
    result = runs.result(tmp_path / "store", "random", "uniform")
    assert isinstance(result, nr.RunResult) and result.trials == runs.TRIALS
