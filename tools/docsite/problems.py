"""One page a problem: what it is, its world drawn, its best policy, what its constraint costs, who learns it how well."""

from __future__ import annotations

import inspect
import itertools
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import noregret as nr
from noregret.gym.registration import env_id
from noregret.problems import registry
from noregret.problems.base import to_threshold
from noregret.results import drawing
from tools.docsite import board, runs, worlds
from tools.docsite.site import Page, Site
from tools.docsite.text import docstring, figure, number, table

#: Thresholds on a curve of V* over b.
POINTS = 25
#: Large worlds have fewer.
FEWER, LARGE = 13, 5_000


def pages(site: Site) -> Iterator[Page]:
    """The list and a page for each problem."""
    names = nr.problems.names()
    rows = [(f"[{name}]({name}.md)", registry.describe(name).partition(" (")[0]) for name in names]
    first = "# Problems\n\nEvery problem that `nr.problems.load` knows by name. The oracle knows the optimum of each.\n\n"
    yield Page("gallery/problems/index.md", first + table(("problem", "what it is"), rows) + "\n")
    for name in names:
        yield from _one(site, name)


def _one(site: Site, name: str) -> Iterator[Page]:
    sources = [Path(__file__).read_text(), Path(worlds.__file__).read_text()]
    kept = site.kept(f"problems/{name}", {"name": name, "by": sources}, lambda to: draw(name, to), compute=site.wanted(name))
    pictures = {file: data for file, data in (kept or {}).items() if file.endswith(".svg")}
    for file, content in pictures.items():
        yield Page(f"gallery/problems/{name}-{file}", content)
    facts = json.loads(kept["facts.json"]) if kept else None
    parts = [_head(name), _facts(facts), _picture(name, pictures), _best(name, pictures, facts), _price(name, pictures, facts)]
    if name == "job-scheduling":
        parts.append("## The policy forming\n\n[Watch Algorithm 1 find it](../forming.md), episode by episode.")
    learned, files = board.of_problem(site, name)
    yield from files
    yield Page(f"gallery/problems/{name}.md", "\n\n".join(filter(None, [*parts, learned])) + "\n")


def _head(name: str) -> str:
    factory = registry._factory(name)
    module = sys.modules[factory.__module__]
    summary = (inspect.getdoc(factory) or name).splitlines()[0]
    parameters = inspect.signature(factory).parameters
    said = dict(_arguments(inspect.getdoc(factory) or ""))
    rows = [(f"`{key}`", f"`{each.default}`", said.get(key, "")) for key, each in parameters.items()]
    code = f'```python\nproblem = nr.problems.load("{name}")\nenv = gymnasium.make("{env_id(name)}")\n```'
    about = docstring(module.__doc__ or "", module.__name__).partition("\n")
    return "\n\n".join([
        f"# {name}", summary, code, f"## The model\n\n{about[0]}\n{about[2]}",
        f'## Parameters\n\nAs in `"{name}:{next(iter(parameters))}=…"`.\n\n' + table(("parameter", "default", "meaning"), rows)
        if rows else "",
    ])  # fmt: skip


def _arguments(text: str) -> Iterator[tuple[str, str]]:
    """The names and meanings of the Args of a docstring."""
    lines = iter(text.partition("Args:\n")[2].splitlines())
    name, said = "", list[str]()
    for line in lines:
        if line and not line.startswith("    "):
            break
        if line.startswith("    ") and not line.startswith("     ") and ":" in line:
            if name:
                yield name, " ".join(said)
            name, _, rest = line.strip().partition(":")
            said = [rest.strip()]
        elif line.strip():
            said.append(line.strip())
    if name:
        yield name, " ".join(said)


def _facts(facts: Any) -> str:
    if facts is None:
        return ""
    return "## In numbers\n\n" + table(("what", "value"), facts["table"])


