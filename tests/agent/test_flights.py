"""Episodes in flight: what was decided and reported, in any order, again and again, and through a file."""

from __future__ import annotations

import json

import numpy as np
import pytest

from noregret.agent.flights import Flights
from noregret.errors import InputError

H, A, M = 3, 4, 2
X = [np.array([0.1 * h, -0.5]) for h in range(H + 1)]
MASK = np.array([True, False, True, True])


def made(steps=H, name="a", flights=None):
    flights = Flights(H, A, M) if flights is None else flights
    for h in range(steps):
        flights.decide(name, X[h], MASK if h == 1 else None, (h + 2) % A, {"chance": 0.5} if h == 0 else None)
    return flights


def told(flights, h, name="a", **more):
    flights.report(name, float(h), [h / 10, h / 20], step=h, **more)


def content(flights):
    return {key: value.tobytes() for key, value in flights.arrays().items()}


def test_an_episode_is_complete_when_its_end_is_known_and_every_step_reported():
    flights = made()
    told(flights, 2, end=(X[3], True))
    assert flights.complete("a") is None
    told(flights, 0)
    assert flights.complete("a") is None
    told(flights, 1, taken=0)
    played = flights.complete("a")
    assert played.rewards.tolist() == [0.0, 1.0, 2.0] and played.actions.tolist() == [2, 0, 0] and played.terminated
    assert (
        played.values.tolist() == [[0.0, 0.0], [0.1, 0.05], [0.2, 0.1]] and played.observations.tolist() == np.array(X).tolist()
    )
    assert played.masks.tolist() == [[True] * 4, MASK.tolist(), [True] * 4, [True] * 4]
    assert "a" in flights and flights.remove("a").number == 0 and len(flights) == 0 and flights.next == 1


def test_a_question_asked_again_has_the_same_answer_and_nothing_advances():
    flights = made(2)
    before = content(flights)
    for _ in range(3):
        assert flights.ask("a", 0, X[0], None).action == 2 and flights.ask("a", 1, X[1], MASK).action == 3
    assert flights.ask("a", 2, X[2], None) is None and flights.ask("a", None, X[2], None) is None
    assert flights.ask("new", 0, X[0], None) is None and flights.number("a") == 0 and flights.number("new") == 1
    assert content(flights) == before and list(flights) == ["a"]


def test_reports_in_any_order_and_again_count_once():
    flights = made(H)
    flights.report("a", [0.0, 1.0], [[0.0, 0.0], [0.1, 0.05]])
    told(flights, 1), told(flights, 0)  # again
    flights.report("a", 2.0, [0.2, 0.1])  # the first that was not reported
    assert flights.complete("a") is None
    flights.end("a", X[3], False), flights.end("a", X[3], False)
    assert flights.complete("a").rewards.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda f: f.ask("a", 3, X[0], None), "episode 'a': step is 3; expected 2, its next step"),
        (lambda f: f.ask("a", 0, X[1], None), "episode 'a': step 0 was decided at another observation or mask"),
        (lambda f: f.ask("a", 0, X[0], MASK), "episode 'a': step 0 was decided at another observation or mask"),
        (lambda f: f.ask("b", 7, X[0], None), "episode 'b': step is 7; expected 0, with which an episode begins"),
        (lambda f: f.ask("b", -1, X[0], None), "step is -1; expected a whole number"),
        (lambda f: f.ask(("b",), 0, X[0], None), "episode is ('b',); expected a text"),
        (lambda f: f.ask("x" * 201, 0, X[0], None), "expected a text of at most 200 characters"),
        (lambda f: f.ask("full", 3, X[0], None), "episode 'full' took its 3 steps; expected a report"),
        (lambda f: f.ask("over", 2, X[0], None), "episode 'over' ended after 2 steps; expected no further step"),
        (lambda f: f.report("b", 0.0, [0, 0]), "episode 'b' is not in flight"),
        (lambda f: f.report("a", 0.0, [0, 0], step=2), "steps 2 to 2 are reported and 2 were decided"),
        (lambda f: f.report("a", [0.0] * 3, [[0, 0]] * 3), "steps 1 to 3 are reported and 2 were decided"),
        (lambda f: f.report("a", 5.0, [0, 0], step=0), "step 0 was reported with reward 0, values [0. 0.] and action 2"),
        (lambda f: f.report("a", 0.0, [0, 0], step=0, taken=1), "step 0 was reported with reward 0"),
        (lambda f: f.report("a", np.nan, [0, 0]), "step 1: reward is nan; expected a finite number"),
        (lambda f: f.report("a", 0.0, [0, np.inf]), "step 1: values[1] is inf; expected a finite number"),
        (lambda f: f.report("a", 0.0, [0.0]), "expected 2 for each reward"),
        (lambda f: f.report("a", 0.0, [0, 0], taken=1), "step 1: taken is 1; expected an action that its mask allows"),
        (lambda f: f.report("a", 0.0, [0, 0], taken=4), "taken is 4; expected a whole number from 0 to 3"),
        (lambda f: f.report("a", 0.0, [0, 0], step=0, end=(X[1], True)), "ends after 1 steps, and 2 were decided"),
        (lambda f: f.end("over", X[2], False), "ended with another observation or in another way"),
        (lambda f: f.remove("b"), "episode 'b' is not in flight"),
    ],
)
def test_what_is_refused_is_one_line_and_changes_nothing(call, text):
    flights = made(2)
    told(flights, 0)
    made(3, "full", flights), made(2, "over", flights)
    flights.end("over", X[2], True)
    before = content(flights)
    with pytest.raises(InputError) as caught:
        call(flights)
    assert text in str(caught.value) and "\n" not in str(caught.value) and content(flights) == before


