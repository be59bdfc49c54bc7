"""For each kind of file that noregret reads: a good one, how it is spoiled, and all that is done with what was read.

To add a kind, add a class with ``prepare`` (a folder is given), ``spoil`` and ``read`` to :data:`READERS`.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import warnings
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import noregret as nr
from noregret.errors import InputError
from noregret.gym.expressions import Expression
from noregret.kernels.compiler import jit
from noregret.runs.execute import Settings, execute
from noregret.runs.keys import make_key
from noregret.store import Checkpoints, RunKey, Store, group, load_runs
from noregret.store.folder import seal
from noregret.sweeps import spec
from tests.fuzz.damage import Rng, packed, pick, spoiled_arrays, spoiled_bytes, spoiled_text, spoiled_value
from tests.fuzz.journals import BoardFile, PilotFile, Rows, Tried, TuneSearch
from tests.fuzz.minds import Mind, resealed
from tests.fuzz.reader import Reader

SMALL = "random:S=3,A=2,H=2"


def unpacked(data: bytes) -> dict[str, Any]:
    """The arrays of a good .npz file."""
    with np.load(io.BytesIO(data)) as file:
        return dict(file)


def spoiled_json(rng: Rng, letters: Any) -> Any:
    """An array of the letters of JSON, with another value inside."""
    try:
        text = json.dumps(spoiled_value(rng, json.loads(letters.tobytes()))).encode()
    except RecursionError:
        text = b"[" * 10_000
    return np.frombuffer(text, dtype=np.uint8)


class Problem(Reader):
    """A problem."""

    share = 2.0

    def prepare(self, folder: Path) -> None:
        self.path = folder / "problem.npz"
        given = nr.problems.load(SMALL)
        phi = np.full((3, 2, 2), 0.5)
        problem = nr.TabularCMDP(given.P, given.r, given.g, given.b, given.mu, features=phi, noise="bernoulli")
        nr.problems.save(problem, self.path)
        self.good = self.path.read_bytes()
        self.arrays = unpacked(self.good)

    def spoil(self, rng: Rng) -> None:
        raw = rng.random() < 0.4
        self.path.write_bytes(spoiled_bytes(rng, self.good) if raw else packed(rng, spoiled_arrays(rng, self.arrays)))

    def read(self) -> None:
        problem = nr.problems.load(str(self.path))
        assert np.isfinite(problem.P).all() and np.isfinite(problem.r).all() and np.isfinite(problem.b).all()


SWEEP = f"""episodes = 20
record_every = 10
seeds = 2
trials = 1
problems = ["{SMALL}"]

[[learners]]
name = "uniform"
preset = "practical"

