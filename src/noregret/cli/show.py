"""``noregret show``: everything about one stored run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noregret.cli import arguments as arg
from noregret.cli.app import app, console, print_table

if TYPE_CHECKING:
    from noregret.store import RunKey
    from noregret.store.records import RunRecord


@app.command()
def show(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's name, or its first digits.")],
    folder: arg.Runs = Path("runs"),
) -> None:
    """Show a stored run: what it is, how it ended, its constants, where it was played, and how to repeat it."""
    from noregret.store import RunKey, Store

    store = Store.at(folder)
    id = store.find(run)
    if store.path(id).exists():
        stored = store.read(id)
        stored.curves()  # checked before anything is said of them
        key = stored.key
        _what(f"Run {id}", key)
        _finished(stored.record, key)
    else:
        failure = store.failures()[id]
        key = RunKey.from_json(failure["run"])
        _what(f"Run {id} failed", key)
        console().print(failure["error"])
        console().print(failure["traceback"])
    console().print(f"Repeat it: {key.repeat()}")


def _finished(record: RunRecord, key: RunKey) -> None:
    last = record["last"]
    print_table(
        f"After {key.episodes:,} episodes",
        [
            ("regret", last["regret"]),
            ("hard regret", last["hard_regret"]),
            *(
                (f"{word} of {name!r}", max(0.0, value))
                for values, word in (
                    (last["signed_violations"], "violation"),
                    (last["hard_violations"], "hard violation"),
                    (last["dual"], "dual"),
                )
                for name, value in zip(record["constraints"], values, strict=True)
            ),
            *([("unsafe steps", last["unsafe_steps"])] if "unsafe_steps" in last else []),
            ("optimal value", record["optimal_value"]),
            ("Slater gap", record["slater_gap"]),
        ],
    )
    print_table("Constants", [(name, value, record["explain"].get(name, "")) for name, value in record["constants"].items()])
    print_table(
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


def _what(title: str, key: RunKey) -> None:
    rows = [("problem", key.problem), ("learner", key.learner), ("options", key.options())]
    rows += [("seed, trial", f"{key.seed}, {key.trial}"), ("episodes", f"{key.episodes}, recorded every {key.record_every}")]
    print_table(title, rows)
