"""A worker of :mod:`noregret.runs.backends.processes`: reads runs as lines of JSON, plays them, answers on standard output.

The end of its input tells it to stop: it leaves a checkpoint and goes. So it also stops when its parent is killed.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import time

from noregret.runs.backends.job import play

#: Seconds between two words of progress.
PROGRESS_SECONDS = 0.5


def main() -> None:
    """Serve until the input ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    sys.stdout = sys.stderr  # whatever prints must not talk to the parent
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
            answers.write(json.dumps(message) + "\n")
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


if __name__ == "__main__":
    main()
