"""The pages about new learners, problems and feature maps: a test makes a package of each, installs it, and uses it."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def install(page: str, folder: Path) -> Path:
    """The files of a page, and what an installer writes beside them."""
    text = (ROOT / "docs" / page).read_text()
    for name, code in re.findall(r"```\w+\n# (\S+)\n(.*?)```", text, flags=re.DOTALL):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
    if (folder / "pyproject.toml").exists():
        project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        announce(folder, project["name"], project["entry-points"])
    return folder


def announce(folder: Path, name: str, groups: dict[str, dict[str, str]]) -> None:
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [line for group, names in groups.items() for line in (f"[{group}]", *(f"{k} = {v}" for k, v in names.items()))]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


def python(*arguments: str, site: Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Python in another folder, where the packages in ``site`` are installed."""
    ours = [str(Path(path).absolute()) for path in sys.path if path]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(site), *ours])}
    elsewhere = cwd or site / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, *arguments], cwd=elsewhere, env=environment, capture_output=True, text=True, check=False, timeout=900
    )


def shape(code: str) -> list[str]:
    """What a file of a learner has, in its order: a state, plan, update, the learner, and the bodies of its state."""
    parts = []
    for node in ast.parse(code).body:
        if isinstance(node, ast.ClassDef):
            marks = [ast.unparse(mark) for mark in node.decorator_list]
            own = sorted(ast.unparse(part.targets[0]) for part in node.body if isinstance(part, ast.Assign))
            methods = [part.name for part in node.body if isinstance(part, ast.FunctionDef)]
            parts.append(f"{marks} class {[name for name in own if name in ('name', 'summary', 'table')]} {methods}")
        elif isinstance(node, ast.FunctionDef) and node.name in ("plan", "update"):
            parts.append(f"{node.name}{[argument.arg for argument in node.args.args]}")
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            parts.append(re.sub(r"\w+State", "State", ast.unparse(node)))
    return parts


def test_our_learners_have_the_shape_of_the_page() -> None:
    text = (ROOT / "docs" / "new-learner.md").read_text()
    learners = [code for code in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL) if "(Learner)" in code]
    ours = (ROOT / "src" / "noregret" / "learners" / "lsvi" / "lsvi_ucb.py").read_text()
    assert len(learners) == 3 and [shape(code) for code in learners] == [shape(ours)] * 3


def test_a_new_learner(tmp_path: Path) -> None:
    install("new-learner.md", tmp_path)
    code = (
        (tmp_path / "test_my_learners.py").read_text() + "import noregret as nr\n"
        "p = nr.problems.load('random:seed=1')\n"
        "one, two = (nr.run(p, 'sampling', episodes=400, trials=2, block_size=n) for n in (7, 400))\n"
        "r, u = nr.run(p, 'myopic', episodes=400, trials=2, bonus=0.5), nr.run(p, 'uniform', episodes=400, trials=1)\n"
        "print(r.constants, (r.regret[:, -1] < u.regret[0, -1]).all(), (one.regret == two.regret).all())\n"
        "print((one.regret[:, -1] < u.regret[0, -1]).all(), one.regret[0, -1] != one.regret[1, -1])\n"
        "v = nr.run(p, 'priced', episodes=400, trials=2)\n"
        "print(v.violation[:, -1].max() < r.violation[:, -1].min(), v.dual.max() > 0)\n"
    )
    done = python("-c", code, site=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:3] == ["{'bonus': 0.5} True True", "True True", "True True"]


def test_a_new_learner_on_the_command_line(tmp_path: Path) -> None:
    install("new-learner.md", tmp_path)
    command = ["compare", "--problems", "random:S=3,A=2,H=2", "--learners", "myopic:bonus=0.5,uniform", "-k", "50", "-t", "1"]
    done = python("-m", "noregret", *command, site=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "myopic:bonus=0.5" in done.stdout
    done = python("-m", "noregret", "list", "learners", site=tmp_path)
    assert re.search(r"myopic the best reward .*bonus", " ".join(done.stdout.split())), done.stdout


def test_a_new_problem(tmp_path: Path) -> None:
    install("new-problem.md", tmp_path)
    done = python("-c", (tmp_path / "test_my_problems.py").read_text(), site=tmp_path)
    assert done.returncode == 0, done.stderr
    done = python("-m", "noregret", "list", "problems", site=tmp_path)
    assert "Run a machine that wears out" in " ".join(done.stdout.split())


def test_a_new_feature_map(tmp_path: Path) -> None:
    install("new-feature-map.md", tmp_path)
    done = python("-c", (tmp_path / "try_my_features.py").read_text(), site=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[1:3] == ["True", "(2, 2, 6)"]


def test_a_broken_package_is_named_and_does_not_stop_others(tmp_path: Path) -> None:
    install("new-problem.md", tmp_path)
    (tmp_path / "torn.py").write_text("raise RuntimeError('half a file')\n")
    groups = {
        "noregret.problems": {"torn": "torn", "random": "my_problems:machine"},
        "noregret.learners": {"odd": "json:dumps"},
    }
    announce(tmp_path, "torn", groups)
    code = "import noregret as nr; print('machine' in nr.problems.names(), len(nr.learners.names()), len(nr.problems.names()))"
    done = python("-c", code, site=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("True")
    warned = [line for line in done.stderr.splitlines() if "UserWarning" in line]
    assert len(warned) == 2
    assert "'torn' of the package 'torn' is left out: RuntimeError: half a file" in warned[0]
    assert "'odd' of the package 'torn' is left out" in warned[1]
    assert "is not a learner" in warned[1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("torn.py", "module 'torn.py' cannot be imported: RuntimeError: half a file"),
        ("leaves.py", "module 'leaves.py' cannot be imported: SystemExit: 3"),
        ("beside", "module 'beside' cannot be imported: ModuleNotFoundError: No module named 'beside'"),
        ("nowhere.py", "module 'nowhere.py' cannot be imported: there is no such file"),
        ("", "module '' cannot be imported; expected a dotted name or the path of a .py file"),
        (".x", "module '.x' cannot be imported; expected a dotted name or the path of a .py file"),
        ("json.py", "module 'json.py' cannot be imported: 'json' is the name of another module; rename the file"),
    ],
)
def test_a_module_that_cannot_be_imported_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    for name, code in (("torn", "raise RuntimeError('half a file')"), ("leaves", "exit(3)"), ("beside", ""), ("json", "")):
        (tmp_path / f"{name}.py").write_text(code)
    done = python("-m", "noregret", "list", "--import", text, site=tmp_path / "none", cwd=tmp_path)
    assert (done.returncode, done.stderr.strip()) == (1, f"error: {said}")


def test_a_file_is_imported_by_any_command_wherever_the_option_stands(tmp_path: Path) -> None:
    install("new-problem.md", tmp_path / "there")
    file = str(tmp_path / "there" / "my_problems.py")
    for line in (["--import", file, "list", "problems"], ["list", "problems", f"--import={file}"]):
        done = python("-m", "noregret", *line, site=tmp_path / "none", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "Run a machine that wears out" in " ".join(done.stdout.split())
    done = python("-m", "noregret", "list", "problems", site=tmp_path / "none", cwd=tmp_path / "there")
    assert "wears out" not in done.stdout
