"""Many runs at once: grids as TOML files, and searches for parameters. They describe runs; :mod:`noregret.runs` plays them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path

from noregret._system.checks import path
from noregret._system.progress import Progress
from noregret.runs import How, play
from noregret.store import RunTable
from noregret.sweeps import spec as specs

__all__ = ["sweep"]


def sweep(
    spec: str | Path | Mapping[str, object],
    out: str | Path = "runs",
    *,
    fresh: bool = False,
    backend: str = "threads",
    address: str | None = None,
    workers: int | None = None,
    progress: Progress = None,
) -> RunTable:
    """Play every run of a sweep that is not finished yet, and return all of its runs as a table.

    Args:
        spec: a path to a TOML file (:mod:`noregret.sweeps.spec`), or its entries as a dictionary.
        out: the folder that keeps the runs; the same call goes on from what is there.
        fresh: whether ``out`` forgets these runs first.
        backend: "threads", "processes", "ray" or "dask".
        address: the Ray or Dask cluster; one on this machine by default.
        workers: runs at once; all cores by default.
        progress: whether a bar is shown; by default on a terminal.

    Returns:
        The finished runs. A run that failed is named in a warning; after Ctrl-C the table has what is finished.

    Raises:
        InputError: the sweep asks for something that cannot be run; nothing was played.

    Example:
        >>> import tempfile
        >>> asked = {"problems": ["random:S=3,A=2,H=2"], "learners": [{"name": "uniform"}], "episodes": 10, "seeds": 2}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     table = sweep(asked, folder, progress=False)
        >>> table
        <RunTable: 2 runs of uniform on random:S=3,A=2,H=2>
    """
    plan = specs.from_entries(spec) if isinstance(spec, Mapping) else specs.read(path("spec", spec, "a file or a dictionary"))
    how = How(path("out", out), fresh, backend, address, workers, imports=plan.imports, progress=progress)
    sitting = play(plan.keys, how)
    for error, ids in sitting.summary.reasons():
        warnings.warn(f"{len(ids):,} runs failed: {error}", stacklevel=2)
    return RunTable(sitting.store.read(key.id) for key in plan.keys if sitting.store.whole(key.id))
