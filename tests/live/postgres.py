"""A PostgreSQL of our own for tests: its own folder, its own user where this is root, a free port on loopback."""

from __future__ import annotations

import glob
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress


def programs() -> str | None:
    """The folder of PostgreSQL's programs, or None where it is not installed."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))
    path = found[-1] if found else shutil.which("postgres")
    return None if path is None else os.path.dirname(os.path.realpath(path))


class Server:
    """A server that is there as long as the block runs, with an empty database ``test``."""

    def __enter__(self) -> Server:
        home = programs()
        assert home is not None
        self.folder = tempfile.mkdtemp(prefix="noregret-pg-")
        os.chmod(self.folder, 0o755)
        self.data, user = f"{self.folder}/data", "postgres" if os.getuid() == 0 else None
        os.mkdir(self.data)
        if user is not None:
            shutil.chown(self.data, user)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.options = {"user": user, "cwd": self.data, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        made = [f"{home}/initdb", "-D", self.data, "-A", "trust", "-U", "test", "--no-sync"]
        subprocess.run(made, check=True, **self.options)
        settings = [text for each in ("listen_addresses=127.0.0.1", "max_connections=200") for text in ("-c", each)]
        self.line = [f"{home}/postgres", "-D", self.data, "-p", str(port), "-k", self.data, *settings]
        self.first, self.url = (f"postgresql://test@127.0.0.1:{port}/{name}" for name in ("postgres", "test"))
        self.start()
        create(self.first, "test")
        return self

    def start(self) -> None:
        """Start it, also after :meth:`kill`."""
        import psycopg

        self.process = subprocess.Popen(self.line, **self.options)
        for _ in range(300):
            with suppress(psycopg.OperationalError), psycopg.connect(self.first):
                return
            time.sleep(0.1)
        self.__exit__()
        raise AssertionError("PostgreSQL does not answer")

    def kill(self) -> None:
        """End all of its processes at once, as a power cut does."""
        asked = ["ps", "-o", "pid=", "--ppid", str(self.process.pid)]
        children = subprocess.run(asked, capture_output=True, text=True).stdout.split()
        for pid in (self.process.pid, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(30)

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGQUIT)  # at once: nothing of it is kept
        self.process.wait(30)
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def running() -> Iterator[str]:
    """The URL of the database ``test`` of a server."""
    with Server() as server:
        yield server.url


def create(url: str, name: str) -> str:
    """Make an empty database on the same server, and give its URL."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return url.rpartition("/")[0] + f"/{name}"
