"""Problems on disk: one .npz file with plain arrays, never a pickle.

Arrays: ``P r g b mu`` as :class:`~noregret.problems.base.TabularCMDP` takes them, and, where wanted, ``features``
(also accepted as ``phi``), ``available``, ``noise`` with ``noise_scale`` and ``noisy``, ``constraint_names``, ``senses``,
``share``, and ``step_limit`` with ``safe_actions``. A loaded problem's name is the path it came from; its name rebuilds it.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret._system.arrays import load_npz, save_npz
from noregret.errors import FileError, InputError
from noregret.problems.base import TabularCMDP

REQUIRED = ("P", "r", "g", "b", "mu")
NOISY = ("noise", "noise_scale", "noisy")
OPTIONAL = ("features", "phi", "available", *NOISY, "constraint_names", "senses", "share", "step_limit", "safe_actions")


def load(path: str | os.PathLike[str]) -> TabularCMDP:
    """Read the problem in the .npz file ``path``; a file that is not one is refused with its name and the reason."""
    arrays = load_npz(path, "a readable .npz file")
    missing = [key for key in REQUIRED if key not in arrays]
    if missing:
        raise FileError(f"{path}: array {missing[0]!r} is missing; expected {', '.join(REQUIRED)}")
    if "features" in arrays and "phi" in arrays:
        raise FileError(f"{path}: both 'features' and 'phi' are given; expected one of them")
    unknown = sorted(set(arrays) - set(REQUIRED) - set(OPTIONAL))
    if unknown:
        warnings.warn(f"{path}: array {unknown[0]!r} is not part of a problem and is ignored", stacklevel=3)
    options: dict[str, Any] = {"features": arrays.get("features", arrays.get("phi"))}
    options |= {key: arrays.get(key) for key in ("available", "step_limit", "safe_actions")}
    options["noise"] = str(arrays["noise"]) if "noise" in arrays else None
    options |= {key: arrays[key] for key in ("noise_scale", "noisy") if key in arrays}
    options["share"] = str(arrays.get("share", "nothing"))
    for key in ("constraint_names", "senses"):
        options[key] = [str(word) for word in np.atleast_1d(arrays[key])] if key in arrays else ()
    try:
        return TabularCMDP(*(arrays[key] for key in REQUIRED), **options, name=os.fspath(path))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def save(problem: TabularCMDP, path: str | os.PathLike[str]) -> None:
    """Write ``problem`` so that :func:`load` gives it back; the file is there whole, or not at all."""
    if Path(path).suffix != ".npz":
        raise InputError(f"{path}: expected a name that ends with .npz")
    save_npz(path, _arrays(problem))


def _arrays(problem: TabularCMDP) -> dict[str, NDArray[np.generic]]:
    arrays: dict[str, NDArray[np.generic]] = {
        "P": problem.P,
        "r": problem.r if problem.r_next is None else problem.r_next,
        "g": problem.g if problem.g_next is None else problem.g_next,
        "b": problem.b,
        "mu": problem.mu,
        "available": problem.available,
        "constraint_names": np.array(problem.constraint_names),
        "senses": np.array(problem.senses),
    }
    optional: dict[str, ArrayLike | None] = {
        "features": problem.features,
        "noise": problem.noise,
        "noise_scale": problem.noise_scale if problem.noise else None,
        "noisy": problem.noisy,
        "share": None if problem.share == "nothing" else problem.share,
        "step_limit": problem.step_limit,
        "safe_actions": problem.safe_actions,
    }
    return arrays | {key: np.asarray(value) for key, value in optional.items() if value is not None}
