"""Problems in files: saved and loaded, and what is refused."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noregret.errors import FileError, InputError, NoRegretError
from noregret.problems import load, names, npz, save
from tests.problems.test_problems import assert_same

# --- files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [*(n for n in names(continuous=False) if n != "grid-world"), "random:m=2,noise=bernoulli", "grid-world:size=6"]
)
def test_saved_problems_come_back(name: str, tmp_path: Path) -> None:
    path = tmp_path / "problem.npz"
    p = load(name)
    save(p, path)
    q = load(path)
    assert_same(p, q)
    assert q.name == str(path)
    assert [f.name for f in tmp_path.iterdir()] == ["problem.npz"]


def arrays(**changes: Any) -> dict[str, Any]:
    p = load("random:S=2,A=2,H=2")
    given_: dict[str, Any] = {"P": p.P, "r": p.r, "g": p.g, "b": p.b, "mu": p.mu}
    return {k: v for k, v in (given_ | changes).items() if v is not None}


def written(path: Path, **changes: Any) -> Path:
    np.savez(path, **arrays(**changes))
    return path


def test_plain_arrays_load(tmp_path: Path) -> None:
    phi = np.eye(4).reshape(2, 2, 4)
    mask = np.array([[True, True], [False, True]])
    p = load(written(tmp_path / "a.npz", phi=phi, available=mask, noise="bernoulli", mu=1, b=0.25))
    assert np.array_equal(p.features, phi)
    assert np.array_equal(p.available[1], mask)
    assert p.noise == "bernoulli"
    assert p.mu.tolist() == [0.0, 1.0]
    assert p.b.tolist() == [0.25]
    assert load(str(written(tmp_path / "b.npz", features=phi))).spec.dimension == 4


@pytest.mark.parametrize("missing", ["P", "r", "g", "b", "mu"])
def test_missing_arrays_are_named(missing: str, tmp_path: Path) -> None:
    path = written(tmp_path / "a.npz", **{missing: None})
    with pytest.raises(FileError) as caught:
        load(path)
    assert f"{path}: array '{missing}' is missing" in str(caught.value)
    assert isinstance(caught.value, OSError)


def test_unusable_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    with pytest.raises(FileError, match=r"a\.npz: no such file"):
        load(path)
    path.write_bytes(b"")
    with pytest.raises(FileError, match=r"a\.npz: is not a readable \.npz file"):
        load(path)
    path.write_text("P = 1")
    with pytest.raises(FileError, match=r"a\.npz: is not a readable \.npz file"):
        load(path)
    with path.open("wb") as file:
        np.save(file, np.ones(3))
    with pytest.raises(FileError, match=r"a\.npz: is not a readable \.npz file: File is not a zip file"):
        load(path)
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(FileError, match=r"folder\.npz: is not a readable"):
        load(tmp_path / "folder.npz")


def test_pickles_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, **arrays(b=np.array([None], dtype=object)))  # numpy pickles objects
    with pytest.raises(
        FileError, match=r"a\.npz: is not a readable .npz file: array .b. cannot be read: its type is object; expected numbers"
    ):
        load(path)


def test_bad_contents_name_file_and_entry(tmp_path: Path) -> None:
    P = arrays()["P"].copy()
    P[1, 0, 1, 0] += 0.5
    with pytest.raises(InputError, match=r"a\.npz: P\[1, 0, 1\] sums to 1\.5"):
        load(written(tmp_path / "a.npz", P=P))
    with pytest.raises(InputError, match=r"a\.npz: noise is 'loud'"):
        load(written(tmp_path / "a.npz", noise="loud"))
    with pytest.raises(FileError, match="both 'features' and 'phi'"):
        load(written(tmp_path / "a.npz", phi=np.zeros((2, 2, 1)), features=np.zeros((2, 2, 1))))


def test_unknown_arrays_are_ignored_with_a_warning(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"a\.npz: array 'avaliable' is not part of a problem and is ignored"):
        problem = load(written(tmp_path / "a.npz", avaliable=np.zeros((2, 2), bool)))
    assert problem.available.all()


@pytest.fixture(scope="module", params=["compressed", "plain"])
def whole(request: pytest.FixtureRequest) -> bytes:
    buffer = io.BytesIO()
    writer = np.savez_compressed if request.param == "compressed" else np.savez
    writer(buffer, **arrays())
    return buffer.getvalue()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_files_never_raise_anything_else(whole: bytes, tmp_path: Path, data: st.DataObject) -> None:
    damaged = bytearray(whole)
    if data.draw(st.booleans()):
        damaged = damaged[: data.draw(st.integers(0, len(whole) - 1))]
    else:
        for _ in range(data.draw(st.integers(1, 4))):
            damaged[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "damaged.npz"
    path.write_bytes(damaged)
    try:
        p = npz.load(path)
    except NoRegretError as error:
        assert "damaged.npz" in str(error)
        assert "\n" not in str(error)
    else:
        assert p.horizon == 2


def test_a_truncated_file_is_refused(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "half.npz"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileError, match=r"half\.npz: is not a readable"):
        load(path)


@pytest.mark.parametrize(
    ("failure", "raised"),
    [
        (OSError(28, "No space left on device"), (FileError, r"a\.npz: cannot be written: No space left on device")),
        (KeyboardInterrupt(), (KeyboardInterrupt, "^$")),
    ],
)
def test_a_failed_write_leaves_nothing_behind(
    failure: BaseException, raised: tuple[type[BaseException], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.npz"
    save(load("random"), path)
    before = path.read_bytes()

    def fail(*_: Any) -> None:
        raise failure

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(raised[0], match=raised[1]):
        save(load("streaming"), path)
    assert path.read_bytes() == before
    assert [f.name for f in tmp_path.iterdir()] == ["a.npz"]


def test_unwritable_places_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot be written: Not a directory"):
        save(load("random"), tmp_path / "file" / "a.npz")
    with pytest.raises(FileError, match="cannot be written: No such file or directory"):
        save(load("random"), tmp_path / "nowhere" / "a.npz")
    with pytest.raises(InputError, match=r"expected a name that ends with \.npz"):
        save(load("random"), tmp_path / "a.zip")
