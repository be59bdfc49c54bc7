"""Compiled code: kept on disk and found again, never stale; the same results with bounds checked and with the JIT off."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core.errors import TypingError

from noregret._system.own_folder import MARKED
from noregret.errors import InputError
from noregret.kernels.compiler import jit, numba_private
from noregret.kernels.compiler.flat import flat, index

TESTS = Path(__file__).parents[1]

#: Compiles a small kernel and the loop of a fixed policy; prints how often code was compiled and how often found.
SCRIPT = """
import noregret as nr
from noregret.runs.loop import block
from noregret.kernels.compiler import jit
from noregret.kernels.worlds import world
nr.run(nr.problems.load("job-scheduling"), "uniform", episodes=3, trials=1)
found = compiled = 0
for kernel in (block, world.play, world.evaluate):
    found += sum(kernel.stats.cache_hits.values())
    compiled += sum(kernel.stats.cache_misses.values())
print(found, compiled, jit.cache_folder())
"""


def python(code: str, told: str = "", **env: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code], input=told, capture_output=True, text=True, env=os.environ | env, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    first = python(SCRIPT, NOREGRET_CACHE_DIR=str(tmp_path))
    second = python(SCRIPT, NOREGRET_CACHE_DIR=str(tmp_path))
    assert int(first[1]) > 0
    assert int(first[0]) == 0
    assert int(second[1]) == 0
    assert int(second[0]) > 0
    assert first[2] == second[2] == str(tmp_path / f"compiled-{jit.compiler_hash()}")


def test_a_folder_that_cannot_be_written_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def found() -> Path | None:
        folder = jit.code_folder.__wrapped__()
        return None if folder is None else folder.path.parent

    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NOREGRET_CACHE_DIR", str(tmp_path / "file" / "below"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    assert found() == tmp_path / "home" / "noregret"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(jit.tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
    assert found() == tmp_path / "temporary" / f"noregret-{os.getuid()}"
    found().chmod(0o777)  # type: ignore[union-attr]  # made by another user, say
    assert found() is None
    monkeypatch.setattr(jit.tempfile, "gettempdir", lambda: str(tmp_path / "file"))
    assert found() is None


def test_without_any_folder_the_kernels_still_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "code_folder", lambda: None)

    def twice(x: int) -> int:
        return 2 * x

    assert jit.jit(twice)(4) == 8


def test_importing_removes_only_what_it_made(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / ("0" * 16)).mkdir()
    for old in ("compiled-" + "0" * 16, "compiled-" + "1" * 16):
        (tmp_path / old).mkdir()
    (tmp_path / old / ".noregret").write_bytes(MARKED)
    for path in tmp_path.iterdir():
        os.utime(path, (0, 0))
    folder = python("from noregret.kernels.compiler import jit; print(jit.cache_folder())", NOREGRET_CACHE_DIR=str(tmp_path))[0]
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["thesis", "0" * 16, "compiled-" + "0" * 16, Path(folder).name])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("switch", "chosen"), [("NUMBA_BOUNDSCHECK", "not whole_runs and not by_the_runner"), ("NUMBA_DISABLE_JIT", "")]
)
def test_kernels_again(switch: str, chosen: str) -> None:
    """The tests marked ``kernels``, with every index checked, and as plain Python.

    With indices checked, the loop is compiled around a learner that does nothing, and plan and update are compiled by
    themselves: the same lines, and less to compile than both in one. No index depends on how LLVM arranges the code.
    """
    command = [sys.executable, "-m", "pytest", "-m", "kernels", "-k", chosen, "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, str(TESTS / "kernels" / "test_kernels.py"), str(TESTS / "learners" / "test_learner_primal_dual.py")],
        capture_output=True, text=True, env=os.environ | {switch: "1", "NUMBA_OPT": "0"}, cwd=TESTS.parent, timeout=900,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout


@partial(jit.jit, inline=True, cached=False)
def write_through(table: Any) -> None:
    line = flat(table)
    line[index(3)] = 7.0


@partial(jit.jit, cached=False)
def write(tables: Any) -> None:
    write_through(tables[1])


def test_what_is_written_through_a_flat_view_stays() -> None:
    """Numba drops writes to arrays that it takes for nobody's when it puts a function in its caller's place."""
    table = np.zeros((2, 2))
    write((np.zeros(1), table))
    np.testing.assert_array_equal(table, [[0.0, 0.0], [0.0, 7.0]])


@partial(jit.jit, cached=False)
def root(x: Any) -> Any:
    if x < 0.0:
        raise ValueError("no root of", x)
    return np.sqrt(x)


@partial(jit.jit, cached=False)
def twice_the_root(x: Any) -> Any:
    return 2.0 * root(x)


def test_what_is_only_called_by_compiled_code_is_not_made_ready_to_run() -> None:
    assert twice_the_root(9.0) == 6.0
    assert not root.overloads and len(twice_the_root.overloads) == 1, "half the time of compiling went there"
    with pytest.raises(ValueError, match="no root of") as raised:
        twice_the_root(-4.0)
    assert raised.value.args == ("no root of", -4.0)
    assert root(16.0) == 4.0 and len(root.overloads) == 1, "called from Python, it is a function like any other"


#: A learner's state as if it were part of the package, so that its code is kept.
OURS = """
import sys, types
from typing import Any, NamedTuple
import numpy as np
from noregret.kernels.compiler import jit
class State(NamedTuple):
    numbers: Any