def _picture(name: str, pictures: dict[str, bytes]) -> str:
    if "world.svg" not in pictures:
        return ""
    if name.startswith(("frozen", "grid")):
        said = "Hatched cells cost. Blue is where the best policy spends its steps, arrows are its likeliest moves."
    elif name in worlds.STATES:
        said = "What each action does, with its probabilities."
    elif getattr(runs.problem(name), "n_states", 0) == 1:
        said = "What each action pays at the first step, on average. There is one state."
    elif isinstance(runs.problem(name), nr.TabularCMDP):
        said = "The chances of the next state at the first step, for each action."
    else:
        said = "The features of each action, over the states."
    return f"## The world\n\n{_figure(name, 'The world', 'world.svg')}\n\n{said}"


def _best(name: str, pictures: dict[str, bytes], facts: Any) -> str:
    if "policy.svg" not in pictures:
        return ""
    mixes = facts["mixed"]
    said = (
        f"In {mixes} of its pairs of step and state it mixes actions: with a constraint the best policy may have to."
        if mixes
        else "It never mixes actions."
    )
    return f"## The best policy\n\n{_figure(name, 'The best policy', 'visits.svg', 'policy.svg')}\n\n{said}"


def _price(name: str, pictures: dict[str, bytes], facts: Any) -> str:
    if "price.svg" not in pictures:
        return ""
    return (
        "## What the constraint costs\n\nEach point of the curve is an exact optimum V\\*. Its slope is the price of the "
        f"constraint: what one unit more of it costs in reward.\n\n{_figure(name, 'V* over the threshold', 'price.svg')}"
    )


def _figure(name: str, said: str, *files: str) -> str:
    return figure(f"{said}: {name}", *(f"{name}-{file}" for file in files))


