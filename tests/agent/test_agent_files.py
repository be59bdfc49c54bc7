"""Agent files from strangers: whatever is in them, loading ends in an agent that works or in one line."""

from __future__ import annotations

import json
import os
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

import noregret as nr
from noregret.agent import files
from noregret.agent.minds.soft_cells.counts import CountModel
from noregret.agent.minds.soft_cells.forests import ForestModel
from noregret.agent.minds.soft_cells.vectors import VectorModel
from noregret.errors import FileError, NoRegretError
from tests.agent.toys import BOX, MASKS, Toy

PROBLEM = "random:S=4,A=2,H=3"


@pytest.fixture(scope="module", params=["always", "doubling"])
def saved(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("agents") / "a.npz"
    agent = nr.Agent(nr.problems.load(PROBLEM), features=nr.features.OneHot(4, 2), episodes=50, replan=request.param)
    agent.learn(20, progress_bar=False).save(path)
    with np.load(path) as file:
        return dict(file)


def again(path: Path, arrays: dict[str, Any]) -> nr.Agent:
    """Write and use a file."""
    np.savez(path, **arrays)
    return used(path)


def forged(path: Path, arrays: dict[str, Any]) -> nr.Agent:
    """The same with a seal made again, as a stranger can."""
    np.savez(path, **files.sealed(arrays))
    return used(path)


def used(path: Path) -> nr.Agent:
    """Load, act and learn; what is found wrong only there would have been a crash."""
    agent = nr.Agent.load(path, env=nr.problems.load(PROBLEM))
    for step in range(3):
        assert np.isfinite(agent.probabilities(0, step)).all()
    return agent.learn(3, progress_bar=False)


def test_what_was_saved_is_loaded(tmp_path: Path, saved: dict[str, Any]) -> None:
    assert again(tmp_path / "a.npz", saved).episodes == 23


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("gram.slot", 1 << 30), ("gram.slot", -5), ("gram.slots", 1 << 40), ("gram.slots", -1), ("gram.counts", 1 << 40),
        ("gram.counts", -3), ("gram.pendings", 1 << 40), ("gram.pendings", -1), ("gram.pending_block", 1 << 40),
        ("gram.pending_block", -1), ("counters", -7), ("counters", 1 << 62), ("gram.visits", -1), ("Y", np.nan), ("Y", np.inf),
        ("gram.Lambda", np.nan), ("gram.Lambda", 0.0), ("gram.Lambda_inv", -1.0), ("gram.F", np.inf), ("gram.w", 1e300),
        ("gram.M", np.nan), ("bonus", np.nan), ("gain", np.nan), ("planned_alpha", np.nan), ("gram.q", np.inf),
    ],
)  # fmt: skip
def test_numbers_out_of_range_are_refused_by_name(tmp_path: Path, saved: dict[str, Any], entry: str, value: float) -> None:
    wrong = saved[f"state.{entry}"].copy()
    wrong.flat[-1 if wrong.size > 1 else 0] = value
    with pytest.raises(
        NoRegretError, match=rf"a\.npz: state\['{entry}|a\.npz: state\['gram\.F'\] has \d+ places|state\['gram\.M"
    ):
        forged(tmp_path / "a.npz", saved | {f"state.{entry}": wrong})


@pytest.mark.parametrize("kind", [np.float32, np.int8, np.uint64])
def test_other_types_and_shapes_are_refused(tmp_path: Path, saved: dict[str, Any], kind: Any) -> None:
    for wrong in (saved["state.gram.counts"].astype(kind), saved["state.gram.counts"][:-1]):
        with pytest.raises(NoRegretError, match=r"state\['gram\.counts'\] has shape"):
            forged(tmp_path / "a.npz", saved | {"state.gram.counts": wrong})


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("options", [], "entry 'options' is"), ("options", {"episodes": 3}, "TypeError"), ("options", {"": 1}, "unknown"),
        ("options", {"preset": 7}, "preset"), ("starts", None, "entry 'starts'"), ("starts", [0], "starts is"),
        ("seed", -1, ""), ("seed", "x", "entry 'seed'"), ("episodes", 10**30, "episodes"), ("one_hot", [10**9, 2], "10000000"),
        ("one_hot", [4, 2, 1], "TypeError"), ("n_actions", 3, "3"), ("learner", "opdop", "unknown learner"),
        ("learner", {}, "entry"),
        ("objectives", {}, "KeyError"), ("objectives", {"horizon": 10**9}, ""), ("features", "\x1b[2J", "entry 'features'"),
        ("format", 3, "has format 3"), ("bound", True, "entry 'bound'"), ("outside", "?", "unknown outside"),
        ("outside", 3, "entry"),
        ("parts", [0], "parts is 0"), ("parts", 3, "entry"), ("world", [1], "expected 2 numbers"), ("world", "x", "entry"),
    ],
)  # fmt: skip
def test_malformed_metadata_is_one_line(tmp_path: Path, saved: dict[str, Any], name: str, value: Any, said: str) -> None:
    meta = json.loads(saved["meta"].tobytes())
    meta[name] = meta[name] | value if isinstance(value, dict) and name == "objectives" and value else value
    with pytest.raises(NoRegretError, match=r"a\.npz: |env has") as error:
        forged(tmp_path / "a.npz", saved | {"meta": np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)})
    assert said in str(error.value) and "\n" not in str(error.value) and "\x1b" not in str(error.value)


