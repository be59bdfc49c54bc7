"""Watching an agent: its policy as a map, and an episode as moving pictures."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from noregret._system.files import write_whole
from noregret._system.plugins import library
from noregret.agent.episodes import draw, ready
from noregret.agent.minds.protocol import Mind
from noregret.errors import InputError
from noregret.gym.actions import Actions
from noregret.gym.world import EnvWorld, mask_method
from noregret.problems.base import Array
from noregret.problems.checks import integer
from noregret.results import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from noregret.gym import Objectives

#: Points of a policy map along each axis, and the most pictures of a film.
POINTS, PICTURES = 60, 400
#: Pixels of the line of text on a picture.
LINE = 22


def policy_map(mind: Mind, actions: Actions, seen: Array, step: int, ax: Axes | None, names: tuple[str, str]) -> Axes:
    """Draw which action is likeliest where; see :meth:`noregret.Agent.policy_map`.

    Args:
        mind: whose plan is drawn.
        actions: as the environment takes them.
        seen: (2,D) the least and the largest of each number of an observation.
        step: of the episode.
        ax: the axes to draw on; None for a new figure.
        names: of the two numbers of an observation.

    Raises:
        InputError: observations are not two numbers, or nothing was learned yet.
    """
    if seen.shape[1] != 2:
        raise InputError(
            f"policy_map draws worlds with two-dimensional observations that were learned from; this one has "
            f"{seen.shape[1] or 'none'}"
        )
    axes: Axes = drawing.new(1, 1, 6.4, 5.0, window=True)[1][0, 0] if ax is None else ax
    x, y = (np.linspace(low, high, POINTS) for low, high in seen.T)
    ready(mind)
    chances = np.array([[mind.chances(step, np.array([a, b])) for a in x] for b in y])
    labels = [str(np.asarray(actions.to_env(a)).tolist()) for a in range(actions.n)]
    drawing.choices(axes, (x, y), chances, labels)
    drawing.label(axes, f"Likeliest action at step {step}", names[1], names[0])
    return axes


@dataclass(frozen=True)
class Film:
    """How an episode is filmed.

    Args:
        path: the file, whose name ends with .gif.
        fps: pictures in a second.
        width: of the pictures, in pixels; wider ones are made smaller.
        deterministic: take the likeliest actions.
    """

    path: str | os.PathLike[str]
    fps: int = 25
    width: int = 480
    deterministic: bool = False

    def check(self) -> None:
        """Refuse what cannot be filmed so, before anything is played.

        Raises:
            InputError: a number or the name of the file cannot be used.
            NoRegretError: Pillow is not installed.
        """
        if Path(self.path).suffix.lower() != ".gif":
            raise InputError(f"{self.path}: expected a name that ends with .gif")
        for name, least, most in (("fps", 1, 100), ("width", 32, None)):
            object.__setattr__(self, name, integer(name, getattr(self, name), least, most))
        library("PIL", "a film", "report")

    def write(self, world: EnvWorld, mind: Mind, draws: tuple[int, Array]) -> Path:
        """Play an episode and write it; the environment is made again where it gives no pictures.

        Args:
            world: the environment.
            mind: whose plan is played.
            draws: the seed of the environment and (H,) numbers in [0,1) that draw the actions.

        Raises:
            InputError: the environment cannot be rendered.
        """
        filmed, own = rendered(world)
        try:
            pictures = self._play(filmed, mind, draws)
        finally:
            if own:
                filmed.env.close()
        keep = -(-len(pictures) // PICTURES)
        shown = pictures[::keep] if (len(pictures) - 1) % keep == 0 else [*pictures[::keep], pictures[-1]]
        still = max(20, round(1000 / self.fps / 10) * 10)
        times = [still] * (len(shown) - 1) + [1500]  # the end stays a while

        def fill(file: IO[bytes]) -> None:
            shown[0].save(file, format="GIF", save_all=True, append_images=shown[1:], duration=times, loop=0, optimize=False)

        return write_whole(self.path, fill)

    def _play(self, world: EnvWorld, mind: Mind, draws: tuple[int, Array]) -> list[Any]:
        o, (seed, uniforms) = world.objectives, draws
        total, values = 0.0, np.zeros(len(o.limits))
        ready(mind)
        policy = mind.steady()
        observation, mask = world.start(seed)
        pictures = [_picture(world.env, self.width, _words(o, 0, total, values))]
        for h in range(o.horizon):
            chances = policy.chances(h, observation, mask)
            outcome = world.step(h, draw(chances, float(uniforms[h]), self.deterministic))
            total, values = total + outcome.reward, values + outcome.values
            pictures.append(_picture(world.env, self.width, _words(o, h + 1, total, values)))
            if outcome.terminated or outcome.truncated:
                break
            observation, mask = outcome.observation, outcome.mask
        return pictures


def _words(objectives: Objectives, step: int, reward: float, values: Array) -> str:
    sense = "" if objectives.costs else " at least"
    said = [
        f"{name}: {v:.4g} of{sense} {limit:g}"
        for name, v, limit in zip(objectives.names, values, objectives.limits, strict=True)
    ]
    return "   ".join([f"step {step}", f"reward {reward:.4g}", *said])


def rendered(world: EnvWorld) -> tuple[EnvWorld, bool]:
    """A world whose environment gives pictures, and whether it was made for this.

    Raises:
        InputError: it does not give any, and cannot be made again so that it does.
    """
    env, mode = world.env, getattr(world.env, "render_mode", None)
    if world.size == 1 and mode == "rgb_array":
        return world, False
    import gymnasium

    spec = getattr(env, "spec", None)
    if spec is None:
        raise InputError(
            f"the environment has render_mode {mode!r} and no id to make it again; expected render_mode='rgb_array'"
        )
    try:
        made = gymnasium.make(spec if world.size == 1 else spec.id, render_mode="rgb_array")
    except Exception as error:  # Gymnasium, wrappers and renderers raise a dozen kinds
        said = " ".join(str(error).split())
        raise InputError(
            f"the environment has render_mode {mode!r} and cannot be made again with render_mode='rgb_array': {said}"
        ) from None
    if getattr(made, "render_mode", None) != "rgb_array":
        raise InputError(f"environment {spec.id} gives no pictures; expected one that knows render_mode='rgb_array'")
    other = EnvWorld.__new__(EnvWorld)  # one environment, read as before
    other.__dict__ |= world.__dict__ | {"env": made, "size": 1, "_shown": mask_method(made)}
    return other, True


def _picture(env: Any, width: int, words: str) -> Any:
    """What the environment looks like now, with a line of text above."""
    from PIL import Image, ImageDraw, ImageFont

    try:
        frame = env.render()
    except Exception as error:  # a renderer that is not installed, or has no screen
        raise InputError(f"the environment cannot be rendered: {' '.join(str(error).split())}") from None
    if not isinstance(frame, np.ndarray) or frame.ndim != 3:
        raise InputError(f"the environment rendered {type(frame).__name__}; expected a picture (render_mode='rgb_array')")
    image = Image.fromarray(frame.astype(np.uint8)).convert("RGB")
    if image.width > width:
        image = image.resize((width, max(1, round(image.height * width / image.width))))
    line = max(LINE, image.width // 24)
    whole = Image.new("RGB", (image.width, image.height + line), "white")
    whole.paste(image, (0, line))
    size = line * 0.6
    pen = ImageDraw.Draw(whole)
    while size > 6 and pen.textlength(words, font=ImageFont.load_default(size)) > image.width - 8:
        size -= 1
    pen.text((4, line * 0.15), words, fill="black", font=ImageFont.load_default(size))
    return whole.quantize(128)
