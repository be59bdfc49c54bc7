"""The store: a folder with a folder for each finished run, and what is under way beside them.

    runs/<id>/run.json, curves.npz     a finished run; appears by one rename, so it is whole or absent
    runs/.work/<id>.lock               held by the process that plays the run (the kernel lets go when it dies)
    runs/.work/<id>/                   its checkpoints
    runs/.work/<id>.<digits>/          the finished run while it is written
    runs/.failed/<id>.json             the error of a run that raised; it is tried again by the next sweep
    runs/.damaged/<id>...              a run whose files did not match their checksums, moved aside and played again

``run.json`` ends with the SHA-256 of what is before, and holds that of ``curves.npz``. Where a file system has no locks two
processes may play the same run; both get the same numbers and one rename wins.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import shutil
import uuid
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from noregret._system.arrays import read_bytes, read_npz, said
from noregret._system.files import ensure_folder, hold, sync_folder, write_whole
from noregret.errors import DamagedError, FileError, InputError, told
from noregret.store.checkpoints import CheckpointKeeper, Checkpoints
from noregret.store.identity import DIGITS, RunKey, decode, encode
from noregret.store.records import RunRecord, check_curves, check_record

_ID = re.compile(rf"[0-9a-f]{{{DIGITS}}}")
#: What is ours in .work: a run's checkpoints, its lock, and a finished run while it is written.
_WORK = re.compile(rf"({_ID.pattern})(\.lock|\.[0-9a-f]{{32}})?")
_SEAL = re.compile(rb',\n "sha256": "([0-9a-f]{64})"\n}\n\Z')


@dataclass(frozen=True)
class StoredRun:
    """A finished run: its record and, when asked for, its curves by name."""

    id: str
    path: Path
    record: RunRecord

    @cached_property
    def key(self) -> RunKey:
        """What the run is."""
        return RunKey.from_json(self.record["run"])

    def curves(self) -> dict[str, NDArray[np.generic]]:
        """``episodes``, ``regret``, ``hard_regret`` (n,), ``signed_violations``, ``hard_violations``, ``dual`` (n,m)."""
        path = self.path / "curves.npz"
        data = _bytes(path)
        if hashlib.sha256(data).hexdigest() != self.record["curves"]["sha256"]:
            raise DamagedError(f"{path}: does not match its checksum")
        try:
            curves = read_npz(data)
            check_curves(curves, len(self.record["constraints"]), self.key.episodes, self.key.record_every)
        except ValueError as error:  # InputError is one
            raise DamagedError(f"{path}: {said(error)}") from None
        return curves


class Store:
    """The runs in a folder."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    @classmethod
    def at(cls, folder: str | os.PathLike[str]) -> Store:
        """The runs in a folder, or in the folder ``runs`` inside it, where commands keep theirs."""
        inside = Path(folder) / "runs"
        return cls(inside if inside.is_dir() and not cls(folder).ids() else folder)

    def path(self, id: str) -> Path:
        """The folder of a finished run."""
        return self.folder / id

    def work(self, id: str) -> Path:
        """The folder of a run's checkpoints."""
        return self.folder / ".work" / id

    def checkpoints(self, id: str) -> CheckpointKeeper:
        """The checkpoints of a run, for whoever holds its lock."""
        return Checkpoints(self.work(id))

    def has(self, id: str) -> bool:
        """Whether a finished run is here; its files are checked when they are read."""
        return self.path(id).exists()

    def forget(self, id: str) -> None:
        """Remove a run, finished or not, unless another process holds it."""
        with self.lock(id) as free:
            if free:
                shutil.rmtree(self.path(id), ignore_errors=True)
                self.tidy(id)

    def ids(self) -> list[str]:
        """All finished runs (their files are checked when they are read)."""
        with told(self.folder, "cannot be read"), contextlib.suppress(FileNotFoundError):
            return sorted(entry.name for entry in os.scandir(self.folder) if _ID.fullmatch(entry.name) and _is_folder(entry))
        return []

    def find(self, text: str) -> str:
        """The one finished or failed run whose name starts with ``text``."""
        known = [*self.ids(), *(i for i in self.failures() if not self.path(i).exists())]
        matching = [id for id in known if id.startswith(text)]
        if len(matching) != 1:
            if not known:
                raise InputError(f"{self.folder} has no runs; expected a folder in which runs were kept")
            what = f"{len(matching)} runs start with" if matching else "no run starts with"
            raise InputError(f"{what} {text!r} in {self.folder}; expected the first digits of one of its {len(known):,} runs")
        return matching[0]

    def read(self, id: str) -> StoredRun:
        """A finished run, its record checked.

        Raises:
            DamagedError: the files are not what was written.
            FileError: there is no such run, or its key has entries of another version.
        """
        path = self.path(id) / "run.json"
        record = _record(path)
        run = StoredRun(id, self.path(id), record)
        try:
            if run.key.id != id:
                raise InputError(f"belongs to run {run.key.id}")
            check_record(record)
        except InputError as error:
            raise DamagedError(f"{path}: {said(error)}") from None
        return run

    def whole(self, id: str) -> bool:
        """Whether the run is here and its files match their checksums."""
        if not self.path(id).exists():
            return False
        try:
            self.read(id).curves()
        except FileError:
            return False
        return True

    def finished(self, id: str) -> bool:
        """Whether the run is here and whole. A damaged one is named, moved aside, and counts as absent.

        For whoever holds the run's lock: else it might move aside what another has just played again.
        """
        if not self.path(id).exists():
            return False
        try:
            self.read(id).curves()
        except DamagedError as error:
            self.set_aside(self.path(id), error)
            return False
        return True

    def set_aside(self, path: Path, why: Exception) -> None:
        """Move what cannot be used of a run out of the way, and name it in a warning."""
        aside = ensure_folder(self.folder / ".damaged") / f"{path.name}-{uuid.uuid4().hex[:8]}"
        warnings.warn(f"{why}; moved to {aside}, the run is played again", stacklevel=3)
        with told(path, "cannot be moved aside"):
            os.rename(path, aside)

    def write(self, key: RunKey, record: Mapping[str, object], curves: Mapping[str, NDArray[np.generic]]) -> None:
        """Put a finished run in its place: whole, or not at all. The run that is there already stays.

        Args:
            key: which run it is.
            record: the entries of its JSON.
            curves: its arrays, by name.

        Raises:
            FileError: the run cannot be written.
        """
        buffer = io.BytesIO()
        np.savez(buffer, **curves)  # type: ignore[arg-type]
        data = buffer.getvalue()
        entries = {"run": key.to_json(), "curves": {"file": "curves.npz", "sha256": hashlib.sha256(data).hexdigest()}}
        sealed = seal(entries | encode(record))
        partial = ensure_folder(self.folder / ".work") / f"{key.id}.{uuid.uuid4().hex}"
        try:
            with told(self.path(key.id), "cannot be written"):
                partial.mkdir()
                for name, content in (("curves.npz", data), ("run.json", sealed)):
                    with open(partial / name, "xb") as file:
                        file.write(content)
                        file.flush()
                        os.fsync(file.fileno())
                sync_folder(partial)
                try:
                    os.rename(partial, self.path(key.id))
                except OSError:
                    if not self.path(key.id).exists():
                        raise
                sync_folder(self.folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        self.tidy(key.id)

    def tidy(self, id: str) -> None:
        """Forget what led to a finished run."""
        shutil.rmtree(self.work(id), ignore_errors=True)
        with contextlib.suppress(OSError):
            (self.folder / ".failed" / f"{id}.json").unlink(missing_ok=True)

    def clean(self) -> None:
        """Forget what killed processes left: everything of runs that are finished, half-written files of the others.

        Files and folders whose names are not those of runs belong to somebody else and stay.
        """
        for path in (self.folder / ".work").glob("*"):
            match = _WORK.fullmatch(path.name)
            if match is None:
                continue
            id, done, partial = match[1], self.path(match[1]).exists(), match[2] not in (None, ".lock")
            if done or partial:
                with contextlib.suppress(FileError), self.lock(id) as free:  # where nothing can be written, it stays
                    if free and partial:
                        shutil.rmtree(path, ignore_errors=True)
                    if free and done:
                        self.tidy(id)

    def fail(self, key: RunKey, record: Mapping[str, object]) -> None:
        """Remember that a run raised."""
        path = ensure_folder(self.folder / ".failed") / f"{key.id}.json"
        sealed = seal({"run": key.to_json()} | encode(record))
        write_whole(path, lambda file: file.write(sealed))

    def failures(self) -> dict[str, RunRecord]:
        """The records of the runs that raised, by name."""
        failures = {}
        for path in sorted((self.folder / ".failed").glob("*.json")):
            if not _ID.fullmatch(path.stem):
                continue
            try:
                failures[path.stem] = _record(path)
                if not isinstance(failures[path.stem].get("error"), str):
                    raise DamagedError(f"{path}: entry 'error' is missing")
            except DamagedError as error:
                failures.pop(path.stem, None)
                if path.exists():  # else it was tried again just now
                    warnings.warn(f"{error}; left out, the next sweep tries the run again", stacklevel=2)
        return failures

    @contextlib.contextmanager
    def lock(self, id: str) -> Iterator[bool]:
        """Hold a run; False when another process, or thread, holds it."""
        with hold(ensure_folder(self.folder / ".work") / f"{id}.lock") as free:
            yield free


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a folder; a link that leads nowhere, or round in a circle, is none."""
    try:
        return entry.is_dir()
    except OSError:
        return False


# --- JSON with a seal ---------------------------------------------------------------------------------------------


def seal(entries: Mapping[str, object]) -> bytes:
    """JSON whose last entry is the SHA-256 of the text without it."""
    lines = [f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False, allow_nan=False)}" for key, value in entries.items()]
    body = ("{\n" + ",\n".join(lines) + "\n}").encode()  # a line an entry; indent= would leave the quick encoder
    digest = hashlib.sha256(body).hexdigest()
    return body[: -len(b"\n}")] + f',\n "sha256": "{digest}"\n}}\n'.encode()


def read_sealed(path: Path) -> dict[str, Any]:
    """The entries of a file that :func:`seal` made; DamagedError when it is not what was written."""
    data = _bytes(path)
    match = _SEAL.search(data)
    body = data[: match.start()] + b"\n}" if match else b""
    if match is None or hashlib.sha256(body).hexdigest().encode() != match[1]:
        raise DamagedError(f"{path}: does not match its checksum")
    try:
        return {key: value if key == "run" else decode(value) for key, value in json.loads(body).items()}
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedError(f"{path}: is not what noregret writes: {said(error)}") from None


def _record(path: Path) -> RunRecord:
    """The record of a run, finished or failed."""
    entries = read_sealed(path)
    if not isinstance(entries.get("run"), dict):
        raise DamagedError(f"{path}: is no record of a run")
    return cast(RunRecord, entries)


def _bytes(path: Path) -> bytes:
    with told(path, "cannot be read"):
        try:
            return read_bytes(path)
        except FileNotFoundError:
            if path.parent.exists():
                raise DamagedError(f"{path}: is missing") from None
            raise FileError(f"{path}: no such file") from None
        except NotADirectoryError:
            raise DamagedError(f"{path.parent}: is not a folder") from None
