"""Learners that plan by a linear program on an estimated model, one algorithm a file; planning.py is what they share."""
