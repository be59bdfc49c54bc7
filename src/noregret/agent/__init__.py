"""The agent that a user holds, in any Gymnasium environment. It knows no truth: what it reports is what it observed."""

from noregret.agent.agent import Agent
from noregret.agent.records import Callback, EpisodeRecord, Evaluation

__all__ = ["Agent", "Callback", "EpisodeRecord", "Evaluation"]
