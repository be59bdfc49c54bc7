"""Runs that differ in seed and trial only, side by side: what intervals are taken over."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from noregret.errors import DamagedError, FileError
from noregret.results import Comparison, Outcome, RunResult
from noregret.store.folder import StoredRun
from noregret.store.identity import RunKey
from noregret.store.records import RunRecord


@dataclass(frozen=True)
class Group:
    """Runs of one learner with one setting on one problem."""

    key: RunKey  # of the first run
    runs: tuple[StoredRun, ...]

    @property
    def label(self) -> str:
        """The learner and its options."""
        return f"{self.key.learner} ({self.key.options()})"

    @property
    def short(self) -> str:
        """The label without the record grid, which changes no number of a table."""
        said = [option for option in self.key.options().split(", ") if not option.startswith("record_every=")]
        return f"{self.key.learner} ({', '.join(said)})"

    def result(self) -> RunResult:
        """All runs as one result, a trial a run; reads and checks the curves."""
        parts = [(run.record, run.curves()) for run in self.runs]
        try:
            return collect(self.key, parts)
        except (KeyError, ValueError) as error:  # other notes, another number of constraints
            raise DamagedError(f"{self.runs[0].path}: does not go with the other runs of {self.label}: {error}") from None


def collect(
    key: RunKey, parts: Sequence[tuple[RunRecord, Mapping[str, NDArray[np.generic]]]], requested: int | None = None
) -> RunResult:
    """Lay the curves of trials side by side.

    Where a stop left trials of different lengths, one length is chosen such that most numbers are kept: longer trials are cut
    to it, shorter ones are left out.

    Args:
        key: the key of the first trial.
        parts: the record and the curves of each trial.
        requested: how many trials were asked for; by default as many as there are.
    """
    lengths = [len(curves["episodes"]) for _, curves in parts]
    n = max(lengths, key=lambda length: length * sum(other >= length for other in lengths))
    whole = [(record, curves) for (record, curves), length in zip(parts, lengths, strict=True) if length >= n]
    first = whole[0][0]
    stacked: dict[str, Any] = {
        name: np.stack([curves[name][:n] for _, curves in whole]) for name in whole[0][1] if name not in ("episodes", "kept")
    }
    gap = first["slater_gap"] if key.slater_gap == "oracle" else key.slater_gap
    return RunResult(
        problem=key.problem,
        learner=key.learner,
        preset=key.preset,
        constants=dict(first["constants"]),
        explain=dict(first["explain"]),
        seed=key.seed,
        episodes=whole[0][1]["episodes"][:n].astype(np.int64),
        violations=np.maximum(stacked.pop("signed_violations"), 0.0),
        **stacked,
        optimal_value=first["optimal_value"],
        tightened_value=first["tightened_value"],
        optimal_dual=np.array(first["optimal_dual"]),
        slater_gap=first["slater_gap"],
        slater_gap_used=cast(float | None, gap),
        episodes_requested=key.episodes,
        seconds=sum(record["seconds"] for record, _ in whole),
        kernel_seconds=sum(record["kernel_seconds"] for record, _ in whole),
        threads=1,
        trials_requested=len(parts) if requested is None else requested,
        uniform_loss=first.get("uniform_loss"),
        notes={name: np.array([record["notes"][name] for record, _ in whole]) for name in first.get("notes", {})},
    )


def group(runs: Iterable[StoredRun]) -> list[Group]:
    """Runs by everything but seed and trial; groups by problem, learner and options.

    A run whose curves are damaged is named in a warning and left out.
    """
    alike: dict[str, list[StoredRun]] = {}
    for run in runs:
        try:
            run.curves()
        except FileError as error:
            warnings.warn(f"{error}; left out", stacklevel=3)
            continue
        alike.setdefault(replace(run.key, seed=0, trial=0).id, []).append(run)
    groups = [
        Group(members[0].key, tuple(members))
        for members in (sorted(runs, key=lambda run: (run.key.seed, run.key.trial)) for runs in alike.values())
    ]
    return sorted(groups, key=lambda g: (g.key.problem, g.key.learner, g.key.episodes, g.key.options()))


def comparison(runs: Iterable[StoredRun]) -> Comparison:
    """The groups of some runs as a comparison; stored runs do not say what a theorem promises."""
    return compared((each, each.result()) for each in group(runs))


def compared(groups: Iterable[tuple[Group, RunResult]]) -> Comparison:
    """Groups and their results as a comparison; labels say the record grid where groups would look the same without it."""
    made = list(groups)
    often = Counter((each.key.problem, each.short) for each, _ in made)
    labels = [each.label if often[each.key.problem, each.short] > 1 else each.short for each, _ in made]
    return Comparison(
        Outcome(each.key.problem, label, ("-", "-"), result) for (each, result), label in zip(made, labels, strict=True)
    )
