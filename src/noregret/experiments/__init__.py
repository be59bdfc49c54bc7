"""Named experiments, as data: which problem, which learner, which constants. Nothing here runs anything."""
