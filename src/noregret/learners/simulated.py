"""What the learners with a simulator share: draws before each plan, from every step, state and action.

**They are given more than the others**: a simulator that they may ask from any (h,x,a), :mod:`noregret.kernels.simulator`. They
learn from its draws alone; the episodes that they play are how they are measured, and teach them nothing. A result carries the
draws of each trial as the note "simulator draws".

Estimates of Q (``estimate``), with ``draws`` from each of the N available (h,x,a) in an episode:

- "rollouts", as the papers have it: the mean of ``draws`` rollouts from each to the last step, thrown away after the episode.
  These are Σ_h N_h (H−h+1) ``draws`` draws an episode.
- "model", the choice of ``practical``: ``draws`` single draws from each, N·``draws`` an episode, kept in an empirical model on
  which the policy is evaluated. The error shrinks as the run goes on.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from noregret.errors import InputError
from noregret.kernels.empirical import empirical_model
from noregret.kernels.gradients import Iterate, iterate_on
from noregret.kernels.simulator import Simulator
from noregret.learners.choices import Choices
from noregret.learners.tabular import TabularLearner
from noregret.problems.base import Spec

#: The most draws from a pair in an episode.
MOST_DRAWS = 1_000_000


class SimulatorLearner(TabularLearner):
    """A learner with a simulator. Its state has ``one``, ``simulator``, ``uniforms`` (2,) or more, and ``stream``."""

    told: ClassVar[tuple[str, ...]] = ("simulator",)
    source: ClassVar[str] = "code"
    estimates: ClassVar[tuple[str, str]] = ("rollouts", "model")  # of theory, of practical

    def notes(self) -> dict[str, float]:
        """How many draws the simulator has given."""
        return {"simulator draws": float(self._state.simulator.drawn[0])}

    def _asked(self, spec: Spec, choices: Choices) -> dict[str, Any]:
        """The simulator and how it is asked, for the state."""
        simulator = choices.given.pop("simulator", None)
        if not isinstance(simulator, Simulator):
            raise InputError(f"simulator is {simulator!r}; {self.name} needs one: run() gives it that of the problem")
        H, S, A, J = simulator.world.mean.shape
        if (H, S, A, J) != (*spec.available.shape, 1 + spec.n_constraints):
            raise InputError(f"simulator is of sizes {(H, S, A, J)}; expected those of the problem, {spec!r}")
        printed, kept = self.estimates
        word = choices.word(
            "estimate", printed if choices.theory else kept, self.estimates,
            "as printed: each episode's draws alone" if choices.theory else "draws are kept in an empirical model",
        )  # fmt: skip
        draws = choices.count("draws", (1, "from each (h,x,a); the papers leave the number open"), most=MOST_DRAWS)
        choices.values["told"], choices.why["told"] = "a simulator", "draws from any step, state and action"
        return {"simulator": simulator, "rolled": word == printed, "draws": draws}

    @staticmethod
    def _iterate(spec: Spec) -> Iterate:
        """The uniform policy on a model without data."""
        shape = (spec.horizon, spec.n_states, spec.n_actions, 1 + spec.n_constraints)
        return iterate_on(empirical_model(*shape), spec)


def own(one: Iterate) -> dict[str, Any]:
    """The fields that every such state has: the iterate and those of its arrays that others look for, and an empty stream."""
    return {"one": one, "policy": one.policy, "Y": one.Y, "Q": one.Q, "V": one.V, "stream": np.zeros(1, dtype=np.uint64)}
