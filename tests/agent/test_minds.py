"""What every mind promises: its name, and episodes of somebody else that teach the world and charge no constraint."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces

import noregret as nr
from tests.agent.toys import BOX, Toy, agent


def minds():
    numbered = Toy(spaces.Discrete(4), spaces.Discrete(3))
    given = {"learner": "primal-dual-lsvi", "reward_range": (-9, 9), "utility_range": (0, 1)}
    yield agent(Toy(BOX, spaces.Discrete(3)), limit=1.0)
    yield agent(numbered, limit=1.0)
    yield agent(numbered, limit=1.0, **given)
    yield agent(numbered, limit=1.0, share="nothing", **given)


@pytest.mark.parametrize("which", range(4), ids=["vectors", "numbers", "shared regression", "regressions"])
def test_an_episode_that_does_not_count_is_learned_and_leaves_prices_as_they_are(which):
    a = list(minds())[which].learn(7, progress_bar=False)  # after six a constant action is tried
    mind, log = a.learner, list(minds())[which]
    told = []
    take = log.learner.learn
    log.learner.learn = lambda played, counts: (told.append(played), take(played, counts))
    log.learn(5, progress_bar=False)

    def prices(arrays):
        names = ("dual/", "Y", "gain", "lack", "memory", "tally", "best/")
        return {k: v for k, v in arrays.items() if k.startswith(names) and not k.startswith(("best/model", "memory/"))}

    before = mind.arrays()
    for played in told:
        mind.learn(a.ranges.fit(played), counts=False)
    after = mind.arrays()
    assert prices(before) and prices(before).keys() == prices(after).keys()
    for key, value in prices(before).items():
        np.testing.assert_array_equal(value, after[key], err_msg=key)
    assert after["counters"][0] == before["counters"][0] + 5  # learned all the same
    mind.learn(a.ranges.fit(told[0]))
    assert any(not np.array_equal(value, prices(mind.arrays())[key]) for key, value in prices(before).items())
    mind.ready()
    assert np.isfinite(mind.chances(0, told[0].observations[0])).all()


def test_a_mind_says_who_it_is():
    found, _, given, _ = minds()
    assert (
        found.learner.name == "soft-cells"
        and "no guarantee" in found.learner.about
        and "primal-dual-lsvi" in found.learner.about
    )
    assert given.learner.name == "primal-dual-lsvi" and "Algorithm 1" in given.learner.about and "\n" not in given.learner.about
    assert np.isnan(given.learner.estimate).all() and found.learn(8, progress_bar=False).learner.estimate.shape == (1,)
    with pytest.raises(nr.NoRegretError, match="adequacy is for features that were given"):
        found.learner.adequacy([])
