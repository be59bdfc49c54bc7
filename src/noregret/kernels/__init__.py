"""Compiled parts. Randomness comes in as arrays of uniforms; nothing here draws, validates or allocates per episode."""
