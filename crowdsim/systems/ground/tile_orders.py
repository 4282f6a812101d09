"""Tiles that a program takes out and puts back: orders, and the mesh in the making without and with them.

What is ordered between two ticks lands together, in the first tick in which it is built and paid for, and
nothing lands before what was ordered earlier.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.saved import MOST, Arrays, Saved
from crowdsim.systems.base.slices import Budget
from crowdsim.systems.ground.building import Building
from crowdsim.systems.ground.tile_changes import NewGround, change_steps
from crowdsim.world.world import World


@dataclass(eq=False)
class TileOrder:
    """Tiles that are to go and to come together.

    Attributes
    ----------
    tick : int
        The first in which they can.
    goes : dict of int to bool
        By tile, in the order of the calls: True for those that go.
    """

    tick: int
    goes: dict[int, bool] = field(default_factory=dict)


class TileOrders(Building):
    """Joins the mesh for one order after the other.

    Parameters
    ----------
    world : World
    budget : Budget
        Where work decides, the polygons of the tiles that go and come are what is paid for.
    put_in : callable
        Called with the ground that was made.
    """

    def __init__(self, world: World, budget: Budget, put_in: Callable[[NewGround], None]) -> None:
        super().__init__(budget)
        self._world, self._deliver = world, put_in
        self._orders: list[TileOrder] = []  # the first is in the making, if any is
        self._made: NewGround | None = None

    @property
    def waits(self) -> bool:
        """Whether anything was ordered that has not landed."""
        return bool(self._orders)

    def wait_ticks(self, tick: int) -> int:
        """Return how long the oldest order has waited."""
        return tick - self._orders[0].tick if self._orders else 0

    def will_be_there(self, tile: int) -> bool:
        """Return whether a tile is there once all that was ordered has landed."""
        tiles = self._world.tiles
        assert tiles is not None
        will_be_there = bool(tiles.is_there[tile])
        for order in self._orders:
            will_be_there = not order.goes.get(tile, not will_be_there)
        return will_be_there

    def order(self, tile: int, *, goes: bool) -> None:
        """Take a tile out, or put it back, from the next tick on.

        Raises
        ------
        NavigationError
            If it will not be there to go, or will be there already, once all that was ordered before has
            landed.
        """
        tiles, will_be_there = self._world.tiles, self.will_be_there(tile)
        assert tiles is not None
        (tiles.refuse_absent if goes else tiles.refuse_present)(tile, will_be_there)
        tick = self._world.tick + 1
        if not self._orders or self._orders[-1].tick != tick or tile in self._orders[-1].goes:
            self._orders.append(TileOrder(tick))
        self._orders[-1].goes[tile] = goes

    def begin(self, tick: int) -> None:
        """Begin with the oldest order; nothing is in the making."""
        self._begin(change_steps(self._world, *self._change()), tick)

    def _change(self) -> tuple[list[int], list[int]]:
        """Return what goes and what comes by the oldest order, but for what is so already:
        an area may have been closed over a tile meanwhile.
        """
        tiles = self._world.tiles
        assert tiles is not None
        is_there = tiles.is_there
        goes = self._orders[0].goes
        return sorted(tile for tile in goes if goes[tile] and is_there[tile]), sorted(
            tile for tile in goes if not goes[tile] and not is_there[tile]
        )

    def _built(self, made: NewGround) -> int:
        tiles = self._world.tiles
        assert tiles is not None
        self._made = made
        return sum(tiles.content(tile).polygon_count for tile in self._orders[0].goes)

    def _put_in(self) -> None:
        made, self._made = self._made, None
        assert made is not None
        self._orders.pop(0)
        self._deliver(made)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what was ordered, and how far the first of it is, as named arrays;
        nothing where nothing was.
        """
        if not self._orders:
            return {}
        rows = [
            (place, order.tick, tile, goes)
            for place, order in enumerate(self._orders)
            for tile, goes in order.goes.items()
        ]
        state = {"tiles_ordered": np.array(rows, dtype=np.int64)}
        return (
            {**state, "tiles_progress": np.array(self.progress, dtype=np.int64)}
            if self.is_building
            else state
        )

    def restore(self, state: Arrays | Saved, tick: int) -> None:
        """Take back what `state()` gave, once everything was given up: the same steps are done again."""
        saved, tiles = Saved.of(state), self._world.tiles
        self._orders, self._made = [], None
        if tiles is None or "tiles_ordered" not in saved:
            return
        rows = saved.take("tiles_ordered", "i8", (None, 4), low=0, high=[MOST, tick, tiles.tile_count - 1, 1])
        saved.require(len(rows) > 0, "tiles_ordered", "has no orders")
        saved.require(np.isin(rows[:, 2], tiles.known()), "tiles_ordered", "there is no such tile")
        saved.require(
            np.isin(np.diff(rows[:, 0], prepend=-1), (0, 1)) & (rows[0, 0] == 0),
            "tiles_ordered",
            "orders are numbered from 0 on, without gaps",
        )
        for place, ordered, tile, goes in rows.tolist():
            if place == len(self._orders):
                self._orders.append(TileOrder(ordered))
            self._orders[place].goes[tile] = bool(goes)
        if "tiles_progress" in saved:
            done, owed = saved.take("tiles_progress", "i8", (2,), low=[0, -1], high=MOST).tolist()
            self.begin(tick)
            saved.require(
                self._redo(done, owed), "tiles_progress", "says that more was done than there is to do"
            )
