r"""Checkpoints: the arrays and numbers of an unfinished run, in files that a torn write cannot pass off as whole.

A checkpoint is one file: a line that names the format, a line with the SHA-256 of the rest, and the rest, an .npz whose entry
``meta`` is JSON. It is written to a temporary name, synced and renamed. The last two are kept; one that does not
match its checksum is named in a warning and the other one is taken.

Arrays that only grow (the features a learner has seen) are not written again each time. The caller names the axis along which
each of them grows and how far along it nothing changes any more. What became final since the last checkpoint goes to a
segment file of its own, the rest into the checkpoint, which lists the segments with their checksums.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import itertools
import json
import os
import shutil
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Protocol, TypeAlias, TypedDict, get_type_hints

import numpy as np
from numpy.typing import NDArray

from noregret._system.arrays import most_bytes, read_bytes, read_npy, read_npz, said
from noregret._system.files import ensure_folder, write_whole
from noregret.errors import DamagedError, told
from noregret.store.records import check_entries

Numbers = NDArray[np.generic]
#: For each entry that grows: the axis, and how far along it nothing changes any more.
Growing = Mapping[str, tuple[int, int]]

#: Episodes played, arrays, and JSON values beside them.
Checkpoint: TypeAlias = tuple[int, dict[str, Numbers], dict[str, Any]]
#: What a checkpoint says of itself.
HEAD: dict[str, object] = {"k": int, "meta": dict, "axes": dict[str, int], "segments": dict[str, list[dict[str, object]]]}

MAGIC = b"noregret checkpoint 1\n"
KEPT = 2


class Segment(TypedDict):
    """A file with what is final of one entry, up to ``stop``."""

    file: str
    stop: int
    sha256: str


class CheckpointKeeper(Protocol):
    """Where the checkpoints of one run are kept: on disk or in memory."""

    def save(self, k: int, arrays: Mapping[str, Numbers], meta: Mapping[str, object], growing: Growing | None = None) -> None:
        """Keep the state after ``k`` episodes.

        Args:
            k: the number that orders checkpoints.
            arrays: everything that changes.
            meta: JSON values beside them.
            growing: for entries of ``arrays`` that only grow, the axis along which they do, and how much of it is final.
        """

    def load(self) -> Checkpoint | None:
        """The newest whole checkpoint as (k, arrays, meta); None when there is none."""

    def forget(self) -> None:
        """Remove all checkpoints of the run."""


class Checkpoints:
    """The checkpoints of one run, in a folder of its own; to be used by whoever holds the run's lock."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._segments: dict[str, list[Segment]] = {}

    def save(self, k: int, arrays: Mapping[str, Numbers], meta: Mapping[str, object], growing: Growing | None = None) -> None:
        """Write the state after ``k`` episodes.

        Args:
            k: the number that orders checkpoints.
            arrays: everything that changes.
            meta: JSON values beside them.
            growing: for entries of ``arrays`` that only grow, the axis along which they do, and how much of it is final.
        """
        growing = growing or {}
        ensure_folder(self.folder)
        segments = {key: self._append(key, arrays[key], axis, final) for key, (axis, final) in growing.items()}
        head = {"k": k, "meta": dict(meta), "segments": segments, "axes": {key: axis for key, (axis, _) in growing.items()}}
        packed = {f"array.{key}": value for key, value in arrays.items() if key not in growing}
        for key, (axis, _) in growing.items():
            packed[f"array.{key}"] = _part(arrays[key], axis, _stop(segments[key]), None)
        packed["meta"] = np.frombuffer(json.dumps(head, sort_keys=True).encode(), dtype=np.uint8)
        buffer = io.BytesIO()
        np.savez(buffer, **packed)  # type: ignore[arg-type]
        payload = buffer.getbuffer()
        digest = hashlib.sha256(payload).hexdigest().encode()

        def write(file: IO[bytes]) -> None:
            file.write(MAGIC + digest + b"\n")
            file.write(payload)

        write_whole(self.folder / f"checkpoint-{k:015d}.bin", write)
        self._segments = segments
        self._tidy()

    def load(self) -> Checkpoint | None:
        """The newest whole checkpoint as (k, arrays, meta); None when there is none."""
        for path in reversed(self._files()):
            try:
                k, arrays, meta, self._segments = self._read(path)
            except DamagedError as error:
                warnings.warn(f"{error}; going back to the one before", stacklevel=2)
                with contextlib.suppress(OSError):
                    path.unlink()
                continue
            self._tidy()
            return k, arrays, meta
        self._segments = {}
        return None

    def forget(self) -> None:
        """Remove all checkpoints of the run."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._segments = {}

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("checkpoint-*.bin"))

    def _append(self, key: str, array: Numbers, axis: int, final: int) -> list[Segment]:
        """Write what became final since the last checkpoint; all segments of the entry."""
        known = self._segments.get(key, [])
        if final <= _stop(known):
            return known
        buffer = io.BytesIO()
        np.save(buffer, np.ascontiguousarray(_part(array, axis, _stop(known), final)), allow_pickle=False)
        payload = buffer.getbuffer()
        name = f"segment-{uuid.uuid4().hex}.npy"
        write_whole(self.folder / name, lambda file: file.write(payload))
        return [*known, {"file": name, "stop": final, "sha256": hashlib.sha256(payload).hexdigest()}]

    def _read(self, path: Path) -> tuple[int, dict[str, Numbers], dict[str, Any], dict[str, list[Segment]]]:
        payload = _checked(path)
        try:
            packed = read_npz(payload)
            head = json.loads(packed.pop("meta").tobytes())
            arrays = {key.removeprefix("array."): value for key, value in packed.items()}
            check_entries(head, HEAD)
            for segment in itertools.chain(*head["segments"].values()):
                check_entries(segment, get_type_hints(Segment))
            for key, axis in head["axes"].items():
                parts = [
                    read_npy(io.BytesIO(data), len(data), most_bytes(len(data)))
                    for data in self._parts(path, head["segments"][key])
                ]
                arrays[key] = np.concatenate([*parts, arrays[key]], axis=axis)
            return head["k"], arrays, head["meta"], head["segments"]
        except DamagedError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise DamagedError(f"{path}: is no checkpoint: {said(error)}") from None

    def _parts(self, path: Path, segments: list[Segment]) -> Iterator[bytes]:
        for segment in segments:
            with told(path, f"its part {segment['file']} cannot be read", DamagedError):
                data = read_bytes(self.folder / Path(segment["file"]).name)  # in this folder, whatever a stranger wrote
            if hashlib.sha256(data).hexdigest() != segment["sha256"]:
                raise DamagedError(f"{path}: its part {segment['file']} does not match its checksum")
            yield data

    def _tidy(self) -> None:
        """Forget all but the last checkpoints, and the parts that none of them uses."""
        files = self._files()
        for old in files[:-KEPT]:
            old.unlink(missing_ok=True)
        # Segments are only ever added to, so those of the newest checkpoint include those of the one before.
        used = {segment["file"] for parts in self._segments.values() for segment in parts}
        for path in self.folder.glob("segment-*.npy"):
            if path.name not in used:
                path.unlink(missing_ok=True)


def _part(array: Numbers, axis: int, start: int, stop: int | None) -> Numbers:
    return array[(slice(None),) * axis + (slice(start, stop),)]


def _stop(segments: Sequence[Segment]) -> int:
    """How much of an entry is in its segments."""
    return segments[-1]["stop"] if segments else 0


def _checked(path: Path) -> bytes:
    """The content of a checkpoint after its checksum, or DamagedError."""
    with told(path, "cannot be read", DamagedError):
        data = read_bytes(path)
    start = len(MAGIC) + 65
    payload = data[start:]
    if data[:start] != MAGIC + hashlib.sha256(payload).hexdigest().encode() + b"\n":
        raise DamagedError(f"{path}: does not match its checksum")
    return payload
