"""Learners that keep a virtual queue or a price and plan greedily against it."""
