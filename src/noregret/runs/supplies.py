"""What a run's key names by a hash only: problems and features that cannot be built again from a text.

They are remembered while somebody holds them. Other processes get them as files beside the runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from noregret import problems
from noregret._system.arrays import is_plain, load_npz
from noregret.errors import FileError, InputError, shown
from noregret.problems.continuous import is_feature_map
from noregret.problems.registry import is_built_in
from noregret.store import RunKey, content_hash

_supplies: WeakValueDictionary[str, Any] = WeakValueDictionary()
_received: list[Any] = []  # nobody else holds what came from a file

#: A hash of something that has no content to hash begins with this.
ONLY_HERE = "object-"


def identity(problem: Any, text: str | None = None) -> tuple[str, str | None]:
    """The name of a problem, and a hash of its content where the name is not enough to build it again."""
    if not hasattr(problem, "spec"):
        raise InputError(f"problem is a {type(problem).__name__}; expected a name, a TabularCMDP or a LinearCMDP")
    name = str(problem.name)
    if not is_plain(name):
        raise InputError(f"the problem's name {name!r} has characters that a terminal obeys; expected plain text")
    if text is not None and is_built_in(text):
        return name, None
    found = problem_hash(problem)
    if text is None and is_built_in(name) and problem_hash(problems.load(name)) == found:
        return name, None
    if text is None:
        _supplies[found] = problem
    return name, found


def problem_hash(problem: Any) -> str:
    """A hash of everything that a problem is, its names aside."""
    labels = ("name", "constraint_names", "senses")
    parts = {name: value for name, value in vars(problem).items() if name not in labels}
    if parts.get("share") == "nothing":  # as before there was such an entry: stored runs keep their names
        del parts["share"]
    if parts.get("step_limit") is None:  # the same
        parts = {name: value for name, value in parts.items() if name not in ("step_limit", "safe_actions")}
    return content_hash(parts)


def supply(features: Any) -> str:
    """Remember features φ, an array (S,A,d) or a feature map, as long as somebody holds them. Returns their hash, for keys."""
    if not (isinstance(features, np.ndarray) or is_feature_map(features)):
        try:
            features = np.array(features, dtype=np.float64)
        except (TypeError, ValueError):
            said = "expected a feature map of noregret.features, or an array (S,A,d)"
            raise InputError(f"features is {shown(features)}; {said}") from None
        _received.append(features)
    try:
        found = content_hash({"features": features})
    except InputError:  # a map without plain content is the same as itself only
        found = f"{ONLY_HERE}{id(features):x}"
    _supplies[found] = features
    return found


def supplied(hash: str | None, otherwise: Any = None) -> Any:
    """The problem or the features that were remembered under a hash; ``otherwise`` where there are none, unless it is None."""
    found = _supplies.get(hash or "", otherwise)
    if found is None:
        raise InputError(f"what the run calls {hash!r} is not in this process; expected it to be given again")
    return found


def held(hash: str | None) -> Any:
    """What this process remembers under a hash, or None."""
    return _supplies.get(hash or "")


def receive(key: RunKey, folder: Path) -> None:
    """Read what :func:`noregret.runs.prepare.send` wrote for a run, unless it is here already."""
    for hash in (key.problem_hash, key.features_hash):
        path = folder / f"{hash}.npz"
        if hash is None or hash in _supplies or not path.exists():
            continue
        if hash == key.problem_hash:
            found = problems.load(str(path))
            found.name = key.problem
        else:
            found = load_npz(path, "a table of features").get("features")
            if found is None:
                raise FileError(f"{path}: array 'features' is missing")
        _received.append(found)
        _supplies[hash] = found
