"""What the learners with a simulator share: draws before each plan, from every step, state and action; their state.

**They are given more than the others**: a simulator that they may ask from any (h,x,a),
:mod:`noregret.kernels.worlds.simulator`. They learn from its draws alone; the episodes that they play are how they are
measured, and teach them nothing. A result carries the draws of each trial as the note "simulator draws".

Estimates of Q (``estimate``), with ``draws`` from each of the N available (h,x,a) in an episode:

- "rollouts", as the papers have it: the mean of ``draws`` rollouts from each to the last step, thrown away after the episode.
  These are Σ_h N_h (H−h+1) ``draws`` draws an episode.
- "model": ``draws`` single draws from each, N·``draws`` an episode, kept in an empirical model on which the policy is
  evaluated. The error shrinks as the run goes on.

All have one state. What differs is its ``method``, a NamedTuple of the learner's constants and of what its steps remember; a
learner gives :func:`look` and :func:`move` a body for the type of its method.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from noregret.errors import InputError
from noregret.kernels.compiler.dispatch import register_kernels
from noregret.kernels.compiler.jit import by_type
from noregret.kernels.steps.empirical import empirical_model
from noregret.kernels.steps.gradients import Iterate, evaluate_by_draws, iterate_on
from noregret.kernels.types import STREAMS, Array, Integers, Stream
from noregret.kernels.worlds.draws import seed
from noregret.kernels.worlds.simulator import Simulator
from noregret.learners.presets import Count, Resolved, Word
from noregret.learners.tabular import TabularLearner

#: Rows of the tables of these learners.
DRAWS = Count("draws", most=1_000_000, every=(1, "from each (h,x,a); the papers leave the number open"))
ESTIMATE = Word(
    "estimate",
    ("rollouts", "model"),
    theory=("rollouts", "as printed: each episode's draws alone"),
    practical=("model", "draws are kept in an empirical model"),
)


class SimulatorState(NamedTuple):
    """What the next episode needs."""

    tables: Iterate
    policy: Array  # (H,S,A) of the tables
    Y: Array  # (m,) of the tables
    stream: Stream  # (1,)
    uniforms: Array  # (2,) begin the stream, and further ones for the method
    simulator: Simulator
    kept: bool  # whether draws are kept in a model
    draws: int
    method: tuple[object, ...]  # NPG, Rectified or Saddle

    def limits(self) -> dict[str, tuple[int, int]]:
        """What the stream may be."""
        return {"stream": STREAMS}


@by_type
def look(method: tuple[object, ...], state: SimulatorState) -> None:
    """Draw, and evaluate the policy or take the gradients."""


@by_type
def move(method: tuple[object, ...], state: SimulatorState) -> None:
    """Step."""


def evaluate(method: tuple[object, ...], state: SimulatorState) -> None:
    """The body of :func:`look` for methods that need Q and V of the policy."""
    evaluate_by_draws(state.simulator, state.tables, not state.kept, state.draws, state.stream)


def plan(state: SimulatorState) -> None:
    """Draw, and look at what was drawn; the policy stands."""
    seed(state.stream, state.uniforms[0], state.uniforms[1])
    look(state.method, state)


def update(state: SimulatorState, states: Integers, actions: Integers, observed: Array) -> None:
    """Step; the episode itself teaches nothing.

    Args:
        state: the learner's own, changed in place.
        states: (H+1,) the states visited.
        actions: (H,) the actions taken.
        observed: (H,1+m) the reward and the utilities of each step.
    """
    move(state.method, state)


class SimulatorLearner(TabularLearner):
    """A learner with a simulator."""

    things: ClassVar[tuple[str, ...]] = ("simulator",)
    told: ClassVar[tuple[str, ...]] = ("simulator",)
    source: ClassVar[str] = "notes"

    def notes(self) -> dict[str, float]:
        """How many draws the simulator has given."""
        return {"simulator draws": float(self._state.simulator.drawn[0])}

    def iterate(self) -> Iterate:
        """The uniform policy on a model without data."""
        spec = self.spec
        return iterate_on(empirical_model(spec.horizon, spec.n_states, spec.n_actions, 1 + spec.n_constraints), spec)

    def on(self, tables: Iterate, c: Resolved, method: tuple[object, ...], uniforms: int = 2) -> SimulatorState:
        """The state before the first episode.

        Args:
            tables: the uniform policy.
            c: the constants.
            method: the constants of the learner's steps.
            uniforms: how many random numbers a plan takes.

        Raises:
            InputError: there is no simulator, or it is one of another problem.
        """
        simulator = self.handed.get("simulator")
        if not isinstance(simulator, Simulator):
            raise InputError(f"simulator is {simulator!r}; {self.name} needs one: run() gives it that of the problem")
        sizes = (*self.spec.available.shape, 1 + self.spec.n_constraints)
        if simulator.world.mean.shape != sizes:
            raise InputError(
                f"simulator is of sizes {simulator.world.mean.shape}; expected those of the problem, {self.spec!r}"
            )
        self.constants["told"], self.explain["told"] = "a simulator", "draws from any step, state and action"
        return SimulatorState(
            tables=tables,
            policy=tables.policy,
            Y=tables.Y,
            stream=np.zeros(1, dtype=np.uint64),
            uniforms=np.zeros(uniforms),
            simulator=simulator,
            kept=c.estimate == "model",
            draws=c.draws,
            method=method,
        )


register_kernels(SimulatorState, plan, update)
