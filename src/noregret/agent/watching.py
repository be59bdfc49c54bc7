"""Watching an agent: its learning curve, its policy as a map, and an episode as moving pictures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noregret._system.files import write_whole
from noregret._system.plugins import library
from noregret.agent.episodes import Trace, ready, seeds
from noregret.errors import InputError
from noregret.gym.spaces import Actions
from noregret.gym.world import World, mask_method
from noregret.learners.minds import Mind, Played
from noregret.problems.base import Array
from noregret.problems.checks import integer
from noregret.results import History, drawing

if TYPE_CHECKING:
    from noregret.gym import Objectives

#: Points of a policy map along each axis, and the most pictures of a film.
POINTS, PICTURES = 60, 400
#: Pixels of the line of text on a picture.
LINE = 22


class Watched:
    """The part of an agent that one looks at."""

    if TYPE_CHECKING:
        seed: int
        world: World | None
        objectives: Objectives
        actions: Actions
        mind: Mind
        features: Any

        @property
        def history(self) -> History: ...  # noqa: D102
        def _need_world(self, what: str) -> World: ...

    #: (2,D) the least and the largest of each number of the observations that were learned from.
    seen: Array = np.zeros((2, 0))

    def _watch(self, played: Played) -> None:
        """Take note of the part of the world that was seen."""
        x = played.observations
        if x.ndim != 2 or x.dtype.kind != "f":
            return
        low, high = x.min(axis=0), x.max(axis=0)
        if self.seen.shape[1] == len(low):
            low, high = np.minimum(low, self.seen[0]), np.maximum(high, self.seen[1])
        self.seen = np.array([low, high], dtype=np.float64)

    def plot(self, axes: Any = None) -> Any:
        """Draw the learning curve: reward and costs of each episode, rolling means, the limits as lines, the dual.

        Args:
            axes: an array of three axes to draw on; None for a new figure.

        Returns:
            The axes.
        """
        return self.history.plot(axes)

    def policy_map(self, step: int = 0, ax: Any = None, names: tuple[str, str] = ("observation 0", "observation 1")) -> Any:
        """Draw which action is likeliest where, over the part of a two-dimensional world that was seen.

        Args:
            step: of the episode.
            ax: the axes to draw on; None for a new figure.
            names: of the two numbers of an observation.

        Returns:
            The axes.

        Raises:
            InputError: observations are not two numbers, or nothing was learned yet.
        """
        integer("step", step, 0, self.objectives.horizon - 1)
        if self.seen.shape[1] != 2:
            raise InputError(
                f"policy_map draws worlds with two-dimensional observations that were learned from; this one has "
                f"{self.seen.shape[1] or 'none'}"
            )
        if ax is None:
            ax = drawing.new(1, 1, 6.4, 5.0, window=True)[1][0, 0]
        x, y = (np.linspace(low, high, POINTS) for low, high in self.seen.T)
        ready(self.mind)
        chances = np.array([[self.mind.chances(step, np.array([a, b])) for a in x] for b in y])
        labels = [str(np.asarray(self.actions.to_env(a)).tolist()) for a in range(self.actions.n)]
        drawing.choices(ax, (x, y), chances, labels)
        drawing.label(ax, f"Likeliest action at step {step}", names[1], names[0])
        return ax

    def record(
        self, path: str | os.PathLike[str], episode: int = 0, *, deterministic: bool = False, fps: int = 25, width: int = 480
    ) -> Path:
        """Play one fresh episode and write it as a GIF: the environment's own pictures, with what was earned so far.

        The environment is used as it is if it renders pictures ("rgb_array"); else it is made again from its id.

        Args:
            path: the file, whose name ends with .gif.
            episode: which of the fresh episodes, from 0.
            deterministic: take the likeliest actions.
            fps: pictures in a second.
            width: of the pictures, in pixels; wider ones are made smaller.

        Raises:
            InputError: the environment cannot be rendered, or the name does not end with .gif.
            NoRegretError: Pillow is not installed.
        """
        if Path(path).suffix.lower() != ".gif":
            raise InputError(f"{path}: expected a name that ends with .gif")
        integer("fps", fps, 1, 100), integer("width", width, 32)
        library("PIL", "a film", "report")
        world, own = rendered(self._need_world("record"))
        try:
            pictures = self._film(world, integer("episode", episode, 0), deterministic, width)
        finally:
            if own:
                world.env.close()
        keep = -(-len(pictures) // PICTURES)
        shown = pictures[::keep] if (len(pictures) - 1) % keep == 0 else [*pictures[::keep], pictures[-1]]
        still = max(20, round(1000 / fps / 10) * 10)
        times = [still] * (len(shown) - 1) + [1500]  # the end stays a while

        def draw(file: Any) -> None:
            shown[0].save(file, format="GIF", save_all=True, append_images=shown[1:], duration=times, loop=0, optimize=False)

        return write_whole(path, draw)

    def _film(self, world: World, episode: int, deterministic: bool, width: int) -> list[Any]:
        o = self.objectives
        seed, uniforms = seeds(self.seed, 4, episode, o.horizon)
        trace, total, values = Trace(episode, uniforms), 0.0, np.zeros(len(o.limits))
        ready(self.mind)
        trace.see(*world.start(seed))
        pictures = [_picture(world.env, width, _words(o, 0, total, values))]
        for h in range(o.horizon):
            outcome = world.step(h, trace.act(self.mind, deterministic))
            total, values = total + outcome.reward, values + outcome.values
            pictures.append(_picture(world.env, width, _words(o, h + 1, total, values)))
            if outcome.terminated or outcome.truncated:
                break
            trace.see(outcome.observation, outcome.mask)
        return pictures


def _words(objectives: Objectives, step: int, reward: float, values: Array) -> str:
    sense = "" if objectives.costs else " at least"
    said = [
        f"{name}: {v:.4g} of{sense} {limit:g}"
        for name, v, limit in zip(objectives.names, values, objectives.limits, strict=True)
    ]
    return "   ".join([f"step {step}", f"reward {reward:.4g}", *said])


def rendered(world: World) -> tuple[World, bool]:
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
    other = World.__new__(World)  # one environment, read as before
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
    draw = ImageDraw.Draw(whole)
    while size > 6 and draw.textlength(words, font=ImageFont.load_default(size)) > image.width - 8:
        size -= 1
    draw.text((4, line * 0.15), words, fill="black", font=ImageFont.load_default(size))
    return whole.quantize(128)
