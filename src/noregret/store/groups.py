"""Runs that differ in seed and trial only, side by side: what intervals are taken over."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from noregret.results import RunResult
from noregret.store.folder import StoredRun
from noregret.store.identity import RunKey


@dataclass(frozen=True)
class Group:
    """Runs of one learner with one setting on one problem."""

    key: RunKey  # of the first run
    runs: tuple[StoredRun, ...]

    @property
    def label(self) -> str:
        """The learner and its options."""
        return f"{self.key.learner} ({self.key.options()})"

    def result(self) -> RunResult:
        """All runs as one result, a trial a run; reads and checks the curves."""
        first = self.runs[0].record
        curves = [run.curves() for run in self.runs]
        stacked: dict[str, Any] = {name: np.stack([c[name] for c in curves]) for name in curves[0] if name != "episodes"}
        signed = stacked.pop("signed_violations")
        return RunResult(
            problem=self.key.problem, learner=self.key.learner, preset=self.key.preset, constants=first["constants"],
            explain=first["explain"], seed=self.key.seed, episodes=curves[0]["episodes"],
            violations=np.maximum(signed, 0.0), **stacked, optimal_value=first["optimal_value"],
            tightened_value=first["tightened_value"], optimal_dual=np.array(first["optimal_dual"]),
            slater_gap=first["slater_gap"], slater_gap_used=first["slater_gap_used"], episodes_requested=self.key.episodes,
            seconds=sum(run.record["seconds"] for run in self.runs),
            kernel_seconds=sum(run.record["kernel_seconds"] for run in self.runs), threads=1, trials_requested=len(self.runs),
        )  # fmt: skip


def group(runs: Iterable[StoredRun]) -> list[Group]:
    """Runs by everything but seed and trial; groups by problem, learner and options."""
    found: dict[str, list[StoredRun]] = {}
    for run in runs:
        found.setdefault(replace(run.key, seed=0, trial=0).id, []).append(run)
    groups = [
        Group(members[0].key, tuple(members))
        for members in (sorted(runs, key=lambda run: (run.key.seed, run.key.trial)) for runs in found.values())
    ]
    return sorted(groups, key=lambda g: (g.key.problem, g.key.learner, g.key.episodes, g.key.options()))
