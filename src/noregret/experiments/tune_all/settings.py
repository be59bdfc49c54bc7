"""The one tuning protocol as data: what a configuration is judged on, how many are tried, and where winners are tried again.

Problems are small, and most are drawn from a seed. The last rung has the world that Table 1 is measured on too, at a tenth of
its length and with other seeds, and a smaller relative of it: Table 1 is not measured on a new world. A rung adds problems, and
the best of a rung go on to the next: what is hopeless is stopped early. The configuration that a preset begins with always goes
on, so that the winner and the beginning are compared on the same runs. The held-out problems have other seeds, shapes and
lengths; they choose nothing.
"""

from __future__ import annotations

from typing import NamedTuple


class Test(NamedTuple):
    """Some runs that judge a configuration: a problem, its episodes, and seeds."""

    problem: str
    episodes: int
    seeds: tuple[int, ...]


#: Configurations that each form of each learner may try.
BUDGET = 100

#: This share of the budget is drawn over the whole space; the rest is drawn near the best of them.
EXPLORE = 0.6

#: How many of the best are looked near to, how often a name moves, and how far, as a share of its range.
NEAR, MOVES, STEP = 6, 0.5, 0.12

#: The share of the configurations that each rung sees.
SHARES = (1.0, 0.24, 0.08)

#: The problems that each rung adds to those before it. The last one has several seeds, to see what fails now and then.
RUNGS: tuple[tuple[Test, ...], ...] = (
    (
        Test("random:seed=101,S=5,A=3,H=4", 2000, (0,)),
        Test("streaming:seed=101,H=5,buffer=5", 5000, (0,)),
        Test("random:seed=102,S=8,A=2,H=7,successors=2", 10_000, (0,)),
    ),
    (
        Test("media-control:H=6,buffer=5,limit=3.0", 3000, (0, 1)),
        Test("random:seed=103,S=6,A=2,H=5,noise=bernoulli", 3000, (0, 1)),
        Test("streaming:seed=102,H=7,buffer=4,fraction=0.7", 3000, (0, 1)),
        Test("random:seed=104,S=7,A=2,H=8,successors=3,fraction=0.7", 20_000, (0,)),
    ),
    (
        Test("random:seed=101,S=5,A=3,H=4", 10_000, (1, 2)),
        Test("media-control:H=6,buffer=5,limit=3.0", 10_000, (2, 3)),
        Test("inventory:H=5,capacity=3,limit=2.5", 5000, (0, 1)),
        Test("job-scheduling:jobs=6,H=7,b=2.2,first_expensive=2,last_expensive=4", 20_000, (0, 1, 2, 3, 4)),
        Test("job-scheduling", 20_000, (11, 12, 13, 14, 15)),
    ),
)

#: Where winners are scored once.
HELD_OUT: tuple[Test, ...] = (
    Test("random:seed=301,S=9,A=2,H=6,successors=3", 5000, (0, 1, 2)),
    Test("random:seed=302,S=4,A=4,H=9,noise=bernoulli", 5000, (0, 1, 2)),
    Test("streaming:seed=303,H=8,buffer=7", 5000, (0, 1, 2)),
    Test("media-control:H=8,buffer=6,limit=4.0", 5000, (0, 1, 2)),
    Test("inventory:H=6,capacity=4,limit=3.0", 10_000, (0, 1, 2)),
    Test("random:seed=304,S=6,A=3,H=8,fraction=0.7", 20_000, (0, 1)),
)

#: A configuration takes the place of the one that a preset begins with when its score is lower by at least this share, and its
#: loss on no test is more than so many times as large: what fails to learn somewhere must not win by gains elsewhere.
MARGIN, HARM = 0.05, 2.0

#: A loss counts as at least this share of the uniform policy's.
LEAST = 1e-4

#: Forms that are searched like the others but keep their numbers, and why.
KEPT = {
    "primal-dual-lsvi-practical": "stored runs of version 0.1 go on with these numbers, and they are held to results on larger "
    "worlds (docs/practical.md), where the winner is better and worse",
}
