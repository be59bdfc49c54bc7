"""What a search leaves: the winners, every configuration with its score, and a table. All of it is small, and data."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from noregret._system.files import make_folder, write_whole
from noregret.errors import FileError
from noregret.experiments.tune_all.search import Found, score
from noregret.experiments.tune_all.settings import BUDGET, EXPLORE, HARM, HELD_OUT, KEPT, LEAST, MARGIN, RUNGS, SHARES

#: The files, in the order in which they are written; the winners last, as they say that all is there.
CONFIGURATIONS, HELD, PROTOCOL, TABLE, WINNERS = "configurations.csv", "held-out.csv", "protocol.json", "table.md", "tuned.json"


def write(found: Sequence[Found], folder: Path, budget: int = BUDGET, seed: int = 0) -> list[Path]:
    """Write what was found; forms that were not searched keep the lines and winners that the folder has of them.

    Args:
        found: finished searches.
        folder: where the files go.
        budget: the configurations of each form.
        seed: what decided them.
    """
    make_folder(folder)
    winners = merge(_read_winners(folder / WINNERS), found)  # first: what cannot be read is refused before anything is written
    here = {(one.form.learner, one.form.preset) for one in found}
    written = [
        _rows(
            folder / CONFIGURATIONS,
            ("learner", "preset", "number", "rungs", "score", "winner", "configuration"),
            _trials(found),
            here,
        ),
        _rows(folder / HELD, ("learner", "preset", "problem", "episodes", "seed", "begin", "winner"), _held(found), here),
        _text(folder / PROTOCOL, json.dumps(protocol(budget, seed), indent=1, ensure_ascii=False) + "\n"),
    ]
    table = folder / TABLE
    written.append(_text(table, markdown(folder)))
    return [*written, _text(folder / WINNERS, dump(winners))]


def protocol(budget: int, seed: int) -> dict[str, Any]:
    """The protocol as data."""
    return {
        "budget": budget, "seed": seed, "explore": EXPLORE, "shares": SHARES, "margin": MARGIN, "harm": HARM, "least": LEAST,
        "kept": KEPT,
        "rungs": [[test._asdict() for test in tests] for tests in RUNGS], "held_out": [test._asdict() for test in HELD_OUT],
        "score": "geometric mean over tests of the mean over seeds of (hard regret + worst hard violation) / "
        "(episodes x the uniform policy's loss)",
    }  # fmt: skip


def merge(winners: dict[str, dict[str, dict[str, Any]]], found: Sequence[Found]) -> dict[str, dict[str, dict[str, Any]]]:
    """The winners with those of some searches put in their places; a preset that stays what it was has no entry."""
    merged = {name: dict(forms) for name, forms in winners.items()}
    for one in found:
        merged.setdefault(one.form.learner, {})[one.form.preset] = one.entry
    return {
        name: kept for name, forms in sorted(merged.items()) if (kept := {key: each for key, each in forms.items() if each})
    }


def dump(winners: dict[str, dict[str, dict[str, Any]]]) -> str:
    """The winners as a file: a line for each preset."""
    lines = []
    for name, forms in winners.items():
        own = ",\n".join(f"  {json.dumps(preset)}: {json.dumps(forms[preset])}" for preset in sorted(forms))
        lines.append(f" {json.dumps(name)}: {{\n{own}\n }}")
    return "{\n" + ",\n".join(lines) + "\n}\n" if lines else "{}\n"


def write_winners(found: Sequence[Found], path: Path) -> Path:
    """Put the winners into a file of the package's form, in place of what it has of these learners."""
    return _text(path, dump(merge(_read_winners(path), found)))


def markdown(folder: Path) -> str:
    """The table of a search from its data: scores before and after, on the problems that chose and on those that did not."""
    trials = list(csv.DictReader((folder / CONFIGURATIONS).read_text("utf-8").splitlines()))
    held = list(csv.DictReader((folder / HELD).read_text("utf-8").splitlines()))
    lines = [
        "| learner | preset | tried | before | after | held out, before | held out, after | winner |",
        "|---|---|" + "---|" * 6,
    ]
    for learner, preset in dict.fromkeys((row["learner"], row["preset"]) for row in trials):
        own = [row for row in trials if (row["learner"], row["preset"]) == (learner, preset)]
        begin = float(own[0]["score"])
        best = min((int(row["rungs"]) * -1, float(row["score"])) for row in own)[1]
        (winner,) = (row for row in own if row["winner"])
        runs = [row for row in held if (row["learner"], row["preset"]) == (learner, preset)]
        tests = dict.fromkeys((row["problem"], row["episodes"]) for row in runs)
        out = [
            score([float(row[name]) for row in runs if (row["problem"], row["episodes"]) == test] for test in tests)
            for name in ("begin", "winner")
        ]
        after = float(winner["score"])
        won = winner["configuration"].replace("; ", ", ") if winner is not own[0] else "stays"
        won = f"kept; the best had {best:.4f}" if f"{learner}-{preset}" in KEPT else won
        lines.append(f"| {learner} | {preset} | {len(own)} | {begin:.4f} | {after:.4f} | {out[0]:.4f} | {out[1]:.4f} | {won} |")
    return "\n".join(lines) + "\n"


def _trials(found: Sequence[Found]) -> list[list[Any]]:
    return [
        [
            one.form.learner,
            one.form.preset,
            trial.number,
            trial.rungs,
            _short(trial.score),
            "yes" if trial is one.winner else "",
            _said(trial.params),
        ]
        for one in found
        for trial in one.trials
    ]


def _held(found: Sequence[Found]) -> list[list[Any]]:
    runs = [(test, seed) for test in HELD_OUT for seed in test.seeds]
    return [
        [one.form.learner, one.form.preset, test.problem, test.episodes, seed, _short(begin), _short(winner)]
        for one in found
        for (test, seed), begin, winner in zip(
            runs, one.held_out.get("begin", []), one.held_out.get("winner", []), strict=False
        )
    ]


def _short(value: float) -> str:
    return f"{value:.5g}" if math.isfinite(value) else str(np.inf)


def _said(params: dict[str, Any]) -> str:
    return "; ".join(f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in params.items())


def _read_winners(path: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """The winners that a file has; none where there is no file.

    Raises:
        FileError: the file is not one of winners.
    """
    try:
        found: dict[str, dict[str, dict[str, Any]]] = json.loads(path.read_text("utf-8")) if path.exists() else {}
        if all(isinstance(params, dict) for forms in found.values() for params in forms.values()):
            return found
    except (OSError, ValueError, AttributeError):
        pass
    raise FileError(f"{path}: cannot be read; expected the winners of a search, a file that noregret tune-all wrote")


def _rows(path: Path, header: Sequence[str], rows: list[list[Any]], here: set[tuple[str, str]]) -> Path:
    """A CSV file, with the lines that it had of other forms; sorted by learner and preset, in the order given within each."""
    kept: list[list[Any]] = []
    if path.exists():
        kept = [row for row in csv.reader(path.read_text("utf-8").splitlines()[1:]) if (row[0], row[1]) not in here]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([header, *sorted([*kept, *rows], key=lambda row: (row[0], row[1]))])
    return _text(path, out.getvalue())


def _text(path: Path, text: str) -> Path:
    return write_whole(path, lambda file: file.write(text.encode()))
