"""Learners that need a simulator of the problem; simulated.py is what they share."""
