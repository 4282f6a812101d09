"""Gates: areas are opened and closed, by the clock, by what agents do, or by a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.geometry.steps import Steps, at_once
from crowdsim.kernels.threads import Team
from crowdsim.saved import Arrays, Saved
from crowdsim.scenario.areas import closed_areas
from crowdsim.scenario.geometry import ToggledArea
from crowdsim.scenario.model import Event
from crowdsim.setup.grounds import FloorGrounds, Grounds, TiledGrounds
from crowdsim.systems.base.slices import Budget
from crowdsim.systems.base.system import System, Tick
from crowdsim.systems.ground.ground_change import Closed, GroundChange, change_ground, polygons_of, stand
from crowdsim.systems.ground.rebuild import Order, Rebuild, packed, unpacked
from crowdsim.systems.ground.tile_changes import NewGround, change_ground_of_tiles, change_tiles, ground_steps
from crowdsim.systems.ground.tile_orders import TileOrders
from crowdsim.systems.ground.triggers import Triggers
from crowdsim.world.events import EventKind
from crowdsim.world.world import World

Told = Callable[[int, GroundChange, Team], None]

SAME_PLACE_M = 1e-6  # Something that stands is where it was if it has moved by less: rounding of its path. Nothing goes on so slowly.


class Gates(System):
    """Change the ground when an event says so: a closed area is a wall for walking, avoidance, contacts and planning, for all at once.

    Parameters
    ----------
    world : World
    areas : sequence of ToggledArea
    events : sequence of Event
    grounds : Grounds, FloorGrounds or TiledGrounds
    budget : Budget
        What builds ground is a task of its slicer, see `Rebuild`; a ground that was foreseen is put in at once.
    standing : callable, optional
        Returns the obstacles that are closed ground in this tick, see `Drive`; by default there are none.
    triggers : Triggers, optional
        Needed where events wait for agents that come up to others.
    """

    reads = ("entity", "position", "radius", "surface", "layer", "activity", "goal", "path_status", "corridor_start", "corridor_length", "goal_piece")
    writes = (
        "position", "tentative_position", "velocity", "preferred_velocity", "chosen_velocity", "next_corner", "surface", "layer", "wall_distance",
        "corner_post", "guessed", "corridor_length", "goal_piece", "strays", "path_status", "activity", "replan_wish", "priced_portal",
    )  # fmt: skip
    counts = ("closed_areas", "ground_work", "ground_wait_ticks")

    def __init__(
        self, world: World, areas: Sequence[ToggledArea], events: Sequence[Event], grounds: Grounds | FloorGrounds | TiledGrounds, budget: Budget,
        standing: Callable[[], tuple[Closed, ...]] | None = None, triggers: Triggers | None = None,
    ) -> None:  # fmt: skip
        super().__init__(world)
        self._standing = standing
        self._obstacles: tuple[Closed, ...] = ()  # that are closed ground
        self.areas, self.events, self.grounds = tuple(areas), tuple(events), grounds
        self._told: tuple[Told, Team] | None = None
        self.available = np.array([area.available for area in areas], dtype=np.bool_)
        self._wanted = self.available.copy()  # as it is to be, once there is ground for it
        self._tick = 0
        self._put_in_at = -1  # the last tick in which the world was put on other ground
        self._rebuild = Rebuild(grounds, budget, self._cut_out_by, self._put_in, self._join_tiles if isinstance(grounds, TiledGrounds) else None)
        self._joined: NewGround | None = None  # of the order that is put in next
        self._tiles = TileOrders(world, budget, self._put_in_tiles)
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
        """Whether something is still to happen by the clock or by a program, or ground is being built."""
        if self._rebuild.is_building or self._tiles.waits or bool(np.any(self._asked >= 0)):
            return True
        return any(event.tick >= 0 and not over for event, over in zip(self.events, self._is_over.tolist(), strict=True))

    def ask(self, area: int, available: bool) -> None:
        """Open or close an area in the next tick."""
        self._asked[area] = int(available)

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
        wanted = self._wanted.copy()
        self._tick = tick.number
        self._triggers.look(self._is_over)
        for number, event in enumerate(self.events):
            if self._is_over[number]:
                continue
            is_due = tick.number >= event.tick if event.tick >= 0 else self._triggers.is_due(number)
            if is_due:
                self._is_over[number] = True
                wanted[event.area] = event.opens
        self._wanted = np.where(self._asked >= 0, self._asked == 1, wanted)
        self._asked[:] = -1
        self._change(tick.number, self._standing() if self._standing is not None else ())
        self._triggers.remember(self._is_over)
        order = self._rebuild.order
        tick.counts["closed_areas"] = self.count_of(~self.available)
        tick.counts["ground_work"] = self._rebuild.work + self._tiles.work
        tick.counts["ground_wait_ticks"] = max(0 if order is None else tick.number - order.tick, self._tiles.wait_ticks(tick.number))

    def _change(self, tick: int, obstacles: tuple[Closed, ...]) -> None:
        """Have ground built for what is wanted where that is not what there is, one after the other, and put in what is done.

        Tiles that a program ordered come first: they are for this tick, and what is closed is looked at in this tick.
        """
        rebuild, tiles = self._rebuild, self._tiles
        rebuild.work = tiles.work = 0
        while True:
            if not rebuild.is_building and not tiles.is_building:
                if tiles.waits:
                    tiles.begin(tick)
                elif (self._wanted == self.available).all() and _is_same(obstacles, self._obstacles):
                    return
                else:
                    rebuild.begin(Order(self._wanted.copy(), obstacles, tick), tick)
            making = tiles if tiles.is_building else rebuild
            making.go_on(tick)
            if making.is_building:
                return

    def _cut_out_by(self, order: Order | None) -> list[Any]:
        """Return what an order closes, as the grounds take it; of None, what is closed now."""
        return self._cut_out(self.closed() if order is None else (*self._areas_closed(order.available), *order.obstacles))

    def _cut_out(self, closed: Sequence[Closed]) -> list[Any]:
        """Return closed things as the grounds take them: as polygons, on floors with the number of the floor."""
        return [(each.layer, each.area) for each in closed] if isinstance(self.grounds, FloorGrounds) else polygons_of(closed)

    def _join_tiles(self, order: Order, made: Any) -> Steps[None]:
        """Join the tiles of the ground that was ordered, before it is put in."""
        assert isinstance(self.grounds, TiledGrounds)
        before = self.grounds.with_closed(self._cut_out_by(None))
        yield "before"
        self._joined = yield from ground_steps(self.world, before, made)

    def _put_in(self, order: Order) -> None:
        """Put the world on the ground that was ordered."""
        tick, wanted, obstacles = self._tick, order.available, order.obstacles
        self._put_in_at = tick
        opened, closed = np.flatnonzero(wanted & ~self.available), np.flatnonzero(self.available & ~wanted)
        has_moved = bool(_names(self._obstacles) - _names(obstacles)) or not _is_same(obstacles, self._obstacles)
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
            joined, self._joined = self._joined, None
            if self.grounds.is_foreseen(shut):  # nothing was done in steps
                joined = at_once(ground_steps(self.world, *tiles))
            change_ground_of_tiles(self.world, tick, *tiles, joined, self.grounds.ground(shut), new)
        else:
            change_ground(self.world, tick, self.grounds.with_closed(self._cut_out(what)))
        self._tell_of(tick, GroundChange(what, bool(len(opened)) or has_moved))

    def _put_in_tiles(self, new: NewGround) -> None:
        """Put the world on the tiles that a program ordered."""
        self._put_in_at = self._tick
        change_tiles(self.world, self._tick, new)
        self._tell_of(self._tick, GroundChange(self.closed(), False, is_new=False))

    def closed_areas(self) -> tuple[Closed, ...]:
        """Return the areas that are closed now."""
        return self._areas_closed(self.available)

    def _areas_closed(self, available: NDArray[np.bool_]) -> tuple[Closed, ...]:
        return tuple(Closed(each.name, each.polygon, is_ground=True) for each in closed_areas(self.areas, available.tolist()))

    def _tell_of(self, tick: int, change: GroundChange) -> None:
        if self._told is not None:
            told, team = self._told
            told(tick, change, team)

    def closed(self) -> tuple[Closed, ...]:
        """Return what is closed now: areas, and obstacles that stand."""
        return (*self.closed_areas(), *self._obstacles)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what is open, what is over, what is being built, and who has done what events wait for."""
        triggers = {f"triggers/{name}": array for name, array in self._triggers.state().items()}
        return {
            "available": self.available.copy(), "is_over": self._is_over.copy(), "asked": self._asked.copy(), "wanted": self._wanted.copy(),
            **packed(self._obstacles), **self._rebuild.state(), **self._tiles.state(), **triggers,
        }  # fmt: skip

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave, and put the world on the ground that belongs to it."""
        saved, areas = Saved.of(state), len(self.areas)
        self.available, self._wanted = saved.take("available", "?", (areas,)), saved.take("wanted", "?", (areas,))
        self._is_over, self._asked = saved.take("is_over", "?", (len(self.events),)), saved.take("asked", "i8", (areas,), low=-1, high=1)
        self._triggers.restore(saved.below("triggers/"))
        self._obstacles = unpacked(saved)
        self._rebuild.give_up()
        self._tiles.give_up()
        self._rebuild.restore(saved, self.world.tick + 1, areas)
        names = {area.name for area in self.areas}.intersection(each.name for each in self._obstacles)
        saved.require(not names, "bytes", "gives an obstacle the name of an area")
        self._tiles.restore(saved, self.world.tick + 1)
        if len(self.areas) or self._standing is not None:
            what = self.closed()
            if not isinstance(self.grounds, TiledGrounds):  # tiles have been restored with the world
                stand(self.world, self.grounds.with_closed(self._cut_out(what)))
            self._tell_of(self.world.tick, GroundChange(what, False, is_new=False))


def _names(closed: Sequence[Closed]) -> set[str]:
    return {each.name for each in closed}


def _is_same(closed: Sequence[Closed], other: Sequence[Closed]) -> bool:
    """Return whether the same things are closed, each where it was."""
    if not closed and not other:
        return True
    places = {each.name: each.area for each in other}
    return _names(closed) == set(places) and all(shapely.equals_exact(each.area, places[each.name], SAME_PLACE_M) for each in closed)
