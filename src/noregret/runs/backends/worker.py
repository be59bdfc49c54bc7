"""A worker of :mod:`noregret.runs.backends.processes`: reads runs as lines of JSON, plays them, answers on standard output.

The end of its input tells it to stop: it leaves a checkpoint and goes. So it also stops when its parent is killed. Before
anything is imported, the program :data:`PROGRAM` keeps standard output for answers and lets everybody else print to standard
error. An answer is a line after the mark :data:`MARK`.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import time
from pathlib import Path

import noregret
from noregret.runs.backends.job import play

#: Seconds between two words of progress.
PROGRESS_SECONDS = 0.5
#: What an answer begins with: ASCII's record separator, as in JSON text sequences (RFC 7464).
MARK = "\x1e"
#: What a worker runs, with ``python -P``, so that it does not import from the current folder.
PROGRAM = f"""import os, sys
answers = os.dup(1)
os.dup2(2, 1)
sys.path.append({str(Path(noregret.__file__).parent.parent)!r})
from noregret.runs.backends.worker import main
main(answers)
"""


def main(descriptor: int) -> None:
    """Serve until the input ends; answers go to the open file ``descriptor``."""
    answers = os.fdopen(descriptor, "w", encoding="utf-8")
    stop = threading.Event()
    jobs: queue.Queue[str | None] = queue.Queue()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent too, which ends the input
    signal.signal(signal.SIGTERM, lambda *_: stop.set())

    def listen() -> None:
        for line in sys.stdin:
            jobs.put(line)
        stop.set()
        jobs.put(None)

    threading.Thread(target=listen, daemon=True).start()
    said, about = 0.0, ""

    def say(message: dict[str, object]) -> None:
        try:
            answers.write(MARK + json.dumps(message) + "\n")
            answers.flush()
        except OSError:  # the parent is gone
            stop.set()

    def progress(id: str, episode: int) -> None:
        nonlocal said, about
        if id != about or time.monotonic() - said > PROGRESS_SECONDS:
            said, about = time.monotonic(), id
            say({"progress": [id, episode]})

    while not stop.is_set() and (line := jobs.get()) is not None:
        say({"ending": json.loads(play(line, stop, progress))})
