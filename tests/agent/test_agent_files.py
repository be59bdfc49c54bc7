"""Agent files from strangers: whatever is in them, loading ends in an agent that works or in one line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import FileError, NoRegretError

PROBLEM = "random:S=4,A=2,H=3"


@pytest.fixture(scope="module", params=["always", "doubling"])
def saved(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("agents") / "a.npz"
    agent = nr.Agent(nr.problems.load(PROBLEM), features=nr.features.OneHot(4, 2), episodes=50, replan=request.param)
    agent.learn(20, progress_bar=False).save(path)
    with np.load(path) as file:
        return dict(file)


def again(path: Path, arrays: dict[str, Any]) -> nr.Agent:
    """Load, act and learn; what is found wrong only there would have been a crash."""
    np.savez(path, **arrays)
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
        again(tmp_path / "a.npz", saved | {f"state.{entry}": wrong})


@pytest.mark.parametrize("kind", [np.float32, np.int8, ">f8", "U3"])
def test_other_types_and_shapes_are_refused(tmp_path: Path, saved: dict[str, Any], kind: Any) -> None:
    for wrong in (saved["state.gram.counts"].astype(kind), saved["state.gram.counts"][:-1]):
        with pytest.raises(NoRegretError, match=r"state\['gram\.counts'\] has shape"):
            again(tmp_path / "a.npz", saved | {"state.gram.counts": wrong})


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("options", [], "entry 'options' is"), ("options", {"episodes": 3}, "TypeError"), ("options", {"": 1}, "unknown"),
        ("options", {"preset": 7}, "preset"), ("starts", None, "entry 'starts'"), ("starts", [0], "starts is"),
        ("seed", -1, ""), ("seed", "x", "entry 'seed'"), ("episodes", 10**30, "episodes"), ("one_hot", [10**9, 2], "10000000"),
        ("one_hot", [4, 2, 1], "TypeError"), ("n_actions", 3, "3"), ("learner", "opdop", "unknown learner"),
        ("learner", {}, "entry"),
        ("objectives", {}, "'limits'"), ("objectives", {"horizon": 10**9}, ""), ("features", "\x1b[2J", "entry 'features'"),
        ("format", 4, "has format 4"), ("bound", True, "entry 'bound'"), ("outside", "?", "unknown outside"),
        ("outside", 3, "entry"),
        ("parts", [0], "parts is 0"), ("parts", 3, "entry"), ("world", [1], "expected two"), ("world", "x", "entry"),
    ],
)  # fmt: skip
def test_malformed_metadata_is_one_line(tmp_path: Path, saved: dict[str, Any], name: str, value: Any, said: str) -> None:
    meta = json.loads(saved["meta"].tobytes())
    meta[name] = meta[name] | value if isinstance(value, dict) and name == "objectives" and value else value
    with pytest.raises(NoRegretError, match=r"a\.npz: |env has") as error:
        again(tmp_path / "a.npz", saved | {"meta": np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)})
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
    with pytest.raises(NoRegretError, match="has format 4"):
        again(tmp_path / "a.npz", found | {"meta": np.frombuffer(b'{"format": 4}', dtype=np.uint8)})
