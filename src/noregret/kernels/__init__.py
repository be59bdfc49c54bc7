"""Compiled parts. A learner's and a world's randomness comes in as uniforms; an episode on tables allocates nothing.

Rooms: ``compiler`` (how code is compiled and kept), ``worlds`` (playing and evaluating), ``gram`` (least squares), ``steps``
(what algorithms share), and ``types``. What comes from users is checked before it gets here.
"""
