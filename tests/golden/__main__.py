"""``python -m tests.golden [WORD ...]``: record the numbers anew, on purpose only; with words, of runs with one in the name."""

from __future__ import annotations

import sys

from tests.golden.cases import FILE, cases, machine, read, write, written


def record(words: list[str]) -> None:
    """Play runs and write the file: what is new is added, and what is no more is dropped.

    A run with a preset that its learner has no more stays; it is played with its constants written out.

    Args:
        words: runs that are in the file are played again where one of these is in the name; none for all of them.
    """
    then, kept = read() if FILE.exists() else (machine(), {})
    if words and then != machine():
        raise SystemExit(f"the file was recorded with {then}; this is {machine()}: record all runs, without words")
    runs = {name: (case, case) for name, case in cases().items()}
    runs |= {
        name: (case, written(case, numbers, case.beside()[0]))
        for name, (case, numbers) in kept.items()
        if name not in runs and case.gone() and case.written
    }
    renewed = {}
    for name, (case, played) in runs.items():
        wanted = not words or name not in kept or any(word in name for word in words)
        renewed[name] = (case, played.play()) if wanted else kept[name]
        if renewed[name] != kept.get(name):
            print("changed:" if name in kept else "new:", name)
    for name in kept.keys() - renewed.keys():
        print("dropped:", name)
    write(renewed)


if __name__ == "__main__":
    record(sys.argv[1:])
