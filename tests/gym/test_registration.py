"""Environments of a fresh process, as a user has them: ``import noregret`` registers all problems, and stays light."""

from __future__ import annotations

import subprocess
import sys

import gymnasium
import pytest

from noregret import problems
from noregret.gym import env_id, register_envs

MAKE = "print(gymnasium.make('noregret/Queue-v0').reset(seed=0)[0])"


def fresh(code: str) -> str:
    """What a fresh interpreter prints for the code."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    "code",
    [
        "import gymnasium, noregret",
        "import noregret, gymnasium",
        "import noregret, gymnasium; gymnasium.register_envs(noregret)",
        "import noregret; from gymnasium.envs.registration import registry; import gymnasium",
        "import noregret as nr; nr.problems.names(); import gymnasium",
        "import noregret, importlib.util; importlib.util.find_spec('gymnasium'); import gymnasium",
    ],
)
def test_a_user_makes_an_environment(code: str) -> None:
    assert fresh(f"{code}; {MAKE}") == "0"


def test_all_problems_are_registered_in_any_order() -> None:
    listed = "print(*sorted(id for id in gymnasium.registry if id.startswith('noregret/')))"
    expected = " ".join(sorted(map(env_id, problems.names())))
    assert fresh(f"import gymnasium, noregret; {listed}") == fresh(f"import noregret, gymnasium; {listed}") == expected


def test_importing_noregret_loads_neither_gymnasium_nor_numpy_nor_numba() -> None:
    code = (
        "import sys, noregret, noregret.gym; print([m for m in ('gymnasium', 'numpy', 'numba', 'scipy') if m in sys.modules])"
    )
    assert fresh(code) == "[]"


def test_the_finder_is_gone_after_its_work_and_finds_nothing_else() -> None:
    left = "[f for f in sys.meta_path if type(f).__module__.startswith('noregret')]"
    assert fresh(f"import sys, noregret, importlib; importlib.reload(noregret); print(len({left}))") == "1"
    assert fresh(f"import sys, noregret, json, gymnasium; print(len({left}))") == "0"


def test_without_gymnasium_the_import_error_is_pythons_own() -> None:
    hide = "import sys; sys.modules['gymnasium'] = None; import noregret.problems"
    assert fresh(f"{hide}; print(len(noregret.problems.names()) > 5)") == "True"


def test_a_problem_registered_later_is_added() -> None:
    problems.register("mine-own", lambda S=4: problems.load(f"random:S={S}"))
    try:
        register_envs()
        assert gymnasium.make("noregret/MineOwn-v0").observation_space.n == 4
    finally:
        from noregret.problems import registry

        del registry._FACTORIES["mine-own"]
        del gymnasium.registry["noregret/MineOwn-v0"]
