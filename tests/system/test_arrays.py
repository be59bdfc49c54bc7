"""Arrays from files: read within bounds, refused in one line."""

from __future__ import annotations

import io
import os
import resource
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noregret._system import arrays
from noregret._system.arrays import load_npz, read_npz
from noregret.errors import FileError


def npz(entries: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        for name, data in entries.items():
            file.writestr(name, data)
    return buffer.getvalue()


def npy(array: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def headed(header: bytes, data: bytes = b"") -> bytes:
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_come_back(save: Any) -> None:
    given = {
        "a": np.arange(6.0).reshape(2, 3), "b": np.asfortranarray(np.arange(6).reshape(2, 3)), "c": np.array([True, False]),
        "d": np.array(["ä", "two words"]), "e": np.array(1.5), "f": np.zeros((0, 3)), "g": np.arange(3, dtype=">i4"),
    }  # fmt: skip
    buffer = io.BytesIO()
    save(buffer, **given)
    found = read_npz(buffer.getvalue())
    assert found.keys() == given.keys()
    for name, array in given.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].shape == array.shape and found[name].dtype == array.dtype.newbyteorder("=")
        found[name].flags.writeable = True


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not a zip file"),
        (npy(np.ones(3)), "not a zip file"),
        (npz({"a.txt": b"x"}), "entry 'a.txt' is no array"),
        (npz({"a.npy": npy(np.array([None]), allow_pickle=True)}), "array 'a' cannot be read: its type is object"),
        (npz({"a.npy": npy(np.zeros(2, dtype="f8,i4"))}), "its type is"),
        (npz({"a.npy": headed(b"[" * 5000)}), "its header is not that of an array"),
        (
            npz({"a.npy": headed(b"{'descr': '<f8', 'fortran_order': False, 'shape': (9,)}", b"12345678")}),
            "not what the file holds",
        ),
        (npz({"a.npy": headed(b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}", b"12345678")}), "array 'a'"),
        (npz({"a.npy": npy(np.array([2], dtype=np.uint8).view(bool))}), "truth values"),
        (npz({"a.npy": npy(np.array(["\x1b[2J"]))}), "control characters"),
        (npz({"a.npy": npy(np.zeros(10**5))}, zipfile.ZIP_LZMA), "packed in a way that NumPy does not use"),
    ],
)
def test_what_is_not_ours_is_refused_in_one_line(data: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said) as error:
        read_npz(data)
    assert "\n" not in str(error.value) and "allow_pickle" not in str(error.value)


def test_pipes_and_folders_do_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, said in ((tmp_path / "pipe", "expected a regular file"), (tmp_path, "expected a regular file|Is a directory")):
        with pytest.raises(FileError, match=f"{path}: is not a thing: ({said})"):
            load_npz(path, "a thing")


def test_a_small_file_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, P=np.zeros(3 * 10**7))
    assert path.stat().st_size < 500_000
    script = "import sys; from noregret._system.arrays import load_npz; load_npz(sys.argv[1], 'a problem')"

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))

    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, preexec_fn=small, check=False)
    assert "bomb.npz: is not a problem: array 'P' cannot be read: it has 30,000,000 entries" in done.stderr.splitlines()[-1]
    monkeypatch.setattr(arrays, "MOST_BYTES", 1 << 16)
    np.savez_compressed(path, P=np.zeros(10**5))
    with pytest.raises(FileError, match="too large"):
        load_npz(path, "a problem")
    monkeypatch.setenv("NOREGRET_MOST_BYTES", "1000000")
    assert load_npz(path, "a problem")["P"].shape == (10**5,)
