"""Gates: areas are opened and closed, by the clock, by what agents do, or by a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.scenario.geometry import ToggledArea
from crowdsim.scenario.grounds import BuiltGround, FloorGrounds, Grounds, TiledGrounds
from crowdsim.scenario.model import Event
from crowdsim.systems.base import System, Tick
from crowdsim.systems.ground import Closed, GroundChange, change_ground, polygons_of, stand
from crowdsim.systems.tile_changes import change_ground_of_tiles
from crowdsim.systems.triggers import Triggers
from crowdsim.threads import Team
from crowdsim.world.events import EventKind
from crowdsim.world.world import World

Told = Callable[[int, GroundChange, Team], None]


class Gates(System):
    """Change the ground when an event says so: a closed area is a wall at once, for walking, avoidance, contacts and planning (SYSTEMS G3).

    Parameters
    ----------
    world : World
    areas : sequence of ToggledArea
    events : sequence of Event
    grounds : Grounds, FloorGrounds or TiledGrounds
    standing : callable, optional
        Returns the obstacles that are closed ground in this tick, see `Drive`; by default there are none.
    triggers : Triggers, optional
        Needed where events wait for agents that come up to others.
    """

    reads = ("entity", "position", "radius", "surface", "layer", "activity", "goal", "path_status", "corridor_start", "corridor_length", "goal_piece")
    writes = (
        "position", "tentative_position", "velocity", "chosen_velocity", "next_corner", "surface", "layer", "wall_distance", "corner_post", "guessed",
        "corridor_length", "goal_piece", "strays", "path_status", "activity", "replan_wish", "priced_portal",
    )  # fmt: skip
    counts = ("closed_areas",)

    def __init__(
        self, world: World, areas: Sequence[ToggledArea], events: Sequence[Event], grounds: Grounds | FloorGrounds | TiledGrounds,
        standing: Callable[[], tuple[Closed, ...]] | None = None, triggers: Triggers | None = None,
    ) -> None:  # fmt: skip
        super().__init__(world)
        self._standing = standing
        self._obstacles: tuple[Closed, ...] = ()  # that were closed ground in the last tick
        self.areas, self.events, self.grounds = tuple(areas), tuple(events), grounds
        self._told: tuple[Told, Team] | None = None
        self.available = np.array([area.available for area in areas], dtype=np.bool_)
        self._is_over = np.zeros(len(events), dtype=np.bool_)
        self._triggers = triggers or Triggers(world, events)
        self._asked = np.full(len(areas), -1, dtype=np.int64)  # by a program: 1 open, 0 close, -1 nothing

    def tell(self, told: Told, team: Team) -> None:
        """Let somebody who keeps searches or grids of the ground know of its changes, after the world stands on another one.

        Parameters
        ----------
        told : callable
            Called with the tick, the change and the team.
        team : Team
        """
        self._told = told, team

    @property
    def expects(self) -> bool:
        """Whether something is still to happen by the clock."""
        return any(event.tick >= 0 and not over for event, over in zip(self.events, self._is_over.tolist(), strict=True))

    def ask(self, area: int, available: bool) -> None:
        """Open or close an area in the next tick."""
        self._asked[area] = int(available)

    def process(self, tick: Tick) -> None:
        """Let happen what is due."""
        wanted = self.available.copy()
        self._triggers.look(self._is_over)
        for number, event in enumerate(self.events):
            if self._is_over[number]:
                continue
            is_due = tick.number >= event.tick if event.tick >= 0 else self._triggers.is_due(number)
            if is_due:
                self._is_over[number] = True
                wanted[event.area] = event.opens
        wanted = np.where(self._asked >= 0, self._asked == 1, wanted)
        self._asked[:] = -1
        obstacles = self._standing() if self._standing is not None else ()
        if not np.array_equal(wanted, self.available) or _names(obstacles) != _names(self._obstacles):
            self._change(tick.number, wanted, obstacles)
        self._triggers.remember(self._is_over)
        tick.counts["closed_areas"] = self.count_of(~self.available)

    def _change(self, tick: int, wanted: NDArray[np.bool_], obstacles: tuple[Closed, ...]) -> None:
        opened, closed = np.flatnonzero(wanted & ~self.available), np.flatnonzero(self.available & ~wanted)
        has_moved = bool(_names(self._obstacles) - _names(obstacles))
        before = self.closed()
        self.available, self._obstacles = wanted, obstacles
        for kind, numbers in ((EventKind.AREA_OPENED, opened), (EventKind.AREA_CLOSED, closed)):
            points = shapely.get_coordinates([self.areas[number].area.representative_point() for number in numbers.tolist()])
            self.world.events.note(tick, kind, np.zeros(len(numbers), dtype=np.int64), points, numbers)
        what = self.closed()
        if isinstance(self.grounds, TiledGrounds):
            names, shut = _names(before), polygons_of(what)
            new = shapely.union_all([each.area for each in what if each.name not in names])
            tiles = self.grounds.with_closed(polygons_of(before)), self.grounds.with_closed(shut)
            change_ground_of_tiles(self.world, tick, *tiles, self.grounds.ground(shut), new)
        else:
            change_ground(self.world, tick, self._ground_with(what))
        self._tell_of(tick, GroundChange(what, bool(len(opened)) or has_moved))

    def _ground_with(self, closed: tuple[Closed, ...]) -> BuiltGround:
        assert not isinstance(self.grounds, TiledGrounds)
        if isinstance(self.grounds, FloorGrounds):
            return self.grounds.with_closed([(each.layer, each.area) for each in closed])
        return self.grounds.with_closed(polygons_of(closed))

    def closed_areas(self) -> tuple[Closed, ...]:
        """Return the areas that are closed now."""
        return tuple(Closed(area.name, area.area) for area, is_open in zip(self.areas, self.available.tolist(), strict=True) if not is_open)

    def _tell_of(self, tick: int, change: GroundChange) -> None:
        if self._told is not None:
            told, team = self._told
            told(tick, change, team)

    def closed(self) -> tuple[Closed, ...]:
        """Return what is closed now: areas, and obstacles that stand."""
        return (*self.closed_areas(), *self._obstacles)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what is open, what is over, and who has done what events wait for."""
        triggers = {f"triggers/{name}": array for name, array in self._triggers.state().items()}
        return {"available": self.available.copy(), "is_over": self._is_over.copy(), "asked": self._asked.copy(), **triggers}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Take back what `state()` gave, and put the world on the ground that belongs to it."""
        self.available, self._is_over, self._asked = state["available"].copy(), state["is_over"].copy(), state["asked"].copy()
        self._triggers.restore({name[9:]: array for name, array in state.items() if name.startswith("triggers/")})
        self._obstacles = self._standing() if self._standing is not None else ()
        if len(self.areas) or self._standing is not None:
            what = self.closed()
            if not isinstance(self.grounds, TiledGrounds):  # tiles have been restored with the world
                stand(self.world, self._ground_with(what))
            self._tell_of(self.world.tick, GroundChange(what, False, is_new=False))


def _names(closed: Sequence[Closed]) -> set[str]:
    return {each.name for each in closed}
