"""``noregret verify``: the lemmas of the paper, checked on a run."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from noregret.cli import arguments as arg
from noregret.cli.app import app, print_table, say

EPISODES = 2000


@app.command()
def verify(
    problem: arg.Problem,
    preset: Annotated[
        str | None, typer.Option("--preset", "-p", help="Preset of the constants. Default: theory, then paper.")
    ] = None,
    episodes: arg.Episodes = EPISODES,
    seed: arg.Seed = 0,
    slater_gap: arg.SlaterGap = None,
    settings: arg.Settings = None,
) -> None:
    """Run the algorithm and check on the run, with the exact truth, every inequality its proofs are made of.

    Exit code 0 if every inequality that is stated for these options holds, 1 if one fails. With preset theory and no Slater gap
    given, the exact one is used.
    """
    params, gap = arg.settings(settings or []), arg.gap(slater_gap)
    failed = 0
    for name in ("theory", "paper") if preset is None else (preset,):
        told = "oracle" if gap is None and name == "theory" else gap
        failed += _print(problem, name, episodes=episodes, seed=seed, slater_gap=told, **params)
    if failed:
        say(f"{failed} {'check fails' if failed == 1 else 'checks fail'}")
        raise typer.Exit(1)


def _print(problem: str, preset: str, **options: Any) -> int:
    """One run and its table; how many checks fail."""
    from noregret.verification import all_checks, trace

    checks = all_checks(trace(problem, preset=preset, **options))
    rows = [(c.name, c.verdict, c.slack, c.detail, c.lines) for c in checks]
    told = {"oracle": ", told the exact Slater gap", None: ""}.get(options["slater_gap"], f", told {options['slater_gap']}")
    title = f"primal-dual-lsvi on {problem}: preset {preset}, {options['episodes']:,} episodes{told}"
    print_table(title, rows, ("inequality", "verdict", "slack", "measured", "paper, line"))
    return sum(c.verdict == "FAILS" for c in checks)
