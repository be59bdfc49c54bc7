"""An API gateway asks a learner over HTTP how much traffic to let in; the server is killed in the middle and nothing is lost.

python examples/live_gateway.py [--episodes 60]
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from noregret.live.client import Client

HORIZON, LIMIT = 12, 2.0


def start(place: Path, port: int = 0) -> tuple[subprocess.Popen[bytes], int]:
    """Start ``noregret serve``; returns it and its port."""
    line = [sys.executable, "-m", "noregret", "serve", str(place), "--port", str(port), "--observations", "load,errors,hour"]
    line += ["--actions", "quarter,half,most,all", "--horizon", str(HORIZON), "--limit", f"slo={LIMIT}", "--fallback", "half"]
    log = place.with_suffix(".log")  # a pipe that nobody empties would stop the server when it is full
    with log.open("w") as told:
        server = subprocess.Popen(line, stderr=told)
    while "/watch" not in (said := log.read_text()):
        assert server.poll() is None, said
        time.sleep(0.1)
    return server, int(said.split("/watch")[0].rpartition(":")[2])


def main(episodes: int = 60) -> dict[str, Any]:
    """Play, kill the server in the middle of an episode, start it again, and play on."""
    world = np.random.default_rng(3)
    shares = {"quarter": 0.25, "half": 0.5, "most": 0.75, "all": 1.0}
    with tempfile.TemporaryDirectory() as folder:
        server, port = start(Path(folder) / "gateway.db")
        client = Client(f"http://127.0.0.1:{port}", "gateway", timeout=60.0, patience=120.0)
        for k in range(episodes):
            load, errors = 0.5 + 0.5 * world.random(), 0.0
            for h in range(HORIZON):
                d = client.decide({"load": load, "errors": errors, "hour": h / HORIZON}, f"day-{k}", h)
                if (k, h) == (episodes // 2, HORIZON // 2):  # the decision was answered; its report finds a new server
                    server.send_signal(signal.SIGKILL)
                    server.wait()
                    server, port = start(Path(folder) / "gateway.db", port)
                served = shares[d.action] * load
                violated = float(world.random() < 1.0 / (1.0 + np.exp(-14.0 * (served - 0.75))))
                client.report(d.id, served, {"slo": violated})
                load = float(np.clip(load + 0.15 * world.normal(), 0.2, 1.2))
                errors = 0.5 * errors + 0.5 * violated
            client.end(f"day-{k}", observation={"load": load, "errors": errors, "hour": 1.0})
            if k % 8 == 7:
                client.plan()  # so that few episodes are enough to learn; a gateway would not wait
        found = client.status()
        server.terminate()
        server.wait()
    slo = found["limits"][0]
    print(f"{found['episodes']['complete']} episodes, {found['episodes']['open']} open, {found['plan']['version']} plans")
    print(f"violations an episode: {slo['total'][1]:.2f}, at most {slo['limit']:g}; reward {found['reward'][1]:.2f}")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=60)
    main(parser.parse_args().episodes)
