"""What a run results in, summed up tick by tick where nothing is recorded:
paths, energies, collisions, and a thin trace for pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.measures.contacts import COLLISION_WEIGHT, STEERBENCH_FPS, touching
from crowdsim.measures.shortest_paths import REACHED, open_world, shortest_path_lengths
from crowdsim.setup.newcomers import agents_by_identity
from crowdsim.simulation.simulation import Simulation
from crowdsim.world.events import EventKind

# What counts as a collision: a centimetre. Agents that are pushed apart touch by less all the time, and each
# touch would cost 50 s.
COLLISION_DEPTH_M = 0.01
# Between places of a trail: a quarter of a metre of walking, a line's width in a picture.
TRACE_SECONDS = 0.2
MOST_TRACED = 1000  # Trails that are kept for a picture: its panels are small, and more are a solid colour.


@dataclass(eq=False)
class Trace:
    """Where agents went, for a picture; filled by `RunCounts`.

    Attributes
    ----------
    groups : list of str
        Names of the groups.
    people : int
        How many agents there are; of more than `MOST_TRACED` only every second, third ... has a trail.
    last_tick : int
        When the run ended.
    group : (k,) int32
        Group of each trail.
    trails : (f, k, 2) float32, m
        Places of the agents that have a trail, NaN where one is not in the world.
    layers : (f, k) int32
        Floor of each place.
    stuck, overlaps : (s, 3), (o, 3) float64
        x and y (m) and the floor of where an agent got stuck, and where two began to be deeper than
        `COLLISION_DEPTH_M` in each other.
    """

    groups: list[str] = field(default_factory=list)
    people: int = 0
    last_tick: int = 0
    group: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    trails: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0, 2), dtype=np.float32))
    layers: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int32))
    stuck: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 3)))
    overlaps: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 3)))


_MOST = 1 << 31  # Agents: pairs of them are kept as one number each.


class RunCounts:
    """Sums over the ticks of one run.

    Sums are those of `crowdsim.measures.path_lengths`, `detours`, `collisions` and `steering_scores` of a
    recording of every tick, in an amount of memory that does not grow with the run, but with the agents that
    come in. Arrays have one row for each agent, by entity - 1.

    Parameters
    ----------
    run : Simulation
        Before its first step.
    trace : Trace, optional
        Is filled, when `close_trace` is called.

    Attributes
    ----------
    arrived : (n,) int64
        Tick of the arrival at the last goal, 0 for those that did not.
    length : (n,) float64, m
        Way that was walked, along the surface.
    collisions : (n,) int64
        How often the agent began to be deeper than `COLLISION_DEPTH_M` in another.
    overlaps : int
        The same, of pairs.
    energy, acceleration : (n,) float64
        Sums over ticks: kinetic, of a mass of 1 (m²/s²), and the amount of the acceleration (m/s²).
    """

    def __init__(self, run: Simulation, trace: Trace | None = None) -> None:
        self.run, self.trace = run, trace
        agents, self.count = run.built.agents, len(run.built.agents)
        self.length, self.energy, self.acceleration = (
            np.zeros(self.count),
            np.zeros(self.count),
            np.zeros(self.count),
        )
        self.arrived, self.last_tick, self.collisions = (
            np.zeros(self.count, dtype=np.int64) for _ in range(3)
        )
        self.overlaps = 0
        self.group, self.index = agents.group.copy(), agents.index.copy()
        self.start_tick = agents.start_tick.copy()
        self._place = np.column_stack((agents.position, np.zeros(self.count)))
        self._place[:, 2] = run.world.heights()[: self.count]
        self._layer = np.array(run.world.agents.layer[: self.count], dtype=np.int32)
        self._start, self._start_layer = agents.position.copy(), self._layer.copy()
        self._velocity = np.full((self.count, 3), np.nan)
        self._radius = np.array(run.world.agents.radius[: self.count])
        self._in_contact = np.zeros(0, dtype=np.int64)  # pairs, as one number each
        self._reached: list[NDArray[Any]] = []
        self._every = max(1, round(TRACE_SECONDS / run.scenario.tick))
        # of those that are there from the beginning
        self._traced = np.arange(0, self.count, max(1, -(-self.count // MOST_TRACED)))
        self._frames: list[tuple[NDArray[np.float32], NDArray[np.int32]]] = []
        self._stuck: list[tuple[float, float, float]] = []
        self._overlaps: list[NDArray[np.float64]] = []
        all_agents = np.ones(self.count, dtype=np.bool_)
        self._touch(all_agents)
        self._keep_frame(all_agents)

    def note(self, events: NDArray[Any]) -> None:
        """Add the tick that was just done, and what happened in it, as `Simulation.step` returns it."""
        run = self.run
        if run.world.came.tick == run.tick and len(run.world.came.entity):
            self._take_in(events)
        agents, here = run.world.agents, run.world.agent_count
        rows = agents.entity[:here] - 1
        place, present = self._place.copy(), np.zeros(self.count, dtype=np.bool_)
        place[rows, :2], place[rows, 2], present[rows] = (
            agents.position[:here],
            run.world.heights()[:here],
            True,
        )
        self._layer[rows], self._radius[rows] = agents.layer[:here], agents.radius[:here]
        ends = events[events["kind"] == EventKind.ARRIVAL]
        gone = ends["entity"] - 1
        # agents that leave have left the world already
        place[gone, 0], place[gone, 1], present[gone] = ends["x"], ends["y"], True
        self._move(place, present & (self.arrived == 0))
        self.arrived[gone] = run.tick
        self.last_tick[present] = run.tick
        self._note_goals(events)
        self._touch(present)
        if self.trace is not None:
            got_stuck = events[events["kind"] == EventKind.STUCK]
            self._stuck += zip(
                got_stuck["x"].tolist(),
                got_stuck["y"].tolist(),
                self._layer[got_stuck["entity"] - 1].tolist(),
                strict=True,
            )
            if run.tick % self._every == 0:
                self._keep_frame(present)

    def _take_in(self, events: NDArray[Any]) -> None:
        """Have rows for agents that came in this tick, where they came in."""
        came, more = self.run.world.came, int(self.run.world.came.entity[-1]) - self.count
        newcomers = self.run.world.newcomers
        assert newcomers is not None
        columns = newcomers.columns(came.group, came.index)
        rows, self.count = came.entity - 1, self.count + more

        def grown(array: NDArray[Any], fill: float = 0.0) -> NDArray[Any]:
            width = [(0, more)] + [(0, 0)] * (array.ndim - 1)
            return np.pad(array, width, constant_values=fill)

        for name in ("length", "energy", "acceleration", "arrived", "last_tick", "collisions", "group"):
            setattr(self, name, grown(getattr(self, name)))
        self.index, self.start_tick = grown(self.index), grown(self.start_tick)
        self._layer, self._start_layer = grown(self._layer), grown(self._start_layer)
        self._place, self._start = grown(self._place), grown(self._start)
        self._radius, self._velocity = grown(self._radius), grown(self._velocity, np.nan)
        self.group[rows], self.index[rows], self._radius[rows] = came.group, came.index, columns["radius"]
        self.start_tick[rows] = columns["start_tick"] + came.tick - 1
        spawned = events[events["kind"] == EventKind.SPAWN]
        spawned = spawned[np.searchsorted(spawned["entity"], came.entity)]
        self._start[rows] = np.column_stack((spawned["x"], spawned["y"]))
        self._place[rows, :2] = self._start[rows]
        there = np.searchsorted(self.run.world.agents.entity, came.entity)
        there = np.minimum(there, len(self.run.world.agents) - 1)
        self._layer[rows] = self._start_layer[rows] = self.run.world.agents.layer[there]
        self._place[rows, 2] = self.run.world.heights()[there]

    def _move(self, place: NDArray[np.float64], walks: NDArray[np.bool_]) -> None:
        """Add the steps of agents that walk."""
        step = place - self._place
        velocity = step / self.run.scenario.tick
        change = np.sqrt(((velocity - self._velocity) ** 2).sum(axis=1))
        self.length += np.where(walks, np.sqrt((step**2).sum(axis=1)), 0.0)
        self.energy += np.where(walks, 0.5 * (velocity**2).sum(axis=1), 0.0)
        self.acceleration += np.where(walks & ~np.isnan(change), change, 0.0) / self.run.scenario.tick
        self._place, self._velocity = place, velocity

    def _note_goals(self, events: NDArray[Any]) -> None:
        goals = events[(events["kind"] == EventKind.GOAL_REACHED) | (events["kind"] == EventKind.ARRIVAL)]
        if not len(goals):
            return
        found = np.zeros(len(goals), dtype=REACHED)
        for name, column in (("person", "entity"), ("goal", "value"), ("x", "x"), ("y", "y")):
            found[name] = goals[column]
        found["layer"] = self._layer[goals["entity"] - 1]
        self._reached.append(found)

    def _touch(self, present: NDArray[np.bool_]) -> None:
        """Note which agents have come into each other since the last tick."""
        rows, pairs = np.flatnonzero(present), np.zeros(0, dtype=np.int64)
        if len(rows) > 1:
            x, y, z = self._place[rows].T
            radius = self._radius[rows]
            one, other, _ = touching(
                x, y, z, radius, COLLISION_DEPTH_M, size=max(1e-3, 2.0 * float(radius.max()))
            )
            first, second = np.minimum(rows[one], rows[other]), np.maximum(rows[one], rows[other])
            pairs = np.sort(first * _MOST + second)
        new = np.setdiff1d(pairs, self._in_contact, assume_unique=True)
        self._in_contact = pairs
        if not len(new):
            return
        first, second = new // _MOST, new % _MOST
        self.overlaps += len(new)
        np.add.at(self.collisions, first, 1)
        np.add.at(self.collisions, second, 1)
        if self.trace is not None:
            middle = 0.5 * (self._place[first, :2] + self._place[second, :2])
            self._overlaps.append(np.column_stack((middle, self._layer[first])))

    def _keep_frame(self, present: NDArray[np.bool_]) -> None:
        if self.trace is not None:
            shown = np.where(present[self._traced, None], self._place[self._traced, :2], np.nan).astype(
                np.float32
            )
            self._frames.append((shown, self._layer[self._traced].copy()))

    def on_the_way_s(self) -> NDArray[np.float64]:
        """Return how long each was on its way, until it arrived or was last in the world: (n,) float64, s."""
        until = np.where(self.arrived > 0, self.arrived, self.last_tick)
        return np.maximum(0, until - self.start_tick) * self.run.scenario.tick

    def scores(self) -> NDArray[np.float64]:
        """Return SteerBench's score of each, see `crowdsim.measures.steering_scores`: (n,) float64;
        a collision is what is deeper than a centimetre.
        """
        frames = STEERBENCH_FPS * self.run.scenario.tick
        return COLLISION_WEIGHT * self.collisions + self.on_the_way_s() + frames * self.energy

    def mean_accelerations(self) -> NDArray[np.float64]:
        """Return the mean amount of each one's acceleration until it arrived: (n,) float64, m/s²;
        nan of those that were never there.
        """
        took = self.on_the_way_s()
        return np.divide(
            self.acceleration * self.run.scenario.tick,
            took,
            out=np.full(self.count, np.nan),
            where=took > 0.0,
        )

    def shortest_paths(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the length of each one's shortest path through the goals that it reached, for its width:
        (n,) float64, m, and the time that it would take alone, (n,) float64, s; see `shortest_path_lengths`.
        """
        reached = np.concatenate(self._reached) if self._reached else np.zeros(0, dtype=REACHED)
        reached = reached[self.arrived[reached["person"] - 1] > 0]
        reached = reached[np.argsort(reached["person"], kind="stable")]
        if not len(reached):
            return np.full(self.count, np.nan), np.full(self.count, np.nan)
        people, built = np.arange(1, self.count + 1), open_world(self.run.scenario)
        agents = agents_by_identity(built.scenario, built.all_agents, people, self.group, self.index)
        return shortest_path_lengths(built, people, agents, self._start, self._start_layer, reached)

    def close_trace(self, groups: Sequence[str]) -> None:
        """Put what was kept into the trace."""
        if self.trace is None:
            return
        trace, kept = self.trace, self._traced
        trace.groups, trace.people, trace.group = (
            list(groups),
            self.count,
            np.asarray(self.run.built.agents.group[kept], dtype=np.int32),
        )
        trace.last_tick = self.run.tick
        trace.trails = np.stack([place for place, _ in self._frames])
        trace.layers = np.stack([layer for _, layer in self._frames])
        trace.stuck = np.array(self._stuck, dtype=np.float64).reshape(-1, 3)
        trace.overlaps = np.concatenate(self._overlaps) if self._overlaps else np.zeros((0, 3))
