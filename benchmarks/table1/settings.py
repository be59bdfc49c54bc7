"""The rows of the table: the paper's Table 1 first, then what its related work names, then what came after."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.protocol import TEST_SEED

PROBLEM = "job-scheduling"
EPISODES = 200_000
#: The first seed is a test seed. The world is a development world: the paper has it, and rules were chosen on it.
SEED = TEST_SEED
#: Recorded points of a curve.
POINTS = 500
#: The forms of a learner, each with the preset that it plays: the printed algorithm with tuned numbers, the same judged by soft
#: sums, and the practical one. The practical preset of Algorithm 1 is by hand: that is a row of its own, named so, and its row
#: "practical" has what the search found. Every step learns alone, unless a form says that steps share what is declared: each
#: learner that can share it has such a row, in a table of its own.
FORMS = {
    "tuned": "tuned", "soft": "soft", "practical": "practical", "by hand": "practical",
    "practical (sharing)": "practical", "by hand (sharing)": "practical",
}  # fmt: skip
#: What steps may share in this world, and the end of the names of forms that do.
SHARED, SHARING = "transitions", " (sharing)"
#: Trials of every row.
TRIALS = 20


@dataclass(frozen=True)
class Row:
    """An algorithm, where it is from, and our learner for it."""

    algorithm: str
    source: str
    learner: str


ROWS = (
    Row("OPDOP", "Ding 2021", "opdop"),
    Row("OptPrimalDual-CMDP", "Efroni 2020", "opt-primal-dual"),
    Row("OptDual-CMDP", "Efroni 2020", "opt-dual"),
    Row("OptPess-PrimalDual", "Liu 2021", "optpess-primal-dual"),
    Row("Triple-Q", "Wei 2022", "triple-q"),
    Row("Algorithm 1", "Ghosh 2022", "primal-dual-lsvi"),
    Row("OptCMDP", "Efroni 2020", "ucrl-opt-lp"),
    Row("OptCMDP-bonus", "Efroni 2020", "optcmdp-bonus"),
    Row("UC-CFH", "Kalagarla 2021", "uc-cfh"),
    Row("ConRL", "Brantley 2020", "conrl"),
    Row("C-UCRL, episodic port", "Zheng 2020", "c-ucrl"),
    Row("UCRL-CMDP, episodic port", "Singh 2020", "cmdp-rl"),
    Row("DOPE", "Bura 2022", "dope"),
    Row("OptPess-LP", "Liu 2021", "optpess-lp"),
    Row("NPG-PD, episodic port", "Ding 2020", "npg-pd"),
    Row("CRPO, episodic port", "Xu 2021", "crpo"),
    Row("CSPDA, episodic port", "Bai 2022", "cspda"),
    Row("Reward-free", "Miryoosefi 2022", "reward-free"),
    Row("LSVI, fresh price", "Ghosh 2024", "lsvi-bisection"),
    Row("OPSE-LCMDP", "Kitamura 2025", "opse-lcmdp"),
    Row("Posterior sampling", "Osband 2013", "posterior-sampling"),
    Row("Regularised primal-dual", "Müller 2024", "regularized-primal-dual"),
    Row("UOpt-RPGPD", "Kitamura 2024", "uopt-rpgpd"),
)
