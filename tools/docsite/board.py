"""How learners do: curves from the store, and the leaderboard where the project has one."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import noregret as nr
from noregret.results import drawing
from tools.docsite import runs
from tools.docsite.site import Page, Site
from tools.docsite.text import figure, number, table

#: Columns of the leaderboard that a page shows, as far as they are there.
COLUMNS = ("problem", "learner", "ratio", "score", "hard regret", "hard violation", "unsafe steps", "seconds", "reason")


def of_problem(site: Site, name: str) -> tuple[str, list[Page]]:
    """The part of a problem's page about learners, and its pictures."""
    parts, files = list[str](), list[Page]()
    if name in runs.small():
        inputs = {"learners": nr.learners.names(), "by": Path(__file__).read_text(), "runs": Path(runs.__file__).read_text()}
        kept = site.kept(f"board/{name}", inputs, lambda to: _draw(site, name, to), compute=site.quick is None)
        if kept:
            rows = json.loads(kept["rows.json"])
            files.append(Page(f"gallery/problems/{name}-learners.svg", kept["learners.svg"]))
            parts.append(
                f"{runs.TRIALS} trials of {runs.EPISODES:,} episodes, preset `practical`, means. Late loss is what an average "
                "episode of the last tenth loses in hard regret and hard violation together; the list is in its order.\n\n"
                + figure("Hard regret and hard violation of the learners", f"{name}-learners.svg")
            )
            head = ("learner", "regret", "hard regret", "hard violation", "late loss")
            parts.append(table(head, [(f"[{row[0]}](../learners/{row[0]}.md)", *map(number, row[1:])) for row in rows]))
    parts.append(_leaderboard(site, "problem", name, "learner", "../learners"))
    parts = list(filter(None, parts))
    return ("## How learners do\n\n" + "\n\n".join(parts) if parts else ""), files


def of_learner(site: Site, name: str) -> str:
    """What the leaderboard says about a learner."""
    return _leaderboard(site, "learner", name, "problem", "../problems")


def plain(label: str | None) -> str:
    """The name of a learner or problem, without its parameters and what a leaderboard says of it in brackets."""
    return (label or "").partition(":")[0].partition(" (")[0]


def _leaderboard(site: Site, by: str, name: str, other: str, folder: str) -> str:
    """The rows of ``docs/leaderboard.csv`` about one problem or one learner, the best first; nothing where there are none."""
    path = site.root / "docs" / "leaderboard.csv"
    if not path.is_file():
        return ""
    with path.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if plain(row.get(by)) == name and row.get(other)]
    rows.sort(key=lambda row: float(row.get("ratio") or "inf"))
    shown = [column for column in COLUMNS if column != by and any(row.get(column) for row in rows)]
    if not rows:
        return ""
    known = {*nr.learners.names(), *nr.problems.names()}

    def cell(row: Mapping[str, str], column: str) -> str:
        value = row.get(column) or ""
        if column == other:
            return f"[{value}]({folder}/{plain(value)}.md)" if plain(value) in known else value
        try:
            return number(float(value))
        except ValueError:
            return value

    said = "From the leaderboard" + (", [which says how it is measured](../../leaderboard.md)" if _page(site) else "")
    return f"{said}:\n\n" + table(shown, [[cell(row, column) for column in shown] for row in rows])


def _page(site: Site) -> bool:
    return (site.root / "docs" / "leaderboard.md").is_file()


def late_loss(result: Any) -> float:
    """Hard regret and hard violation of an average episode among the last tenth."""
    total = (result.hard_regret + result.hard_violation).mean(axis=0)
    first = int(len(total) * 0.9) - 1
    return float((total[-1] - total[first]) / (result.episodes[-1] - result.episodes[first]))


def _draw(site: Site, name: str, folder: Path) -> None:
    from tools.docsite.problems import save

    found = runs.results(site, name, nr.learners.names())
    rows: list[Any] = []
    for learner, each in found.items():
        sums = (float(getattr(each, which)[:, -1].mean()) for which in ("regret", "hard_regret", "hard_violation"))
        rows.append((learner, *sums, late_loss(each)))
    rows.sort(key=lambda row: row[-1])
    (folder / "rows.json").write_text(json.dumps(rows))
    drawn, axes = drawing.new(1, 2, 9.0, 4.6)
    for ax, which in zip(axes[0], ("hard_regret", "hard_violation"), strict=True):
        for learner, *_ in rows:
            each = found[learner]
            ax.plot(each.episodes, getattr(each, which).mean(axis=0), color=drawing.colour(learner), label=learner, lw=1.3)
        drawing.label(ax, which.replace("_", " ").capitalize(), "sum over episodes")
        ax.set(xscale="log", yscale="symlog", ylim=(0, max(ax.get_ylim()[1], 10)))
    drawn.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8, frameon=False)
    save(drawn, folder / "learners.svg")
