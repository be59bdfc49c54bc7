"""Plans as deciding processes hold them: immutable, by version, read from the database once."""

from __future__ import annotations

import io
import json
import threading
import time
from collections import OrderedDict
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from noregret._system.arrays import read_npz
from noregret.agent.minds.protocol import Policy
from noregret.errors import FileError, InputError
from noregret.gym.spaces import Mask
from noregret.live import schema
from noregret.live.events import Answer
from noregret.live.spec import LiveSpec

#: Plans that a process remembers, and answers of each on numbered observations, some 500 bytes each.
_PLANS, _ANSWERS = 16, 1 << 13
#: The most entries of a plan's table of answers, 8 bytes each.
_TABLE = 1 << 18


def pack(arrays: dict[str, NDArray[Any]]) -> bytes:
    """Arrays as the bytes of an .npz file."""
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def unpack(data: bytes) -> dict[str, NDArray[Any]]:
    """The arrays that :func:`pack` wrote."""
    return read_npz(data)


class Plan:
    """A policy and what was known when it was made.

    Args:
        version: from 1 on; 0 stands for knowing nothing.
        policy: what it does.
        at: when it was made.
        facts: JSON: ``episodes`` learned, ``price``, ``low`` and ``high`` of reward and costs seen.
    """

    def __init__(self, version: int, policy: Policy, at: float, facts: dict[str, Any]) -> None:
        self.version, self.policy, self.at, self.facts = version, policy, at, facts
        self._answers: dict[Any, Answer] = {}
        self._table = policy.table(_TABLE)

    def answer(self, step: int, observation: NDArray[Any], mask: Mask | None) -> Answer:
        """The probabilities of all actions; those at numbered observations are found once.

        Args:
            step: h, from 0.
            observation: as the mind sees it.
            mask: (A,) which actions can be taken; None for all.
        """
        if observation.ndim:
            return Answer.of(self.policy.chances(step, observation, mask))
        state = observation.item()
        key = step, state, None if mask is None else mask.tobytes()
        found = self._answers.get(key)
        if found is None:
            if mask is None and self._table is not None and state in self._table[0]:
                chances = self._table[1][step, self._table[0][state]]
            else:
                chances = self.policy.chances(step, observation, mask)
            found = Answer.of(chances)
            if len(self._answers) < _ANSWERS:
                self._answers[key] = found
        return found

    @property
    def age(self) -> float:
        """Seconds since it was made."""
        return time.time() - self.at


class Plans:
    """The plans of one learner, in a process that decides.

    Args:
        engine: of the database.
        spec: of the learner, any mind of which turns arrays into policies.
    """

    def __init__(self, engine: sa.Engine, spec: LiveSpec) -> None:
        self.engine, self.mind = engine, spec.mind()
        self._some = np.zeros(len(spec.fields)) if spec.fields else np.asarray(0)
        self._kept: OrderedDict[int, Plan] = OrderedDict()
        self._lock = threading.Lock()
        self.newest = self._read(0)

    def get(self, version: int) -> Plan:
        """The plan of a version.

        Raises:
            InputError: it is not kept any more, or never was.
            FileError: what the database holds is no plan of this learner.
        """
        newest = self.newest
        if version == newest.version:
            return newest
        with self._lock:
            if version in self._kept:
                self._kept.move_to_end(version)
                return self._kept[version]
        plan = self._read(version)
        with self._lock:
            self._kept[version] = plan
            while len(self._kept) > _PLANS:
                self._kept.popitem(last=False)
        return plan

    def _read(self, version: int) -> Plan:
        if version == 0:
            return Plan(0, self.mind.policy({}), time.time(), {"episodes": 0})
        p = schema.plans.c
        with schema.reading(self.engine) as connection:
            row = connection.execute(sa.select(p.at, p.body, p.data).where(p.version == version)).one_or_none()
        if row is None:
            raise InputError(f"plan {version} is not kept; expected one of {self.versions()}")
        try:
            plan = Plan(version, self.mind.policy(unpack(row.data)), row.at, json.loads(row.body))
            plan.policy.chances(0, self._some)  # compiled code is loaded here, not in the first decision
            return plan
        except (InputError, ValueError) as error:
            raise FileError(f"plan {version} of the database cannot be used: {error}") from None

    def versions(self) -> list[int]:
        """The versions that are kept."""
        with schema.reading(self.engine) as connection:
            return list(connection.execute(sa.select(schema.plans.c.version).order_by(schema.plans.c.version)).scalars())

    def look(self) -> Plan:
        """Take the newest plan, if there is a new one."""
        with schema.reading(self.engine) as connection:
            last = connection.execute(sa.select(sa.func.max(schema.plans.c.version))).scalar()
        if last is not None and last != self.newest.version:
            self.newest = self.get(last)
        return self.newest
