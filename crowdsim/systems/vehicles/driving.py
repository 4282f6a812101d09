"""Driving: vehicles go along their curves, as fast as what is ahead of them lets them.

The curve is fixed, the speed is not (path-velocity decomposition [Kant 1986]): so a vehicle never leaves the
ground that its rectangle was held against, and never turns more sharply than it can. It brakes so that it
stands before it touches what is predicted to be in its way (passive safety [Macek 2009]).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.navigation.mesh.mesh import locate_many
from crowdsim.navigation.vehicles.curve import poses
from crowdsim.setup.things import Disc
from crowdsim.setup.vehicles import Drive
from crowdsim.systems.base.system import Setup, Tick
from crowdsim.systems.ground.things import closed_areas_of
from crowdsim.world.columns import AgentState
from crowdsim.world.events import EventKind
from crowdsim.world.vehicles import NO_DISC

GAP_M = 1.0  # From what it stands before.
KEEP_M = 0.2  # To what it passes at its sides.
NOSE_M = 1.0  # Of it that must not drive into those that walk: some walk into its side by themselves.
APART_M = 0.5  # Between the places ahead at which it looks.
MORE_M = 2.0  # So much farther than it takes to stop it looks.
FORESEEN_S = 3.0  # For so long others are expected to go on as they go.
THERE_M = 1e-3  # So near to an end of a piece it is there.


class Others(NamedTuple):
    """What may be in the way.

    Attributes
    ----------
    place, velocity : (n, 2) float64, m and m/s
    radius : (n,) float64, m
    entity : (n,) int64
        Of discs of vehicles, that of the vehicle.
    layer : (n,) int32
    """

    place: NDArray[np.float64]
    velocity: NDArray[np.float64]
    radius: NDArray[np.float64]
    entity: NDArray[np.int64]
    layer: NDArray[np.int32]


class Driving:
    """The vehicles of a run.

    Parameters
    ----------
    setup : Setup
    """

    def __init__(self, setup: Setup) -> None:
        self.world, self._drives = setup.world, setup.built.drives
        self._entities = np.zeros(0, dtype=np.int64)
        self._shut: dict[tuple[int, str], NDArray[np.bool_]] = {}

    @property
    def is_idle(self) -> bool:
        """Whether there are no vehicles."""
        return not self._drives

    def rows(self) -> NDArray[np.int64]:
        """Return the vehicles that are in the world, (k,) rows."""
        return np.flatnonzero(self.world.drives() & (self.world.agents.activity == AgentState.RIDING))

    def drive_of(self, row: int) -> Drive:
        """Return the drive of a vehicle."""
        agents = self.world.agents
        return self._drives[int(agents.group[row]), int(agents.index[row])]

    def process(self, tick: Tick) -> None:
        """Let all go on by a tick, or arrive."""
        if self.is_idle:
            return
        agents = self.world.agents
        for entity in agents.entity[self.rows()].tolist():
            row = int(np.searchsorted(agents.entity, entity))
            if agents.first_disc[row] == NO_DISC:
                self._put_in(row)
        rows = self.rows()
        self._entities = agents.entity[rows].copy()
        others = self._others(rows)
        done = [row for row in rows.tolist() if not self._go_on(tick, row, others)]
        for entity in agents.entity[done].tolist():
            self._arrive(tick, int(np.searchsorted(agents.entity, entity)))

    def discs_of(self, row: int) -> slice:
        """Return the rows of the discs of a vehicle."""
        agents = self.world.agents
        first = int(np.searchsorted(agents.entity, agents.first_disc[row]))
        return slice(first, first + len(self.drive_of(row).vehicle.discs()[0]))

    def discs(self) -> list[tuple[int, int]]:
        """Return the discs that cover vehicles, each with the entity of its own."""
        agents, found = self.world.agents, list[tuple[int, int]]()
        for row in [] if self.is_idle else self.rows().tolist():
            first = int(agents.first_disc[row])
            count = len(self.drive_of(row).vehicle.discs()[0]) if first != NO_DISC else 0
            found += [(first + number, int(agents.entity[row])) for number in range(count)]
        return sorted(found)

    def _put_in(self, row: int) -> None:
        """Put in the discs that cover a vehicle."""
        world, agents, drive = self.world, self.world.agents, self.drive_of(row)
        along, radius = drive.vehicle.discs()
        pose = poses(drive.curve, agents.driven[row : row + 1])[0]
        place = pose[:2] + along[:, None] * pose[2:]
        layer = int(agents.layer[row])
        polygon = np.empty(len(place), dtype=np.int64)
        locate_many(0, len(place), world.mesh, place, np.full(len(place), layer, dtype=np.int32), polygon)
        polygon = np.where(polygon >= 0, polygon, world.polygons()[row])
        entity = int(agents.entity[row])
        first = world.put_in_obstacle(Disc(entity), place, np.full(len(place), radius), polygon, layer)
        agents.first_disc[row] = first
        agents.heading[row] = pose[2:]

    def _others(self, rows: NDArray[np.int64]) -> Others:
        """Return what may be in the way of vehicles, (k,) rows: all that is on the ground."""
        agents = self.world.agents
        entity = agents.entity.copy()
        for row in rows.tolist():
            entity[self.discs_of(row)] = agents.entity[row]
        there = agents.activity != AgentState.RIDING
        return Others(
            agents.position[there], agents.velocity[there], agents.radius[there], entity[there],
            agents.layer[there],
        )  # fmt: skip

    def _go_on(self, tick: Tick, row: int, others: Others) -> bool:
        """Let a vehicle go on; return whether it is still on its way."""
        agents, drive = self.world.agents, self.drive_of(row)
        here, speed, length = float(agents.driven[row]), float(agents.drive_speed[row]), drive.curve.length
        if tick.number > agents.start_tick[row]:
            if length - here <= THERE_M:
                return False
            speed = self._speed(tick.length, row, drive, here, speed, others)
            end = drive.curve.along[np.searchsorted(drive.curve.along, here + THERE_M)]
            there = min(here + speed * tick.length, float(drive.curve.along[-1]))
            here = float(end) if end - there <= THERE_M and there <= end else there
        pose = poses(drive.curve, np.array([here]))[0]
        if here != agents.driven[row]:
            agents.stands_since[row] = tick.number
        agents.driven[row], agents.drive_speed[row] = here, speed
        agents.heading[row] = pose[2:]
        agents.velocity[row] = (pose[:2] - agents.position[row]) / tick.length
        discs, along = self.discs_of(row), drive.vehicle.discs()[0]
        place = pose[:2] + along[:, None] * pose[2:]
        agents.velocity[discs] = (place - agents.position[discs]) / tick.length
        return True

    def _speed(
        self, tick_length: float, row: int, drive: Drive, here: float, speed: float, others: Others
    ) -> float:
        """Return how fast a vehicle goes in this tick, m/s."""
        own, curve = drive.vehicle, drive.curve

        def safe(distance: float, then: float = 0.0) -> float:
            """Return how fast it may go in this tick to be as slow as `then` after so far (m)."""
            step = own.braking * tick_length
            return float(np.sqrt(step * step + then * then + 2.0 * own.braking * max(0.0, distance))) - step

        limit = np.where(
            curve.gear < 0, own.reverse_speed, np.where(curve.bend == 0.0, own.speed, own.speed_in_curves)
        )
        piece = max(0, int(np.searchsorted(curve.along, here + THERE_M, side="right")) - 1)
        piece = min(piece, len(limit) - 1)
        wanted = min(speed + own.acceleration * tick_length, float(limit[piece]))
        wanted = min(wanted, safe(curve.length - here))
        ahead = speed * speed / (2.0 * own.braking) + 2.0 * own.speed * tick_length + MORE_M
        for after in range(piece + 1, len(limit)):
            distance = float(curve.along[after]) - here
            if distance > ahead:
                break
            turns_back = curve.gear[after] != curve.gear[after - 1]
            wanted = min(wanted, safe(distance, 0.0 if turns_back else float(limit[after])))
            if turns_back:
                break
        free, blocker = self._free(row, drive, here, speed, ahead + GAP_M, others)
        self.world.agents.held_by[row] = blocker
        return max(0.0, min(wanted, safe(free - GAP_M)))

    def _free(
        self, row: int, drive: Drive, here: float, speed: float, ahead: float, others: Others
    ) -> tuple[float, int]:
        """Return how far the rectangle of a vehicle can go before it meets what is in its way (m), at most
        `ahead`, and the entity of that, 0 for none, -1 for a closed area.
        """
        own, curve, entity = drive.vehicle, drive.curve, int(self.world.agents.entity[row])
        at = np.minimum(here + APART_M * np.arange(int(ahead / APART_M) + 2), curve.length)
        pose = poses(curve, at)
        reach = ahead + own.length + FORESEEN_S * 3.0
        near = (others.layer == self.world.agents.layer[row]) & (others.entity != entity)
        near &= hypots(*(others.place - pose[0, :2]).T) <= reach + others.radius
        free, blocker = np.inf, 0
        if near.any():
            # vehicles with higher numbers wait for this one: where they will be does not matter
            drives = np.isin(others.entity[near], self._entities)
            yields = drives & (others.entity[near] > entity)
            time = np.minimum((at - here) / max(speed, 1.0), FORESEEN_S)
            moves = np.where(yields[:, None], 0.0, others.velocity[near])
            piece = np.clip(np.searchsorted(curve.along, at, side="right") - 1, 0, len(curve.gear) - 1)
            forwards = np.broadcast_to((curve.gear[piece] > 0)[:, None], (len(at), len(drives)))
            front, back = np.float64(own.front), np.float64(-own.overhang)
            as_they_stand = self._apart(own, pose, others.place[near][None], back, front)
            as_they_go = self._apart(
                own, pose, others.place[near] + time[:, None, None] * moves,
                np.where(drives | ~forwards, back, front - NOSE_M),
                np.where(drives | forwards, front, back + NOSE_M),
            )  # fmt: skip
            # those that are beside it are passed unless they come nearer
            keep = np.minimum(others.radius[near] + KEEP_M, as_they_stand[0] - 0.01)
            meets = (as_they_stand < keep) | (as_they_go < keep)
            hits = np.flatnonzero(meets.any(axis=1))
            if len(hits):
                free = float(at[hits[0]] - here)
                blocker = int(others.entity[near][int(np.argmax(meets[hits[0]]))])
        for area in closed_areas_of(self.world):
            if area.layer in (-1, int(self.world.agents.layer[row])):
                shut = self._in_area(entity, drive, area.name, area.polygon)
                first = int(np.ceil(here / APART_M))
                hits = np.flatnonzero(shut[first:])
                if len(hits) and (distance := (first + int(hits[0])) * APART_M - here) < free:
                    free, blocker = distance, -1
        return free, blocker

    @staticmethod
    def _apart(own, pose, place, back, front):  # type: ignore[no-untyped-def]
        """Return how far places, (k or 1, n, 2), are from the rectangle at poses, (k, 4), or from the part of
        it between `back` and `front` (m along it); (k, n) m.
        """
        offset = place - pose[:, None, :2]
        along = offset[..., 0] * pose[:, None, 2] + offset[..., 1] * pose[:, None, 3]
        aside = offset[..., 1] * pose[:, None, 2] - offset[..., 0] * pose[:, None, 3]
        before = np.maximum(np.maximum(back - along, along - front), 0.0)
        return hypots(before, np.maximum(np.abs(aside) - 0.5 * own.width, 0.0))

    def _in_area(self, entity: int, drive: Drive, name: str, area: object) -> NDArray[np.bool_]:
        """Return at which places of its curve, each `APART_M`, a vehicle is in an area."""
        if (entity, name) not in self._shut:
            own = drive.vehicle
            at = np.minimum(APART_M * np.arange(int(drive.curve.length / APART_M) + 2), drive.curve.length)
            pose = poses(drive.curve, at)
            aside = np.column_stack([-pose[:, 3], pose[:, 2]]) * (0.5 * own.width)
            ends = [pose[:, :2] + along * pose[:, 2:] for along in (-own.overhang, own.front)]
            corners = np.stack([ends[0] - aside, ends[1] - aside, ends[1] + aside, ends[0] + aside], axis=1)
            self._shut[entity, name] = shapely.intersects(shapely.polygons(corners), area)
        return self._shut[entity, name]

    def _arrive(self, tick: Tick, row: int) -> None:
        """Let a vehicle leave that has come to its goal."""
        world, agents, drive = self.world, self.world.agents, self.drive_of(row)
        leaving = np.arange(len(agents))[self.discs_of(row)]
        agents.first_disc[row], agents.drive_speed[row] = NO_DISC, 0.0
        agents.velocity[row] = 0.0
        agents.activity[row] = AgentState.ARRIVED
        world.events.note(
            tick.number, EventKind.ARRIVAL, agents.entity[[row]], agents.position[[row]], drive.goal
        )
        world.take_away_obstacles(leaving)