def draw(name: str, folder: Path) -> None:
    """Solve a problem and draw it.

    Args:
        name: of the problem.
        folder: where ``facts.json`` and the pictures are written.
    """
    problem = runs.problem(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best = nr.solve(problem)
        _draw_price(problem, best, folder / "price.svg")
    finite = isinstance(problem, nr.TabularCMDP)
    rows: list[tuple[str, str]] = [
        ("steps of an episode, H", str(problem.horizon)),
        ("states, S", str(problem.n_states) if finite else "vectors"),
        ("actions, A", str(problem.n_actions)),
    ]
    limits = problem.limits() if finite else problem.b
    senses = problem.senses if finite else (">=",) * len(problem.b)
    if getattr(problem, "step_limit", None) is not None:
        rows.append(("cost of every single step", f"at most {number(problem.step_limit)}"))
    for i, constraint in enumerate(problem.spec.constraint_names or ("utility",)):
        sign = "at least" if senses[i] == ">=" else "at most"
        rows.append((f"constraint: {constraint}", f"{sign} {number(float(limits[i]))}"))
    rows += [
        ("optimum V\\*", f"{best.value:.6f}"),
        ("price of the constraint (dual)", ", ".join(f"{y:.6f}" for y in best.dual)),
        ("Slater gap γ", f"{best.slater_gap:.6f}"),
    ]
    facts: dict[str, Any] = {"table": rows, "mixed": 0}
    if finite:
        uniform = problem.available / problem.available.sum(axis=2, keepdims=True)
        V_r, V_g = nr.evaluate(problem, uniform)
        rows.append(("playing at random: reward, utilities", f"{V_r:.4f}; " + ", ".join(f"{v:.4f}" for v in V_g)))
        reached = best.occupancy.sum(axis=2) > 1e-9
        facts["mixed"] = int(((best.policy > 1e-6).sum(axis=2)[reached] > 1).sum())
        cells = worlds.grid(name, problem)
        local = name in worlds.STATES
        world = (
            worlds.draw_grid(name, problem, cells, best.occupancy) if cells is not None
            else worlds.draw_line(name, problem) if local
            else worlds.draw_arms(problem) if problem.n_states == 1 else worlds.draw_kernel(problem)
        )  # fmt: skip
        if cells is None:
            save(worlds.draw_visits(name, best), folder / "visits.svg")
            save(worlds.draw_policy(name, best), folder / "policy.svg")
    else:
        world = worlds.draw_features(problem)
    save(world, folder / "world.svg")
    (folder / "facts.json").write_text(json.dumps(facts))


def _draw_price(problem: Any, best: Any, path: Path) -> None:
    """V* as each threshold moves, the others where they are."""
    if getattr(problem, "step_limit", None) is not None:
        curves = [_step_limits(problem)]
    else:
        curves = [_thresholds(problem, best, i) for i in range(len(problem.b))]
    drawn, axes = drawing.new(1, len(curves), 4.6 * len(curves) + 0.4, 3.2)
    for ax, (called, here, points) in zip(axes[0], curves, strict=True):
        rising = points[-1][1] > points[0][1] if points[-1][0] > points[0][0] else points[0][1] > points[-1][1]
        ax.plot([x for x, _ in points], [value for _, value in points], color=drawing.COLOURS[0])
        ax.plot([here], [best.value], "o", color=drawing.COLOURS[1])
        beside = {"xytext": (8, -12 if rising else 6), "textcoords": "offset points", "color": drawing.COLOURS[1]}
        ax.annotate(f"V* = {best.value:.4g}", (here, best.value), **beside)
        ax.set(xlabel=called, ylabel="best reward V*")
    save(drawn, path)


#: What the axis is called, where the problem itself is on it, and points (threshold, V*).
Curve = tuple[str, float, list[tuple[float, float]]]


def _thresholds(problem: Any, best: Any, i: int) -> Curve:
    """The curve of one constraint, from thresholds that everyone meets to the last that anyone can."""
    finite = isinstance(problem, nr.TabularCMDP)
    b = float(problem.b[i])
    low, high = nr.oracle.reachable(problem)[i] if finite else (b - 1.5 * best.slater_gap, b + best.slater_gap)
    size = problem.horizon * problem.n_states * problem.n_actions if finite else LARGE + 1
    sense: Any = problem.senses[i] if finite else ">="

    def value(threshold: float) -> float | None:
        moved = problem.b.copy()
        moved[i] = min(threshold, high - 1e-7 * (high - low))
        try:
            return float(nr.solve(problem.replace(b=moved)).value)
        except nr.InfeasibleError:
            return None

    found = bend(value, sorted({float(low), b, float(high)}), POINTS if size <= LARGE else FEWER)
    points = [(to_threshold(threshold, sense, problem.horizon), height) for threshold, height in found]
    called = (problem.spec.constraint_names or ("utility",) * len(problem.b))[i]
    return f"{called}, {'at least' if sense == '>=' else 'at most'}", to_threshold(b, sense, problem.horizon), points


def bend(value: Callable[[float], float | None], places: list[float], count: int) -> list[tuple[float, float]]:
    """Points of a curve, more of them where it is steep.

    Args:
        value: the curve; None where there is none.
        places: the first places, in order.
        count: how many points there will be.
    """
    found = [(x, y) for x in np.union1d(places, np.linspace(places[0], places[-1], 5)).tolist() if (y := value(x)) is not None]
    widest = (places[-1] - places[0]) / count
    while len(found) < count:
        steps = [abs(y1 - y0) if x1 - x0 > 0.1 * widest else 0.0 for (x0, y0), (x1, y1) in itertools.pairwise(found)]
        i = int(np.argmax(steps))
        x = (found[i][0] + found[i + 1][0]) / 2
        y = value(x)
        if y is None or max(steps) == 0.0:
            break
        found.insert(i + 1, (x, y))
    return found


def _step_limits(problem: Any) -> Curve:
    """The curve of a limit on every single step."""
    H, points = problem.horizon, []
    for limit in np.linspace(0.0, 1.0, POINTS):
        try:
            moved = problem.replace(step_limit=limit, b=np.full(len(problem.b), H * (1.0 - limit)))
            points.append((float(limit), float(nr.solve(moved).value)))
        except nr.NoRegretError:  # what is known to be safe is not, under this limit
            continue
    return "cost of every single step, at most", float(problem.step_limit), points


def save(figure: Any, path: Path) -> None:
    """Write a figure, the same bytes each time."""
    import matplotlib as mpl

    with mpl.rc_context(drawing.style()):
        figure.savefig(path, format="svg", metadata={"Date": None})
