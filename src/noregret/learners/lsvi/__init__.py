"""Least-squares value iteration: Algorithm 1, the learners that are close to it, and the parts that they share."""
