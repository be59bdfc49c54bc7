"""What is sent and answered, for the OpenAPI page and for checking."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Observation = list[float] | dict[str, float] | int
Action = int | str
Name = Annotated[str | int, Field(description="The name of the episode.", examples=["eu-742"])]


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class AskDecision(_Asked):
    """A question."""

    observation: Annotated[Observation, Field(description="Numbers, numbers by field, or the number of a state.")]
    episode: Name
    step: Annotated[int, Field(description="How many actions of the episode were taken before.")]
    mask: list[int] | None = Field(None, description="Zeros and ones: which actions can be taken.")
    action: Action | None = Field(None, description="What the old system has decided; then noregret only learns.")


class AnswerDecision(BaseModel):
    """What is to be done."""

    id: str
    episode: str
    step: int
    action: Action
    probability: float
    probabilities: list[float]
    plan: int
    explored: bool
    fallback: bool
    advised: Action | None
    recorded: bool


class AskReport(_Asked):
    """What a decision brought."""

    decision: Annotated[str, Field(description="Its id.", examples=["eu-742/23"])]
    reward: float
    costs: Annotated[dict[str, float] | list[float] | float, Field(description="Costs or utilities by name.")]
    taken: Action | None = Field(None, description="The action that was done, where a guard rail overrode the decision.")


class AskEnd(_Asked):
    """The end of an episode."""

    episode: Name
    terminated: bool = Field(False, description="Whether the world ended it.")
    observation: Observation | None = Field(None, description="What was seen after the last action.")


class AnswerReceipt(BaseModel):
    """What became of a report or an end."""

    status: str
    complete: bool
    reason: str | None


class AskExpire(_Asked):
    """Which episodes are abandoned."""

    older_than: float = Field(description="Seconds since the last word of them.")
    missing: dict[str, float] | None = Field(None, description="What a report that did not come counts as.")


class AskPrune(_Asked):
    """Which events are to go."""

    older_than: float = Field(description="Seconds since the end of their episode.")


class AskLimit(_Asked):
    """Other limits."""

    limit: dict[str, float]
    forget: bool = False


class AskSwitch(_Asked):
    """The fallback's switch."""

    on: bool


class AskNothing(_Asked):
    """Nothing."""


class AskRollback(_Asked):
    """A plan to go back to; null for the newest."""

    version: int | None


class AskRelease(_Asked):
    """A report in quarantine."""

    decision: str
    drop: bool = Field(False, description="Drop its whole episode.")


class AskEpisode(_Asked):
    """A whole episode from elsewhere."""

    episode: Name
    observations: list[Observation]
    actions: list[Action]
    rewards: list[float]
    costs: list[dict[str, float]] | list[list[float]] | list[float]
    terminated: bool = False
    masks: list[list[int] | None] | None = None
    probabilities: list[list[float]] | list[float] | None = None
    counts: bool = False


class Error(BaseModel):
    """One sentence."""

    error: str