[[learners]]
name = "primal-dual-lsvi"
slater_gap = 0.5
params = {{ zeta = 0.01 }}
grid = {{ beta = [0.1, 0.3] }}
"""


class Spec(Reader):
    """A sweep."""

    share = 0.7

    def prepare(self, folder: Path) -> None:
        self.path = folder / "sweep.toml"
        self.path.write_text(SWEEP)

    def spoil(self, rng: Rng) -> None:
        if rng.random() < 0.2:
            self.path.write_bytes(spoiled_bytes(rng, SWEEP.encode()))
        else:
            self.path.write_bytes(spoiled_text(rng, SWEEP).encode("utf-8", "replace"))

    def read(self) -> None:
        spec.read(self.path)


class StoredRuns(Reader):
    """Finished and failed runs."""

    share = 2.0

    def prepare(self, folder: Path) -> None:
        self.store = Store(folder / "runs")
        for seed in range(2):
            execute(make_key(problem=SMALL, learner="uniform", episodes=20, record_every=10, seed=seed), self.store)
        failed = RunKey(problem=SMALL, learner="uniform", episodes=20, params={"x": 1})
        self.store.fail(failed, {"error": "went wrong", "traceback": "here"})
        self.id = self.store.ids()[0]
        self.files = {path: path.read_bytes() for path in self.store.folder.rglob("*") if path.is_file()}
        self.curves = self.store.path(self.id) / "curves.npz"
        self.record = self.store.path(self.id) / "run.json"
        self.failed = self.store.folder / ".failed" / f"{failed.id}.json"

    def spoil(self, rng: Rng) -> None:
        for path, data in self.files.items():
            path.write_bytes(data)
        kind = rng.random()
        if kind < 0.2:
            path = pick(rng, sorted(self.files))
            path.write_bytes(spoiled_bytes(rng, self.files[path]))
        elif kind < 0.5:
            self.resealed(rng, self.record)
        elif kind < 0.6:
            self.resealed(rng, self.failed)
        else:
            raw = rng.random() < 0.3
            good = self.files[self.curves]
            data = spoiled_bytes(rng, good) if raw else packed(rng, spoiled_arrays(rng, unpacked(good)))
            self.curves.write_bytes(data)
            record = json.loads(self.files[self.record])
            del record["sha256"]
            record["curves"]["sha256"] = hashlib.sha256(data).hexdigest()
            self.record.write_bytes(seal(record))

    def resealed(self, rng: Rng, path: Path) -> None:
        """Spoil a record and seal it anew, as a stranger can; its name is made to fit where that can be."""
        record = json.loads(self.files[path])
        del record["sha256"]
        try:
            path.write_bytes(seal(spoiled_value(rng, record)))
        except (ValueError, RecursionError, AttributeError):  # what cannot be JSON at all
            path.write_bytes(b"")

    def read(self) -> None:
        table = load_runs(self.store.folder)
        str(table)
        list(table.rows())
        for each in group(table.runs):
            each.result()
        self.store.failures()


class Checkpoint(Reader):
    """A run that goes on from its checkpoint; resealed, as a stranger can."""

    #: A learner of each family, whose states differ: counts, orders of next states, a program's basis, streams.
    KEYS: ClassVar[list[RunKey]] = [
        make_key(problem=SMALL, learner=learner, episodes=60, record_every=10)
        for learner in (
            "uniform",
            "primal-dual-lsvi",
            "opt-dual",
            "posterior-sampling",
            "triple-q",
            "crpo",
            "opdop",
            "reward-free",
        )
    ]

    def prepare(self, folder: Path) -> None:
        self.store, self.good = Store(folder / "runs"), []
        for key in self.KEYS:
            execute(key, Store(folder / "whole"))  # compiles
            settings = Settings(block_size=20)
            settings.stop.set()
            execute(key, self.store, settings)
            (path,) = self.store.work(key.id).glob("checkpoint-*.bin")
            self.good.append((path.name, path.read_bytes()))
        self.key = self.KEYS[0]

    def spoil(self, rng: Rng) -> None:
        shutil.rmtree(self.store.folder)
        which = int(rng.integers(len(self.KEYS)))
        self.key, (name, good) = self.KEYS[which], self.good[which]
        work = self.store.work(self.key.id)
        work.mkdir(parents=True)
        start = good.index(b"\n", good.index(b"\n") + 1) + 1
        arrays = unpacked(good[start:])
        if rng.random() < 0.2:
            (work / name).write_bytes(spoiled_bytes(rng, good))
            return
        if rng.random() < 0.4:
            arrays["meta"] = spoiled_json(rng, arrays["meta"])
        else:
            arrays = spoiled_arrays(rng, arrays)
        payload = packed(rng, arrays)
        head = good[: good.index(b"\n") + 1]
        (work / name).write_bytes(head + hashlib.sha256(payload).hexdigest().encode() + b"\n" + payload)

    def read(self) -> None:
        Checkpoints(self.store.work(self.key.id)).load()
        outcome = execute(self.key, self.store)
        assert outcome.status == "done", outcome.error
        assert np.isfinite(self.store.read(self.key.id).curves()["regret"]).all()


class AgentFile(Reader):
    """An agent that is loaded, acts and learns."""

    share = 2.0

    def prepare(self, folder: Path) -> None:
        self.path, self.env = folder / "agent.npz", nr.problems.load(SMALL)
        self.arrays = []
        for replan in ("always", "doubling"):
            agent = nr.Agent(self.env, features=nr.features.OneHot(3, 2), episodes=100, replan=replan)
            agent.learn(12, progress_bar=False).save(self.path)
            self.arrays.append(unpacked(self.path.read_bytes()))
        self.good = self.path.read_bytes()

    def spoil(self, rng: Rng) -> None:
        arrays, kind = dict(pick(rng, self.arrays)), rng.random()
        if kind < 0.15:
            self.path.write_bytes(spoiled_bytes(rng, self.good))
            return
        if kind < 0.4:
            arrays["meta"] = spoiled_json(rng, arrays["meta"])
        else:
            arrays = spoiled_arrays(rng, arrays)
        self.path.write_bytes(packed(rng, resealed(arrays)))  # as a stranger can

    def read(self) -> None:
        agent = nr.Agent.load(self.path, env=self.env)
        for step in range(2):
            assert np.isfinite(agent.probabilities(0, step)).all(), "probabilities are not finite"
        agent.learn(2, progress_bar=False)
        assert np.isfinite(agent.probabilities(1, 0)).all(), "probabilities are not finite after learning"


class SavedResult(Reader):
    """A result that was saved."""

    def prepare(self, folder: Path) -> None:
        self.path = folder / "result.npz"
        nr.run(nr.problems.load(SMALL), "uniform", episodes=20, trials=2, record_every=10, progress=False).save(self.path)
        self.good = self.path.read_bytes()
        self.arrays = unpacked(self.good)

    def spoil(self, rng: Rng) -> None:
        arrays, kind = dict(self.arrays), rng.random()
        if kind < 0.2:
            self.path.write_bytes(spoiled_bytes(rng, self.good))
            return
        if kind < 0.6:
            arrays["meta"] = spoiled_json(rng, arrays["meta"])
        else:
            arrays = spoiled_arrays(rng, arrays)
        self.path.write_bytes(packed(rng, arrays))

    def read(self) -> None:
        str(nr.RunResult.load(self.path))


class Cache(Reader):
    """Compiled code that is damaged: found whole, or made again."""

    share = 0.5

    def prepare(self, folder: Path) -> None:
        self.folder = jit.OwnFolder(folder / "compiled-0000000000000000")
        self.kernel = self.fresh()
        assert self.kernel(np.arange(4.0)) == 6.0
        (self.path,) = self.folder.path.glob("*.code")
        self.good = self.path.read_bytes()

    def fresh(self) -> Any:
        """The kernel, not compiled yet."""

        def total(x: Any) -> Any:
            return x.sum()

        total.__module__ = "noregret.invented"
        before, jit.code_folder = jit.code_folder, lambda: self.folder
        try:
            return jit.jit(total)
        finally:
            jit.code_folder = before

    def spoil(self, rng: Rng) -> None:
        self.path.write_bytes(self.good if rng.random() < 0.05 else spoiled_bytes(rng, self.good))

    def read(self) -> None:
        kernel, signature = self.fresh(), self.kernel.signatures[0]
        found = kernel._cache.load_overload(signature, kernel.targetctx)
        assert (found is not None) == (self.path.read_bytes() == self.good)


class CostText(Reader):
    """A cost written as text, computed on numbers of every kind: a finite number or one line, the same for all kinds."""

    share = 3.0
    GOOD: ClassVar[list[str]] = [
        "abs(obs[0] - obs[1])", "action != 1 and abs(next_obs[0]) > 0.5", "max(obs[0], reward, 2) ** 2",
        "info['fuel'] // 3 % 2",
        "1 if obs[1] < 0 else sqrt(abs(obs[0])) + exp(-step)", "not (reward > 0 or action == 2)", "-obs[-1] * 3 / (1 + step)",
        "min(log(1 + abs(obs[0])), sin(reward), cos(action))", "info['a']['b'][1] + info['flag']",
    ]  # fmt: skip
    KINDS: ClassVar[list[Any]] = [np.uint8, np.int8, np.int16, np.uint64, np.float32, np.float64, np.bool_, float, int]

    def prepare(self, folder: Path) -> None:
        self.text, self.kind, self.numbers = self.GOOD[0], float, [1.0, 2.0]

    def spoil(self, rng: Rng) -> None:
        self.text = pick(rng, self.GOOD) if rng.random() < 0.3 else spoiled_text(rng, pick(rng, self.GOOD))
        self.kind = pick(rng, self.KINDS)
        self.numbers = [pick(rng, [0, 1, 2, 100, 127, -128, 255, 0.5, 1e30, float("nan"), float("inf")]) for _ in range(2)]

    def read(self) -> None:
        cost = Expression(self.text)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                given = [self.kind(number) for number in self.numbers]
            except (OverflowError, ValueError):  # no number of that kind
                given = [1, 2]
        plain = [value.item() if isinstance(value, np.generic) else value for value in given]
        found = [self.answer(cost, kind) for kind in (given, plain)]
        assert found[0] == found[1], f"{self.text!r} of {given!r} is {found[0]}, and of {plain!r} {found[1]}"

    @staticmethod
    def answer(cost: Expression, x: list[Any]) -> float | str:
        """The number; or that there is none, which must be one line."""
        try:
            number = cost(x, 1, [x[1], x[0]], x[0], {"fuel": x[1], "a": {"b": [0, x[0]]}, "flag": x[1]}, 3)
        except InputError as error:
            assert "\n" not in str(error)
            return "refused"
        assert isinstance(number, float) and np.isfinite(number)
        return number


READERS: dict[str, type[Reader]] = {
    "problem": Problem, "spec": Spec, "store": StoredRuns, "checkpoint": Checkpoint, "agent": AgentFile, "result": SavedResult,
    "cache": Cache, "tune": TuneSearch, "board": BoardFile, "rows": Rows, "tried": Tried, "pilots": PilotFile, "mind": Mind,
    "cost": CostText,
}  # fmt: skip
