"""The shape of the code: imports go one way, every line of Algorithm 1 is marked, importing costs nothing."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import FIRST

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "noregret"
SOURCES = sorted(PACKAGE.rglob("*.py"))


def test_layers() -> None:
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


def test_the_page_on_design_lists_the_layers() -> None:
    layers = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]["layers"]
    rooms = [{room.strip().removeprefix("noregret.") for room in re.split("[|:]", layer)} for layer in layers]
    rows = re.findall(r"^\| \d+ \| (.*?) \|", (ROOT / "docs" / "design.md").read_text(), re.MULTILINE)
    assert [set(re.findall(r"`(\w+)`", row)) for row in rows] == rooms and len(rooms) <= 10


def test_the_page_on_design_names_files_and_folders_that_are_there() -> None:
    page = (ROOT / "docs" / "design.md").read_text()
    tree = re.findall(r"^ {4,6}(\w+)/", page, flags=re.MULTILINE)
    files = re.findall(r"`([\w/]+\.py)`", page)
    assert len(tree) > 12 and len(files) > 20
    folders = {path.name for place in (PACKAGE, ROOT / "benchmarks") for path in [place, *place.rglob("*")] if path.is_dir()}
    assert [name for name in tree if name not in folders] == []
    sources = [f"/{path.relative_to(ROOT)}" for path in [*SOURCES, *(ROOT / "benchmarks").rglob("*.py")]]
    assert [name for name in files if not any(source.endswith(f"/{name}") for source in sources)] == []


def test_rooms_not_modules() -> None:
    """Few modules at the top; every folder says what lives there."""
    top = [path.name for path in PACKAGE.glob("*.py") if not path.name.startswith("__")]
    assert len(top) <= 8, top
    for path in PACKAGE.rglob("__init__.py"):
        assert path.parent == PACKAGE or len(path.read_text().split('"""')[1]) > 40, f"{path.parent.name} says too little"


def test_kinds_of_problems_are_told_apart_in_one_file() -> None:
    asked = r"isinstance\([^()]*\b(TabularCMDP|LinearCMDP|Spec|ContinuousSpec)\b"
    found = {str(path.relative_to(PACKAGE)): len(re.findall(asked, path.read_text())) for path in SOURCES}
    assert {name: count for name, count in found.items() if count} == {"problems/kinds.py": 2}


#: How often ``Any`` and a marker against the formatter may stand in the package.
MOST_ANY, MOST_SKIPPED = 500, 40


@pytest.mark.parametrize(("word", "most"), [(r"\bAny\b", MOST_ANY), ("fmt: skip", MOST_SKIPPED)])
def test_types_say_something_and_the_formatter_lays_code_out(word: str, most: int) -> None:
    assert sum(len(re.findall(word, path.read_text())) for path in SOURCES) < most


def test_a_class_has_a_name_of_its_own() -> None:
    named: dict[str, list[str]] = {}
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                named.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
    twice = {name: places for name, places in named.items() if len(places) > 1}
    assert not twice, twice


def test_the_long_files_of_tests_are_there() -> None:
    assert [name for name in FIRST if not (ROOT / "tests" / name).is_file()] == []


def test_no_test_is_made_for_whatever_happens_to_be_registered() -> None:
    """Tests register learners and problems of theirs, also while pytest collects: ``tests.support.OURS`` has noregret's own."""
    made = [
        path
        for path in Path(__file__).parent.rglob("*.py")
        if re.search(r"parametrize\([^\n(]*names\(\)", path.read_text("utf-8"))
    ]
    assert made == []


def test_every_line_of_algorithm_1_is_marked() -> None:
    """The paper prints 16 numbered lines; those of the loop and of playing are the runner's and the world's."""
    marked: dict[str, set[int]] = {}
    for name in ("learners/lsvi/primal_dual.py", "runs/loop.py", "kernels/worlds/world.py"):
        comments = re.findall(r"#.*\bl\. .*", (PACKAGE / name).read_text())
        ranges = [part for comment in comments for part in re.findall(r"(?:l\.|and) (\d+)(?:-(\d+))?", comment)]
        marked[name] = {line for first, last in ranges for line in range(int(first), int(last or first) + 1)}
    assert set().union(*marked.values()) == set(range(1, 17))
    assert marked["learners/lsvi/primal_dual.py"] >= {1, *range(4, 13), 16}
    assert marked["runs/loop.py"] | marked["kernels/worlds/world.py"] >= {2, 3, 13, 14, 15}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_files_are_short_explained_and_finished(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= 400
    assert text.lstrip("r").startswith('"""'), "a module says what it is"
    assert not re.search(r"TODO|FIXME|XXX|NotImplementedError", text)


def public_functions(path: Path) -> Iterator[ast.FunctionDef]:
    """The functions of a module and the methods of its public classes, those that only a type checker sees left out."""
    module = ast.parse(path.read_text())
    owners = [module, *(part for part in module.body if isinstance(part, ast.ClassDef) and not part.name.startswith("_"))]
    for part in (part for owner in owners for part in owner.body):
        if isinstance(part, ast.FunctionDef) and not part.name.startswith("_"):
            if not any(isinstance(mark, ast.Name) and mark.id == "overload" for mark in part.decorator_list):
                yield part


def parameters(function: ast.FunctionDef) -> list[ast.arg]:
    given = function.args
    every = [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]
    return [one for one in every if one is not None and one.arg not in ("self", "cls")]


def is_command(function: ast.FunctionDef) -> bool:
    return any(re.match(r"(app|demo)\.(command|callback)\(", ast.unparse(mark)) for mark in function.decorator_list)


def test_public_functions_tell_their_arguments() -> None:
    """Those with three or more parameters have Args.

    Commands are left out here, as their docstring is the text of ``--help``; their options tell it, see below. Compiled code is
    read beside its formulas and not counted.
    """
    untold: list[str] = []
    for path in SOURCES:
        for function in () if "kernels" in path.relative_to(PACKAGE).parts else public_functions(path):
            if (
                len(parameters(function)) > 2
                and not is_command(function)
                and "Args:" not in (ast.get_docstring(function) or "")
            ):
                untold.append(f"{path.name}: {function.name}")
    assert not untold


def test_every_option_of_a_command_says_what_it_is() -> None:
    from typer.main import get_command

    from noregret.cli import app

    commands: list[Any] = [get_command(app)]
    for command in commands:
        commands += getattr(command, "commands", {}).values()
        silent = [option.name for option in command.params if not option.help and option.name != "help"]
        assert command.help and not silent, (command.name, silent)
    assert len(commands) > 12


def test_importing_costs_nothing() -> None:
    code = (
        "import sys, noregret; noregret.problems;"
        "heavy = {'numba', 'matplotlib', 'plotly', 'gymnasium', 'scipy.optimize', 'pandas'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_are_there() -> None:
    import noregret

    for name in noregret.__all__:
        assert getattr(noregret, name) is not None
    assert set(dir(noregret)) == {*noregret.__all__, "__version__"}
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        noregret.nothing  # noqa: B018
