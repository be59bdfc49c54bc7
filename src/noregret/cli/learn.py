"""``noregret learn``: an agent in any Gymnasium environment, under a limit."""

from __future__ import annotations

import hashlib
import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noregret.cli import arguments as arg
from noregret.cli.app import app, console, say, stop
from noregret.errors import FileError, InputError, NoRegretError

if TYPE_CHECKING:
    from noregret.agent import Agent
    from noregret.report.learned import Picture

#: Seconds between two saves; where results go; files of a folder.
EVERY, OUT, AGENT, COMMAND = 10.0, Path("results/learn"), "agent.npz", "command.json"

EXPRESSION = (
    "Names: action, obs[0], next_obs[0], reward, step, info['key']; also numbers, comparisons, and, or, not, + - * / **, abs, "
    "min, max."
)


@app.command()
def learn(
    env: Annotated[
        str,
        typer.Argument(
            metavar="ENV", help="The id of a Gymnasium environment, such as MountainCar-v0. module:Id imports the module first."
        ),
    ],
    limit: Annotated[
        list[float] | None,
        typer.Option("--limit", metavar="NUMBER", help="Largest total cost of an episode; one for each --cost."),
    ] = None,
    cost: Annotated[
        list[str] | None,
        typer.Option("--cost", metavar="EXPRESSION", help=f"The cost of a step; info['cost'] by default. {EXPRESSION}"),
    ] = None,
    threshold: Annotated[
        list[float] | None,
        typer.Option(
            "--threshold",
            metavar="NUMBER",
            help="Instead of --limit: least total utility of an episode; one for each --utility.",
        ),
    ] = None,
    utility: Annotated[
        list[str] | None, typer.Option("--utility", metavar="EXPRESSION", help="The utility of a step, written as a --cost is.")
    ] = None,
    episodes: Annotated[int, arg.number("--episodes", "-k", help="Episodes to learn from, in all.")] = 200,
    name: Annotated[
        list[str] | None, typer.Option("--name", metavar="TEXT", help="Name of each constraint in tables and figures.")
    ] = None,
    horizon: Annotated[
        int | None, arg.number("--horizon", "-H", metavar="H", help="Steps of an episode; the time limit by default.")
    ] = None,
    seed: arg.Seed = 0,
    features: Annotated[
        str,
        typer.Option("--features", help="auto (found from data), one-hot, fourier:order=3, or tiles:tiles=8,tilings=8."),
    ] = "auto",
    learner: Annotated[
        str | None, typer.Option("--learner", "-l", help="The learner. Default: the one that fits --features.")
    ] = None,
    actions: Annotated[int | None, arg.number("--actions", help="Grid points a dimension, for Box actions.")] = None,
    reward_range: Annotated[
        tuple[float, float] | None,
        typer.Option(
            "--reward-range",
            metavar="LOW HIGH",
            help="Range of a step's reward. Default: found from data; 0 to 1 if --features is not auto.",
        ),
    ] = None,
    value_range: Annotated[
        tuple[float, float] | None,
        typer.Option(
            "--cost-range",
            "--utility-range",
            metavar="LOW HIGH",
            help="Range of a step's cost or utility. Default: as for the reward.",
        ),
    ] = None,
    settings: arg.Settings = None,
    gif: Annotated[bool, typer.Option("--gif", help="Also write a film of an episode, if the environment can draw.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="Folder for the agent and the page. The same command continues what is there. Default: one in results/learn.",
        ),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Discard the agent in the folder and learn from the start.")] = False,
) -> None:
    """Learn to act in a Gymnasium environment under a limit, and write a page about it and the agent.

    The agent is saved while it learns. If the command is killed, the same command continues.
    """
    import os
    import threading

    from noregret._system.checks import integer
    from noregret._system.files import make_folder
    from noregret._system.plugins import library
    from noregret.report import figures, learned
    from noregret.report.figures import file_name
    from noregret.runs.signals import stopping

    if cost and utility:
        raise InputError("--cost and --utility are both given; expected one of them")
    if (cost and threshold) or (utility and limit):
        raise InputError("--limit goes with --cost and --threshold with --utility; expected a pair")
    given, totals = cost or utility or [], limit or threshold or []
    if given and totals and len(given) != len(totals):
        raise InputError(f"{len(given)} expressions and {len(totals)} totals are given; expected one total for each expression")
    integer("episodes", episodes, 1)
    figures.require()
    library("jinja2", "the page", "report")
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # pictures are drawn where nobody looks
    asked: dict[str, Any] = {
        "env": env,
        "limit": limit,
        "cost": cost,
        "threshold": threshold,
        "utility": utility,
        "name": name,
        "horizon": horizon,
        "seed": seed,
        "features": features,
        "learner": learner,
        "actions": actions,
        "reward_range": reward_range,
        "value_range": value_range,
        "settings": arg.settings(settings or []),
    }
    said = json.loads(json.dumps(asked))
    folder = out or OUT / f"{file_name(env)}-{hashlib.sha256(json.dumps(said).encode()).hexdigest()[:6]}"
    made = _make(asked)
    make_folder(folder)
    agent = _resumed(folder, said, made, fresh)
    left = episodes - agent.episodes
    if left > 0:
        if agent.episodes:
            say(f"goes on after {agent.episodes:,} episodes in {folder}")
        wish = threading.Event()
        agent.autosave(folder / AGENT, seconds=EVERY)
        with stopping(wish):
            agent.learn(left, callback=lambda *_: not wish.is_set())
    if not agent.episodes:
        stop(f"stopped before the first episode was over; nothing is in {folder}")
    pictures = _pictures(agent, folder, gif)
    title = f"{env}: {'; '.join(agent.objectives.stated())}", f"{agent.episodes:,} episodes learned from, seed {seed}."
    files = learned.write(
        folder,
        agent.history,
        title=title,
        summary=agent.summary(),
        pictures=pictures,
        repeats=_repeats(folder, env, cost or utility),
    )
    console().print(agent.history._summary().rich())
    names = [AGENT, *(p.path.name for p in pictures), *(file.name for file in files)]
    console().print(f"wrote {', '.join(names)} in {folder}")
    if agent.episodes < episodes:
        stop(f"stopped: {agent.episodes:,} of {episodes:,} episodes were learned from; the same command goes on")


def _make(asked: dict[str, Any]) -> Agent:
    """The agent that was asked for, before it learns."""
    from noregret.agent import Agent
    from noregret.gym.environments import as_environment, named_features
    from noregret.gym.expressions import together

    world = as_environment(asked["env"])
    chosen = named_features(asked["features"], world, asked["actions"])
    texts = asked["cost"] or asked["utility"]
    same = {name: asked[name] for name in ("learner", "threshold", "limit", "horizon", "seed", "reward_range", "actions")}
    return Agent(
        world,
        **same,
        features=chosen,
        utility=together(texts) if texts else None,
        utility_range=asked["value_range"],
        constraint_names=_names(asked),
        overrun=None if asked["horizon"] is None else "cut",
        **asked["settings"],
    )


def _names(asked: dict[str, Any]) -> list[str]:
    """Constraints are called as asked for, else by their expressions, if these differ."""
    word = "cost" if asked["cost"] else "utility"
    texts = asked["name"] or [f"{word} ({' '.join(text.split())})" for text in asked["cost"] or asked["utility"] or []]
    return texts if asked["name"] or len(set(texts)) == len(texts) else []


def _resumed(folder: Path, said: dict[str, Any], made: Agent, fresh: bool) -> Agent:
    """The agent of the folder if there is one, else the new one; an agent that learned something else is refused."""
    from noregret._system.arrays import read_bytes
    from noregret.agent import Agent
    from noregret.report.tables import write_text

    file, command = folder / AGENT, folder / COMMAND
    if file.exists() and not fresh:
        try:
            before = json.loads(read_bytes(command))
            odd = [name for name in said if said[name] != before.get(name)]
        except (OSError, ValueError, AttributeError, RecursionError):
            raise FileError(f"{command}: cannot be read; expected what {file} learned (--fresh forgets it)") from None
        if odd:
            name = odd[0]
            raise InputError(
                f"{folder} holds an agent with {name} {before.get(name)!r}, and {name} is {said[name]!r}; expected the same, "
                f"another --out, or --fresh to forget it"
            )
        assert made.world is not None
        return Agent.load(
            file,
            env=made.world.env,
            features=made.features,
            utility=made.world.utility,
            actions=said["actions"],
            overrun=made.world.overrun,
        )
    file.unlink(missing_ok=True)
    write_text(command, json.dumps(said, indent=1) + "\n")
    return made


def _pictures(agent: Agent, folder: Path, gif: bool) -> list[Picture]:
    """The policy as a map where observations are two numbers, and a film where it is asked for."""
    from noregret.report import figures
    from noregret.report.learned import Picture
    from noregret.results import drawing

    made: list[Picture] = []
    if agent.curve.seen.shape[1] == 2:
        figure, axes = drawing.new(1, 1, 6.4, 5.0)
        agent.policy_map(ax=axes[0, 0])
        path = figures.write(figure, folder / "policy.png")
        made.append(Picture("policy", "The likeliest action at the first step; the paler, the less likely.", path))
    if gif:
        try:
            path = agent.record(folder / "episode.gif")
        except NoRegretError as error:
            say(f"no film: {error}")
        else:
            made.append(Picture("film", "A fresh episode with the policy as it is now.", path))
    return made


def _repeats(folder: Path, env: str, texts: list[str] | None) -> list[tuple[str, str]]:
    """How to go on from a shell and in Python."""
    line = " ".join(["noregret", *map(shlex.quote, sys.argv[1:])]) if Path(sys.argv[0]).stem in ("noregret", "__main__") else ""
    utility = f", utility=together({texts!r})" if texts else ""
    imported = "from noregret.gym.expressions import together\n" if texts else ""
    code = f"import noregret as nr\n{imported}\nagent = nr.Agent.load({str(folder / AGENT)!r}, env={env!r}{utility})\n"
    code += "agent.learn(100)\naction = agent.predict(observation, step=0)"
    shell = [("From a shell; a larger --episodes learns on.", line)] if line else []
    return [*shell, ("In Python.", code)]
