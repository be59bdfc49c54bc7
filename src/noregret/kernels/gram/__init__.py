"""Least squares behind one interface: counts for one-hot features, Λ for a feature table, Λ and a cache for vectors.

What a Gram can do is in :mod:`~noregret.kernels.gram.base`; each kind has a file. A Gram knows nothing of presets or problems.
"""
