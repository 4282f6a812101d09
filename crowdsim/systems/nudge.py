"""Nudge: agents that stand in the way of others step aside."""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.bodies.nudge import (
    BlockedParameters,
    NudgeParameters,
    choose_aside,
    find_touching,
    rows_of_entities,
)
from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.lengths import hypots
from crowdsim.kernels.decorator import lean_kernel
from crowdsim.systems.base.system import Setup, Tick, TickSystem, shares_in_plan, ticks_of
from crowdsim.world.columns import Stepping
from crowdsim.world.events import EventKind
from crowdsim.world.states import STANDING, WAITING, WALKING, on_their_way


@lean_kernel
def find_movable_standing(start, stop, activity, is_yielding, is_driven, is_immovable, out):
    """Write which agents of a range stand and can be asked aside, (n,) bool; return how many.

    All others are columns of agents. Twin: `tests/reference/rows.py`.
    """
    count = 0
    for row in range(np.uint64(start), np.uint64(stop)):
        out[row] = (
            (activity[row] == STANDING or activity[row] == WAITING)
            and is_yielding[row] == 0
            and is_driven[row] == 0
            and is_immovable[row] == 0
        )
        count += out[row]
    return count


NOWHERE, ASIDE = np.uint8(Stepping.NOWHERE), np.uint8(Stepping.ASIDE)


@lean_kernel
def end_steps(
    start, stop, yield_target, position, activity, is_driven, yield_tick, reached, patience, tick, is_yielding
):
    """End the steps of agents that are there, that have tried for long enough, or that walk by now.

    Parameters
    ----------
    start, stop : int
        Range of rows.
    yield_target, position, activity, is_driven, yield_tick : (n, ...)
        Columns of agents.
    reached : float, m
        So near is there.
    patience : int, ticks
        For how long one that was asked aside tries.
    tick : int
    is_yielding : (n,) uint8
        In and out.

    Notes
    -----
    Twin: `tests/reference/rows.py`.
    """
    for row in range(np.uint64(start), np.uint64(stop)):
        if is_yielding[row] == NOWHERE:
            continue
        last = yield_tick[row] + (patience if is_yielding[row] == ASIDE else 0)
        rest = hypot(yield_target[row, 0] - position[row, 0], yield_target[row, 1] - position[row, 1])
        if activity[row] == WALKING or is_driven[row] != 0 or rest <= reached or tick >= last:
            is_yielding[row] = NOWHERE


@lean_kernel
def lead_steps(
    start,
    stop,
    is_yielding,
    yield_target,
    position,
    desired_speed,
    tick_length,
    preferred_velocity,
    next_corner,
):
    """Set the preferred velocities, (n, 2) m/s, and next corners, (n, 2) m, of agents of a range that step
    aside or in: straight to the place, and no farther; return how many do.

    All but `tick_length`, s, are columns of agents. Twin: `tests/reference/rows.py`.
    """
    count = 0
    for row in range(np.uint64(start), np.uint64(stop)):
        if is_yielding[row] == NOWHERE:
            continue
        count += 1
        x, y = yield_target[row, 0] - position[row, 0], yield_target[row, 1] - position[row, 1]
        length = hypot(x, y)
        share = min(desired_speed[row], length / tick_length) / max(length, 1e-300)
        preferred_velocity[row, 0], preferred_velocity[row, 1] = x * share, y * share
        next_corner[row, 0], next_corner[row, 1] = yield_target[row, 0], yield_target[row, 1]
    return count


