"""``noregret show``: everything about one stored run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from noregret.cli import arguments as arg
from noregret.cli.app import app
from noregret.cli.console import console


@app.command()
def show(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's name, or its first digits.")],
    folder: arg.Runs = Path("runs"),
) -> None:
    """Show a stored run: what it is, how it ended, its constants, where it was played, and how to repeat it."""
    from noregret.store import Store

    store = Store.at(folder)
    id = store.find(run)
    if store.path(id).exists():
        stored = store.read(id)
        stored.curves()  # checked before anything is said of them
        _finished(id, stored.record, stored.key)
    else:
        _failed(id, store.failures()[id])


def _finished(id: str, record: dict[str, Any], key: Any) -> None:
    _what(f"Run {id}", key)
    last = record["last"]
    _print(
        f"After {key.episodes:,} episodes",
        [
            ("regret", last["regret"]),
            ("hard regret", last["hard_regret"]),
            *(
                (f"{word} of {name!r}", max(0.0, value) if kind == "signed_violations" else value)
                for kind, word in (("signed_violations", "violation"), ("hard_violations", "hard violation"), ("dual", "dual"))
                for name, value in zip(record["constraints"], last[kind], strict=True)
            ),
            ("optimal value", record["optimal_value"]),
            ("Slater gap", record["slater_gap"]),
        ],
    )
    _print("Constants", [(name, value, record["explain"].get(name, "")) for name, value in record["constants"].items()])
    _print(
        "Played",
        [
            ("started", record["started"]),
            ("finished", record["finished"]),
            ("sittings", record["sittings"]),
            ("seconds", f"{record['seconds']:.3f}, of them {record['kernel_seconds']:.3f} in kernels"),
            ("versions", ", ".join(f"{name} {value}" for name, value in record["versions"].items())),
            ("machine", ", ".join(f"{name} {value}" for name, value in record["machine"].items())),
        ],
    )
    console().print(f"Repeat it: {key.repeat()}", markup=False)


def _failed(id: str, record: dict[str, Any]) -> None:
    from noregret.store import RunKey

    key = RunKey.from_json(record["run"])
    _what(f"Run {id} failed", key)
    console().print(record["error"], markup=False)
    console().print(record["traceback"], markup=False)
    console().print(f"Repeat it: {key.repeat()}", markup=False)


def _what(title: str, key: Any) -> None:
    rows = [("problem", key.problem), ("learner", key.learner), ("options", key.options())]
    rows += [("seed, trial", f"{key.seed}, {key.trial}"), ("episodes", f"{key.episodes}, recorded every {key.record_every}")]
    _print(title, rows)


def _print(title: str, rows: list[tuple[Any, ...]]) -> None:
    from noregret.report.tables import Table

    if rows:
        cells = tuple(tuple(str(c) if isinstance(c, bool) else c for c in row) for row in rows)
        console().print(Table(title, ("",) * len(rows[0]), cells).rich())
        console().print()
