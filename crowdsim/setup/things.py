"""What exists beside agents and has no row in the columns:
goals, areas that open and close, obstacles, each an entity of the world with a component.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

from crowdsim.navigation.goals.goals import GoalShape
from crowdsim.scenario.geometry import ToggledArea
from crowdsim.scenario.model import Goal, Scenario, point_goal_name
from crowdsim.scenario.obstacles import Obstacle
from crowdsim.world.world import World

ABSENT = 0  # in place of the entity of a disc


@dataclass
class Door:
    """Component of areas that are opened and closed; `ChangeGround` owns it.

    Attributes
    ----------
    area : ToggledArea
    is_open : bool
        As it is.
    wanted : bool
        As it is to be, once there is ground for it.
    asked : bool, or None
        What a program has ordered since the last tick.
    """

    area: ToggledArea
    is_open: bool
    wanted: bool
    asked: bool | None = None


@dataclass
class MovingObstacle:
    """Component of obstacles that have a timetable; `MoveObstacles` owns it.

    Attributes
    ----------
    obstacle : Obstacle
    first_disc : int
        The entity of its first disc, those of the others follow; ABSENT while it is not there.
    is_closed : bool
        Whether it stands, and is ground that is closed.
    is_sent : bool
        Whether a program has put it in or sent it elsewhere.
    """

    obstacle: Obstacle
    first_disc: int = ABSENT
    is_closed: bool = False
    is_sent: bool = False

    @property
    def is_there(self) -> bool:
        """Whether it is in the world now."""
        return self.first_disc != ABSENT


@dataclass(frozen=True)
class Disc:
    """Component of the discs of obstacles, which have rows.

    Attributes
    ----------
    obstacle : int
        The entity that it is a part of.
    """

    obstacle: int


class Goals(Sequence[Goal]):
    """The goals of a world by number: those of the scenario, and behind them those that the run has set."""

    def __init__(self, world: World) -> None:
        self._world, self._fixed = world, [goal for _, goal in world.query(Goal)]

    def __len__(self) -> int:
        return self._world.goal_count

    @overload
    def __getitem__(self, number: int) -> Goal: ...

    @overload
    def __getitem__(self, number: slice) -> Sequence[Goal]: ...

    def __getitem__(self, number: int | slice) -> Goal | Sequence[Goal]:
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        if number < len(self._fixed):
            return self._fixed[number]
        return goal_of(self._world.destinations.shape_of(number))

    def name(self, number: int) -> str:
        """Return what a goal is called; one that the run has set by what it is."""
        return self[number].name


def goal_of(shape: GoalShape) -> Goal:
    """Return a goal that has no name of its own, and is called by what it is."""
    if shape.reach > 0.0:
        point = (float(shape.shape.x), float(shape.shape.y))
        return Goal(point_goal_name(point, shape.reach), "point", point, shape.reach, layer=shape.layer)
    middle = shape.shape.representative_point()
    name = f"the region at ({middle.x:.6g}, {middle.y:.6g})"
    return Goal(name, "region", area=shape.shape, layer=shape.layer)


def give_things(world: World, scenario: Scenario) -> None:
    """Make an entity of each goal, area and obstacle of a scenario, in its order."""
    for goal in scenario.goals:
        world.give(goal)
    for area in scenario.geometry.areas:
        world.give(Door(area, area.available, area.available))
    for obstacle in scenario.obstacles:
        world.give(MovingObstacle(obstacle))
