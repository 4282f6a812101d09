"""How a scenario says when agents come in, and where."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Tag

from crowdsim.scenario.limits import MAX_AGENTS, MAX_DOORS, MAX_SCHEDULE
from crowdsim.scenario.schema_distributions import Distribution
from crowdsim.scenario.schema_geometry import (
    Areas,
    Expects,
    FileName,
    Seconds,
    Shape,
    Unit,
    by_form,
    is_number,
)

_RATE = "a number of agents a second, or a rate such as 2/s, 90/min or 1200/h"
RatePerSecond = Annotated[float, Field(gt=0, le=1e5), Unit("agents a second")]
Rate = Annotated[
    Annotated[RatePerSecond, Tag("~number")]
    | Annotated[Annotated[str, Field(min_length=1, max_length=40), Expects(_RATE)], Tag("~text")],
    by_form(
        lambda value: "~number" if is_number(value) else "~text" if isinstance(value, str) else None, _RATE
    ),
]
Count = Annotated[int, Field(ge=1, le=MAX_AGENTS)]
Batch = Annotated[
    list[float], Field(min_length=2, max_length=2), Expects("a time and a number of agents, [s, count]")
]
Times = Annotated[list[Seconds], Field(min_length=1, max_length=MAX_SCHEDULE), Expects("a list of times, s")]


class Trains(Shape):
    """Agents that come in bursts, as out of trains."""

    people: Distribution = Field(description="How many agents come out of each.")
    within: Seconds = Field(
        default=0.0, description="Time from the first to the last, s. Default: 0, all at once."
    )
    at: Times | None = Field(default=None, description="When they come, s.")
    every: Annotated[float, Field(gt=0, le=1e9), Unit("s")] | None = Field(
        default=None,
        description="Instead of at: the time from one to the next, s; the first comes at `after`.",
    )


class ArriveShape(Shape):
    """When agents of a group come in while the run lasts. Exactly one of `rate`, `gap`, `schedule`,
    `schedule_file` and `trains` is given.
    """

    rate: Rate | None = Field(default=None, description="Mean number of agents a second, or as 90/min.")
    process: Literal["even", "poisson"] | None = Field(
        default=None,
        description="even: at equal intervals. poisson: at random, as those that know nothing of each other. "
        "Default: even.",
    )
    gap: Distribution | None = Field(default=None, description="Time between one agent and the next, s.")
    schedule: (
        Annotated[
            list[Batch], Field(min_length=1, max_length=MAX_SCHEDULE), Expects("a list [[s, count], ...]")
        ]
        | None
    ) = Field(default=None, description="At which times how many agents come, [[s, count], ...].")
    schedule_file: FileName | None = Field(
        default=None, description="The same as a table in CSV with the columns time and count."
    )
    trains: Trains | None = Field(default=None, description="Agents that come in bursts.")
    after: Seconds = Field(default=0.0, description="Simulated time from which on agents come, s.")
    until: Seconds | None = Field(
        default=None,
        description="Simulated time from which on no agent comes, s. Default: the end of the run.",
    )
    at_most: Count | None = Field(default=None, description="How many come in all. Default: any number.")
    doors: (
        Annotated[list[Areas], Field(min_length=1, max_length=MAX_DOORS), Expects("a list of areas")] | None
    ) = Field(
        default=None,
        description=(
            "Areas in which agents come in, in turn, each with a queue outside of its own. Default: the "
            "group's region."
        ),
    )
