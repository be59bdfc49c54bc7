"""The wheel alone: built, installed beside the core dependencies and nothing else, it runs what the README shows.

The environment is new. Links to the core dependencies are put into it, found from what the metadata asks for; so no extra is
there by accident, and nothing is downloaded.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXTRAS = ("matplotlib", "plotly", "jinja2", "PIL", "sklearn", "ray", "distributed", "optuna", "polars", "tensorboard", "mkdocs")

#: Shows the help of every command, in one process.
HELP = """
import contextlib, io, typer
from noregret.cli import app

def walk(command, path):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        top.main([*path[1:], "--help"], prog_name=path[0])
    assert "Usage: " + " ".join(path) in said.getvalue(), (path, said.getvalue())
    print(" ".join(path))
    for name, inner in getattr(command, "commands", {}).items():
        walk(inner, [*path, name])

top = typer.main.get_command(app)
walk(top, ["noregret"])
"""


def needed(name: str, found: dict[str, Distribution]) -> dict[str, Distribution]:
    """A distribution and all that it asks for without extras, by name."""
    from packaging.requirements import Requirement

    one = distribution(name)
    key = one.metadata["Name"].lower()
    if key in found:
        return found
    found[key] = one
    for text in one.requires or ():
        asked = Requirement(text)
        if asked.marker is None or asked.marker.evaluate({"extra": ""}):
            needed(asked.name, found)
    return found


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel and the core dependencies."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("noregret-*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    python = folder / "venv" / "bin" / "python"
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        str(wheel),
    ]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (home,) = (folder / "venv" / "lib").glob("python*/site-packages")
    own = needed("noregret", {})
    del own["noregret"]
    for each in own.values():
        for top in {file.parts[0] for file in each.files or () if file.parts[0] not in ("..", "__pycache__")}:
            if not (home / top).exists():
                (home / top).symlink_to(Path(str(each.locate_file(top))).resolve())
    return python


def run(python: Path, *arguments: str, check: bool = True) -> str:
    """What a command says in the new environment, away from the sources, without compiling."""
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    options = {"NUMBA_DISABLE_JIT": "1", "COLUMNS": "120", "NOREGRET_CACHE_DIR": str(python.parent / "cache")}
    done = subprocess.run(
        [str(python), *arguments], env=clean | options, cwd=python.parent, capture_output=True, text=True, check=False
    )
    assert (done.returncode == 0) == check, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_environment_has_no_extra(python: Path) -> None:
    code = f"import importlib.util as u, noregret; print([n for n in {EXTRAS!r} if u.find_spec(n)], noregret.__file__)"
    said = run(python, "-c", code)
    assert said.startswith("[] ") and str(python.parents[1]) in said


def test_the_example_of_the_readme_runs(python: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    small = re.sub(r"episodes=[\d_]+, trials=\d+", "episodes=30, trials=2, record_every=10", code)
    assert small != code
    said = run(python, "-c", small)
    assert "best value 9.0588" in said and "after 30 episodes" in said


def test_every_command_says_what_it_does(python: Path) -> None:
    from noregret.cli import app

    names = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    said = run(python, "-c", HELP).splitlines()
    assert {f"noregret {name}" for name in names} <= set(said) and "noregret demo" in said


@pytest.fixture(scope="module")
def small_run(python: Path) -> str:
    script = str(python.parent / "noregret")
    return run(python, script, "run", "streaming", "--learner", "uniform", "--episodes", "40", "--trials", "2", "--out", "kept")


def test_a_small_run_and_the_list(python: Path, small_run: str) -> None:
    assert "regret" in small_run and (python.parent / "kept").is_dir()
    assert "job-scheduling" in run(python, str(python.parent / "noregret"), "list", "problems")


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["report", "kept"], "report"),
        (["learn", "MountainCar-v0", "--limit", "90", "--cost", "action != 1"], "report"),
        (["tune", "streaming", "--param", "beta=0.1:1", "--violation-limit", "9"], "tune"),
        (["run", "streaming", "--episodes", "10", "--backend", "ray"], "ray"),
        (["run", "streaming", "--episodes", "10", "--backend", "dask"], "dask"),
    ],
)
def test_a_missing_extra_is_one_friendly_line(python: Path, small_run: str, arguments: list[str], extra: str) -> None:
    said = run(python, str(python.parent / "noregret"), *arguments, check=False)
    assert f"pip install 'noregret[{extra}]'" in said
    assert "Traceback" not in said and len(said.strip().splitlines()) == 1, said


def test_the_version_is_the_same_everywhere() -> None:
    import tomllib

    import noregret

    written = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited is not None and cited[1].strip("\"'") == written == noregret.__version__
