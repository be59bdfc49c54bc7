"""Costs as text: what they compute, and that nothing else is ever run."""

from __future__ import annotations

import numpy as np
import pytest

from noregret.errors import InputError
from noregret.gym.expressions import Expression, together

HERE = {
    "obs": np.array([1.0, -2.0]), "action": 2, "next_obs": np.array([0.5, 3.0]), "reward": -1.0,
    "info": {"fuel": 4, "wheels": {"left": [1, 2]}}, "step": 7,
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("action != 1", 1.0), ("action == 1", 0.0), ("abs(obs[1])", 2.0), ("obs[-1]", -2.0), ("next_obs[0] ** 2 + 1", 1.25),
        ("reward * -3 / 2", 1.5), ("min(obs[0], 0.25) + max(1, 2, 3)", 3.25), ("1 < action <= 2", 1.0), ("1 < action < 2", 0.0),
        ("not action", 0.0), ("action == 0 or obs[0] > 0 and step >= 7", 1.0), ("info['fuel'] // 3 + 7 % 4", 4.0),
        ('info["wheels"]["left"][1]', 2.0), ("1 if action > 1 else 0", 1.0), ("-(+step)", -7.0), ("2 ** -1", 0.5),
        ("sqrt(4) + exp(0) + log(1) + sin(0) + cos(0)", 4.0), ("True", 1.0), (" (action\n != 1) ", 1.0),
    ],
)  # fmt: skip
def test_numbers(text, number):
    assert Expression(text)(**HERE) == number


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("acton != 1", "unknown name 'acton'; expected action, obs, next_obs, reward, step, info"),
        ("__import__('os')", "unknown function '__import__'"), ("open('x')", "unknown function 'open'"),
        ("obs.shape", "'obs.shape', which is not allowed"), ("obs[0].real", "not allowed"), ("(lambda: 1)()", "not allowed"),
        ("[1 for x in obs][0]", "brackets follow"), ("obs[action]", "expected a number or a text"),
        ("obs[0:1]", "expected a number"),
        ("obs[True]", "expected a number or a text"), ("'text'", "not allowed"), ("action = 1", "cannot be read"),
        ("", "cannot be read"), ("action !=", "cannot be read"), ("f'{action}'", "not allowed"),
        ("abs(obs, key=1)", "not allowed"),
        ("abs(*obs)", "not allowed"), ("reward[0]", "brackets follow 'reward'"), ("action in obs", "not allowed"),
        ("1j", "not allowed"), ("(x := 1)", "not allowed"), ("action << 3", "not allowed"), ("1 +" * 400 + "1", "letters"),
        ("-" * 200 + "1", "deep"), ("\x00", "cannot be read"), ("print", "unknown name 'print'"),
    ],
)  # fmt: skip
def test_what_is_not_known_is_refused_before_anything_is_computed(text, said):
    with pytest.raises(InputError) as caught:
        Expression(text)
    assert said in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("obs[5]", "step 7: expression 'obs[5]' cannot be computed: IndexError"), ("info['oil']", "KeyError"),
        ("1 / (action - 2)", "ZeroDivisionError"), ("obs", "is [1.0, -2.0]; expected one finite number"),
        ("log(0)", "is -inf; expected one finite number"), ("9.0 ** 9.0 ** 9.0", "OverflowError"), ("info", "TypeError"),
        ("9 ** 9 ** 9", "OverflowError"), ("obs > 0", "cannot be computed"), ("info['wheels']", "TypeError"),
    ],
)  # fmt: skip
def test_what_cannot_be_computed_names_the_step(text, said):
    with pytest.raises(InputError) as caught:
        Expression(text)(**HERE)
    assert said in str(caught.value) and "step 7" in str(caught.value) and "\n" not in str(caught.value)


def test_several_at_once():
    assert together(["action", "step"])(**HERE) == [2.0, 7.0] and together(["step"])(**HERE) == 7.0
