"""The names of our environments; light, as Gymnasium calls it whenever it is imported."""

from __future__ import annotations


def env_id(problem: str) -> str:
    """The environment of a problem's name: "job-scheduling" is "noregret/JobScheduling-v0"."""
    return f"noregret/{''.join(word[:1].upper() + word[1:] for word in problem.split('-'))}-v0"


def register_envs() -> None:
    """Tell Gymnasium of every problem, once."""
    from gymnasium.envs.registration import register, registry

    from noregret.problems import names

    for name in [*names(), *names(continuous=True)]:
        if env_id(name) not in registry:
            register(id=env_id(name), entry_point="noregret.gym.problems:make_env", kwargs={"problem": name})
