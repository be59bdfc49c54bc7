"""Learners whose policy moves by mirror descent and whose price moves by a dual step; descent.py is what they share."""
