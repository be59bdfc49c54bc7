"""Which learner a run has: the constants in force, what the learner is told, and the learner itself."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from noregret import learners, oracle
from noregret.errors import InputError, unknown_name
from noregret.learners.base import GivenFeatures, Learner
from noregret.learners.fixed import FixedPolicy
from noregret.learners.registry import class_for
from noregret.oracle.tables import TableOptimum
from noregret.problems.base import Array
from noregret.problems.checks import policy_table
from noregret.runs.prepare import Prepared, prepared
from noregret.runs.supplies import supplied
from noregret.store import RunKey, content_hash

#: Policies that are built from the oracle; not learners.
FIXED_POLICIES = ("optimal", "safest")
#: What a problem tells learners that must know more than the spec.
TELLS = ("reward", "utilities", "simulator")
#: The safe policy that the oracle finds, by name.
SAFEST = "safest"


class Chosen(NamedTuple):
    """What a run's key says of the learner: constants in force, what the run is told beside them; and why each constant is."""

    constants: dict[str, object]
    told: dict[str, object]
    why: dict[str, str]


def class_of(learner: str) -> type[Learner]:
    """The class of a learner, or of a policy that is built from the oracle.

    Raises:
        InputError: no learner has this name.
    """
    if learner in FIXED_POLICIES:
        return FixedPolicy
    if learner not in learners.names():
        raise unknown_name("learner", learner, [*learners.names(), *FIXED_POLICIES])
    return learners.get(learner)


def given_safest(learner: str) -> dict[str, object]:
    """The parameters that give a learner which must know a safe policy the oracle's; none for other learners."""
    return {"safe_policy": SAFEST} if "safe_policy" in class_of(learner).told else {}


def choose(key: RunKey) -> Chosen:
    """Find the constants in force for what a run was asked for; no learner is made, and nothing solved but a Slater gap.

    Args:
        key: the run. What it was asked for counts, its ``constants`` and ``told`` do not.

    Raises:
        InputError: a name is unknown, or a value is not what it must be.
    """
    home = prepared(key)
    for name in RunKey.__dataclass_fields__.keys() & key.params.keys():
        raise InputError(f"{name!r} is among the parameters; expected constants of the learner, and this is not one")
    if key.learner in FIXED_POLICIES:
        for name in key.params.keys() - set(home.options):
            raise InputError(f"{key.learner} is a fixed policy and takes no parameter {name!r}")
        return Chosen({}, home.settled(key.params), {})
    gap = _gap(home, key)
    cls = class_for(key.learner, home.problem.spec, episodes=key.episodes, preset=key.preset, slater_gap=gap)
    for name in set(cls.told) & {*TELLS} & key.params.keys():
        raise InputError(f"{name} is given; {key.learner} is told the problem's own: leave it out")
    params = {name: value for name, value in key.params.items() if name not in home.options and value is not None}
    things = {name: params.pop(name) for name in ("safe_policy", *cls.things) if name in params}
    told = home.settled(key.params) | {name: _named(value) for name, value in things.items()}
    resolved = cls.resolve(
        home.problem.spec, episodes=key.episodes, preset=key.preset, features=_features(key), slater_gap=gap, params=params
    )
    return Chosen(cls.named(resolved), told, dict(resolved.why))


def make_learner(key: RunKey) -> Learner:
    """Make the learner of a run, with the constants of the run's key; it is told of the truth what the key says, and no more.

    Raises:
        InputError: the learner refuses the problem or a parameter, or the key has other constants than the learner.
    """
    home, choice = prepared(key), choose(key)
    if key.constants.keys() != choice.constants.keys():
        differ = ", ".join(sorted(key.constants.keys() ^ choice.constants.keys()))
        raise InputError(f"the run was planned for other constants than {key.learner} has ({differ}): it can only be read")
    if key.learner in FIXED_POLICIES:
        return _fixed(home, key)
    options: dict[str, Any] = {name: value for name, value in key.params.items() if name not in home.options}
    options |= {name: home.tells(name) for name in TELLS if name in learners.get(key.learner).told}
    options |= {name: value for name, value in key.constants.items() if value != choice.constants[name]}
    if options.get("safe_policy") is not None:
        options["safe_policy"] = _safe_policy(home, key, options["safe_policy"])
    options |= {"preset": key.preset, "features": _features(key), "slater_gap": _gap(home, key)}
    learner = learners.make(key.learner, home.problem.spec, episodes=key.episodes, **options)
    learner.explain |= choice.why
    if isinstance(asked := key.params.get("safe_policy"), str) and asked == SAFEST:
        learner.constants["safe_policy"] = "safest, from the oracle"
    return learner


def _gap(home: Prepared, key: RunKey) -> float | None:
    """The Slater gap that the learner is told; the exact one is found only where it is asked for."""
    if isinstance(key.slater_gap, str):
        if key.slater_gap != "oracle":
            raise InputError(f"slater_gap is {key.slater_gap!r}; expected a number, 'oracle' or None")
        return float(home.best(key).slater_gap)
    return key.slater_gap


def _features(key: RunKey) -> GivenFeatures:
    return None if key.features_hash is None else cast(GivenFeatures, supplied(key.features_hash))


def _named(value: object) -> object:
    """A thing that a learner is told, as a key has it: a word or number itself, a hash of an array."""
    if isinstance(value, str | bool | int | float):
        return value
    try:
        return content_hash({"array": np.asarray(value, dtype=np.float64)})
    except (TypeError, ValueError):
        return repr(value)  # refused when the learner is made


def _fixed(home: Prepared, key: RunKey) -> Learner:
    if key.starts is not None:
        raise InputError(f"learner is {key.learner!r}; with starts the best policy depends on the start")
    problem = home.finite(f"learner {key.learner!r}")
    policy = cast(TableOptimum, home.optimum).policy if key.learner == "optimal" else oracle.safest(problem)
    return FixedPolicy(problem.spec, episodes=key.episodes, policy=policy, called=key.learner)


def _safe_policy(home: Prepared, key: RunKey, policy: str | ArrayLike) -> Array:
    """The safe policy that was given, checked, or the oracle's."""
    starts, problem = home.starts(key.starts), home.finite("safe_policy")
    problem = problem if starts is None else starts.problem
    if starts is not None and (problem.mu > 0.0).sum() > 1:
        raise InputError("starts has several states; with a safe_policy expected one: only the mean over starts is certified")
    if isinstance(policy, str):
        if policy != SAFEST:
            raise InputError(f"safe_policy is {policy!r}; expected an array (H,S,A), {SAFEST!r} or None")
        return oracle.safest(problem)
    table = policy_table(policy, problem.available, "safe_policy")
    utilities = oracle.evaluate(problem, table)[1]
    for i in np.flatnonzero(utilities < problem.b - 1e-9):
        said = f"its utility {problem.constraint_names[i]!r} is {utilities[i]:.6g}, below {problem.b[i]:.6g}"
        warnings.warn(f"safe_policy is not safe: {said}", stacklevel=3)
    return table
