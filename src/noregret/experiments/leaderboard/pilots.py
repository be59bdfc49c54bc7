"""How long a run of each cell takes, on one core: from short pilots, which are kept beside the runs and not played again."""

from __future__ import annotations

import json
import math
from pathlib import Path

from noregret._system.arrays import read_bytes
from noregret._system.files import wait_and_hold
from noregret.errors import NoRegretError
from noregret.report.tables import write_text
from noregret.store import RunKey
from noregret.sweeps.estimate import UNCLEAR, seconds_of_run

#: The file with the pilots, in the folder of the leaderboard.
FILE = "pilots.json"


class Pilots:
    """What pilots said, by run: seconds, and the limit that they were played for.

    Args:
        folder: where the file is kept; None for nowhere. A file that cannot be read is taken for an empty one.
    """

    def __init__(self, folder: Path | None) -> None:
        self.path = None if folder is None else folder / FILE
        self._known = self._read()

    def _read(self) -> dict[str, tuple[float, float]]:
        """What the file has: pairs of times. A pilot whose times cannot be is played again."""
        try:
            entries = json.loads(read_bytes(self.path)) if self.path is not None else {}
            pairs = {id: (float(seconds), float(most)) for id, (seconds, most) in entries.items()}
        except (OSError, ValueError, TypeError, AttributeError, RecursionError, OverflowError):
            return {}
        return {id: pair for id, pair in pairs.items() if all(0.0 <= time < math.inf for time in pair)}

    def known(self, key: RunKey) -> float | None:
        """The seconds of a run, if a pilot was played."""
        return self._known[key.id][0] if key.id in self._known else None

    def enough(self, key: RunKey, most: float) -> bool:
        """Whether what is known tells on which side of a limit the run will end."""
        if key.id not in self._known:
            return False
        seconds, before = self._known[key.id]
        return before == most or seconds < most / UNCLEAR or seconds > before > most

    def play(self, key: RunKey, most: float) -> float | None:
        """Play a pilot and keep what it says: the seconds that the run will take. A run that fails says so itself: None.

        Raises:
            FileError: the file cannot be written.
        """
        try:
            seconds = seconds_of_run(key, most)
        except NoRegretError:
            return None
        self._known[key.id] = (seconds, most)
        if self.path is not None:
            with wait_and_hold(self.path.with_suffix(".lock")):  # what another process found meanwhile stays
                write_text(self.path, json.dumps(self._read() | {key.id: (seconds, most)}, indent=0))
        return seconds
