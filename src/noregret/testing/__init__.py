"""Checks for learners and problems, ours and those of other packages: what runs, stores and reports rely on.

``check_learner("my-learner")`` and ``check_problem("my-problem")`` run them all; ``learner_checks`` and ``problem_checks`` give
them one by one, for ``pytest.mark.parametrize``. Nothing here is needed to run anything.
"""

from noregret.testing.cases import CheckError
from noregret.testing.learners import check_learner, learner_checks
from noregret.testing.problems import check_problem, problem_checks

__all__ = ["CheckError", "check_learner", "check_problem", "learner_checks", "problem_checks"]
