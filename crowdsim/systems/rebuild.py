"""Other ground in the making, as a task of the time slicer (SYSTEMS T2): cutting the mesh anew, or the tiles that are others than they were.

A ground is built in steps, and put under everybody's feet in one: then walls, contacts, avoidance and planning change together, between two ticks. Until
then everything is as it was. What it costs depends on what is closed alone, not on what was built before, so that a saved run goes on as it would have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.geometry.steps import Steps
from crowdsim.systems.ground import Closed
from crowdsim.systems.slices import Budget, Progress, Wish

TASK = "ground"
HEAD_START = 20  # Ticks, a second or two: so long the ground goes before searches that have waited as long. Larger lets them starve for longer.


class AnyGrounds(Protocol):
    """`crowdsim.scenario.grounds.Grounds`, `FloorGrounds` or `TiledGrounds`."""

    def is_foreseen(self, closed: Sequence[Any]) -> bool:
        """Return whether a ground was built before the first tick."""

    def steps(self, closed: Sequence[Any]) -> Steps[Any]:
        """Build a ground in steps."""

    def with_closed(self, closed: Sequence[Any]) -> Any:
        """Return a ground."""

    def work_of(self, ground: Any, before: Any) -> int:
        """Return what building a ground counts as where work decides."""


@dataclass(frozen=True, eq=False)
class Order:
    """What is to be closed.

    Attributes
    ----------
    available : (areas,) bool
    obstacles : tuple of Closed
        Those that stand.
    tick : int
        At which it was ordered.
    """

    available: NDArray[np.bool_]
    obstacles: tuple[Closed, ...]
    tick: int


class Rebuild:
    """Builds one ground at a time, and has it put in when it is done.

    Parameters
    ----------
    grounds : AnyGrounds
    budget : Budget
        Where a clock decides, each step is a slice. Where work decides, polygons are what is paid for.
    cut_out_by : callable
        Returns what an order closes, as the grounds take it; of None, what is closed now.
    put_in : callable
        Called with an order whose ground is built.

    Attributes
    ----------
    order : Order or None
        What is being built.
    work : int
        What was paid for in this tick, in expansions.
    """

    def __init__(self, grounds: AnyGrounds, budget: Budget, cut_out_by: Callable[[Order | None], list[Any]], put_in: Callable[[Order], None]) -> None:
        self.order: Order | None = None
        self.work = 0
        self._grounds, self._budget, self._cut_out_by, self._put_in = grounds, budget, cut_out_by, put_in
        self._steps: Steps[Any] | None = None
        self._done, self._owed = 0, -1  # steps; work that is left to be paid, -1 until the ground is built
        self._is_between_ticks = False

    def begin(self, order: Order, tick: int) -> None:
        """Begin to build a ground; there is none in the making."""
        closed = self._cut_out_by(order)
        self.order, self._steps = order, self._grounds.steps(closed)
        self._done, self._owed = 0, 0 if self._grounds.is_foreseen(closed) else -1
        self._budget.tasks.add(TASK, self._slice, due=tick, head_start=HEAD_START)

    def go_on(self, tick: int) -> None:
        """Build on, and put in what is done, between two ticks."""
        self._is_between_ticks = True
        try:
            self._budget.hurry(tick, TASK)
        finally:
            self._is_between_ticks = False

    def _slice(self, most: int) -> Progress:
        """Build for a slice."""
        if self._owed < 0:
            if self._budget.counts_answers:  # the clock is looked at after every step
                self._step()
                self.work += most
                return Progress(most, Wish.GO_ON)
            while self._owed < 0:
                self._step()
        used = min(most, self._owed)
        self._owed -= used
        self.work += used
        if self._owed:
            return Progress(used, Wish.GO_ON)
        if not self._is_between_ticks:
            return Progress(used, Wish.NEXT_TICK)
        order, self.order, self._steps = self.order, None, None
        assert order is not None
        self._put_in(order)
        return Progress(used, Wish.DONE)

    def _step(self) -> None:
        assert self._steps is not None
        try:
            next(self._steps)
            self._done += 1
        except StopIteration as end:
            self._owed = 0
            if not self._budget.counts_answers:
                self._owed = self._grounds.work_of(end.value, self._grounds.with_closed(self._cut_out_by(None)))

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what is being built, and how far that is, as named arrays."""
        if self.order is None:
            return {}
        return {
            "order_available": self.order.available.copy(), "order_progress": np.array([self.order.tick, self._done, self._owed], dtype=np.int64),
            **{f"order_{name}": array for name, array in packed(self.order.obstacles).items()},
        }  # fmt: skip

    def restore(self, state: Mapping[str, NDArray[Any]], tick: int) -> None:
        """Take back what `state()` gave: the same steps are done again."""
        self._budget.tasks.remove(TASK)
        self.order = self._steps = None
        if "order_progress" not in state:
            return
        ordered, done, owed = state["order_progress"].tolist()
        obstacles = unpacked({name.removeprefix("order_"): array for name, array in state.items()})
        self.begin(Order(state["order_available"].copy(), obstacles, ordered), tick)
        if self._owed < 0:
            for _ in range(done):
                self._step()
            if owed >= 0:
                self._step()
        self._owed = owed


def packed(closed: Sequence[Closed]) -> dict[str, NDArray[Any]]:
    """Return closed things as named arrays."""
    names, shapes = [each.name.encode() for each in closed], [shapely.to_wkb(each.area) for each in closed]
    sizes = np.array([[len(name), len(shape)] for name, shape in zip(names, shapes, strict=True)], dtype=np.int64).reshape(-1, 2)
    layers = np.array([each.layer for each in closed], dtype=np.int64)
    return {"sizes": sizes, "layers": layers, "bytes": np.frombuffer(b"".join(names + shapes), dtype=np.uint8).copy()}


def unpacked(state: Mapping[str, NDArray[Any]]) -> tuple[Closed, ...]:
    """Return what `packed` was given."""
    sizes, data = state["sizes"], state["bytes"].tobytes()
    ends = np.cumsum(sizes.T.reshape(-1)).tolist()
    parts = [data[first:last] for first, last in zip([0, *ends[:-1]], ends, strict=True)] if ends else []
    count = len(sizes)
    layers = state["layers"].tolist()
    return tuple(Closed(name.decode(), shapely.from_wkb(shape), layer) for name, shape, layer in zip(parts[:count], parts[count:], layers, strict=True))
