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


@contextmanager
def running() -> Iterator[str]:
    """The URL of a server that is there as long as the block runs, with an empty database ``test``."""
    home = programs()
    assert home is not None
    folder = tempfile.mkdtemp(prefix="noregret-pg-")
    user = "postgres" if os.getuid() == 0 else None
    os.chmod(folder, 0o755)
    data = f"{folder}/data"
    os.mkdir(data)
    if user is not None:
        shutil.chown(data, user)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = {"user": user, "cwd": data, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([f"{home}/initdb", "-D", data, "-A", "trust", "-U", "test", "--no-sync"], check=True, **own)
    line = [
        f"{home}/postgres",
        "-D",
        data,
        "-p",
        str(port),
        "-k",
        data,
        "-c",
        "listen_addresses=127.0.0.1",
        "-c",
        "max_connections=200",
    ]
    server = subprocess.Popen(line, **own)
    try:
        url = f"postgresql://test@127.0.0.1:{port}/postgres"
        for _ in range(200):
            with suppress(Exception):
                create(url, "test")
                break
            time.sleep(0.1)
        yield f"postgresql://test@127.0.0.1:{port}/test"
    finally:
        server.send_signal(signal.SIGQUIT)  # at once: nothing of it is kept
        server.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def create(url: str, name: str) -> str:
    """Make an empty database on the same server, and give its URL."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return url.rpartition("/")[0] + f"/{name}"
