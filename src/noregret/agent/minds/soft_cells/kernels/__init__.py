"""Compiled parts of the soft cells: interpolation among prototypes, rows of the model, the backward pass."""
