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
        ("1 / (action - 2)", "ZeroDivisionError"), ("obs", "obs is array([ 1., -2.]); expected one finite number"),
        ("log(0)", "cannot be computed: ValueError"), ("9.0 ** 9.0 ** 9.0", "OverflowError"), ("info", "info is {'fuel': 4"),
        ("9 ** 9 ** 9", "OverflowError"), ("obs > 0", "obs is array"), ("info['wheels']", "is {'left': [1, 2]}; expected one"),
        ("1e308 * 10", "is inf; expected one finite number"), ("abs((-8) ** 0.5)", "(-8) ** 0.5 is ("),
    ],
)  # fmt: skip
def test_what_cannot_be_computed_names_the_step(text, said):
    with pytest.raises(InputError) as caught:
        Expression(text)(**HERE)
    assert said in str(caught.value) and "step 7" in str(caught.value) and "\n" not in str(caught.value)


def test_several_at_once():
    assert together(["action", "step"])(**HERE) == [2.0, 7.0] and together(["step"])(**HERE) == 7.0


@pytest.mark.parametrize(
    ("text", "here", "number"),
    [
        ("abs(obs[0] - obs[1])", {"obs": np.array([1, 2], np.uint8)}, 1.0),
        ("obs[0] - obs[1]", {"obs": np.array([0, 255], np.uint8)}, -255.0),
        ("abs(obs)", {"obs": np.int8(-128)}, 128.0), ("-obs", {"obs": np.uint8(1)}, -1.0),
        ("obs[0] + obs[0]", {"obs": np.array([200], np.uint8)}, 400.0), ("obs * obs", {"obs": np.int64(2**40)}, 2.0**80),
        ("info['a'] + info['b']", {"info": {"a": np.True_, "b": np.True_}}, 2.0),
        ("info['a'] - info['b']", {"info": {"a": np.False_, "b": np.True_}}, -1.0),
        ("action + 1", {"action": np.array([7], np.int8)}, 8.0), ("action * 2", {"action": np.array(100, np.int8)}, 200.0),
        ("obs[0] * 0.1", {"obs": np.array([3], np.float16)}, 3 * 0.1),
        ("min(obs, 5)", {"obs": np.inf}, 5.0), ("reward // 3", {"reward": np.int16(-32768)}, -10923.0),
    ],
)  # fmt: skip
def test_numbers_of_an_environment_become_python_numbers_before_anything_is_computed(text, here, number):
    assert Expression(text)(**(HERE | here)) == number


@pytest.mark.parametrize(
    "text",
    [
        "max(1, obs)",
        "max(obs, 1)",
        "min(obs, 1)",
        "obs > 1",
        "not obs",
        "1 if obs else 0",
        "obs and 1",
        "obs == 3 or 1",
        "abs(obs)",
    ],
)
@pytest.mark.parametrize("nan", [np.nan, float("nan"), np.float32("nan"), np.array([np.nan])])
def test_what_is_no_number_is_never_passed_over(text, nan):
    with pytest.raises(InputError, match=r"step 7: expression .* obs is nan; expected one finite number"):
        Expression(text)(**(HERE | {"obs": nan}))
    with pytest.raises(InputError, match="is nan"):
        Expression(text.replace("obs", "(obs - obs)"))(**(HERE | {"obs": np.inf}))
