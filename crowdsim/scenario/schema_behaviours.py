"""How a scenario says what agents do: machines of states, and conditions under which they go on."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, Tag

from crowdsim.scenario.limits import (
    MAX_AGENTS,
    MAX_CONDITIONS,
    MAX_PARAMETERS,
    MAX_PLACES,
    MAX_STATES,
    MAX_TRANSITIONS,
)
from crowdsim.scenario.schema_distributions import Distribution
from crowdsim.scenario.schema_geometry import (
    Expects,
    Length,
    Name,
    Point,
    Seconds,
    Shape,
    Unit,
    by_form,
    is_number,
    key_form,
)

TALKING_DISTANCE_M = 1.35  # [Pathfinding undated]: at which people talk to each other
FIRST_HIDDEN_S = 30.0  # [Norberg 2004], figure 13: for so long it is to be hidden before it patrols again
SIGHT_M = 30.0  # How far agents see, where nothing else is said: to the other end of a hall.
WITHIN_M = 0.3
SPACING_M = 0.6  # Two bodies of radius 0.2 m, and a hand between them.

Probability = Annotated[float, Field(ge=0)]
Targets = "the name of a state, end, or states with shares {a: 2, b: 1}"
Target = Annotated[
    Annotated[Name, Tag("~name")]
    | Annotated[dict[Name, Probability], Field(min_length=1, max_length=MAX_STATES), Tag("~shares")],
    by_form(
        lambda value: "~name" if isinstance(value, str) else "~shares" if isinstance(value, dict) else None,
        Targets,
    ),
]


class PlaceShape(Shape):
    """A point to go to."""

    point: Point = Field(description="The point, m.")
    arrive_within: Length = Field(
        default=WITHIN_M, description="Distance from the point at which an agent is there, m."
    )
    storey: Name | None = Field(default=None, description="Storey on which it lies, where there are several.")
    height: Annotated[float, Unit("m")] | None = Field(
        default=None, description="Instead of a storey: about how high it lies, m."
    )


def _place_form(value: Any) -> str | None:
    return "~name" if isinstance(value, str) else key_form(value, "point")


Place = Annotated[
    Annotated[Name, Tag("~name")] | Annotated[PlaceShape, Tag("~point")],
    by_form(_place_form, "the name of a goal or {point: [x, y]}"),
]
AgentName = Annotated[
    Annotated[int, Field(ge=0, le=2**63 - 1), Tag("~id")] | Annotated[Name, Tag("~name")],
    by_form(
        lambda value: "~name" if isinstance(value, str) else "~id" if is_number(value) else None,
        "an agent's id or the name of a group",
    ),
]


class PatrolShape(Shape):
    """Go from place to place, over and over."""

    places: Annotated[
        list[Place], Field(min_length=1, max_length=MAX_PLACES), Expects("a list of places [a, b, ...]")
    ] = Field(description="Where it leads, in this order.")
    pause: Distribution | None = Field(
        default=None, description="For how long it stands at each, s. Default: 0."
    )
    rounds: Annotated[int, Field(ge=1, le=10**9)] | None = Field(
        default=None, description="After so many rounds the state is done. Default: never."
    )
    order: Literal["round", "to_and_fro", "random"] = Field(
        default="round",
        description="round: from the last to the first. to_and_fro: back from the last. random: any but "
        "where it is.",
    )


class WanderShape(Shape):
    """Go to one place of an area after the other, each drawn at random."""

    where: Name = Field(description="Name of a goal: a region.")
    pause: Distribution | None = Field(
        default=None, description="For how long it stands at each place, s. Default: 0."
    )


class ApproachShape(Shape):
    """Go up to another agent."""

    to: AgentName = Field(description="An agent's id, or a group: the nearest of it when the state begins.")
    within: Length = Field(
        default=TALKING_DISTANCE_M,
        description="Distance of the centres at which it is there, m; people that talk stand so far apart.",
    )


class FollowShape(Shape):
    """Go behind another agent, also over stairs."""

    after: AgentName = Field(
        description="An agent's id, or a group: the nearest of it when the state begins."
    )
    distance: Length = Field(
        default=TALKING_DISTANCE_M, description="Distance of the centres at which it stands still, m."
    )


class FleeShape(Shape):
    """Hide from others."""

    away_from: Annotated[
        list[AgentName], Field(min_length=1, max_length=100), Expects("a list of ids and groups")
    ] = Field(description="From which agents, ids and names of groups.")
    hidden_for: Seconds = Field(
        default=FIRST_HIDDEN_S,
        description="Done when none of them has seen it for so long, s.",
    )
    sight: Length = Field(default=SIGHT_M, description="How far they see, m.")


class QueueUpShape(Shape):
    """Stand in line, and be served."""

    at: Name = Field(description="Name of a queue.")
    patience: Distribution | None = Field(
        default=None, description="Leaves the line after so long, s, for the state `cannot`. Default: never."
    )


Queue = Annotated[
    Annotated[Name, Tag("~name")] | Annotated[QueueUpShape, Tag("~at")],
    by_form(
        lambda value: "~name" if isinstance(value, str) else key_form(value, "at"),
        "the name of a queue or {at: name, patience: seconds}",
    ),
]
Use = Annotated[
    Annotated[Name, Tag("~name")] | Annotated[dict[Name, Any], Tag("~parameters")],
    by_form(
        lambda value: (
            "~name"
            if isinstance(value, str)
            else "~parameters"
            if isinstance(value, dict) and "name" in value
            else None
        ),
        "the name of a machine or {name: machine, parameter: value}",
    ),
]


class CountShape(Shape):
    """How many agents are in an area."""

    where: Name = Field(description="Name of a goal that is an area, or of an area under measures.")
    at_least: Annotated[int, Field(ge=0, le=MAX_AGENTS)] | None = None
    at_most: Annotated[int, Field(ge=0, le=MAX_AGENTS)] | None = None
    group: Name | None = Field(default=None, description="Only agents of this group count. Default: all.")


class DensityShape(Shape):
    """How many agents a square metre are in an area."""

    where: Name = Field(description="Name of a goal that is an area, or of an area under measures.")
    at_least: Annotated[float, Field(ge=0), Unit("agents/m2")] | None = None
    at_most: Annotated[float, Field(ge=0), Unit("agents/m2")] | None = None


class NearShape(Shape):
    """Whether another agent is near."""

    to: AgentName = Field(description="An agent's id or the name of a group.")
    within: Length = Field(default=TALKING_DISTANCE_M, description="Distance of the centres, m.")
    seen: bool = Field(default=False, description="true: only if no wall is between them. Default: false.")


class HiddenShape(Shape):
    """Whether no other agent has seen this one for a while."""

    away_from: Annotated[
        list[AgentName], Field(min_length=1, max_length=100), Expects("a list of ids and groups")
    ] = Field(description="Agents by which it is not seen, ids and names of groups.")
    hidden_for: Seconds = Field(default=FIRST_HIDDEN_S, description="For how long, s.")
    sight: Length = Field(default=SIGHT_M, description="How far they see, m.")


class ConditionShape(Shape):
    """Something that is so or is not; exactly one key is given."""

    after: Seconds | None = Field(
        default=None, description="So many seconds have passed since the state began."
    )
    at: Seconds | None = Field(default=None, description="The simulated time is so late, s.")
    signal: Name | None = Field(default=None, description="The signal of this name is on.")
    opened: Name | None = Field(default=None, description="The area of this name (geometry.areas) is open.")
    closed: Name | None = Field(default=None, description="The area of this name is closed.")
    inside: Name | None = Field(
        default=None,
        description="The agent is in the area of this name: a goal that is an area, or under measures.",
    )
    count: CountShape | None = Field(default=None, description="So many agents are in an area.")
    density: DensityShape | None = Field(default=None, description="An area is so full.")
    near: NearShape | None = Field(default=None, description="Another agent is near.")
    hidden: HiddenShape | None = Field(default=None, description="No other agent has seen it for a while.")
    all_of: (
        Annotated[
            list[ConditionShape],
            Field(min_length=1, max_length=MAX_CONDITIONS),
            Expects("a list of conditions"),
        ]
        | None
    ) = Field(default=None, description="All of these are so.")
    any_of: (
        Annotated[
            list[ConditionShape],
            Field(min_length=1, max_length=MAX_CONDITIONS),
            Expects("a list of conditions"),
        ]
        | None
    ) = Field(default=None, description="One of these is so.")
    none_of: (
        Annotated[
            list[ConditionShape],
            Field(min_length=1, max_length=MAX_CONDITIONS),
            Expects("a list of conditions"),
        ]
        | None
    ) = Field(default=None, description="None of these is so.")


class TransitionShape(ConditionShape):
    """Where an agent goes on as soon as something is so."""

    to: Target = Field(description=f"{Targets[0].upper()}{Targets[1:]}, drawn for each agent.")


class StateShape(Shape):
    """What an agent does until it goes on. Exactly one of the first fifteen keys is given."""

    go_to: Place | None = Field(default=None, description="Go to a goal; done when it is there.")
    wait: Distribution | None = Field(default=None, description="Stand for so long, s.")
    wait_until: ConditionShape | None = Field(default=None, description="Stand until something is so.")
    stay: Name | None = Field(
        default=None,
        description="Go into a goal that is a region, take a place of its own there, and stand; never done.",
    )
    queue: Queue | None = Field(default=None, description="Stand in line and be served; done after that.")
    approach: ApproachShape | None = Field(default=None, description="Go up to another agent.")
    follow: FollowShape | None = Field(default=None, description="Go behind another agent; never done.")
    patrol: PatrolShape | None = Field(default=None, description="Go from place to place, over and over.")
    flee: FleeShape | None = Field(default=None, description="Hide from others.")
    jump: Place | None = Field(
        default=None, description="Jump from where it stands to a point; done when it has landed (see jumps)."
    )
    wander: WanderShape | None = Field(default=None, description="Go about in a region; never done.")
    choose: Annotated[dict[Name, Probability], Field(min_length=1, max_length=MAX_STATES)] | None = Field(
        default=None, description="Go on at once, by chance: states with shares {a: 2, b: 1}."
    )
    machine: Use | None = Field(
        default=None,
        description="Do what another machine says until it ends: its name, or {name: ..., parameter: value}.",
    )
    stand: Literal[True] | None = Field(default=None, description="true: stand; never done.")
    leave: Name | None = Field(
        default=None, description="Go to a goal, by its name, and leave the world there."
    )

    lasts: Distribution | None = Field(
        default=None,
        description="After so long the state is done, s, if it is not before. Default: no limit.",
    )
    then: Target | None = Field(
        default=None, description=f"What comes when it is done: {Targets}. Default: end."
    )
    cannot: Target | None = Field(
        default=None,
        description=(
            "What comes when it cannot be done: no path leads there, there is no such agent, the line is "
            "full or took too long. Default: the agent goes on trying."
        ),
    )
    when: Annotated[
        list[TransitionShape],
        Field(max_length=MAX_TRANSITIONS),
        Expects("a list of transitions [{signal: alarm, to: out}, ...]"),
    ] = Field(default=[], description="What comes before it is done, as soon as something is so.")
    signals: Annotated[list[Name], Field(max_length=100), Expects("a list of names of signals")] = Field(
        default=[], description="Signals that are on from the moment an agent begins this state."
    )
    ends_signals: Annotated[list[Name], Field(max_length=100), Expects("a list of names of signals")] = Field(
        default=[], description="Signals that are off from that moment on."
    )
    speed: Distribution | None = Field(
        default=None, description="Speed that the agent likes in this state, m/s. Default: its own."
    )


class MachineShape(Shape):
    """A machine: states, of which an agent is in one at a time."""

    parameters: Annotated[dict[Name, Any], Field(max_length=MAX_PARAMETERS)] = Field(
        default={}, description="Values by name, written as $name in the states, with their defaults."
    )
    start: Name | None = Field(default=None, description="State in which it begins. Default: the first.")
    when: Annotated[
        list[TransitionShape],
        Field(max_length=MAX_TRANSITIONS),
        Expects("a list of transitions [{signal: alarm, to: out}, ...]"),
    ] = Field(default=[], description="Transitions out of every state; they come before the states' own.")
    states: Annotated[dict[Name, StateShape], Field(min_length=1, max_length=MAX_STATES)] = Field(
        description="States by name."
    )


Polyline = Annotated[
    list[Point], Field(min_length=2, max_length=MAX_PLACES), Expects("a line [[x, y], [x, y], ...]")
]


class QueueShape(Shape):
    """Lines in which agents stand, and those that serve them. Exactly one of `line` and `lines` is given."""

    servers: Annotated[
        list[Point], Field(min_length=1, max_length=MAX_PLACES), Expects("a list of points [[x, y], ...]")
    ] = Field(description="Where an agent stands while it is served, m; one for each server.")
    line: Polyline | None = Field(
        default=None, description="One line for all servers, from its head to its tail, m."
    )
    lines: (
        Annotated[list[Polyline], Field(min_length=1, max_length=MAX_PLACES), Expects("a list of lines")]
        | None
    ) = Field(default=None, description="One line for each server, in their order, m.")
    service: Distribution = Field(description="How long it takes to serve an agent, s.")
    join: Literal["shortest", "random"] = Field(
        default="shortest", description="To which of several lines an agent goes. Default: the shortest."
    )
    spacing: Length = Field(
        default=SPACING_M, description="Between the middles of those that stand one behind the other, m."
    )
    first: Annotated[list[Name], Field(max_length=1000), Expects("a list of names of groups")] = Field(
        default=[], description="Groups whose agents go before all others in the line."
    )
    storey: Name | None = Field(default=None, description="Its storey, where there are several.")
    height: Annotated[float, Unit("m")] | None = Field(
        default=None, description="Instead of a storey: about how high it lies, m."
    )


BLOCKS = tuple(
    name
    for name in StateShape.model_fields
    if name not in ("lasts", "then", "cannot", "when", "signals", "ends_signals", "speed")
)
CONDITIONS = tuple(ConditionShape.model_fields)