def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.npz")
    with pytest.raises(FileError, match=r"a\.npz: is not an agent that noregret saved: expected a regular file"):
        nr.Agent.load(tmp_path / "a.npz")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """An agent that found its features itself."""
    path = tmp_path_factory.mktemp("agents") / "a.npz"
    nr.Agent(nr.problems.load(PROBLEM), features="auto", outside="widen").learn(5, progress_bar=False).save(path)
    with np.load(path) as file:
        return dict(file)


def test_a_mind_that_found_its_features_is_read_only_as_it_was_written(tmp_path: Path, found: dict[str, Any]) -> None:
    """Compiled code relies on what such a mind keeps, so that no edited number may come near it."""
    assert again(tmp_path / "a.npz", found).episodes == 8
    meta = json.loads(found["meta"].tobytes())
    worse = [found | {"meta": np.frombuffer(json.dumps(meta | {"seed": 7}).encode(), dtype=np.uint8)}]
    worse += [{key: value for key, value in found.items() if key != gone} for gone in found if gone != "meta"]
    worse += [found | {"more": np.zeros(3)}]
    for name, array in found.items():
        if name != "meta" and array.size:
            edited = array.copy()
            edited.flat[-1] = not edited.flat[-1] if edited.dtype == bool else 3 if edited.flat[-1] != 3 else 4
            worse += [found | {name: edited}, found | {name: array[None]}, found | {name: array.astype(np.float16)}]
    for arrays in worse:
        with pytest.raises(NoRegretError, match=r"a\.npz: ") as error:
            again(tmp_path / "a.npz", arrays)
        assert "\n" not in str(error.value)
    with pytest.raises(NoRegretError, match="has format 3"):
        again(tmp_path / "a.npz", found | {"meta": np.frombuffer(b'{"format": 3}', dtype=np.uint8)})


# --- forged, with a seal that fits ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Agents that found their features, of vectors with prototypes and with trees, and of numbers."""
    path, out = tmp_path_factory.mktemp("agents") / "a.npz", {}
    models = {"vectors": (BOX, VectorModel), "trees": (BOX, ForestModel), "numbers": (spaces.Discrete(5), CountModel)}
    for kind, (space, model) in models.items():
        agent = nr.Agent(Toy(space, spaces.Discrete(3), MASKS, ends=0.1), limit=2.0, horizon=5, states=9)
        agent.learn(60, progress_bar=False)
        mind: Any = agent.learner
        for _ in range(300):
            if isinstance(mind.planner.model, model):
                break
            agent.learn(1, progress_bar=False)
        assert isinstance(mind.planner.model, model)
        agent.save(path)
        with np.load(path) as file:
            out[kind] = dict(file)
    return out


def refused(path: Path, arrays: dict[str, Any], said: str = "") -> None:
    np.savez(path, **files.sealed(arrays))
    with pytest.raises(NoRegretError) as error:
        nr.Agent.load(path)
    assert said in str(error.value) and str(path) in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("kind", ["vectors", "trees", "numbers"])
def test_every_array_of_soft_cells_is_checked(tmp_path: Path, cells: dict[str, dict[str, Any]], kind: str) -> None:
    good, path = cells[kind], tmp_path / "a.npz"
    np.savez(path, **files.sealed(good))
    nr.Agent.load(path)
    names = [name for name in good if name.startswith("state.")]
    assert {name.split("/")[0] for name in names if "/" in name} == {
        f"state.{g}" for g in ("record", "memory", "dual", "trials", "kinds", "doubts", "plan", "best")
    }
    for name in names:
        array, called = good[name], f"state[{name.removeprefix('state.')!r}]"
        refused(path, good | {name: array[None]}, called)
        refused(path, good | {name: array.astype(np.float32 if array.dtype != np.float32 else np.int8)}, called)
        refused(path, {key: value for key, value in good.items() if key != name})
        if array.dtype == np.float64 and array.size and all(odd not in name for odd in ("estimate", "promised", "sides")):
            wrong = array.copy()
            wrong.flat[-1] = np.nan
            refused(path, good | {name: wrong}, called)
        if array.dtype == np.int64 and array.size:
            for number in (-2, 1 << 62):
                wrong = array.copy()
                wrong.flat[-1] = number
                refused(path, good | {name: wrong})
    refused(path, good | {"state.more": np.zeros(3)}, "state['more'] is not known")


