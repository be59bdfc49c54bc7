"""Ways to spoil bytes, texts, JSON values and arrays."""

from __future__ import annotations

import io
import math
import string
import zipfile
from typing import Any

import numpy as np

Rng = np.random.Generator

#: Values that nobody expects.
ODD: list[Any] = [
    None, True, False, -1, 0, 1, 2**31, 2**63, -(2**63), 10**30, 10**400, 0.5, -0.0, 1e308, 1e-320, math.inf, -math.inf,
    math.nan, "", "x", "\x1b[2J", "a\nb", "\ud800", "../../etc/passwd", "[/bold]", "$\\frac", "x" * 5000, "0" * 5000,
    [], {}, [[]], {"number": "inf"}, {"number": "?"}, {"": 0}, [0] * 100, [None, "a", 1.5],
]  # fmt: skip


def nested(depth: int) -> Any:
    """A list in a list in a list."""
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


def pick(rng: Rng, choices: Any) -> Any:
    """One of some values."""
    return choices[int(rng.integers(len(choices)))]


def spoiled_bytes(rng: Rng, data: bytes) -> bytes:
    """Bytes flipped, cut, doubled, zeroed, or strewn with others."""
    spoiled = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        n = len(spoiled)
        at, width = int(rng.integers(n + 1)), int(rng.integers(1, 64))
        match int(rng.integers(7)):
            case 0:
                del spoiled[at:]
            case 1:
                del spoiled[at : at + width]
            case 2:
                spoiled[at:at] = rng.bytes(width)
            case 3:
                spoiled[at : at + width] = bytes(width)
            case 4:
                spoiled[at:at] = spoiled[:width]
            case _:
                for i in rng.integers(n, size=int(rng.integers(1, 5))) if n else ():
                    if i < len(spoiled):
                        spoiled[int(i)] ^= 1 << int(rng.integers(8))
    return bytes(spoiled)


def spoiled_text(rng: Rng, text: str) -> str:
    """Words exchanged, lines doubled or lost, and letters strewn in."""
    lines = text.splitlines()
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(lines))) if lines else 0
        match int(rng.integers(6)):
            case 0 if lines:
                del lines[at]
            case 1 if lines:
                lines.insert(at, pick(rng, lines))
            case 2 | 3 if lines and "=" in lines[at]:
                odd = pick(rng, ODD)
                value = pick(
                    rng, [repr(odd), str(odd), '"' + str(odd) + '"', str(odd).lower(), "[" * 3000, "1" * 5000, "1e999"]
                )
                lines[at] = f"{lines[at].partition('=')[0]}= {value}"
            case _ if lines:
                place = int(rng.integers(len(lines[at]) + 1))
                lines[at] = lines[at][:place] + pick(rng, string.printable) * int(rng.integers(1, 40)) + lines[at][place:]
    return "\n".join(lines)


def spoiled_value(rng: Rng, value: Any) -> Any:
    """A JSON value with one entry exchanged, lost or added, somewhere inside."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        spoiled, key = dict(value), pick(rng, sorted(value))
        match int(rng.integers(8)):
            case 0:
                del spoiled[key]
            case 1:
                spoiled[pick(rng, ["more", "", "\x1b", *sorted(value)])] = spoiled.pop(key)
            case _:
                spoiled[key] = spoiled_value(rng, spoiled[key])
        return spoiled
    if isinstance(value, list) and value and rng.random() < 0.5:
        at = int(rng.integers(len(value)))
        return [*value[:at], spoiled_value(rng, value[at]), *value[at + 1 :]]
    return pick(rng, [*ODD, nested(50), nested(2000)]) if rng.random() < 0.97 else [value] * 3


def spoiled_arrays(rng: Rng, arrays: dict[str, Any]) -> dict[str, Any]:
    """Arrays with one of them of another shape, type or content, lost or added."""
    spoiled, key = dict(arrays), pick(rng, sorted(arrays))
    array = np.array(spoiled[key])
    match int(rng.integers(10)):
        case 0:
            del spoiled[key]
        case 1:
            spoiled[pick(rng, ["more", "", "a/b", *sorted(arrays)])] = spoiled.pop(key)
        case 2:
            spoiled[key] = pick(
                rng, [array[..., None], array.T, array.reshape(-1)[:-1], array.reshape(-1)[:0], array.reshape(-1)]
            )
        case 3:
            with np.errstate(all="ignore"):
                kind = pick(rng, ["f4", "i1", "u8", "b1", ">f8", "U2", "c16", "M8[s]", "f2"])
                try:
                    spoiled[key] = array.astype(kind)
                except (ValueError, TypeError):
                    spoiled[key] = np.zeros(array.shape, kind)
        case 4:
            spoiled[key] = np.asfortranarray(array)
        case 5:
            spoiled[key] = np.zeros(pick(rng, [(0,), (1 << 20,), (10, 0, 7), (3, 3, 3), ()]))
        case _ if array.size and array.dtype.kind in "biuf":
            array = array.copy()
            odd = pick(rng, [v for v in ODD if isinstance(v, int | float)])
            with np.errstate(all="ignore"):
                low, high = (
                    (np.iinfo(array.dtype).min, np.iinfo(array.dtype).max) if array.dtype.kind in "iu" else (-np.inf, np.inf)
                )
                number = min(max(0 if odd != odd and array.dtype.kind in "iu" else odd, low), high) if odd == odd else odd
                where = slice(None) if rng.random() < 0.3 else int(rng.integers(array.size))
                array.reshape(-1)[where] = (
                    float(number) if array.dtype.kind == "f" and abs(number) < 1e308 else _fit(number, array)
                )
            spoiled[key] = array
    return spoiled


def _fit(number: Any, array: Any) -> Any:
    if array.dtype.kind in "iu":
        return int(number) if number == number else 0
    return (
        bool(number) if array.dtype.kind == "b" else float(min(max(number, -1.7e308), 1.7e308)) if number == number else number
    )


def packed(rng: Rng, arrays: dict[str, Any]) -> bytes:
    """An .npz file; now and then with a header, a way of packing or a size that is not NumPy's."""
    buffer = io.BytesIO()
    kind = int(rng.integers(12))
    if kind > 1:
        (np.savez_compressed if kind > 6 else np.savez)(buffer, **{k or "_": v for k, v in arrays.items()})
        return buffer.getvalue()
    with zipfile.ZipFile(
        buffer, "w", pick(rng, [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    ) as file:
        for name, array in arrays.items():
            part = io.BytesIO()
            np.save(part, array)
            data = part.getvalue()
            if rng.random() < 0.3:
                header = pick(
                    rng, [b"[" * 5000, b"{" * 300, b"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", HUGE, SHORT]
                )
                data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data[-32:]
            file.writestr(f"{name}.npy", data)
    return buffer.getvalue()


HUGE = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 1000000000)}"
SHORT = b"{'descr': '<U0', 'fortran_order': True, 'shape': (99999999999,)}"
