"""ChangeGround: what events do, by the clock or by what agents do: areas are opened and closed, tiles taken
out and put back, agents made wider. A program changes the ground by it, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.front_doors import renamed_in
from crowdsim.geometry.steps import Steps, at_once
from crowdsim.navigation.grid.layout import Shut
from crowdsim.old_names import SYSTEMS
from crowdsim.saved import Arrays, Saved
from crowdsim.scenario.model import AreaChange, Change, SignalChange, TileChange
from crowdsim.setup.build import as_grounds_take
from crowdsim.setup.grounds import TiledGrounds, foreseen_grounds
from crowdsim.setup.identity import selected
from crowdsim.setup.things import Door
from crowdsim.systems.base.system import GroundChange, Setup, Tick, TickSystem
from crowdsim.systems.ground.ground_change import change_ground, stand
from crowdsim.systems.ground.rebuild import Order, Rebuild, packed, unpacked
from crowdsim.systems.ground.things import closed_areas_of, standing_obstacles, tiles_out
from crowdsim.systems.ground.tile_changes import (
    NewGround,
    NoRoom,
    change_ground_of_tiles,
    change_tiles,
    ground_steps,
)
from crowdsim.systems.ground.tile_orders import TileOrders
from crowdsim.systems.ground.triggers import Triggers
from crowdsim.systems.resize import set_radii
from crowdsim.world.events import EventKind

if not TYPE_CHECKING:
    __getattr__ = renamed_in(__name__, SYSTEMS)

# An obstacle that stands is where it was if it has moved by less: rounding of its path. None moves so slowly.
SAME_PLACE_M = 1e-6


class ChangeGround(TickSystem):
    """Change the ground when an event says so: a closed area is a wall for walking, avoidance, contacts and
    planning, for all at once; with parts of a soup that come or go it is filled anew.

    Obstacles that stand are read from the world, see `MoveObstacles`; planners hear of each change when it is
    put in, `World.planning`. Ground is built as a task of the slicer, see `Rebuild`; a ground that the clock
    demands is built before the first tick, and put in at once.
    """

    reads = (
        "entity", "group", "position", "radius", "desired_speed", "surface", "layer", "activity", "goal",
        "path_status", "corridor_start", "corridor_length", "goal_piece", "guessed",
    )  # fmt: skip
    writes = (
        "position", "tentative_position", "velocity", "preferred_velocity", "chosen_velocity", "next_corner",
        "surface", "layer", "wall_distance", "corner_vertex", "guessed", "corridor_length", "goal_piece",
        "strays", "path_status", "activity", "replan_wish", "priced_portal", "radius", "neighbour_reach",
        "remaining",
    )  # fmt: skip
    counts = ("closed_areas", "ground_work", "ground_wait_ticks")

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._team, self._built, self._scenario = setup.team, setup.built, setup.scenario
        self._obstacles: tuple[Shut, ...] = ()  # that are closed ground
        self.events, self.grounds = setup.scenario.events, foreseen_grounds(setup.built)
        self._tick = 0
        self._put_in_at = -1  # the last tick in which the world was put on other ground
        self._rebuild = Rebuild(
            self.grounds,
            setup.budget,
            self._cut_out_by,
            self._put_in,
            self._join_tiles if isinstance(self.grounds, TiledGrounds) else None,
        )
        self._joined: NewGround | None = None  # of the order that is put in next
        self._tiles = TileOrders(setup.world, setup.budget, self._put_in_tiles)
        self._is_over = np.zeros(len(self.events), dtype=np.bool_)
        self._triggers = Triggers(setup.built)

    @property
    def _doors(self) -> list[Door]:
        return [door for _, door in self.world.query(Door)]

    @property
    def available(self) -> NDArray[np.bool_]:
        """Which areas are open, (areas,)."""
        return np.array([door.is_open for door in self._doors], dtype=np.bool_)

    @property
    def expects(self) -> bool:
        """Whether something is still to happen by the clock or by a program, or ground is being built."""
        if (
            self._rebuild.is_building
            or self._tiles.waits
            or any(door.asked is not None for door in self._doors)
        ):
            return True
        return any(
            event.tick >= 0 and not over
            for event, over in zip(self.events, self._is_over.tolist(), strict=True)
        )

    def order_tile(self, tile: int, *, goes: bool) -> None:
        """Take a tile out, or put it back, in the next tick, or as soon as it is built and paid for.

        Raises
        ------
        NavigationError
            See `TileOrders.order`.
        """
        self._tiles.order(tile, goes=goes)

    @property
    def is_idle(self) -> bool:
        """Whether the last tick left the ground as it was."""
        return self._put_in_at != self._tick

    def process(self, tick: Tick) -> None:
        """Let happen what is due."""
        doors = self._doors
        self._tick = tick.number
        self._triggers.look(self._is_over)
        for number, event in enumerate(self.events):
            if self._is_over[number]:
                continue
            is_due = tick.number >= event.tick if event.tick >= 0 else self._triggers.is_due(number)
            if is_due:
                self._is_over[number] = True
                self._let_happen(event.change)
        for door in doors:
            door.wanted, door.asked = door.wanted if door.asked is None else door.asked, None
        if self.world.signals:
            self.world.signals_to_come = {
                event.change.name
                for event, over in zip(self.events, self._is_over.tolist(), strict=True)
                if isinstance(event.change, SignalChange) and event.change.is_on and not over
            }
        self._change(tick.number, standing_obstacles(self.world, tick.number))
        self._triggers.remember(self._is_over)
        order = self._rebuild.order
        tick.counts["closed_areas"] = float(sum(not (door.is_open or door.area.is_part) for door in doors))
        tick.counts["ground_work"] = self._rebuild.work + self._tiles.work
        tick.counts["ground_wait_ticks"] = max(
            0 if order is None else tick.number - order.tick, self._tiles.wait_ticks(tick.number)
        )

    def _let_happen(self, change: Change) -> None:
        """Do what an event says; a tile that is gone, or there, already stays so."""
        if isinstance(change, AreaChange):
            self._doors[change.area].wanted = change.opens
        elif isinstance(change, TileChange):
            tiles = self.world.tiles
            assert tiles is not None
            tile = tiles.tile_named(change.column, change.row, max(0, change.layer))
            if self._tiles.will_be_there(tile) == change.goes:
                self._tiles.order(tile, goes=change.goes)
        elif isinstance(change, SignalChange):
            self.world.signals[change.name] = change.is_on
        else:
            chosen = selected(self._scenario, self._built.all_agents, change.agents)
            rows = np.flatnonzero(chosen.rows(self.world.agents))
            set_radii(self._built, rows, change.radius)

    def _change(self, tick: int, obstacles: tuple[Shut, ...]) -> None:
        """Have ground built for what is wanted where that is not what there is, one after the other,
        and put in what is done.

        Tiles that a program ordered come first: they are for this tick, and what is closed is looked at in
        this tick.
        """
        rebuild, tiles, doors = self._rebuild, self._tiles, self._doors
        rebuild.work = tiles.work = 0
        while True:
            if not rebuild.is_building and not tiles.is_building:
                if tiles.waits:
                    tiles.begin(tick)
                elif all(door.wanted == door.is_open for door in doors) and _is_same(
                    obstacles, self._obstacles
                ):
                    return
                else:
                    rebuild.begin(
                        Order(np.array([door.wanted for door in doors], dtype=np.bool_), obstacles, tick),
                        tick,
                    )
            making = tiles if tiles.is_building else rebuild
            making.go_on(tick)
            if making.is_building:
                return

    def _cut_out_by(self, order: Order | None) -> list[Any]:
        """Return what an order closes, as the grounds take it; of None, what is closed now."""
        return self._cut_out(
            self.closed()
            if order is None
            else (*closed_areas_of(self.world, order.available.tolist()), *order.obstacles)
        )

    def _cut_out(self, closed: Sequence[Shut]) -> list[Any]:
        """Return closed things as the grounds take them:
        as polygons, on floors with the number of the floor.
        """
        return as_grounds_take(self._scenario, closed)

    def _join_tiles(self, order: Order, made: Any) -> Steps[None]:
        """Join the tiles of the ground that was ordered, before it is put in."""
        assert isinstance(self.grounds, TiledGrounds)
        before = self.grounds.with_closed(self._cut_out_by(None))
        yield "before"
        self._joined = yield from ground_steps(self.world, before, made)

    def _put_in(self, order: Order) -> None:
        """Put the world on the ground that was ordered."""
        tick, wanted, obstacles, available = self._tick, order.available, order.obstacles, self.available
        self._put_in_at = tick
        opened, closed = np.flatnonzero(wanted & ~available), np.flatnonzero(available & ~wanted)
        has_moved = bool(_names(self._obstacles) - _names(obstacles)) or not _is_same(
            obstacles, self._obstacles
        )
        before = self.closed()
        self._obstacles, doors = obstacles, self._doors
        for door, is_open in zip(doors, wanted.tolist(), strict=True):
            door.is_open = is_open
        is_part = np.array([door.area.is_part for door in doors], dtype=np.bool_)
        for kind, numbers in (
            (EventKind.AREA_OPENED, opened[~is_part[opened]]),
            (EventKind.AREA_CLOSED, closed[~is_part[closed]]),
            (EventKind.PART_ADDED, opened[is_part[opened]]),
            (EventKind.PART_REMOVED, closed[is_part[closed]]),
        ):
            points = shapely.get_coordinates(
                [doors[number].area.area.representative_point() for number in numbers.tolist()]
            )
            self.world.events.note(tick, kind, np.zeros(len(numbers), dtype=np.int64), points, numbers)
        what = self.closed()
        if isinstance(self.grounds, TiledGrounds):
            names, was_shut, shut = _names(before), self._cut_out(before), self._cut_out(what)
            tiles = self.grounds.with_closed(was_shut), self.grounds.with_closed(shut)
            joined, self._joined = self._joined, None
            if self.grounds.is_foreseen(shut):  # nothing was done in steps
                joined = at_once(ground_steps(self.world, *tiles))
            new = self.grounds.by_floor(self._cut_out([each for each in what if each.name not in names]))
            room = [
                NoRoom(layer, self.grounds.ground(layer, was_shut), shapely.union_all(areas))
                for layer, areas in new.items()
            ]
            change_ground_of_tiles(self.world, tick, *tiles, joined, room)
        else:
            change_ground(self.world, tick, self.grounds.with_closed(self._cut_out(what)))
        may_open = bool(len(opened)) or bool(is_part[closed].any())  # of a part: it may have been a wall
        self._tell_of(tick, GroundChange(what, may_open or has_moved))

    def _put_in_tiles(self, new: NewGround) -> None:
        """Put the world on the tiles that a program ordered."""
        self._put_in_at = self._tick
        change_tiles(self.world, self._tick, new)
        self._tell_of(self._tick, GroundChange(self.closed(), bool(new.tiles.add)))

    def _tell_of(self, tick: int, change: GroundChange) -> None:
        change = replace(change, closed=(*change.closed, *tiles_out(self.world)))
        self.world.planning.stand_on(tick, change, self._team)

    def closed(self) -> tuple[Shut, ...]:
        """Return what is closed now: areas, and obstacles that stand."""
        return (*closed_areas_of(self.world), *self._obstacles)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what is open, what is over, what is being built, and which agents have done what events wait
        for.
        """
        triggers = {f"triggers/{name}": array for name, array in self._triggers.state().items()}
        doors = self._doors
        asked = np.array([-1 if door.asked is None else int(door.asked) for door in doors], dtype=np.int64)
        return {
            "available": self.available,
            "is_over": self._is_over.copy(),
            "asked": asked,
            "wanted": np.array([door.wanted for door in doors], dtype=np.bool_),
            **packed(self._obstacles),
            **self._rebuild.state(),
            **self._tiles.state(),
            **triggers,
        }

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave, and put the world on the ground that belongs to it."""
        saved, doors = Saved.of(state), self._doors
        areas = len(doors)
        available, wanted = (
            saved.take("available", "?", (areas,)).tolist(),
            saved.take("wanted", "?", (areas,)).tolist(),
        )
        self._is_over = saved.take("is_over", "?", (len(self.events),))
        asked = saved.take("asked", "i8", (areas,), low=-1, high=1).tolist()
        for number, door in enumerate(doors):
            door.is_open, door.wanted, door.asked = (
                available[number],
                wanted[number],
                None if asked[number] < 0 else asked[number] == 1,
            )
        self._triggers.restore(saved.below("triggers/"))
        self._obstacles = unpacked(saved)
        self._rebuild.give_up()
        self._tiles.give_up()
        self._rebuild.restore(saved, self.world.tick + 1, areas)
        names = {door.area.name for door in doors}.intersection(each.name for each in self._obstacles)
        saved.require(not names, "bytes", "gives an obstacle the name of an area")
        self._tiles.restore(saved, self.world.tick + 1)
        what = self.closed()
        if not isinstance(self.grounds, TiledGrounds):  # tiles have been restored with the world
            stand(self.world, self.grounds.with_closed(self._cut_out(what)))
        self._tell_of(self.world.tick, GroundChange(what, False, is_new=False))


def _names(closed: Sequence[Shut]) -> set[str]:
    return {each.name for each in closed}


def _is_same(closed: Sequence[Shut], other: Sequence[Shut]) -> bool:
    """Return whether the same things are closed, each where it was."""
    if not closed and not other:
        return True
    places = {each.name: each.polygon for each in other}
    return _names(closed) == set(places) and all(
        shapely.equals_exact(each.polygon, places[each.name], SAME_PLACE_M) for each in closed
    )
