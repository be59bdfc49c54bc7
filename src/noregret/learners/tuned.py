"""What ``noregret tune-all`` found: for each learner and form, scales of its numbers and options, kept in ``tuned.json``.

The file is data: ``{learner: {preset: {name: value}}}``, where a preset is "tuned" (the printed algorithm, its numbers times
scales) or "practical". The command writes it anew; nothing else does. A preset without an entry has no scales. What a run was
played with is part of its name: :func:`meaning` is another number for other winners, so that stored runs are never mixed up.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import resources
from typing import Any

#: The presets that a search may set.
PRESETS = ("tuned", "practical")

_ignored: ContextVar[bool] = ContextVar("ignored", default=False)


@cache
def packaged() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    """All winners, as they are in the package."""
    found: dict[str, dict[str, dict[str, Any]]] = json.loads(
        resources.files(__package__).joinpath("tuned.json").read_text("utf-8")
    )
    return found


@contextmanager
def ignored() -> Iterator[None]:
    """Within it presets are as they were before any search: what a search begins with."""
    token = _ignored.set(True)
    try:
        yield
    finally:
        _ignored.reset(token)


def winners(learner: str, preset: str, given: Collection[str] = ()) -> dict[str, Any]:
    """What a search found for a preset, without what the user gave in its place.

    Args:
        learner: its name.
        preset: where its constants come from; other ones than :data:`PRESETS` have nothing here.
        given: names that the user gave. A number that was given needs no scale, and a scale that was given replaces a number.
    """
    if preset not in PRESETS or _ignored.get():
        return {}
    found = packaged().get(learner, {}).get(preset, {})
    scaled = {name.removesuffix("_scale") for name in given if name.endswith("_scale")}
    return {
        name: value
        for name, value in found.items()
        if name not in given
        and name.removesuffix("_scale") not in given
        and not (name in scaled and isinstance(value, float | int))
    }


def meaning(learner: str, preset: str, given: Collection[str] = ()) -> int:
    """A number for the winners in use, 0 where there are none: a multiple of 4, to be added to what a preset meant before.

    Args:
        learner: its name.
        preset: where its constants come from.
        given: names that the user gave.
    """
    found = winners(learner, preset, given)
    if not found:
        return 0
    text = json.dumps(found, sort_keys=True)
    return 4 * (1 + int(hashlib.sha256(text.encode()).hexdigest()[:7], 16))
