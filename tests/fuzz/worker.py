"""Cases of one reader in a process of their own, which may be killed: ``python -m tests.fuzz.worker READER FIRST LAST``.

The number of each case is printed before it is read, and a line of JSON for each that ends as it should not.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from types import FrameType

import numpy as np

from noregret.errors import NoRegretError
from tests.fuzz.readers import READERS, Reader

#: Seconds and bytes that a case may take. Other programs may slow it down, so that the clock on the wall has more patience.
SECONDS, PATIENCE, BYTES = 5, 60, 500 << 20


class TooLong(BaseException):
    """A case that does not end."""


def stop(number: int, frame: FrameType | None) -> None:
    raise TooLong


def one(reader: Reader, case: int) -> str | None:
    """What is wrong with how a case ended."""
    reader.spoil(np.random.default_rng([14, case]))
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                reader.read()
                lines = []
            except NoRegretError as error:
                lines = [str(error)]
            except MemoryError:
                return "MemoryError"
        for line in [*lines, *(str(warning.message) for warning in said if issubclass(warning.category, UserWarning))]:
            if "\n" in line or "\x1b" in line or not line or len(line) > 20_000:
                return f"not one clear line: {line[:500]!r}"
    except TooLong:
        return f"took more than {SECONDS} s: {traceback.format_exc()[-800:]}"
    except Exception:
        return traceback.format_exc()[-2500:]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
    return None


def main(name: str, first: int, last: int) -> None:
    signal.signal(signal.SIGALRM, stop)
    signal.signal(signal.SIGPROF, stop)
    with tempfile.TemporaryDirectory() as folder:
        reader = READERS[name]()
        reader.prepare(Path(folder))
        reader.read()  # what was not spoiled is read
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for case in range(first, last):
            print(case, flush=True)
            wrong = one(reader, case)
            if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before > BYTES >> 10:
                before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                wrong = wrong or f"took more than {BYTES >> 20} MB"
            if wrong:
                print(json.dumps({"case": case, "wrong": wrong}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