State.__module__ = "noregret.invented"
module = sys.modules["noregret.invented"] = types.ModuleType("noregret.invented")
module.State = State
def total(state):
    return state.numbers.sum()
total.__module__ = "noregret.invented"
def again():
    kernel = jit.jit(total)
    print(kernel(State(np.arange(4.0))), sum(kernel.stats.cache_hits.values()))
again()
"""

#: The same process again and again, each time as if it were new: after what is told on a line of standard input, twice.
AGAIN = """
for path, content in map(str.split, sys.stdin):
    open(path, "wb").write(bytes.fromhex(content.removeprefix("-")))
    again(), again()
"""


def kept(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.code"))


def test_damaged_code_is_made_again(tmp_path: Path) -> None:
    assert python(OURS, NOREGRET_CACHE_DIR=str(tmp_path)) == ["6.0", "0"]
    (path,) = (p for p in kept(tmp_path) if b"noregret.invented" in p.read_bytes())
    whole = path.read_bytes()
    damaged = [
        b"",
        whole[:100],
        whole[:-1],
        whole[:2000] + bytes([whole[2000] ^ 1]) + whole[2001:],
        sealed(b"no pickle"),
        sealed(whole[32:-9]),
    ]
    told = "".join(f"{path} -{content.hex()}\n" for content in damaged)
    said = python(OURS + AGAIN, told, NOREGRET_CACHE_DIR=str(tmp_path))
    assert said == ["6.0", "1"] + ["6.0", "0", "6.0", "1"] * len(damaged), "found; then made again each time, and kept"


def test_code_under_the_name_of_other_code_is_not_used(tmp_path: Path) -> None:
    """The key is in the file: neither two writers at once nor a copied file can make one learner run another's code."""
    python(OURS, NOREGRET_CACHE_DIR=str(tmp_path))
    (own,) = (p for p in kept(tmp_path) if b"noregret.invented" in p.read_bytes())
    python(OURS.replace(".sum()", ".max()"), NOREGRET_CACHE_DIR=str(tmp_path))
    (other,) = (p for p in kept(tmp_path) if b"noregret.invented" in p.read_bytes() and p != own)
    own.write_bytes(other.read_bytes())
    assert python(OURS, NOREGRET_CACHE_DIR=str(tmp_path)) == ["6.0", "0"]


def test_two_processes_on_a_cold_cache_leave_what_a_third_can_use(tmp_path: Path) -> None:
    env = os.environ | {"NOREGRET_CACHE_DIR": str(tmp_path)}
    both = [
        subprocess.Popen([sys.executable, "-c", OURS.replace(".sum()", body)], env=env, stdout=subprocess.PIPE, text=True)
        for body in (".sum()", ".max()", ".sum()", ".max()")
    ]
    assert [process.communicate(timeout=300)[0].split()[0] for process in both] == ["6.0", "3.0"] * 2
    assert python(OURS, NOREGRET_CACHE_DIR=str(tmp_path)) == ["6.0", "1"]
    assert python(OURS.replace(".sum()", ".max()"), NOREGRET_CACHE_DIR=str(tmp_path)) == ["3.0", "1"]


def test_code_of_learners_from_elsewhere_is_not_kept(tmp_path: Path) -> None:
    """Their edits do not change the folder's name, so that old code would be found."""
    script = OURS.replace('State.__module__ = "noregret.invented"', 'State.__module__ = "elsewhere"')
    for _ in range(2):
        assert python(script, NOREGRET_CACHE_DIR=str(tmp_path)) == ["6.0", "0"]
    assert not [p for p in kept(tmp_path) if b"elsewhere" in p.read_bytes()]


def sealed(content: bytes) -> bytes:
    return hashlib.sha256(content).digest() + content


