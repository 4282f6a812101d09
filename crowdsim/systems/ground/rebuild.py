"""Other ground as things are closed and opened:
the mesh is cut anew, or the tiles that are others than they were.

What it costs depends on what is closed alone, not on what was built before, so that a saved run goes on as it
would have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.geometry.steps import Steps
from crowdsim.navigation.grid.layout import Shut
from crowdsim.saved import FARTHEST_M, MOST, Arrays, Saved, SavedError
from crowdsim.scenario.limits import MAX_FLOORS
from crowdsim.setup.grounds import AnyGrounds
from crowdsim.systems.base.slices import Budget
from crowdsim.systems.ground.building import Building


@dataclass(frozen=True, eq=False)
class Order:
    """What is to be closed.

    Attributes
    ----------
    available : (areas,) bool
    obstacles : tuple of Shut
        Those that stand.
    tick : int
        At which it was ordered.
    """

    available: NDArray[np.bool_]
    obstacles: tuple[Shut, ...]
    tick: int


class Rebuild(Building):
    """Builds ground without what is closed.

    Parameters
    ----------
    grounds : AnyGrounds
    budget : Budget
        Where work decides, polygons are what is paid for.
    cut_out_by : callable
        Returns what an order closes, as the grounds take it; of None, what is closed now.
    put_in : callable
        Called with an order whose ground is built.
    more : callable, optional
        Called with an order and the ground, before that is put in; returns further steps. A ground that was
        foreseen has none.

    Attributes
    ----------
    order : Order or None
        What is being built.
    """

    def __init__(
        self,
        grounds: AnyGrounds[Any, Any],
        budget: Budget,
        cut_out_by: Callable[[Order | None], list[Any]],
        put_in: Callable[[Order], None],
        more: Callable[[Order, Any], Steps[None]] | None = None,
    ) -> None:
        super().__init__(budget)
        self.order: Order | None = None
        self._grounds, self._cut_out_by, self._deliver, self._more = grounds, cut_out_by, put_in, more

    def begin(self, order: Order, tick: int) -> None:
        """Begin to build a ground; there is none in the making."""
        closed = self._cut_out_by(order)
        self.order = order
        self._begin(self._steps_of(order, closed), tick, is_there=self._grounds.is_foreseen(closed))

    def _steps_of(self, order: Order, closed: Sequence[Any]) -> Steps[Any]:
        made = yield from self._grounds.steps(closed)
        if self._more is not None:
            yield "ground"
            yield from self._more(order, made)
        return made

    def _built(self, made: Any) -> int:
        return (
            0
            if self._budget.is_timed
            else self._grounds.work_of(made, self._grounds.with_closed(self._cut_out_by(None)))
        )

    def _put_in(self) -> None:
        order, self.order = self.order, None
        assert order is not None
        self._deliver(order)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what is being built, and how far that is, as named arrays."""
        if self.order is None:
            return {}
        return {
            "order_available": self.order.available.copy(),
            "order_progress": np.array([self.order.tick, *self.progress], dtype=np.int64),
            **{f"order_{name}": array for name, array in packed(self.order.obstacles).items()},
        }

    def restore(self, state: Arrays | Saved, tick: int, areas: int) -> None:
        """Take back what `state()` gave, of so many areas, once everything was given up:
        the same steps are done again.
        """
        saved = Saved.of(state)
        self.order = None
        if "order_progress" not in saved:
            return
        ordered, done, owed = saved.take(
            "order_progress", "i8", (3,), low=[0, 0, -1], high=[tick, MOST, MOST]
        ).tolist()
        self.begin(
            Order(saved.take("order_available", "?", (areas,)), unpacked(saved.below("order_")), ordered),
            tick,
        )
        saved.require(self._redo(done, owed), "order_progress", "says that more was done than there is to do")


def packed(closed: Sequence[Shut]) -> dict[str, NDArray[Any]]:
    """Return closed things as named arrays."""
    names, shapes = [each.name.encode() for each in closed], [shapely.to_wkb(each.polygon) for each in closed]
    sizes = np.array(
        [[len(name), len(shape)] for name, shape in zip(names, shapes, strict=True)], dtype=np.int64
    ).reshape(-1, 2)
    layers = np.array([each.layer for each in closed], dtype=np.int64)
    return {
        "sizes": sizes,
        "layers": layers,
        "bytes": np.frombuffer(b"".join(names + shapes), dtype=np.uint8).copy(),
    }


def unpacked(saved: Saved) -> tuple[Shut, ...]:
    """Return what `packed` was given."""
    data = saved.take("bytes", "u1").tobytes()
    sizes = saved.take("sizes", "i8", (None, 2), low=0, high=len(data))
    layers = saved.take("layers", "i8", (len(sizes),), low=-1, high=MAX_FLOORS).tolist()
    limits = np.cumsum(sizes.T.reshape(-1)).tolist()
    saved.require(
        (limits[-1] if limits else 0) == len(data),
        "sizes",
        f"do not add up to the {len(data)} bytes that there are",
    )
    parts = (
        [data[first:last] for first, last in zip([0, *limits[:-1]], limits, strict=True)] if limits else []
    )
    count = len(sizes)
    try:
        names, shapes = (
            [name.decode() for name in parts[:count]],
            [shapely.from_wkb(shape) for shape in parts[count:]],
        )
    except (UnicodeDecodeError, shapely.errors.ShapelyError):
        raise SavedError(f"{saved.name}bytes holds no names and shapes") from None
    saved.require(len(set(names)) == count, "bytes", "has two things with one name")
    are_areas = all(
        isinstance(shape, shapely.Polygon | shapely.MultiPolygon) and _is_area(shape) for shape in shapes
    )
    saved.require(are_areas, "bytes", "holds a shape that is no area")
    return tuple(Shut(names[k], shapes[k], layer=layers[k]) for k in range(count))


def _is_area(shape: Any) -> bool:
    places = shapely.get_coordinates(shape)
    return bool(
        shape.is_valid and not shape.is_empty and not shape.has_z and np.all(np.abs(places) <= FARTHEST_M)
    )
