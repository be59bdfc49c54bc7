"""Where a run was played: versions of what it was played with, and the machine."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version

import noregret
from noregret._system.cores import available_cores
from noregret.kernels.compiler.source import source_hash


@cache
def provenance() -> dict[str, dict[str, str | int]]:
    """``versions`` of the libraries and ``machine``."""
    versions: dict[str, str | int] = {
        "noregret": noregret.__version__,
        "python": platform.python_version(),
        "sources": source_hash(),
    }
    for name in ("numpy", "scipy", "numba"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:  # vendored in some way: still a run
            versions[name] = "unknown"
    machine: dict[str, str | int] = {
        "name": platform.node(),
        "system": platform.platform(),
        "cpu": _cpu(),
        "cores": available_cores(),
    }
    return {"versions": versions, "machine": machine}


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