class Nudge(TickSystem):
    """Ask stationary agents aside that a walker touches, or that block one, and lead those that step aside.

    Which agents are asked, by which, and where they go follows from the positions at the begin of the tick.
    An agent that steps aside counts as a walker: it asks those aside that stand in its way. Afterwards it
    stands, or waits, at the new place.
    """

    reads = (
        "entity",
        "activity",
        "is_driven",
        "is_immovable",
        "is_yielding",
        "yield_target",
        "yield_tick",
        "blocked_ticks",
        "blocker",
        "position",
        "radius",
        "preferred_velocity",
        "desired_speed",
        "surface",
        "nudges",
    )
    writes = ("is_yielding", "yield_target", "yield_tick", "nudges", "preferred_velocity", "next_corner")
    counts = ("nudges_on_contact", "nudges_blocked", "nudges_refused", "yielding")

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.parameters, tick = setup.of_bodies(NudgeParameters), setup.scenario.tick
        self.blocked_ticks = max(1, ticks_of(setup.of_bodies(BlockedParameters).blocked_time, tick))
        self.patience = ticks_of(self.parameters.nudge_patience, tick)
        self._does = self.parameters.nudging

    @property
    def is_idle(self) -> bool:
        """Whether the scenario goes without it, and no agent moves into a region."""
        return not self._does

    def process(self, tick: Tick) -> None:
        """End the steps that are done, begin new ones, lead all."""
        agents = self.world.agents
        tick.counts.update(dict.fromkeys(self.counts, 0.0))
        self._does = self.parameters.nudging or bool(np.count_nonzero(agents.is_yielding))
        if not self._does or not len(agents):
            return
        self._end(tick)
        if self.parameters.nudging:
            stands = np.empty(len(agents), dtype=np.bool_)
            found = tick.team.run(
                find_movable_standing, len(agents), agents.activity, agents.is_yielding, agents.is_driven,
                agents.is_immovable, stands,
            )  # fmt: skip
            if sum(found):
                self._ask(tick, stands)
        self._lead(tick)

    def _end(self, tick: Tick) -> None:
        """End the steps of agents that are there, that have tried for long enough, or that walk by now."""
        agents = self.world.agents
        tick.team.run(
            end_steps, len(agents), agents.yield_target, agents.position, agents.activity, agents.is_driven,
            agents.yield_tick, float(self.parameters.nudge_reached), self.patience, tick.number,
            agents.is_yielding,
        )  # fmt: skip

    def _ask(self, tick: Tick, stands: NDArray[np.bool_]) -> None:
        """Ask agents aside that a walker touches, else those that have blocked one for long enough:
        the nearest asks, of those equally near the first.
        """
        agents = self.world.agents
        walker, touches = self._touching(tick, stands)
        self._blocked(stands, walker)
        asked = (walker >= 0).nonzero()[0]
        if not len(asked):
            return
        by = walker[asked]
        target, goes = self._places(tick, asked, self._away(asked, by))
        # From the side of a corridor all four directions point at walls: then the one in which the walker
        # goes counts, which leads along the corridor.
        refused = np.flatnonzero(~goes)
        if len(refused):
            target[refused], goes[refused] = self._places(tick, asked[refused], self._headings(by[refused]))
        rows = asked[goes]
        agents.is_yielding[rows], agents.yield_target[rows], agents.yield_tick[rows] = (
            Stepping.ASIDE,
            target[goes],
            tick.number,
        )
        agents.nudges[rows] += 1
        tick.counts["nudges_on_contact"] = self.count_of(touches[rows])
        tick.counts["nudges_blocked"] = self.count_of(~touches[rows])
        tick.counts["nudges_refused"] = self.count_of(~goes)
        self.world.events.note(
            tick.number, EventKind.NUDGED, agents.entity[rows], target[goes], agents.entity[by[goes]]
        )

    def _places(
        self, tick: Tick, asked: NDArray[np.int64], away: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return where the agents that are asked can go, (k, 2), m, and which can; see `choose_aside`."""
        agents = self.world.agents
        target, choice = np.empty((len(asked), 2)), np.empty(len(asked), dtype=np.int64)
        tick.team.run(
            choose_aside, len(asked), self.world.mesh, self.world.polygons(asked), agents.position[asked],
            agents.radius[asked], away, float(self.parameters.nudge_distance), target, choice,
        )  # fmt: skip
        return target, choice >= 0

    def _touching(self, tick: Tick, stands: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return for each stationary agent the walker that touches it, -1 for none,
        and where there is one.
        """
        agents = self.world.agents
        assert tick.cells is not None, "Index runs before Nudge"
        walker = np.empty(len(agents), dtype=np.int64)
        tick.team.run(
            find_touching,
            len(agents),
            tick.cells,
            agents.radius,
            agents.preferred_velocity,
            on_their_way(agents).view(np.uint8),
            stands.view(np.uint8),
            float(self.parameters.nudge_contact),
            float(np.maximum.reduce(agents.radius)),
            walker,
        )
        return walker, walker >= 0

    def _blocked(self, stands: NDArray[np.bool_], walker: NDArray[np.int64]) -> None:
        """Add to `walker` those that stationary agents have blocked for long enough,
        where no walker touches them.
        """
        agents = self.world.agents
        blocked = (agents.blocked_ticks >= self.blocked_ticks).nonzero()[0]
        if not len(blocked):
            return
        by = rows_of_entities(agents.entity, agents.blocker[blocked])
        counts = (by >= 0) & stands[by]
        counts &= walker[by] < 0
        blocked, by = blocked[counts], by[counts]
        line = agents.position[by] - agents.position[blocked]
        order = np.lexsort((blocked, hypots(line[:, 0], line[:, 1]), by))
        first = np.flatnonzero(np.diff(by[order], prepend=-1))
        walker[by[order][first]] = blocked[order][first]

    def _away(self, asked: NDArray[np.int64], by: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return unit vectors from walkers to the agents that they ask;
        where both are on one spot, the walker's own direction.
        """
        agents = self.world.agents
        return _directions(agents.position[asked] - agents.position[by], self._headings(by))

    def _headings(self, by: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the directions of preferred velocities, as unit vectors;
        along x for agents that have none.
        """
        return _directions(self.world.agents.preferred_velocity[by], np.array([1.0, 0.0]))

    def _lead(self, tick: Tick) -> None:
        """Set the preferred velocities of agents that step aside or in:
        straight to the place, and no farther.
        """
        agents = self.world.agents
        led = tick.team.run(
            lead_steps, len(agents), agents.is_yielding, agents.yield_target, agents.position,
            agents.desired_speed, tick.length, agents.preferred_velocity, agents.next_corner,
        )  # fmt: skip
        count = sum(led)
        tick.counts["yielding"] = float(count)
        if count and not self.world.is_level:
            rows = (agents.is_yielding != NOWHERE).nonzero()[0]
            agents.preferred_velocity[rows] *= shares_in_plan(self.world, tick, agents.preferred_velocity)[
                rows, None
            ]


def _directions(vector: NDArray[np.float64], otherwise: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return unit vectors along vectors, (n, 2); `otherwise` where a vector is none."""
    length = hypots(vector[:, 0], vector[:, 1])[:, None]
    return np.where(length == 0.0, otherwise, vector / np.where(length == 0.0, 1.0, length))
