"""Pictures of worlds: what moves where, where the best policy is, and what it does there."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.results import drawing

#: What actions are called. A world that is not here calls them by their number.
ACTIONS = {
    "job-scheduling": ("wait", "send"),
    "machine-load": ("idle", "half load", "full load"),
    "media-control": ("slow", "fast"),
    "streaming": ("fast", "slow"),
    "queue": ("slow, throttled", "slow, free", "fast, throttled", "fast, free"),
    "inventory": tuple(f"order {n}" for n in range(6)),
    "frozen-lake-4x4": ("left", "down", "right", "up"),
    "frozen-lake-8x8": ("left", "down", "right", "up"),
    "grid-world": ("up", "down", "left", "right"),
}
#: What the states of worlds on a line count.
STATES = {
    "job-scheduling": "jobs waiting", "media-control": "packets in the buffer", "streaming": "packets in the buffer",
    "queue": "jobs in the queue", "inventory": "units in stock", "machine-load": "temperature",
}  # fmt: skip
_ARROWS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}


def actions(name: str, count: int) -> tuple[str, ...]:
    """The words for the actions of a world."""
    known = ACTIONS.get(name, ())
    return known if len(known) == count else tuple(f"action {a}" for a in range(count))


def grid(name: str, problem: Any) -> Any:
    """The map of a world that is one: (rows, columns) of "." free, "x" costly, "G" goal, "S" start; None elsewhere."""
    if name.startswith("frozen-lake"):
        from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv

        letters = np.asarray(FrozenLakeEnv(map_name=name.rpartition("-")[2]).desc).astype(str)
        return np.where(letters == "H", "x", np.where(letters == "F", ".", letters))
    if name != "grid-world":
        return None
    n = round(problem.n_states**0.5)
    cells = np.full(n * n, ".", dtype="<U1")
    after = problem.P[0].argmax(axis=2)  # the cell entered, by cell and action
    cells[after[problem.g[0, 0] < 0.5]] = "x"
    cells[after.ravel()[problem.r[0].argmax()]] = "G"
    cells[problem.mu.argmax()] = "S"
    return cells.reshape(n, n)


def draw_grid(name: str, problem: Any, cells: Any, occupancy: Any) -> Any:
    """A map, the expected visits of the best policy, and its likeliest way out of each cell that it visits.

    Args:
        name: of the world.
        problem: the world.
        cells: its map.
        occupancy: (H,S,A) of the best policy.
    """
    rows, columns = cells.shape
    left = np.diagonal(problem.P[0], axis1=0, axis2=2).min(axis=0) < 1.0  # cells that one can leave
    visits = np.where(left, occupancy.sum(axis=(0, 2)), 0.0).reshape(rows, columns)
    likely = occupancy.sum(axis=0).argmax(axis=1).reshape(rows, columns)
    figure, axes = drawing.new(1, 1, 5.6, 5.2)
    ax = axes[0, 0]
    picture = ax.imshow(np.sqrt(visits), cmap="YlGnBu")
    bar = figure.colorbar(picture, ax=ax, shrink=0.8, label="expected visits in an episode")
    ticks = np.array([0.0, *np.geomspace(0.05, 1, 3) * visits.max()])
    bar.set_ticks(np.sqrt(ticks), labels=[f"{tick:.2g}" for tick in ticks])
    words = actions(name, occupancy.shape[2])
    for (row, column), kind in np.ndenumerate(cells):
        if kind == "x":
            ax.add_patch(_rectangle(column, row))
        if visits[row, column] > 0.02 and kind != "G":
            right, down = _ARROWS[words[likely[row, column]]]
            start, end = (column - 0.28 * right, row - 0.28 * down), (column + 0.3 * right, row + 0.3 * down)
            ax.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": "#d55e00", "lw": 1.3})
        if kind in "SG":
            colour = "white" if visits[row, column] > 0.5 * visits.max() else "black"
            ax.text(column, row, kind, color=colour, ha="center", va="center", weight="bold", fontsize=13 if rows < 10 else 8)
    ax.set(xticks=[], yticks=[])
    ax.grid(False)
    return figure


def _rectangle(column: int, row: int) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, hatch="xxx", edgecolor="#888888", linewidth=0)


def draw_line(name: str, problem: Any) -> Any:
    """What each action does from one state of a world on a line.

    Args:
        name: of the world.
        problem: the world.
    """
    S, A = problem.n_states, problem.n_actions
    here = int(problem.mu.argmax()) if problem.mu.argmax() else S // 2
    shown = [a for a in range(A) if problem.available[0, here, a]]
    figure, axes = drawing.new(len(shown), 1, 7.0, 1.25 * len(shown) + 0.3)
    for ax, action in zip(axes[:, 0], shown, strict=True):
        for x in range(S):
            colour = "#fff3e0" if x == here else "#e0f2f1"
            ax.text(x, 0, str(x), ha="center", va="center", bbox={"boxstyle": "square,pad=0.45", "fc": colour, "ec": "#607d8b"})
        for x in np.flatnonzero(problem.P[0, here, action] > 1e-9).tolist():
            chance, bend = problem.P[0, here, action, x], -0.45 if x < here else 0.45
            if x == here:
                ax.text(here, -0.62, f"stays: {chance:.2g}", ha="center", va="center", fontsize=9, color="#bf360c")
                continue
            arrow = {"arrowstyle": "-|>", "connectionstyle": f"arc3,rad={-bend}", "color": "#bf360c", "lw": 0.8 + 1.6 * chance}
            ax.annotate("", (x, 0.28), (here, 0.28), arrowprops=arrow)
            side = 0.34 if x > here else -0.34
            ax.text(x + side, 0.5, f"{chance:.2g}", ha="center", fontsize=9, color="#bf360c")
        ax.set(xlim=(-0.9, S - 0.1), ylim=(-0.9, 1.25), xticks=[], yticks=[])
        ax.set_title(actions(name, A)[action], loc="left", fontsize=10)
        ax.grid(False)
        for spine in ax.spines.values():
            spine.set_visible(False)
    axes[-1, 0].set_xlabel(STATES.get(name, "state"))
    return figure


def draw_kernel(problem: Any) -> Any:
    """The transition probabilities of the first step, one picture an action.

    Args:
        problem: the world.
    """
    A = min(problem.n_actions, 4)
    figure, axes = drawing.new(1, A, 2.4 * A + 0.8, 2.7)
    for a, ax in enumerate(axes[0]):
        picture = ax.imshow(problem.P[0, :, a], cmap="YlGnBu", vmin=0.0, vmax=problem.P[0].max(), aspect="auto")
        ax.set_title(f"action {a}", fontsize=10)
        ax.set(xlabel="next state", ylabel="state" if a == 0 else "")
        ax.grid(False)
    figure.colorbar(picture, ax=axes[0, -1], label="probability")
    return figure


def draw_arms(problem: Any) -> Any:
    """What each action pays at the first step of a world with one state: its reward and each utility, on average.

    Args:
        problem: the world.
    """
    bars = {"reward": problem.r[0, 0], **dict(zip(problem.constraint_names or ("utility",), problem.g[:, 0, 0], strict=False))}
    figure, axes = drawing.new(1, len(bars), 2.6 * len(bars) + 0.6, 2.7)
    for i, (ax, (name, values)) in enumerate(zip(axes[0], bars.items(), strict=True)):
        ax.bar(range(len(values)), values, color=drawing.COLOURS[i])
        ax.set_title(name, fontsize=10)
        ax.set(xlabel="action", ylabel="mean of a step" if i == 0 else "", ylim=(0, 1), xticks=range(len(values)))
    return figure


def draw_features(problem: Any) -> Any:
    """The features of each action, over a line of states.

    Args:
        problem: a linear CMDP on R^1.
    """
    x = np.linspace(-1.5, 1.5, 200)
    phi = problem.features.encode(x[:, None])
    figure, axes = drawing.new(1, phi.shape[1], 2.4 * phi.shape[1] + 0.6, 2.4)
    for a, ax in enumerate(axes[0]):
        for i in range(phi.shape[2]):
            ax.plot(x, phi[:, a, i], color=drawing.COLOURS[i % len(drawing.COLOURS)], lw=1.2)
        ax.set_title(f"action {a}", fontsize=10)
        ax.set(xlabel="state x", ylabel="φ" if a == 0 else "", ylim=(0, 1))
    return figure


def draw_visits(name: str, best: Any) -> Any:
    """Where the best policy is at each step.

    Args:
        name: of the world.
        best: its optimum.
    """
    visits = best.occupancy.sum(axis=2).T  # (S,H)
    figure, ax = _steps_and_states(name, "where it is")
    picture = ax.imshow(visits, origin="lower", extent=_ends(*visits.shape), aspect="auto", cmap="YlGnBu", vmin=0)
    figure.colorbar(picture, ax=ax, label="probability")
    return figure


def draw_policy(name: str, best: Any) -> Any:
    """What the best policy does in each state that it may come to.

    Args:
        name: of the world.
        best: its optimum.
    """
    H, S, A = best.policy.shape
    words = actions(name, A)
    chances = np.moveaxis(best.policy, 0, 1)  # (S,H,A)
    never = best.occupancy.sum(axis=2).T < 1e-9
    figure, ax = _steps_and_states(name, "what it does there")
    ax.set_facecolor("#f2f2f2")
    look = {"origin": "lower", "extent": _ends(S, H), "aspect": "auto"}
    if A == 2:
        picture = ax.imshow(np.ma.masked_array(chances[..., 1], never), cmap="RdYlBu_r", vmin=0, vmax=1, **look)
        figure.colorbar(picture, ax=ax, label=f"probability of “{words[1]}”")
        return figure
    from matplotlib.colors import ListedColormap

    colours = ListedColormap(list(drawing.COLOURS[:A]))
    shown = np.ma.masked_array(chances.argmax(axis=2), never)
    picture = ax.imshow(shown, cmap=colours, vmin=-0.5, vmax=A - 0.5, **look)
    figure.colorbar(picture, ax=ax).set_ticks(range(A), labels=words)
    return figure


def _ends(S: int, H: int) -> tuple[float, float, float, float]:
    return (0.5, H + 0.5, -0.5, S - 0.5)


def _steps_and_states(name: str, title: str) -> tuple[Any, Any]:
    figure, axes = drawing.new(1, 1, 4.3, 3.2)
    ax = axes[0, 0]
    ax.set_title(title)
    ax.set(xlabel="step", ylabel=STATES.get(name, "state"))
    ax.grid(False)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.yaxis.get_major_locator().set_params(integer=True)
    return figure, ax
