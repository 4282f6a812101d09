"""Enter: agents come in while the run lasts."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.navigation.grid.layout import Shut
from crowdsim.navigation.mesh.mesh import make_flood
from crowdsim.saved import MOST, MOST_TICKS, Arrays, Saved, ascends
from crowdsim.scenario.model import Group
from crowdsim.setup.due import Due
from crowdsim.setup.entrances import areas_of, draw_spots, find_room, shares_of, triangles_of
from crowdsim.setup.newcomers import Arriving
from crowdsim.setup.parties import parties_of
from crowdsim.setup.placement import GAP_M, WALL_MARGIN_M
from crowdsim.systems.base.system import Setup, Tick, TickSystem
from crowdsim.systems.ground.things import closed_areas_of, standing_obstacles
from crowdsim.world.random import Stream

# Places that an agent tries in a tick before it waits for the next. Larger fills an entrance more densely,
# at a microsecond a try.
TRIES = 24
AT_ONCE = 16  # Agents of one queue that are looked at together.


class Entrance:
    """An area in which agents of a group come in, and the queue of those that wait outside.

    Attributes
    ----------
    waiting : deque of (int, int)
        Index in the group, and the tick at which it was due; the first is the next to come in.
    """

    def __init__(self, group: Group, area: Any, ground: Any) -> None:
        self.group, self.layer, self._area, self._ground = group, group.layer, area, ground
        self.waiting: deque[tuple[int, int]] = deque()
        self.open_but_for(())

    def open_but_for(self, closed: Sequence[Shut]) -> None:
        """Let agents in where nothing of this is."""
        shut = [each.polygon for each in closed if each.layer in (-1, self.layer)]
        left = shapely.difference(self._ground, shapely.union_all(shut)) if shut else self._ground
        self.triangles = triangles_of(self._area, left)
        self.shares = shares_of(self.triangles) if len(self.triangles) else np.zeros(0)
        self.low = self.triangles.min(axis=(0, 1), initial=np.inf)
        self.high = self.triangles.max(axis=(0, 1), initial=-np.inf)

    @property
    def is_shut(self) -> bool:
        """Whether all of it is closed."""
        return not len(self.triangles)


class Entered(NamedTuple):
    """Agents that come in.

    Attributes
    ----------
    group, index : (k,) int32
    place : (k, 2) float64, m
    polygon : (k,) int64
    radius : (k,) float64, m
    """

    group: NDArray[Any]
    index: NDArray[Any]  # type: ignore[assignment]
    place: NDArray[Any]
    polygon: NDArray[Any]
    radius: NDArray[Any]


class Enter(TickSystem):
    """Let agents in that are due, where there is room.

    Those that find none wait outside, each behind those that were due before at the same entrance. None is
    put into another, or into a wall.
    """

    reads = ("position", "radius", "layer")
    writes = ()
    counts = ("came", "waiting_outside")

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        scenario = setup.scenario
        self._seed = scenario.seed
        self._groups = [number for number, group in enumerate(scenario.groups) if group.arrive is not None]
        self._due = [Due(scenario.groups[number], scenario.seed, scenario.tick) for number in self._groups]
        self._entrances = [
            [Entrance(scenario.groups[number], *each) for each in areas_of(scenario, scenario.groups[number])]
            for number in self._groups
        ]
        self._parties = [parties_of(scenario, scenario.groups[number]) for number in self._groups]
        newcomers = setup.world.newcomers
        self._newcomers = newcomers if isinstance(newcomers, Arriving) else None
        self._closed: tuple[Any, ...] = ()  # what is closed, as entrances know it

    @property
    def is_idle(self) -> bool:
        """Whether no group has agents that come while the run lasts."""
        return not self._groups

    @property
    def expects(self) -> bool:
        """Whether agents are still to come."""
        return self.outside > 0 or not all(each.is_over for each in self._due)

    @property
    def outside(self) -> int:
        """How many wait outside for want of room; those of a party that is not complete are still to come."""
        return sum(len(self._ready(place, each)) for place, own in enumerate(self._entrances) for each in own)

    def longest_wait(self, tick: int) -> int:
        """Return for how many ticks the first of those outside has waited, at the end of a tick."""
        first = [
            ready[0][1]
            for place, own in enumerate(self._entrances)
            for each in own
            if (ready := self._ready(place, each))
        ]
        return tick - min(first) if first else 0

    def _ready(self, place: int, entrance: Entrance) -> Sequence[tuple[int, int]]:
        """Return those in the queue of an entrance that could come in, if there were room."""
        if self._parties[place] is None:
            return entrance.waiting
        below = self._complete_below(place)
        return [each for each in entrance.waiting if each[0] < below]

    def process(self, tick: Tick) -> None:
        """Put those that are due at the ends of their queues, and let in the first ones."""
        tick.counts["came"] = 0.0
        self._heed_doors(tick.number)
        found: list[Entered] = []
        for place, (group, due, entrances) in enumerate(
            zip(self._groups, self._due, self._entrances, strict=True)
        ):
            taken = due.take(tick.number - 1)
            doors = self._door_of(place, np.array([index for index, _ in taken], dtype=np.int32))
            for door, each in zip(doors.tolist(), taken, strict=True):
                entrances[door].waiting.append(each)
            below = self._complete_below(place)
            for entrance in entrances:
                if entrance.waiting and not entrance.is_shut:
                    found += self._let_in(tick, group, entrance, found, below)
        self._note_parties()
        if found:
            came = Entered(*(np.concatenate(part) for part in zip(*found, strict=True)))
            self.world.let_in(tick.number, came.group, came.index, came.place, came.polygon)
            tick.counts["came"] = float(len(came.group))
        tick.counts["waiting_outside"] = float(self.outside)

    def _door_of(self, place: int, index: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return by which of its doors each agent of a group comes in, (k,): one after the other in turn, all
        of a party by the same.
        """
        parties = self._parties[place]
        turn = index if parties is None else parties.of(index)
        return np.asarray(turn % len(self._entrances[place]), dtype=np.int64)

    def _complete_below(self, place: int) -> int:
        """Return below which index agents of a group come in: a party does when the last of it is due."""
        due, parties = self._due[place], self._parties[place]
        if parties is None or due.is_over:
            return MOST
        return int(parties.first_of(np.array([due.next_index], dtype=np.int32))[0])

    def _note_parties(self) -> None:
        """Let the world know of which parties some wait outside."""
        if not self.world.has_parties:
            return
        found = set()
        for group, parties, entrances in zip(self._groups, self._parties, self._entrances, strict=True):
            if parties is not None:
                index = [index for entrance in entrances for index, _ in entrance.waiting]
                found |= {(group, each) for each in parties.of(np.array(index, dtype=np.int32)).tolist()}
        self.world.parties_outside = found

    def _heed_doors(self, tick: int) -> None:
        """Let agents in only where the ground is open now."""
        if self.is_idle:
            return
        closed = (*closed_areas_of(self.world), *standing_obstacles(self.world, tick))
        key = tuple((each.layer, each.polygon.wkb) for each in closed)
        if key != self._closed:
            self._closed = key
            for entrance in [each for own in self._entrances for each in own]:
                entrance.open_but_for(closed)

    def _let_in(
        self, tick: Tick, group: int, entrance: Entrance, before: list[Entered], below: int
    ) -> list[Entered]:
        """Let in agents from one queue whose index is below some."""
        assert self._newcomers is not None
        mesh, found = self.world.mesh, list[Entered]()
        others, other_radius = self._near(entrance, before)
        flood = make_flood(mesh.polygon_count)
        while entrance.waiting:
            first = list(entrance.waiting)[:AT_ONCE]
            heads = np.array([index for index, _ in first if index < below], dtype=np.int32)
            if not len(heads):
                break
            own = np.full(len(heads), group, dtype=np.int32)
            agents = self._newcomers.agents(own, heads)
            spots = np.empty((len(heads), TRIES, 2))
            draw_spots(
                self._seed, int(Stream.ENTRANCE), agents.key, 3 * TRIES * tick.number, entrance.triangles,
                entrance.shares, spots,
            )  # fmt: skip
            place, polygon = np.empty((len(heads), 2)), np.empty(len(heads), dtype=np.int64)
            known = len(others)
            others = np.concatenate([others, place])
            other_radius = np.concatenate([other_radius, np.empty(len(heads))])
            count = find_room(
                mesh, spots, entrance.layer, agents.radius, WALL_MARGIN_M, GAP_M, others, other_radius,
                known, flood, place, polygon,
            )  # fmt: skip
            others, other_radius = others[: known + count], other_radius[: known + count]
            if count:
                parts = (own, heads, place, polygon, agents.radius)
                found.append(Entered(*(part[:count] for part in parts)))
            for _ in range(count):
                entrance.waiting.popleft()
            if count < len(first):
                break
        return found

    def _near(
        self, entrance: Entrance, before: list[Entered]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return where agents and obstacles are at an entrance, (m, 2) m, and their radii, (m,) m; those that
        have come in before in this tick, too.
        """
        agents = self.world.agents
        widest = float(entrance.group.radius.high) + GAP_M
        reach = agents.radius + widest
        low, high = entrance.low - reach[:, None], entrance.high + reach[:, None]
        near = ((agents.position >= low) & (agents.position <= high)).all(axis=1)
        if entrance.layer >= 0:
            near &= agents.layer == entrance.layer
        parts = [(agents.position[near], agents.radius[near])]
        parts += [(each.place, each.radius) for each in before]
        return np.concatenate([place for place, _ in parts]), np.concatenate([radius for _, radius in parts])

    def state(self) -> dict[str, NDArray[Any]]:
        """Return which agents have become due, and which wait outside."""
        found: dict[str, NDArray[Any]] = {}
        for number, (due, entrances) in enumerate(zip(self._due, self._entrances, strict=True)):
            found |= {f"{number}/{name}": array for name, array in due.state().items()}
            waiting = [each for entrance in entrances for each in entrance.waiting]
            found[f"{number}/waiting"] = np.array(waiting, dtype=np.int64).reshape(-1, 2)
            found[f"{number}/length"] = np.array([len(each.waiting) for each in entrances], dtype=np.int64)
        return found

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave."""
        saved = Saved.of(state)
        for number, (group, due, entrances) in enumerate(
            zip(self._groups, self._due, self._entrances, strict=True)
        ):
            own = saved.below(f"{number}/")
            due.restore(own)
            waiting = own.take("waiting", "i8", (None, 2), low=0, high=[MOST, MOST_TICKS])
            lengths = own.parts("length", len(entrances), len(waiting)).tolist()
            index = waiting[:, 0]
            own.require(index < due.next_index, "waiting", "this agent is not due yet")
            own.require(len(np.unique(index)) == len(index), "waiting", "has an agent twice")
            assert self._newcomers is not None
            can_be = self._newcomers.can_be(
                np.full(len(index), group, dtype=np.int32), index.astype(np.int32)
            )
            own.require(can_be, "waiting", "no such agent comes")
            there = self.world.agents
            came = there.index[there.group == group]
            own.require(~np.isin(index, came), "waiting", "this agent is in the world")
            begin = 0
            for place, (entrance, length) in enumerate(zip(entrances, lengths, strict=True)):
                part = waiting[begin : begin + length]
                door = self._door_of(number, part[:, 0].astype(np.int32))
                own.require(
                    ascends(part[:, 0]) & bool((door == place).all()),
                    "waiting",
                    "waits at another entrance, or in another order",
                )
                entrance.waiting = deque((int(which), int(when)) for which, when in part.tolist())
                begin += length