@pytest.mark.parametrize(
    ("kind", "name", "change"),
    [
        ("numbers", "plan/model.after", lambda a: np.full_like(a, 1 << 30)),
        ("numbers", "plan/model.visits", lambda a: a[:1]),
        ("numbers", "plan/model.row", lambda a: a[::-1].copy()),
        ("numbers", "plan/model.allowed", lambda a: np.ones((200_000, a.shape[1]), bool)),
        ("numbers", "memory/place", lambda a: np.zeros_like(a)),
        ("numbers", "memory/next", lambda a: a[:1].repeat(3, axis=0)),
        ("vectors", "plan/model.Z", lambda a: a[:1]),
        ("vectors", "plan/model.Z", lambda a: 100 * a),
        ("vectors", "plan/model.active", lambda a: a + 1),
        ("vectors", "plan/model.chances", lambda a: 2 * a),
        ("trees", "plan/model.child", lambda a: np.zeros_like(a)),
        ("trees", "plan/model.after", lambda a: np.full_like(a, 1 << 30)),
        ("trees", "plan/model.first", lambda a: a[::-1].copy()),
        ("trees", "plan/model.coordinate", lambda a: a + 1),
        ("trees", "plan/model.roots", lambda a: a + (1 << 20)),
        ("vectors", "plan/width", lambda a: 1e-9 * a),
        ("vectors", "plan/outlook", lambda a: 0 * a),
        ("vectors", "memory/lengths", lambda a: a[::-1] + 1),
        ("vectors", "memory/actions", lambda a: a + 3),
    ],
)  # fmt: skip
def test_arrays_that_sent_kernels_astray_are_refused_by_name(
    tmp_path: Path, cells: dict[str, dict[str, Any]], kind: str, name: str, change: Any
) -> None:
    refused(tmp_path / "a.npz", cells[kind] | {f"state.{name}": change(cells[kind][f"state.{name}"])}, "state[")


@pytest.mark.parametrize(
    ("kind", "entry", "value"),
    [
        ("vectors", "world", [0, 1_000_000]), ("vectors", "horizon", 10**7), ("numbers", "horizon", 10**7),
        ("numbers", "world", [2, 0]), ("vectors", "n_actions", 10**9), ("numbers", "limits", [1e300]),
    ],
)  # fmt: skip
def test_sizes_in_the_metadata_are_counted_before_anything_is_made(
    tmp_path: Path, cells: dict[str, dict[str, Any]], kind: str, entry: str, value: Any
) -> None:
    meta = json.loads(cells[kind]["meta"].tobytes())
    (meta["objectives"] if entry in meta["objectives"] else meta)[entry] = value
    before, clock = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    refused(tmp_path / "a.npz", cells[kind] | {"meta": np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)})
    assert time.process_time() - clock < 1.0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


@pytest.mark.parametrize("name", ["transitions", "states"])
@pytest.mark.parametrize("value", [1e308, 10**13])
def test_an_option_too_large_for_a_sum_of_bytes_is_refused_when_it_is_read(
    tmp_path: Path, cells: dict[str, dict[str, Any]], name: str, value: float
) -> None:
    meta = json.loads(cells["vectors"]["meta"].tobytes())
    meta["options"] |= {name: value}
    refused(tmp_path / "a.npz", cells["vectors"] | {"meta": np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)}, name)


def test_what_was_learned_is_what_a_file_may_hold(tmp_path: Path) -> None:
    """Numbers that a file would be refused for are refused when they come."""
    agent = nr.Agent(Toy(BOX, spaces.Discrete(3)), limit=2.0, horizon=1)
    for reward, x in ((1e26, [0.0, 0.0]), (0.0, [1e61, 0.0])):
        with pytest.raises(NoRegretError, match="at most 1e"):
            agent.tell_episode([x, [0.0, 0.0]], [0], [reward], [0.0])
    for k in range(30):
        agent.tell_episode([[1e60 * (k % 2), 0.0], [0.0, -1e60]], [k % 3], [1e25 * (-1) ** k], [1e25])
    agent.save(tmp_path / "a.npz")
    chances = nr.Agent.load(tmp_path / "a.npz").probabilities([1.0, 1.0], 0)
    np.testing.assert_array_equal(chances, agent.probabilities([1.0, 1.0], 0))
