"""One page a learner: its mathematics and its lines, its options and why they are what they are, its curves, how to cite it."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import noregret as nr
from noregret.results import drawing
from tools.docsite import board, runs
from tools.docsite.problems import save
from tools.docsite.site import Page, Site
from tools.docsite.text import docstring, figure, maths, number, plain, table

#: The problem whose numbers the tables of options show.
EXAMPLE = "job-scheduling"
#: How sure the formulas of a learner are.
SURE = {
    "paper": "checked against the text of its paper",
    "code": "checked against its authors' code, not against the text of the paper",
    "notes": "from what others wrote of it, in papers, notes and code; not from its own text",
    "memory": "from memory of its paper, not from its text",
}


def pages(site: Site) -> Iterator[Page]:
    """The list, and a page for each learner."""
    names = nr.learners.names()
    if site.quick is None:
        runs.play_all(site, names)
    rows = [(f"[{name}]({name}.md)", nr.learners.get(name).summary, *_promise(nr.learners.get(name))) for name in names]
    first = (
        "# Learners\n\nEvery learner that `nr.run` knows by name. The last columns are the orders that their theorems promise, "
        "without logarithms, T = KH.\n\n"
    )
    yield Page("gallery/learners/index.md", first + table(("learner", "what it is", "regret", "violation"), rows) + "\n")
    for name in names:
        yield from _one(site, name)


def _promise(learner: Any) -> tuple[str, str]:
    return learner.promise or ("-", "-")


def _one(site: Site, name: str) -> Iterator[Page]:
    learner = nr.learners.get(name)
    inputs = {"by": Path(__file__).read_text(), "runs": Path(runs.__file__).read_text()}
    kept = site.kept(f"learners/{name}", inputs, lambda to: _draw(site, name, to), compute=site.wanted(name))
    options = json.loads(kept["options.json"]) if kept else {"problem": EXAMPLE}
    parts = [
        f"# {name}",
        learner.summary[0].upper() + learner.summary[1:] + ".",
        _run(name, options["problem"]),
        _facts(learner),
    ]
    module = sys.modules[learner.__module__]
    parts.append(f"## The mathematics\n\n{maths(docstring(module.__doc__ or '', module.__name__))}")
    if kept:
        yield Page(f"gallery/learners/{name}-curves.svg", kept["curves.svg"])
        parts += [_options(learner, options), _curves(name, json.loads(kept["refused.json"]))]
    measured = board.of_learner(site, name)
    if measured:
        parts.append(f"## On the leaderboard\n\n{measured}")
    parts += [_lines(module), _cite(name, module.__doc__ or "")]
    yield Page(f"gallery/learners/{name}.md", "\n\n".join(filter(None, parts)) + "\n")


def _run(name: str, problem: str) -> str:
    given = "".join(f', {key}="{value}"' for key, value in runs.told(name).items())
    return f'```python\nresult = nr.run("{problem}", "{name}", episodes=10_000{given})\n```'


def _facts(learner: Any) -> str:
    regret, violation = _promise(learner)
    rows = [("presets", ", ".join(f"`{preset}`" for preset in learner.presets))]
    if learner.promise not in (None, ("-", "-")):
        rows.append(("promised orders of regret and violation", f"{regret} and {violation}"))
    rows.append(("constraints", "any number" if learner.several else "one, as in its paper"))
    if learner.told:
        rows.append(("must be told", ", ".join(word.replace("_", " ") for word in learner.told)))
    if learner.sharing:
        rows.append(("its steps can learn together", " or ".join(f"`{word}`" for word in learner.sharing)))
    if learner.vectors is not None:
        rows.append(("states that are vectors", "yes"))
    if learner.source in SURE:
        rows.append(("its formulas are", SURE[learner.source]))
    if learner.recalled:
        rows.append(("from memory alone", learner.recalled))
    return table(("what", "here"), rows)


def _options(learner: Any, options: dict[str, Any]) -> str:
    """The constants of each preset, and where each comes from."""
    world = options["problem"]
    if not any(options["presets"].values()):
        return ""
    parts = [
        "## Options\n\nThe numbers that each preset uses on "
        f"[{world}](../problems/{world}.md) with {runs.EPISODES:,} episodes, and where each comes from. `theory` is the "
        "printed form. Every name can be given to `nr.run`, in place of the preset's number."
    ]
    for preset, rows in options["presets"].items():
        if isinstance(rows, str):
            parts.append(f'=== "{preset}"\n\n    It cannot be made for this problem: {rows}')
            continue
        shown = [(name, value, plain(where)) for name, value, where in rows]
        lines = table(("option", "value", "where it comes from"), shown).splitlines()
        parts.append(f'=== "{preset}"\n\n' + "\n".join(f"    {line}" for line in lines))
    silent = [f"`{key}`" for key in learner.parameters if key not in options["named"]]
    if silent:
        parts.append(f"It also takes {', '.join(silent)}.")
    return "\n\n".join(parts)


def _curves(name: str, refused: dict[str, str]) -> str:
    said = f"{runs.TRIALS} trials of {runs.EPISODES:,} episodes on each small problem, preset `practical`; means."
    reasons: dict[str, list[str]] = {}
    for problem, why in refused.items():
        reasons.setdefault(why, []).append(f"[{problem}](../problems/{problem}.md)")
    not_there = "".join(f"\n- {', '.join(problems)}: {why}" for why, problems in reasons.items())
    picture = figure(f"Hard regret and hard violation of {name}", f"{name}-curves.svg")
    return f"## Its curves\n\n{said}\n\n{picture}" + (f"\n\nIt does not take\n{not_there}" if refused else "")


def _lines(module: Any) -> str:
    """The source below the docstring, folded away."""
    source = inspect.getsource(module)
    first = source.index('"""', source.index('"""') + 3) + 3
    number = source[:first].count("\n") + 1
    body = source[first:].strip("\n")
    begin = number + len(source[first:]) - len(source[first:].lstrip("\n"))
    code = "\n".join(f"    {line}" if line else "" for line in body.splitlines())
    path = module.__name__.replace(".", "/")
    return (
        f'## Its lines\n\n??? example "src/{path}.py"\n\n    ```python linenums="{begin}"\n{code}\n    ```\n\n'
        f"In the reference: [`{module.__name__}`][{module.__name__}]."
    )


def _cite(name: str, text: str) -> str:
    found = re.search(r"^References:\n((?:    .*\n?)+)", text, re.MULTILINE)
    if found is None:
        return ""
    papers = "\n".join(f"- {line.strip()}" for line in re.split(r"\n(?=    \S)", found[1].rstrip()))
    said = "Cite the paper that the learner is from"
    return f"## How to cite it\n\n{said}, and noregret if its numbers came from here (`CITATION.cff`).\n\n{papers}"


def _make(name: str, world: str, preset: str, gap: float) -> Any:
    """A learner of a problem, with all that it must be told."""
    learner, problem = nr.learners.get(name), runs.problem(world)
    needs = (*learner.told, *(["safe_policy"] if preset == "safe" else []))
    given = {"safe_policy": nr.oracle.safest(problem), "reward": problem.r, "utilities": problem.g}
    told = {key: value for key, value in given.items() if key in needs}
    return nr.learners.make(name, problem.spec, episodes=runs.EPISODES, preset=preset, slater_gap=gap, **told)


def _example(name: str) -> str:
    """The problem whose numbers the tables of options show: the usual one, or the first that the learner takes."""
    for world in (EXAMPLE, *runs.small()):
        try:
            _make(name, world, nr.learners.get(name).presets[-1], 1.0)
            return world
        except nr.NoRegretError:
            continue
    return EXAMPLE


def _draw(site: Site, name: str, folder: Path) -> None:
    world = _example(name)
    gap = float(nr.solve(runs.problem(world)).slater_gap)
    presets: dict[str, Any] = {}
    named: set[str] = set()
    for preset in nr.learners.get(name).presets:
        try:
            made = _make(name, world, preset, gap)
        except nr.NoRegretError as error:
            presets[preset] = str(error)
            continue
        presets[preset] = [(f"`{key}`", _value(value), made.explain.get(key, "")) for key, value in made.constants.items()]
        named |= made.constants.keys()
    (folder / "options.json").write_text(json.dumps({"problem": world, "presets": presets, "named": sorted(named)}))
    refused: dict[str, str] = {}
    drawn, axes = drawing.new(1, 2, 9.0, 3.8)
    for place, played in enumerate(runs.small()):
        result = runs.result(site.shelf / "store", played, name)
        if isinstance(result, str):
            refused[played] = result
            continue
        for ax, which in zip(axes[0], ("hard_regret", "hard_violation"), strict=True):
            ax.plot(result.episodes, getattr(result, which).mean(axis=0), color=drawing.COLOURS[place], label=played, lw=1.4)
    for ax, which in zip(axes[0], ("hard_regret", "hard_violation"), strict=True):
        drawing.label(ax, which.replace("_", " ").capitalize(), "sum over episodes")
        ax.set(xscale="log", yscale="symlog", ylim=(0, max(ax.get_ylim()[1], 10)))
    drawn.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9, frameon=False)
    save(drawn, folder / "curves.svg")
    (folder / "refused.json").write_text(json.dumps(refused))


def _value(value: Any) -> str:
    return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)[:60]
