"""What exists beside agents and has no row in the columns:
goals, areas that open and close, obstacles, each an entity of the world with a component.
"""

from __future__ import annotations

from dataclasses import dataclass

from crowdsim.scenario.geometry import ToggledArea
from crowdsim.scenario.model import Scenario
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


def give_things(world: World, scenario: Scenario) -> None:
    """Make an entity of each goal, area and obstacle of a scenario, in its order."""
    for goal in scenario.goals:
        world.give(goal)
    for area in scenario.geometry.areas:
        world.give(Door(area, area.available, area.available))
    for obstacle in scenario.obstacles:
        world.give(MovingObstacle(obstacle))
