"""Structured logging: one JSON object a line."""

from __future__ import annotations

import json
import logging
import sys

#: What every record of Python's logging has; the rest was said with ``extra``.
_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class Lines(logging.Formatter):
    """One JSON object a line: time, level, what happened, and its particulars."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record."""
        more = {key: value for key, value in vars(record).items() if key not in _USUAL}
        said = {"at": round(record.created, 3), "level": record.levelname.lower(), "what": record.getMessage(), **more}
        if record.exc_info:
            said["error"] = self.formatException(record.exc_info).splitlines()[-1]
        return json.dumps(said, default=str)


def to_standard_error(level: int) -> None:
    """Let everything that a live learner logs from this level on go to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    logger = logging.getLogger("noregret.live")
    logger.addHandler(handler)
    logger.setLevel(level)
