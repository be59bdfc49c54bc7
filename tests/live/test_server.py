"""Over HTTP: the same answers, tokens, limits, one sentence for whatever cannot be, metrics, the page, and the client."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
import uvicorn
from typer.testing import CliRunner

from noregret.cli import app
from noregret.errors import ConflictError, InputError
from noregret.live import GoneError, StorageError, UnknownError, schema
from noregret.live.client import Client
from noregret.live.figures import prometheus
from noregret.live.server import tokens
from noregret.live.server.app import build
from tests.live.toys import H, log, opened, seen


@contextlib.contextmanager
def serving(lives: dict[str, Any], **options: Any):
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(build(lives, **options), log_level="error", access_log=False))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)


def ask(url: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    """A request of any kind; the body is sent as it is if it is bytes."""
    import http.client

    host, port = url.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=30)
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    given = {"Content-Type": "application/json"} | {key.replace("_", "-"): value for key, value in headers.items()}
    try:
        connection.request("GET" if body is None else "POST", path, data, given)
    except BrokenPipeError:
        pass  # it answered before it had all
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, json.loads(text) if text[:1] in "{[" else text


def test_the_same_over_http(tmp_path):
    with opened(tmp_path / "a.db", sync="reports") as live, serving({"gate": live}) as url:
        client = Client(url, "gate")
        made = [client.decide(seen(0, h), "a", h) for h in range(H)]
        assert made[0] == live.decide(seen(0, 0), "a", 0) == client.decide({"load": 0.0, "lag": 0.0}, "a", 0)
        for d in reversed(made):
            assert client.report(d.id, 1.0, {"slo": 0}).status == "counted"
        assert client.report(made[0].id, 1.0, [0.0]).status == "repeated"
        assert client.end("a", observation=seen(0, H)) == ("counted", True, None)
        with pytest.raises(ConflictError, match="was reported with reward 1"):
            client.report(made[0].id, 2.0, {"slo": 0})
        with pytest.raises(UnknownError, match="unknown"):
            client.report("b/0", 1.0, {"slo": 0})
        with pytest.raises(GoneError, match="is over"):
            Client(url, "gate").report("a/7", 1.0, {"slo": 0})
        with pytest.raises(InputError, match="expected 2"):
            client.decide([1.0], "c", 0)
        assert client.status()["counts"]["decisions"] == H
        rows = {"observations": [seen(0, 0)], "actions": ["low"], "rewards": [1.0], "costs": [{"slo": 0.0}], "terminated": True}
        assert ask(url, "/v1/gate/episodes", {"episode": "log", **rows})[1]["status"] == "counted"
        live.plan()
        assert ask(url, "/v1/gate/limit", {"limit": {"slo": 1.0}}) == (200, {"slo": 1.0})
        assert ask(url, "/v1/gate/rollback", {"version": 1}) == (200, {"pinned": 1})
        assert ask(url, "/v1/gate/expire", {"older_than": 9.0}) == (200, {"learned": [], "dropped": []})
        assert ask(url, "/v1/gate/quarantine") == (200, []) and ask(url, "/v1") == (200, {"learners": ["gate"]})
        assert ask(url, "/healthz")[0] == ask(url, "/readyz")[0] == 200
        metrics = ask(url, "/metrics")[1]
        assert (
            'noregret_decisions_total{learner="gate"} 4' in metrics
            and 'noregret_limit{learner="gate",constraint="slo"}' in metrics
        )
        paths = ask(url, "/openapi.json")[1]["paths"]
        assert "/v1/{learner}/decide" in paths and ask(url, "/docs")[0] == 200 and "<title>noregret" in ask(url, "/watch")[1]


def test_what_cannot_be_has_a_status_of_4xx_and_one_sentence_and_changes_nothing(tmp_path):
    with opened(tmp_path / "a.db") as live, serving({"gate": live}, body=10_000) as url:
        live.decide(seen(0, 0), "a", 0)
        live.report("a/0", 1.0, 0)
        before = log(live)
        decision = {"observation": seen(0, 1), "episode": "a", "step": 1}
        cases = [
            ("/v1/gate/decide", decision | {"observation": [1.0]}, 422), ("/v1/gate/decide", decision | {"step": 3}, 422),
            ("/v1/gate/decide", decision | {"step": 0}, 409), ("/v1/gate/decide", decision | {"step": True}, 422),
            ("/v1/gate/decide", decision | {"observation": [1.0, float("nan")]}, 422),
            ("/v1/gate/decide", decision | {"observation": [1.0, 1e300]}, 422), ("/v1/gate/decide", {}, 422),
            ("/v1/gate/decide", decision | {"more": 1}, 422), ("/v1/gate/decide", decision | {"observation": "x"}, 422),
            ("/v1/gate/decide", [], 422),
            ("/v1/gate/decide", b"{", 422), ("/v1/gate/decide", b"\xff", 400), ("/v1/gate/decide", b"", 422),
            ("/v1/gate/decide", decision | {"mask": [0, 0, 0]}, 422), ("/v1/gate/decide", decision | {"episode": ""}, 422),
            ("/v1/gate/report", {"decision": "a/0", "reward": 2.0, "costs": {"slo": 0}}, 409),
            ("/v1/gate/report", {"decision": "b/0", "reward": 2.0, "costs": {"slo": 0}}, 404),
            ("/v1/gate/report", {"decision": "a/0", "reward": "2", "costs": {"slo": 0}}, 422),
            ("/v1/gate/end", {"episode": "b", "terminated": True}, 404), ("/v1/gate/rollback", {"version": 5}, 422),
            ("/v1/gate/fallback", {"on": True}, 422), ("/v1/gate/release", {"decision": "a/0"}, 404),
            ("/v1/other/decide", decision, 404), ("/v1/gate/limit", {"limit": {"sla": 1}}, 422), ("/nothing", decision, 404),
            ("/v1/gate/expire", {"older_than": -1}, 422),
            ("/v1/gate/decide", b"[" * 5000, 400), ("/v1/gate/decide", b" " * 20_000, 413), ("/v1/gate/status", decision, 405),
        ]  # fmt: skip
        for path, body, status in cases:
            found, answer = ask(url, path, body)
            assert found == status and list(answer) == ["error"] and "\n" not in answer["error"], (path, body, found, answer)
            assert 10 < len(answer["error"]) < 400
        assert ask(url, "/v1/gate/decide", b"x", Content_Type="text/plain")[0] == 415
        assert ask(url, "/v1/gate/status", Host="evil.example")[0] == 421
        assert ask(url, "/v1/gate/decide", b"x" * 100, Content_Length="100000000")[0] == 413
        assert log(live) == before and ask(url, "/v1/gate/decide", decision)[0] == 200


def test_a_body_of_100_mb_is_refused_without_reading_it(tmp_path):
    with opened(tmp_path / "a.db") as live, serving({"gate": live}) as url:
        chunk = b"x" * (1 << 16)
        port = int(url.rpartition(":")[2])
        for head in (b"Content-Length: 100000000", b"Transfer-Encoding: chunked"):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
                connection.sendall(
                    b"POST /v1/gate/decide HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                    + head
                    + b"\r\n\r\n"
                )
                sent = 0
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    while sent < 100_000_000:
                        connection.sendall(b"10000\r\n" + chunk + b"\r\n" if head.startswith(b"T") else chunk)
                        sent += len(chunk)
                        connection.settimeout(0.001)
                        with contextlib.suppress(TimeoutError):
                            if connection.recv(12):
                                break
                        connection.settimeout(10)
                assert sent < 50_000_000
        assert ask(url, "/healthz")[0] == 200


def test_tokens_roles_rates_and_what_is_kept_of_them(tmp_path):
    with opened(tmp_path / "a.db") as live, opened(tmp_path / "b.db") as other:
        write, read = tokens.make(live.log.engine, "edge", "write"), tokens.make(live.log.engine, "board", "read")
        theirs = tokens.make(other.log.engine, "edge", "write")
        with pytest.raises(InputError, match="not taken"):
            tokens.make(live.log.engine, "edge", "write")
        kept = Path(tmp_path / "a.db").read_bytes() + Path(tmp_path / "a.db-wal").read_bytes()
        assert write.rpartition(".")[2].encode() not in kept
        with serving({"a": live, "b": other}, rate=20.0) as url:
            decision = {"observation": seen(0, 0), "episode": "a", "step": 0}

            def tried(token: str, path: str = "/v1/a/decide", body: Any = decision) -> int:
                return ask(url, path, body, Authorization=f"Bearer {token}")[0]

            assert tried(write) == 200 and tried(theirs) == 401 and tried(theirs, "/v1/b/decide") == 200
            assert tried(read) == 403 and tried(read, "/v1/a/status", None) == 200
            for wrong in (
                "",
                "nr.edge.",
                write[:-1],
                write + "x",
                "nr.edge." + "é" * 4,
                "nr.nobody." + write.rpartition(".")[2],
            ):
                assert tried(wrong.encode().decode("latin-1")) == 401
            assert ask(url, "/v1/a/decide", decision)[0] == ask(url, "/metrics")[0] == ask(url, "/v1")[0] == 401
            assert ask(url, "/healthz")[0] == 200 and ask(url, "/watch")[0] == 200
            assert Client(url, "a", token=write).decide(seen(0, 0), "a", 0).step == 0
            assert 429 in [tried(write) for _ in range(60)] and tried(read, "/v1/a/status", None) == 200
            tokens.revoke(live.log.engine, "board")
            time.sleep(tokens.FRESH + 1.0)  # also if nobody asks anything meanwhile
            assert tried(read, "/v1/a/status", None) == 401


def test_metrics_of_several_learners_are_one_text_that_prometheus_takes(tmp_path):
    with opened(tmp_path / "a.db") as one, opened(tmp_path / "b.db", limit={'s"l\\o': 2.0}) as two:
        one.desk.counts["decisions"] = 12_345_678
        text = prometheus({"one": one.status(), "two": two.status()})
    families: dict[str, str] = {}
    last = ""
    for line in text.splitlines():
        if line.startswith("# "):
            word, name, rest = line[2:].split(" ", 2)
            assert word in ("HELP", "TYPE") and (word, name) not in families, "every family once, its lines together"
            families[word, name] = rest
            last = name
        else:
            name, labels, value = re.fullmatch(r'(\w+)\{((?:\w+="(?:[^"\\]|\\.)*",?)+)\} (\S+)', line).groups()
            assert name == last and float(value) == float(value) and 'learner="' in labels
    assert 'noregret_decisions_total{learner="one"} 12345678\n' in text
    assert 'noregret_limit{learner="two",constraint="s\\"l\\\\o"} 2\n' in text
    assert {families["TYPE", name] for _, name in families} == {"counter", "gauge"}


def test_no_request_waits_for_tokens_and_old_ones_hold_while_the_database_cannot_be_read(tmp_path, monkeypatch):
    with opened(tmp_path / "a.db") as live:
        token, gate, read = tokens.make(live.log.engine, "edge", "write"), threading.Event(), tokens.known

        def slow(engine):
            assert gate.wait(30)
            raise StorageError("the disk is gone")

        with serving({"a": live}) as url:
            monkeypatch.setattr(tokens, "known", slow)
            for pause in (tokens.FRESH + 0.1, 0.0, 0.2):
                time.sleep(pause)
                decision = {"observation": seen(0, 0), "episode": "a", "step": 0}
                began = time.monotonic()
                assert ask(url, "/v1/a/decide", decision, Authorization=f"Bearer {token}")[0] == 200
                assert ask(url, "/v1/a/decide", decision, Authorization=f"Bearer {token}x")[0] == 401
                assert time.monotonic() - began < 10.0
                gate.set()
            monkeypatch.setattr(tokens, "known", read)


def test_fuzzed_requests_change_nothing_and_break_nothing(tmp_path, pytestconfig):
    chance, began = random.Random(3), set[str]()
    with opened(tmp_path / "a.db", sync="none") as live, serving({"gate": live}) as url:
        live.decide(seen(0, 0), "a", 0)
        live.report("a/0", 1.0, 0.0)
        live.end("a", observation=seen(0, 1))
        before = log(live)
        good = {
            "decide": {"observation": seen(0, 0), "episode": "a", "step": 0, "mask": None},
            "report": {"decision": "a/0", "reward": 1.0, "costs": {"slo": 0.0}, "taken": None},
            "end": {"episode": "a", "terminated": False, "observation": seen(0, 1)},
            "release": {"decision": "a/0", "drop": False}, "rollback": {"version": 1},
        }  # fmt: skip
        odd = [
            None,
            True,
            -1,
            1e308,
            2**70,
            "",
            "x" * 300,
            "a/-1",
            "a/1e3",
            "\x00",
            [],
            [[]],
            {},
            {"slo": []},
            [1, "x"],
            "é/0",
            -0.5,
        ]
        for i in range(pytestconfig.getoption("--requests")):
            path = chance.choice(list(good))
            body: Any = dict(good[path])
            key = chance.choice(list(body))
            body[key] = chance.choice(odd)
            data = json.dumps(body).encode()
            if chance.random() < 0.5:
                place = chance.randrange(len(data))
                data = (
                    data[:place] + bytes([chance.randrange(256)]) * chance.randrange(1, 4) + data[place + chance.randrange(3) :]
                )
            status, answer = ask(url, f"/v1/gate/{path}", data)
            if status == 200:  # it was as good as another
                if path == "decide" and answer["episode"] != "a":
                    began.add(answer["episode"])
                continue
            assert 400 <= status < 500 and list(answer) == ["error"] and "\n" not in answer["error"], (
                i,
                path,
                data,
                status,
                answer,
            )
        after = log(live)
        assert after[: len(before)] == before and ask(url, "/readyz")[0] == 200
        assert {episode for _, episode, *_ in after[len(before) :]} == began  # whoever asks well is answered


def test_the_command_serves_stops_gracefully_and_needs_tokens_elsewhere(tmp_path):
    place = str(tmp_path / "gate.db")
    spec = ["--observations", "load,lag", "--actions", "3", "--horizon", "4", "--limit", "slo=2", "--port", "0"]
    run = [sys.executable, "-m", "noregret", "serve", place]
    runner = CliRunner()
    refused = runner.invoke(app, ["serve", place, *spec, "--host", "0.0.0.0"])
    assert refused.exit_code == 1 and "has no token; expected one (--new-token NAME)" in refused.stderr
    token = runner.invoke(app, ["serve", place, "--new-token", "edge"]).stderr.split()[-1]
    assert token.startswith("nr.edge.")
    server = subprocess.Popen([*run, *spec], stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        url = server.stderr.readline().split("/watch")[0]
        client = Client(url, "gate", token=token)
        d = client.decide([0.1, 0.2], "a", 0)
        assert client.report(d.id, 1.0, {"slo": 0}).status == "counted"
        client.end("a", terminated=True)
        assert client.plan() == 1
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 0
        said = [json.loads(line) for line in server.stderr.read().splitlines()]  # the planner's lines too
        assert {"leads", "planned", "plan"} <= {line["what"] for line in said} and all(line["level"] == "info" for line in said)
        assert next(line for line in said if line["what"] == "plan")["price"].keys() == {"slo"}
    finally:
        if server.poll() is None:
            os.kill(server.pid, signal.SIGKILL)
        server.communicate()
    with opened(place, actions=3) as live:
        assert live.status()["episodes"]["learned"] == 1 and schema.file_of(live.url) == place
