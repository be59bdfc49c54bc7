"""Runs side by side in processes of this machine: workers that are told runs as lines of JSON and answer likewise.

A worker that dies, by whatever cause, is replaced, and its run is taken up again from its checkpoint; a run whose worker died
``DEATHS`` times is taken for the cause and counts as failed. Workers notice when this process is gone, and stop.

The end of its input tells a worker to stop: it leaves a checkpoint and goes. So it also stops when its parent is killed. Before
anything is imported, the program :data:`PROGRAM` keeps standard output for answers and lets everybody else print to standard
error. An answer is a line after the mark :data:`MARK`.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import noregret
from noregret.errors import NoRegretError
from noregret.runs.backends import job
from noregret.runs.backends.job import Context
from noregret.runs.execute import Ending
from noregret.store import RunKey

#: So many workers may die over a run.
DEATHS = 5
#: Seconds that workers get to leave their checkpoints; and those that they get after a second Ctrl-C, which ends at once.
PATIENCE, IMPATIENCE = 60.0, 1.0
#: Seconds between two words of progress.
PROGRESS_SECONDS = 0.5
#: What an answer begins with: ASCII's record separator, as in JSON text sequences (RFC 7464).
MARK = "\x1e"
#: What a worker runs, with ``python -P``, so that it does not import from the current folder.
PROGRAM = f"""import os, sys
answers = os.dup(1)
os.dup2(2, 1)
sys.path.append({str(Path(noregret.__file__).parent.parent)!r})
from noregret.runs.backends.processes import serve
serve(answers)
"""


class Worker:
    """A process of this machine, the run that it plays, and a thread that reads its answers."""

    def __init__(self, heard: queue.Queue[tuple[Worker, str | None]]) -> None:
        command = [sys.executable, "-P", "-c", PROGRAM]
        self.key: RunKey | None = None
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        self._heard = heard
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            _, mark, answer = line.rpartition(MARK)
            self._heard.put((self, answer)) if mark else print(line, end="", file=sys.stderr)
        self.process.wait()
        self._heard.put((self, None))

    def tell(self, key: RunKey, text: str) -> None:
        """Give the worker a run. If the process is gone already, the thread that listens will say so."""
        assert self.process.stdin is not None
        self.key = key
        try:
            self.process.stdin.write(text + "\n")
            self.process.stdin.flush()
        except OSError:
            pass

    def dismiss(self) -> None:
        """Ask the worker to stop: it leaves a checkpoint and ends."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.close()
        except OSError:
            pass

    def why(self) -> str:
        """How the process ended, in words."""
        code = self.process.returncode
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"


def on_processes(keys: Sequence[RunKey], context: Context, tick: Callable[[], None]) -> Iterator[Ending]:
    """Play runs in other processes of this machine.

    Args:
        keys: the runs.
        context: where the runs are kept, and how each is played.
        tick: a function that is called a few times a second.

    Yields:
        The ending of each run, once the run is in the store.
    """
    todo, deaths = deque(keys), dict.fromkeys((key.id for key in keys), 0)
    heard: queue.Queue[tuple[Worker, str | None]] = queue.Queue()
    workers: set[Worker] = set()
    born, patience = 0, PATIENCE

    def occupy(worker: Worker) -> None:
        worker.key = None
        if todo and not context.stop.is_set():
            key = todo.popleft()
            worker.tell(key, context.job(key))
        else:
            worker.dismiss()

    try:
        while workers or (todo and not context.stop.is_set()):
            while todo and not context.stop.is_set() and len(workers) < min(context.workers, len(todo) + len(workers)):
                worker = Worker(heard)
                workers.add(worker)
                born += 1
                occupy(worker)
            if context.stop.is_set():
                for worker in workers:
                    worker.dismiss()
            tick()
            try:
                worker, line = heard.get(timeout=0.2)
            except queue.Empty:
                continue
            if line is None:
                workers.discard(worker)
                key = worker.key
                if key is None or context.stop.is_set():
                    continue
                deaths[key.id] += 1
                if deaths[key.id] >= DEATHS:
                    yield context.fail(key, f"its worker died {DEATHS} times, the last time by {worker.why()}")
                else:
                    todo.appendleft(key)
                if born > DEATHS * (context.workers + len(keys)):
                    raise NoRegretError(f"workers die at once ({worker.why()}); the sweep cannot go on")
                continue
            message = json.loads(line)
            if "progress" in message:
                context.progress(*message["progress"])
                continue
            ending = job.ending(json.dumps(message["ending"]))
            key = worker.key
            occupy(worker)
            if ending.status == "stopped" and not context.stop.is_set() and key is not None:
                todo.appendleft(key)  # somebody stopped that worker alone
            else:
                yield ending
    except KeyboardInterrupt:
        patience = IMPATIENCE
        raise
    finally:
        context.stop.set() if workers else None
        for worker in workers:
            worker.dismiss()
        for worker in workers:
            try:
                worker.process.wait(patience)
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()


# --- in the worker ------------------------------------------------------------------------------------------------


def serve(descriptor: int) -> None:
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
        time.sleep(2.0 * PATIENCE)
        os._exit(1)  # a plan that never returns, of a parent that is gone

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
        say({"ending": json.loads(job.play_job(line, stop, progress))})
