"""How a scenario says between which goals agents choose, and what they know."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Tag

from crowdsim.scenario.limits import MAX_CHOICES
from crowdsim.scenario.schema_geometry import Expects, Name, Seconds, Shape, Unit, by_form, key_form

Names = Annotated[
    list[Name], Field(min_length=1, max_length=MAX_CHOICES), Expects("a list of names of goals [north, ...]")
]


class FamiliarShape(Shape):
    """Agents that know only some of the goals, drawn by agent."""

    share: Annotated[float, Field(ge=0, le=1)] = Field(
        default=1.0, description="How many of the agents, 0 to 1, drawn by agent. Default: 1, which is all."
    )
    only: Names = Field(description="Names of the goals that these know, of those under quickest_of.")


Familiar = Annotated[
    Annotated[FamiliarShape, Tag("~one")]
    | Annotated[
        list[FamiliarShape],
        Field(min_length=1, max_length=MAX_CHOICES),
        Expects("a list of shares [{share: 0.2, only: [north]}, ...]"),
        Tag("~list"),
    ],
    by_form(
        lambda value: "~list" if isinstance(value, list) else "~one" if key_form(value, "only") else None,
        "which agents know only some goals {share: 0.2, only: [names]}, or a list of these",
    ),
]


class InfluenceShape(Shape):
    """Agents that are drawn to where others go."""

    worth: Seconds = Field(
        description="So much sooner a goal seems to be to which all others go that an agent sees, s."
    )
    within: Annotated[float, Field(gt=0, le=1000), Unit("m")] = Field(
        default=10.0, description="How far an agent sees others, m."
    )
    share: Annotated[float, Field(ge=0, le=1)] = Field(
        default=1.0, description="How many of the agents are drawn, 0 to 1, drawn by agent. Default: all."
    )


class QuickestGoal(Shape):
    """Whichever of several goals takes the least time: to walk there, and in the queue before it."""

    quickest_of: Names = Field(description="Names of goals: points, regions and exits.")
    every: Annotated[float, Field(gt=0, le=3600), Unit("s")] = Field(
        default=2.0, description="How often an agent looks again whether another is quicker, s."
    )
    gain: Seconds = Field(
        default=3.0, description="By how much another has to be quicker for an agent to change, s."
    )
    keeps_for: Seconds = Field(
        default=30.0,
        description=(
            "For how long an agent that has changed keeps its choice, s: 30 is two changes a minute at most."
        ),
    )
    specific_flow: Annotated[float, Field(gt=0, le=10), Unit("1/(m s)")] = Field(
        default=1.3,
        description=(
            "Agents that get through a metre of an exit's width in a second, for the time in its queue; an "
            "exit with a flow has that where it is less ([IMO 2016])."
        ),
    )
    knows: Literal["all", "seen"] = Field(
        default="all",
        description=(
            "Whose queues an agent knows: all, or of goals that it sees; others count with the time to walk."
        ),
    )
    familiar: Familiar | None = Field(
        default=None,
        description=(
            "Agents that know only some of the goals: {share: 0.2, only: [names]}, or a list of these. "
            "Default: all know all."
        ),
    )
    social_influence: InfluenceShape | None = Field(
        default=None,
        description=(
            "{worth: 8, within: 10}: a goal to which all others go that an agent sees seems 8 s sooner, one "
            "to which half of them go 4 s ([Kinateder 2021]). Default: others do not draw agents."
        ),
    )
