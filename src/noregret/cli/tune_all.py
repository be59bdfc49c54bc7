"""``noregret tune-all``: the same search for every learner, whose winners are the presets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noregret._system.text import listed
from noregret.cli import arguments as arg
from noregret.cli.app import app, console, say, stop

if TYPE_CHECKING:
    from noregret.experiments.tune_all import Found


@app.command(name="tune-all")
def tune_all(
    learners: Annotated[
        str | None, typer.Option("--learners", metavar="LIST", help="Learners; all that declare a space by default.")
    ] = None,
    budget: Annotated[
        int, typer.Option("--budget", parser=arg.whole, metavar="N", help="Configurations of each form of each learner.")
    ] = 100,
    seed: arg.Seed = 0,
    out: arg.Out = Path("results/tuning"),
    winners: Annotated[
        Path | None,
        typer.Option("--winners", metavar="FILE", help="Also put the winners here, such as src/noregret/learners/tuned.json."),
    ] = None,
    workers: arg.Workers = None,
) -> None:
    """Search the constants of every learner with one budget on one set of generated problems. It can be stopped any time.

    Winners are scored once more on held-out problems. Started again with the same folder, the search goes on.
    """
    from noregret.experiments import tune_all as experiment
    from noregret.experiments.tune_all import page
    from noregret.runs import How

    def tell(one: Found) -> None:
        begin, after = one.begin.score, one.winner.score
        say(f"{one.form.name}: {begin:.4f} → {after:.4f}, {len(one.trials)} configurations")

    names = None if learners is None else listed(learners)
    found = experiment.tune_all(names, out, budget=budget, seed=seed, how=How(workers=workers), tell=tell)
    whole = [one for one in found if one.signal is None]
    if whole:
        files = page.write(whole, out, budget, seed) + ([page.write_winners(whole, winners)] if winners else [])
        console().print(page.markdown(out))
        console().print(f"wrote {', '.join(file.name for file in files)} in {out}")
    if len(whole) < len(found):
        stop("stopped; the same command goes on")
