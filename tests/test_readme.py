"""What the README shows: its example runs, its commands exist, its links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_the_example_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    small = code.replace("episodes=20_000", "episodes=300")
    assert small != code
    done = subprocess.run([sys.executable, "-c", small], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "best value 9.0588, price 0.2353, Slater gap 0.4998" in done.stdout
    assert "after 300 episodes" in done.stdout


def test_the_commands_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^    make (\w+)", README, flags=re.MULTILINE):
        assert f"\n{target}:" in makefile
    assert "make test" in (ROOT / ".ci" / "run").read_text()
    from noregret.cli import app

    names = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    names |= {group.name for group in app.registered_groups}
    (listed,) = re.findall(r"`noregret (paper [^`]*)`", README)
    assert set(listed.split(" | ")) == names


def test_links_within_the_repository_lead_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_badges_say_what_is_true() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    facts = {
        "python": f"python: {project['project']['requires-python'].removeprefix('>=')} or later",
        "licence": f"license: {project['project']['license']}",
        "typed": "typed: mypy --strict" if project["tool"]["mypy"]["strict"] else "",
    }
    shown = re.findall(r"\(docs/assets/badge-(\w+)\.svg\)", README)
    assert sorted(shown) == sorted(facts)
    for name in shown:
        picture = (ROOT / "docs" / "assets" / f"badge-{name}.svg").read_text()
        assert f"<title>{facts[name]}</title>" in picture
    assert (ROOT / "src" / "noregret" / "py.typed").exists()


def test_constraints_pin_versions_and_name_no_index() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line) for line in lines)
    assert {"numpy", "scipy", "numba", "pytest"} <= {line.split("==")[0] for line in lines}