def test_a_disk_without_room_for_compiled_code_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Any, name: str, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    def more(x: int) -> int:
        return x + 1

    more.__module__ = "noregret.invented"
    monkeypatch.setattr(jit.OwnFolder, "write", full)
    monkeypatch.setattr(jit, "code_folder", lambda: jit.OwnFolder(tmp_path / "own"))
    with pytest.warns(UserWarning, match="compiled code is not kept: .*: No space left on device"):
        assert jit.jit(more)(1) == 2


def test_the_same_lines_compiled_in_another_way_are_other_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a function that is put in its callers' place from now on would be called all the same."""

    def more(x: int) -> int:
        return x + 1

    more.__module__ = "noregret.invented"
    monkeypatch.setattr(jit, "code_folder", lambda: jit.OwnFolder(tmp_path / "own"))
    for many, way in enumerate([{}, {"inline": True}, {"references": False}, {"inline": True}], 1):
        assert jit.jit(more, **way)(1) == 2
        assert len(list((tmp_path / "own").glob("*.code"))) == min(many, 3)


def test_a_loop_without_counted_references_that_makes_arrays_is_refused() -> None:
    kernel = jit.jit(lambda x: np.zeros(3)[0] + x[0], references=False)
    with pytest.raises(
        InputError, match="plan or update makes an array; expected them to write into arrays of the state alone"
    ):
        kernel(np.ones(1))


def test_another_mistake_is_not_taken_for_an_array() -> None:
    kernel = jit.jit(lambda x: x.no_such_thing, references=False)
    with pytest.raises(TypingError, match="no_such_thing"):
        kernel(np.ones(1))


#: Plays the paper's experiment, shortened; prints its curves to the last bit, how often code was found and made, and a flag.
PAPER = """
import noregret as nr
from noregret.kernels.compiler import numba_private
from noregret.runs.loop import block
result = nr.run(nr.problems.load("job-scheduling"), "primal-dual-lsvi", preset="paper", episodes=40, trials=2)
print(result.regret.tobytes().hex()[-64:], result.violation.tobytes().hex()[-64:])
kernels = block.kernels.values() if numba_private.PLAIN else [block]
for counts in ("cache_hits", "cache_misses"):
    print(sum(sum(getattr(kernel.stats, counts).values()) for kernel in kernels))
print(numba_private.PLAIN)
"""


@pytest.mark.slow
def test_plain_numba_plays_the_paper_with_the_same_bits_and_keeps_its_code(tmp_path: Path) -> None:
    plainly = {"NOREGRET_PLAIN_NUMBA": "1", "NUMBA_OPT": "1", "NOREGRET_CACHE_DIR": str(tmp_path)}  # sooner compiled
    private, first, again = python(PAPER), python(PAPER, **plainly), python(PAPER, **plainly)
    assert private[-1] == "False" and first[-1] == again[-1] == "True"
    assert private[:2] == first[:2] == again[:2]
    assert first[2:4] == ["0", "1"] and again[2:4] == ["1", "0"], "Numba's own cache keeps it"
    assert not kept(tmp_path)


#: Functions that call each other, and one that takes arrays uncounted, with a state of the package and one from elsewhere.
PLAINLY = """
from typing import Any, NamedTuple
import numpy as np
from noregret.kernels.compiler import jit
class State(NamedTuple):
    numbers: Any
def total(state, more=1.0):
    return state.numbers.sum() + more
def twice(state):
    return 2.0 * kernel(state) + kernel(state, 3.0)
def grow(state):
    state.numbers[:] += np.ones(4)
for module in ("noregret.invented", "elsewhere"):
    State.__module__ = total.__module__ = twice.__module__ = grow.__module__ = module
    kernel, state = jit.jit(total, inline=True), State(np.arange(4.0))
    print(kernel(state), jit.jit(twice)(state))
    jit.jit(grow, references=False)(state)
    print(*state.numbers)
"""


def test_plain_numba_takes_arrays_that_are_not_counted(tmp_path: Path) -> None:
    said = python(PLAINLY, NOREGRET_PLAIN_NUMBA="1", NOREGRET_CACHE_DIR=str(tmp_path))
    assert said == ["7.0", "23.0", "1.0", "2.0", "3.0", "4.0"] * 2


def test_a_numba_newer_than_tested_is_used_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not numba_private._plain()
    monkeypatch.setattr(numba_private.numba, "__version__", "0.99.0rc1")
    with pytest.warns(UserWarning, match=r"Numba 0\.99\.0rc1 is newer than 0\.\d+: kernels take twice as long"):
        assert numba_private._plain()
