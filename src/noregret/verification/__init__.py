"""The proofs' moving parts, measured: a run of Algorithm 1 beside the truth, and the lemmas checked on it."""

from noregret.verification.checks import Check, all_checks
from noregret.verification.trace import Trace, trace

__all__ = ["Check", "Trace", "all_checks", "trace"]
