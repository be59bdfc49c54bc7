"""Looking at an agent: curves, maps, films, summaries; and agents that learn in real environments with nothing given."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import noregret as nr
from noregret.gym.expressions import Expression
from noregret.results import drawing

EFFORT = Expression("action != 1")


@pytest.fixture(scope="module")
def car():
    agent = nr.Agent("MountainCar-v0", limit=90, utility=EFFORT, horizon=60, constraint_names=["pushes"], seed=1)
    return agent.learn(6, progress_bar=False)


def test_the_plot_has_every_episode_rolling_means_the_limit_and_the_dual(car):
    pytest.importorskip("matplotlib")
    from matplotlib import pyplot

    agent = nr.Agent("MountainCar-v0", limit=9, utility=EFFORT, horizon=12, seed=1).learn(40, progress_bar=False)
    axes = agent.plot()
    assert axes.shape == (1, 3)
    dots, line = axes[0, 0].lines
    np.testing.assert_array_equal(dots.get_ydata(), agent.rewards)
    np.testing.assert_allclose(line.get_ydata()[-1], np.mean(agent.rewards[-4:]))
    assert any(list(line.get_ydata()) == [9.0, 9.0] for line in axes[0, 1].lines)
    np.testing.assert_array_equal(axes[0, 2].lines[0].get_ydata(), np.array(agent.curve.dual)[:, 0])
    pyplot.close("all")


def test_the_policy_map_shows_the_likeliest_action_where_the_agent_was(car, tmp_path):
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    car.policy_map(step=3, ax=ax)
    image = ax.images[0]
    left, right, low, high = image.get_extent()
    np.testing.assert_allclose([[left, low], [right, high]], car.curve.seen)
    picture = np.asarray(image.get_array())
    assert picture.shape == (60, 60, 3)
    colours = np.array([[part / 255 for part in bytes.fromhex(drawing.COLOURS[i][1:])] for i in range(3)])
    for i, x in ((0, left), (59, right)):  # white mixed with the colour of the likeliest action, the more the likelier
        chances = car.probabilities(np.array([x, low]), 3)
        share = 0.15 + 0.85 * (chances.max() - 1 / 3) / (2 / 3)
        np.testing.assert_allclose(picture[0, i], 1 - share * (1 - colours[chances.argmax()]))
    car.save(tmp_path / "a.npz")
    np.testing.assert_array_equal(nr.Agent.load(tmp_path / "a.npz").curve.seen, car.curve.seen)
    other = nr.Agent("CartPole-v1", limit=9, utility=EFFORT, horizon=12).learn(1, progress_bar=False)
    with pytest.raises(nr.NoRegretError, match="two-dimensional observations that were learned from; this one has 4"):
        other.policy_map()


def test_a_film_is_the_environments_own_pictures_with_what_was_earned(car, tmp_path):
    image = pytest.importorskip("PIL.Image")
    pytest.importorskip("pygame")
    path = car.record(tmp_path / "car.gif", width=300)
    with image.open(path) as film:
        assert film.format == "GIF" and film.n_frames == 61 and film.size[0] == 300
        first = np.asarray(film.convert("L"))
        film.seek(60)
        last = np.asarray(film.convert("L"))
    line = slice(0, 20)
    assert (first[line] < 128).sum() > 50 and not np.array_equal(first[line], last[line])  # text, and another one at the end
    assert not np.array_equal(first[20:], last[20:])
    assert car.world.env.render_mode is None and car.episodes == 6  # the environment of the agent is not touched
    own = gymnasium.make("MountainCar-v0", render_mode="rgb_array")
    loaded = nr.Agent("MountainCar-v0", limit=90, utility=EFFORT, horizon=5)
    loaded.world.env = own
    loaded.record(tmp_path / "own.gif")
    own.close()


class Blind(gymnasium.Env):
    observation_space, action_space = spaces.Box(0, 1, (2,), dtype=np.float64), spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return np.zeros(2), {}

    def step(self, action):
        return np.zeros(2), 0.0, False, False, {"cost": 0.0}


def test_what_cannot_be_filmed_is_one_line(car, tmp_path):
    blind = nr.Agent(Blind(), limit=1, horizon=3)
    cases = [
        (lambda: blind.record(tmp_path / "a.gif"), "the environment has render_mode None and no id to make it again"),
        (lambda: nr.Agent("noregret/Queue-v0").record(tmp_path / "a.gif"), "rgb_array"),
        (lambda: car.record(tmp_path / "a.mp4"), "expected a name that ends with .gif"),
        (lambda: car.record(tmp_path / "a.gif", fps=0), "fps is 0"),
        (lambda: car.record(tmp_path / "no" / "a.gif"), "cannot be written"),
    ]
    for make, text in cases:
        with pytest.raises(nr.NoRegretError) as caught:
            make()
        assert text in str(caught.value) and "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_the_summary_names_every_choice(car):
    said, pushes = car.summary(), float(np.mean(car.history.values[:, 0]))
    for words in (
        f"met: pushes {pushes:.4g} [", "], at most 90, over the last 6 episodes", "no guarantee", "soft-cells, H=60 A=3 d=2",
        "range of reward: [-1, 0], found from data", "scaling:", "features:",
        "states:", "absorbing", "price", "GB", "last 6 episodes: reward -60",
    ):  # fmt: skip
        assert words in said, words


# --- real environments, with nothing but a cost and a limit --------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "cost", "options"),
    [
        ("CartPole-v1", "abs(next_obs[0]) > 0.5", {"horizon": 40}),
        ("Acrobot-v1", "action != 1", {"horizon": 40}),
        ("Pendulum-v1", "abs(action[0]) / 2", {"actions": 3, "horizon": 40}),
        ("MountainCarContinuous-v0", "abs(action[0])", {"actions": [-1, 0, 1], "horizon": 40}),
        ("FrozenLake-v1", "next_obs == 5 or next_obs == 7", {}),
        ("CliffWalking-v1", "reward == -100", {"horizon": 40}),
        ("Blackjack-v1", "action == 1", {"horizon": 10}),
    ],
)
def test_gymnasiums_own_environments_need_nothing_else(name, cost, options, tmp_path):
    def made():
        return nr.Agent(name, limit=9.0, utility=Expression(cost), seed=2, **options)

    whole, parts = made().learn(8, progress_bar=False), made().learn(5, progress_bar=False)
    parts.save(tmp_path / "a.npz")
    again = nr.Agent.load(tmp_path / "a.npz", env=name, utility=Expression(cost)).learn(3, progress_bar=False)
    assert (
        whole.rewards == again.rewards and np.array_equal(whole.curve.dual, again.curve.dual) and whole.lengths == again.lengths
    )
    for key, value in whole.learner.arrays().items():
        np.testing.assert_array_equal(value, again.learner.arrays()[key], err_msg=key)
    env = gymnasium.make(name)
    assert env.action_space.contains(whole.predict(env.reset(seed=0)[0], 0)) and whole.evaluate(2).episodes == 2


def test_a_taxi_takes_no_masked_action_and_learns_quickly():
    env = gymnasium.make("Taxi-v4", max_episode_steps=50)
    taken = []
    step, masks = env.unwrapped.step, env.unwrapped.action_mask

    def watched(action):
        taken.append(bool(masks(env.unwrapped.s)[action]))
        return step(action)

    env.unwrapped.step = watched
    agent = nr.Agent(env, limit=1, utility=Expression("reward == -10")).learn(30, progress_bar=False)
    assert agent.learner.spec.n_states == 500 and len(taken) == sum(agent.lengths) and all(taken)
    assert agent.learner.memory_bound() < 200e6
