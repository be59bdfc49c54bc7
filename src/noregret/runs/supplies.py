"""What a run's key names by a hash only: problems and features that cannot be built again from a text.

They are remembered while somebody holds them. Other processes get them as files beside the runs.
"""

from __future__ import annotations

from pathlib import Path
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import ArrayLike

from noregret import problems
from noregret._system.arrays import is_plain, load_npz
from noregret.errors import FileError, InputError, shown
from noregret.problems.continuous import Encoder, is_feature_map
from noregret.problems.registry import Problem, is_built_in
from noregret.store import RunKey, content_hash

_supplies: WeakValueDictionary[str, object] = WeakValueDictionary()
_received: list[object] = []  # nobody else holds what came from a file

#: A hash of something that has no content to hash begins with this.
ONLY_HERE = "object-"


def identity(problem: Problem, text: str | None = None) -> tuple[str, str | None]:
    """The name of a problem, and a hash of its content where the name is not enough to build it again."""
    if not hasattr(problem, "spec"):
        raise InputError(f"problem is a {type(problem).__name__}; expected a name, a TabularCMDP or a LinearCMDP")
    name = str(problem.name)
    if not is_plain(name):
        raise InputError(f"the problem's name {name!r} has characters that a terminal obeys; expected plain text")
    if text is not None and is_built_in(text):
        return name, None
    content = problem_hash(problem)
    if text is None and is_built_in(name) and problem_hash(problems.load(name)) == content:
        return name, None
    if text is None:
        _supplies[content] = problem
    return name, content


def problem_hash(problem: object) -> str:
    """A hash of everything that a problem is, its names aside."""
    labels = ("name", "constraint_names", "senses")
    return content_hash({name: value for name, value in vars(problem).items() if name not in labels})


def supply(features: ArrayLike | Encoder) -> str:
    """Remember features φ, an array (S,A,d) or a feature map, as long as somebody holds them. Returns their hash, for keys."""
    if not (isinstance(features, np.ndarray) or is_feature_map(features)):
        try:
            features = np.array(features, dtype=np.float64)
        except (TypeError, ValueError):
            said = "expected a feature map of noregret.features, or an array (S,A,d)"
            raise InputError(f"features is {shown(features)}; {said}") from None
        _received.append(features)
    try:
        hash = content_hash({"features": features})
    except InputError:  # a map without plain content is the same as itself only
        hash = f"{ONLY_HERE}{id(features):x}"
    _supplies[hash] = features
    return hash


def supplied(hash: str | None, otherwise: object = None) -> object:
    """The problem or the features that were remembered under a hash; ``otherwise`` where there are none, unless it is None."""
    content = _supplies.get(hash or "", otherwise)
    if content is None:
        raise InputError(f"what the run calls {hash!r} is not in this process; expected it to be given again")
    return content


def held(hash: str | None) -> object:
    """What this process remembers under a hash, or None."""
    return _supplies.get(hash or "")


def receive(key: RunKey, folder: Path) -> None:
    """Read what :func:`noregret.runs.prepare.send` wrote for a run, unless it is here already."""
    for hash in (key.problem_hash, key.features_hash):
        path = folder / f"{hash}.npz"
        if hash is None or hash in _supplies or not path.exists():
            continue
        if hash == key.problem_hash:
            problem = problems.load(str(path))
            problem.name = key.problem
            content: object = problem
        else:
            content = load_npz(path, "a table of features").get("features")
            if content is None:
                raise FileError(f"{path}: array 'features' is missing")
        _received.append(content)
        _supplies[hash] = content