def test_the_error_about_an_unknown_episode_is_short_however_many_are_open():
    flights = Flights(H, A, M)
    for i in range(5000):
        flights.decide(f"episode-{i}-of-many", X[0], None, 0)
    with pytest.raises(InputError, match="5,000 are in flight, such as") as caught:
        flights.report("gone", 0.0, [0, 0])
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("observations", [X, [np.array(i) for i in range(H + 1)]], ids=["vectors", "numbers"])
def test_arrays_and_restore_keep_everything(observations):
    flights = Flights(H, A, M)
    for name, n in (("a", 3), (7, 1), (None, 2)):
        for h in range(n):
            flights.decide(name, observations[h], MASK if h else None, 2, {"plan": h})
    flights.report(None, 1.0, [2.0, 3.0], step=1, taken=3)
    flights.report("a", 1.0, [2.0, 3.0], step=2, end=(observations[3], True))
    flights.next = 9
    again = Flights(H, A, M)
    again.restore(flights.arrays(), (observations[0].shape, observations[0].dtype.kind))
    assert content(again) == content(flights) and list(again) == ["a", 7, None] and again.next == 9
    assert again.ask(7, 0, observations[0], None).note == {"plan": 0}
    for f in (flights, again):
        f.report("a", [0.5, 0.25], [[0, 0], [0, 0]])
    one, two = flights.complete("a"), again.complete("a")
    assert all(np.array_equal(x, y) for x, y in zip(one, two, strict=True))
    empty = Flights(H, A, M)
    empty.restore(Flights(H, A, M).arrays())
    assert len(empty) == 0


def text(**changes):
    said = {"next": 1, "names": ["a"], "numbers": [0], "lengths": [2], "ended": [None], "notes": {}} | changes
    return "text", np.frombuffer(json.dumps(said).encode(), np.uint8)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("actions", np.array([0, 9])),
        ("actions", np.array([0])),
        ("actions", np.array([0.0, 1.0])),
        ("taken", np.array([-2, 0])),
        ("told", np.array([True])),
        ("rewards", np.array([np.nan])),
        ("values", np.zeros((1, 3))),
        ("masks", np.zeros((1, 4), bool)),
        ("observations", np.zeros((2, 3))),
        ("observations", np.full((2, 2), np.inf)),
        ("observations", np.zeros((2, 2), np.int64)),
        ("text", np.frombuffer(b"{", np.uint8)),
        ("text", np.frombuffer(b"[]", np.uint8)),
        text(numbers=[1]),
        text(names=[["a"]]),
        text(lengths=[9]),
        text(names=["a", "a"]),
        text(next=-1),
    ],
)
def test_forged_arrays_are_refused_and_nothing_is_kept(name, wrong):
    flights = made(2)
    told(flights, 0)
    other = made(1, "b")
    before = content(other)
    with pytest.raises(InputError) as caught:
        other.restore(flights.arrays() | {name: wrong}, ((2,), "f"))
    assert "\n" not in str(caught.value) and content(other) == before
