"""Folders that nobody else can write to, and the removal of old ones."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from noregret._system.own_folder import MARK, OwnFolder, forget_old


def test_files_come_back_as_they_were_written(tmp_path: Path) -> None:
    folder = OwnFolder(tmp_path / "new" / "own")
    assert folder.path.stat().st_mode & 0o777 == folder.path.parent.stat().st_mode & 0o777 == 0o700
    assert folder.read("a") is None
    folder.write("a", b"content")
    folder.write("a", b"other")
    assert folder.read("a") == OwnFolder(folder.path).read("a") == b"other"
    assert sorted(os.listdir(folder.path)) == [MARK, "a"]


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: b"", lambda data: data[:40] + b"?" + data[41:]])
def test_a_damaged_file_counts_as_absent(tmp_path: Path, damage) -> None:  # type: ignore[no-untyped-def]
    folder = OwnFolder(tmp_path / "own")
    folder.write("a", b"content that is long enough")
    (folder.path / "a").write_bytes(damage((folder.path / "a").read_bytes()))
    assert folder.read("a") is None


def test_folders_that_others_can_write_to_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    OwnFolder(tmp_path / "own")
    (tmp_path / "link").symlink_to(tmp_path / "own")
    with pytest.raises(OSError, match="link"):
        OwnFolder(tmp_path / "link")
    for mode in (0o777, 0o770):
        (tmp_path / "own").chmod(mode)
        with pytest.raises(PermissionError, match="own: is not this user's alone"):
            OwnFolder(tmp_path / "own")
    (tmp_path / "own").chmod(0o700)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.raises(PermissionError, match="own: is not this user's alone"):
        OwnFolder(tmp_path / "own")


def test_what_is_read_stays_ours_when_the_name_is_given_to_another_folder(tmp_path: Path) -> None:
    folder = OwnFolder(tmp_path / "own")
    folder.write("a", b"ours")
    folder.path.rename(tmp_path / "moved")
    theirs = OwnFolder(tmp_path / "own")
    theirs.write("a", b"theirs")
    assert folder.read("a") == b"ours"


def test_links_and_pipes_in_place_of_files_are_not_read(tmp_path: Path) -> None:
    folder = OwnFolder(tmp_path / "own")
    folder.write("a", b"content")
    os.symlink("a", folder.path / "b")
    assert folder.read("b") is None
    os.mkfifo(folder.path / "c")
    assert folder.read("c") is None


def test_only_what_has_our_name_and_our_mark_is_removed(tmp_path: Path) -> None:
    names = re.compile("code-[0-9a-f]{4}")
    for name in ("code-0001", "code-0002", "thesis", "code-000x"):
        OwnFolder(tmp_path / name).write("a", b"content")
    (tmp_path / "code-0003").mkdir()  # the name, not the mark
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "code-0004").symlink_to(tmp_path / "thesis")
    for path in tmp_path.iterdir():
        if path.name != "code-0002":
            os.utime(path, (0, 0))
    forget_old(tmp_path, names, days=30)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "code-0002", "code-0003", "code-0004", "code-000x", "elsewhere", "thesis",
    ]  # fmt: skip
    assert OwnFolder(tmp_path / "thesis").read("a") == b"content"


def test_files_that_nobody_used_are_removed(tmp_path: Path) -> None:
    folder = OwnFolder(tmp_path / "own")
    for name in ("read", "unread", "new"):
        folder.write(name, b"content")
    for name in ("read", "unread"):
        os.utime(folder.path / name, (0, 0))
    assert folder.read("read") == b"content"
    folder.forget_unused(days=30)
    assert sorted(path.name for path in folder.path.iterdir()) == sorted([MARK, "new", "read"])
    assert folder.read("read") == folder.read("new") == b"content"
