"""Numbers that must not move: the constants and the curves of every learner with every preset, to the last bit."""
