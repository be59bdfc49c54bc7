"""Arrays from files and from strangers: read without running code or filling the memory, and checked before they are used."""

from __future__ import annotations

import errno
import io
import math
import os
import stat
import unicodedata
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import ArrayLike, NDArray

from noregret._system.files import write_whole
from noregret.errors import FileError, InputError

Arrays = dict[str, NDArray[np.generic]]
#: From what to what the entries of an array may be, both included.
Bounds = tuple[float, float]

#: A file may fill this many bytes of memory, or this many times its size where that is more; and hold this many texts.
MOST_BYTES, MOST_TIMES, MOST_TEXTS = 1 << 26, 20, 10_000
#: Numbers of a size that no run comes near, whose products are still finite.
LARGEST = 1e60


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The content of a regular file; a pipe or a device is refused and does not keep us waiting."""
    if "\0" in os.fspath(path):
        raise OSError(errno.EINVAL, "its name has a null character")
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "expected a regular file")
        return file.read()


def most_bytes(size: int) -> int:
    """How much memory the content of a file of ``size`` bytes may take; NOREGRET_MOST_BYTES is the least that is allowed."""
    least = os.environ.get("NOREGRET_MOST_BYTES", "")
    return max(int(least) if least.isdecimal() else MOST_BYTES, MOST_TIMES * size)


def read_npz(data: bytes) -> Arrays:
    """The arrays of an .npz file. The size of each is looked at before it is read.

    Raises:
        ValueError: the file is no .npz of numbers, truth values and texts, or too large; the message is one line.
    """
    room = most_bytes(len(data))
    arrays: Arrays = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            for entry in file.infolist():
                name = entry.filename.removesuffix(".npy")
                if name == entry.filename or not is_plain(name) or name in arrays:
                    raise ValueError(f"its entry {entry.filename!r} is no array, or there twice")
                if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or entry.flag_bits & 1:
                    raise ValueError(f"array {name!r} is packed in a way that NumPy does not use")
                try:
                    with file.open(entry) as part:
                        arrays[name] = read_npy(part, entry.file_size, room)
                except Exception as error:
                    raise ValueError(f"array {name!r} cannot be read: {said(error)}") from None
                room -= 8 * arrays[name].size
    except ValueError:
        raise
    except Exception as error:  # zipfile raises a dozen kinds on flipped bits
        raise ValueError(said(error)) from None
    return arrays


def read_npy(file: IO[bytes], size: int, room: int) -> NDArray[np.generic]:
    """The array in an .npy file of ``size`` bytes, which may take ``room`` bytes of memory; else as :func:`read_npz`.

    Args:
        file: open at the start of the .npy file.
        size: how many bytes the file has.
        room: how many bytes of memory the array may take.

    Raises:
        ValueError: the file is no array of numbers, truth values or texts, or too large.
    """
    try:
        header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[npy.read_magic(file)]
        shape, by_column, dtype = header(file)
    except Exception:  # NumPy parses the header as Python, and advises to load what it refuses unsafely
        raise ValueError("its header is not that of an array") from None
    if dtype.hasobject or dtype.kind not in "biufU" or not dtype.itemsize:
        raise ValueError(f"its type is {dtype}; expected numbers, truth values or texts")
    n = math.prod(shape)
    if n * dtype.itemsize != size - file.tell() or max(shape, default=0) > 1 << 40:
        raise ValueError(f"its shape is {shape} of {dtype}, which is not what the file holds")
    if max(8, dtype.itemsize) * n > room or (dtype.kind == "U" and n > MOST_TEXTS):  # 8: it may be turned into float64
        raise ValueError(f"it has {n:,} entries, which is too large for a file of this size (NOREGRET_MOST_BYTES sets a limit)")
    flat = np.frombuffer(bytearray(file.read(n * dtype.itemsize)), dtype=dtype)
    if dtype.kind == "b" and flat.size and flat.view(np.uint8).max() > 1:
        raise ValueError("its truth values are not all 0 or 1")
    if dtype.kind == "U" and not all(map(is_plain, flat.tolist())):
        raise ValueError("its texts hold control characters")
    return flat.astype(dtype.newbyteorder("="), copy=False).reshape(shape, order="F" if by_column else "C")


def is_plain(text: str) -> bool:
    """Whether a text can be shown anywhere: no control characters (a terminal obeys them), no halves of characters."""
    return text.isprintable() or not any(unicodedata.category(letter) in ("Cc", "Cs") for letter in text)


def said(error: BaseException) -> str:
    """What an error says, in one line and without what a terminal would obey."""
    words = " ".join(str(error).split()) or type(error).__name__
    return words if is_plain(words) else "".join(letter if is_plain(letter) else "?" for letter in words)


def load_npz(path: str | os.PathLike[str], what: str) -> Arrays:
    """The arrays of an .npz file that is to be ``what``; FileError, in one line, where it is not."""
    try:
        return read_npz(read_bytes(path))
    except FileNotFoundError:
        raise FileError(f"{path}: no such file") from None
    except (OSError, ValueError, MemoryError) as error:
        raise FileError(f"{path}: is not {what}: {getattr(error, 'strerror', None) or said(error)}") from None


def save_npz(path: str | os.PathLike[str], arrays: Mapping[str, ArrayLike], last: Callable[[], object] | None = None) -> Path:
    """Write an .npz file that :func:`load_npz` reads: whole, and packed only where it cannot be taken for a bomb.

    Args:
        path: the file.
        arrays: by name.
        last: called when all is written and before the file takes the place of an old one; what it raises keeps the old one.
    """
    large = sum(8 * np.size(array) for array in arrays.values()) > MOST_BYTES

    def write(file: IO[bytes]) -> None:
        save: Callable[..., None] = np.savez if large else np.savez_compressed
        save(file, **arrays)
        if last is not None:
            last()

    return write_whole(path, write)


# --- checks -------------------------------------------------------------------------------------------------------


def check_arrays(
    wanted: Mapping[str, NDArray[np.generic]],
    entries: Mapping[str, NDArray[np.generic]],
    bounds: Callable[[str], Bounds | None],
    what: str,
) -> None:
    """Refuse arrays that are not like ``wanted``: other names, types or shapes, or entries outside their bounds.

    Args:
        wanted: arrays as they should be.
        entries: arrays from a file.
        bounds: from what to what the entries of the array of a name may be; None where there are no bounds.
        what: what the arrays are, for the message.

    Raises:
        InputError: the first entry that does not fit, its value and what was expected.
    """
    if wanted.keys() != entries.keys():
        odd = sorted(wanted.keys() ^ entries.keys())[0]
        raise InputError(f"{what} disagrees on entry {odd!r}; expected {sorted(wanted)}")
    for key, array in wanted.items():
        read = np.asarray(entries[key])
        if read.shape != array.shape or read.dtype != array.dtype:
            raise InputError(
                f"{what}[{key!r}] has shape {read.shape} and type {read.dtype}; expected {array.shape}, {array.dtype}"
            )
        if (limits := bounds(key)) is not None and array.dtype.kind != "b":
            check_range(f"{what}[{key!r}]", read, limits)


def check_range(name: str, array: NDArray[np.generic], bounds: Bounds) -> None:
    """Refuse entries outside ``bounds``, and in any case those that are not numbers.

    Args:
        name: what the error calls the array.
        array: of numbers.
        bounds: the least and the largest number allowed.

    Raises:
        InputError: an entry is outside; the message names the first one.
    """
    good = np.greater_equal(array, bounds[0]) & np.less_equal(array, bounds[1])
    if not good.all():
        index = tuple(int(i) for i in np.argwhere(~good)[0])
        kind = "whole numbers" if array.dtype.kind in "iu" else "numbers"
        raise InputError(f"{name} has {array[index]} at {list(index)}; expected {kind} from {bounds[0]:g} to {bounds[1]:g}")
