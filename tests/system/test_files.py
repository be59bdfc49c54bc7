"""Files are whole or absent."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

import pytest

from noregret._system import files
from noregret._system.files import all_or_none, make_folder, write_whole
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


def test_a_link_stays_and_what_it_points_to_is_written(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link, target = tmp_path / "link", tmp_path / "there" / "target"
    link.symlink_to(target)
    for content in (b"one", b"two"):  # at first the target is not there
        write_whole(link, lambda file, content=content: file.write(content))
        assert link.is_symlink() and target.read_bytes() == content
    target.chmod(0o600)
    write_whole(link, lambda file: file.write(b"three"))
    assert target.stat().st_mode & 0o777 == 0o600
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(FileError, match="loop: cannot be written: Too many levels"):
        write_whole(tmp_path / "loop", lambda file: None)
    assert (tmp_path / "loop").is_symlink()


def test_pipes_are_written_to_and_stay(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_bytes()), daemon=True)
    reader.start()
    write_whole(tmp_path / "pipe", lambda file: file.write(b"through"))
    reader.join(10)
    assert got == [b"through"] and stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert [p.name for p in tmp_path.iterdir()] == ["pipe"]


def test_a_pipe_that_nobody_reads_keeps_nobody_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(files, "_PATIENCE", 0.1)
    with pytest.raises(FileError, match="pipe: cannot be written: No such device or address"):
        write_whole(tmp_path / "pipe", lambda file: file.write(b"x"))


def test_devices_are_written_to_and_stay() -> None:
    with pytest.raises(FileError, match="/dev/full: cannot be written: No space left on device"):
        write_whole("/dev/full", lambda file: file.write(b"x"))
    write_whole("/dev/null", lambda file: file.write(b"x"))
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode) and stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_what_killed_writers_left_is_removed_by_the_next(tmp_path: Path) -> None:
    script = (
        "import os, sys\nfrom noregret._system.files import all_or_none, write_whole\n"
        "def half(file):\n    file.write(b'half')\n    file.flush()\n    os.kill(os.getpid(), 9)\n"
        "if sys.argv[2] == 'file':\n    write_whole(sys.argv[1] + '/a.csv', half)\n"
        "with all_or_none(sys.argv[1]) as draft:\n    half(open(draft / 'b', 'wb'))\n"
    )
    for what in ("file", "folder"):
        subprocess.run([sys.executable, "-c", script, str(tmp_path), what], check=False)
    assert len(left := list(tmp_path.iterdir())) == 2
    for name in (".a.csv.tmp", f".{'0' * 31}.tmp", f"{'0' * 32}.tmp"):  # not ours
        (tmp_path / name).write_text("")
    for path in tmp_path.iterdir():
        os.utime(path, (0, 0))
    with all_or_none(tmp_path) as draft:  # one that is being written stays, whatever its age
        os.utime(draft, (0, 0))
        write_whole(tmp_path / "a.csv", lambda file: file.write(b"whole"))
        assert draft.is_dir() and not any(path.exists() for path in left)
    assert sorted(p.name for p in tmp_path.iterdir()) == [f".{'0' * 31}.tmp", ".a.csv.tmp", f"{'0' * 32}.tmp", "a.csv"]
