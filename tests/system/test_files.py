"""Files are whole or absent."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import IO

import pytest

from noregret._system.files import make_folder, write_whole
from noregret.errors import FileError, NoRegretError


def test_a_file_appears_with_its_content(tmp_path: Path) -> None:
    path = write_whole(tmp_path / "a.bin", lambda file: file.write(b"one"))
    assert path.read_bytes() == b"one"
    write_whole(path, lambda file: file.write(b"two"))
    assert path.read_bytes() == b"two"
    assert [p.name for p in tmp_path.iterdir()] == ["a.bin"]


def test_a_full_disk_leaves_nothing_and_keeps_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"before")

    def half(file: IO[bytes]) -> None:
        file.write(b"half of it")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(FileError, match=r"a\.bin: cannot be written: No space left on device") as error:
        write_whole(path, half)
    assert isinstance(error.value, NoRegretError)
    assert isinstance(error.value, OSError)
    assert path.read_bytes() == b"before"
    assert [p.name for p in tmp_path.iterdir()] == ["a.bin"]


@pytest.mark.parametrize("failure", [ValueError("bad"), KeyboardInterrupt()])
def test_any_other_failure_leaves_nothing_either(tmp_path: Path, failure: BaseException) -> None:
    def half(file: IO[bytes]) -> None:
        file.write(b"half of it")
        raise failure

    with pytest.raises(type(failure)):
        write_whole(tmp_path / "a.bin", half)
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match=r"none/a\.bin: cannot be written"):
        write_whole(tmp_path / "none" / "a.bin", lambda file: None)
    with pytest.raises(FileError, match=r"file/below: cannot be .*: Not a directory"):
        make_folder(tmp_path / "file" / "below")
    assert make_folder(tmp_path / "new" / "folder").is_dir()
