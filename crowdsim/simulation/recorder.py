"""The recorder: what a simulation gives to the recording, frame by frame and tick by tick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.avoidance.registry import origin_of
from crowdsim.measures.deadlock_stuck import STUCK_BY
from crowdsim.recording.files import Kept
from crowdsim.recording.header import Header, Layout, new_run_id
from crowdsim.recording.reader import Recording
from crowdsim.recording.schema import (
    ROSTER_DTYPE,
    TRACED_COLUMNS,
    EventKind,
    RecordedColumn,
    RecordedCount,
    columns_kept,
    fitted,
)
from crowdsim.recording.writer import RecordingWriter
from crowdsim.scenario.model import Scenario
from crowdsim.scenario.parameters import SECTIONS
from crowdsim.scenario.shapes import wkt_of
from crowdsim.setup.agents import NO_ID
from crowdsim.setup.build import Built
from crowdsim.setup.identity import recorded
from crowdsim.simulation.budget import milliseconds_of
from crowdsim.systems.base.own import systems_of
from crowdsim.systems.base.system import System, Tick
from crowdsim.systems.record import digest_names
from crowdsim.world.columns import AgentColumns
from crowdsim.world.registry import recorded_origin

# Of the roster: what agents have in columns when they come.
_FACTS = ("key", "group", "index", "start_tick", "radius", "desired_speed", "maximum_speed")


class Recorder:
    """Writes one run.

    Parameters
    ----------
    built : Built
    out : Path
    systems : sequence of classes of systems
        In their order.
    threads : int
    force : bool
        Replace a finished file of that name.
    goes_on : bool
        See `RecordingWriter`.
    first_tick : int
        Of the header.
    run_id : str
        Of the run that goes on; empty where a new one begins.

    Attributes
    ----------
    until : int or None
        The last tick that is recorded; None records all. What comes later is computed and not written.
    """

    def __init__(
        self, built: Built, out: Path, systems: Sequence[type[System]], *,
        threads: int, force: bool, goes_on: bool = False, first_tick: int = 0, run_id: str = ""
    ) -> None:  # fmt: skip
        self.until: int | None = None
        scenario, own = built.scenario, systems_of(built.scenario)
        self.every = scenario.record.ticks_per_frame
        self.trace = scenario.record.trace
        farthest_m = float(np.abs(shapely.bounds(scenario.geometry.walkable)).max())
        of_own = (
            RecordedColumn(each.name, each.dtype, each.unit, each.about, each.width)
            for kind in own
            for each in kind.columns
        )
        self._columns = (*(fitted(column, farthest_m) for column in _columns(scenario)), *of_own)
        self._frames = 0
        self._region = scenario.record.region
        self._world, self._built = built.world, built
        # by entity: which of the agents that the scenario lists are in the roster; others come once only
        self._known = np.zeros(len(built.all_agents) + 1, dtype=np.bool_)
        self._chosen = recorded(scenario, built.all_agents)
        header = Header(
            name=scenario.name,
            scenario=scenario.canonical(),
            seed=scenario.seed,
            tick_s=scenario.tick,
            ticks_per_frame=self.every,
            ground=tuple(wkt_of(ground) for ground in scenario.geometry.grounds),
            layers=scenario.geometry.floor_names,
            groups=tuple(group.name for group in scenario.groups),
            goals=tuple(goal.name for goal in scenario.goals),
            parameters=_parameters(scenario),
            plugins={
                **_plugins_of(scenario),
                **{kind.__name__: recorded_origin(kind.__name__) for kind in own},
            },
            threads=threads,
            exact=self.trace,
            reproducible=not milliseconds_of(scenario),
            first_tick=first_tick,
            stuck_by=STUCK_BY,
            run_id=run_id or new_run_id(),
        )
        world = built.world
        digested = digest_names(
            own,
            has_machines=world.machines is not None,
            has_parties=world.has_parties,
            has_connections=world.riding is not None,
        )
        layout = Layout(
            columns=tuple(self._columns),
            systems=tuple(kind.__name__ for kind in systems),
            counts=tuple(
                RecordedCount(name, "", "", "float64")
                for name in ("agents", *(name for kind in systems for name in kind.counts))
            ),
            digests=tuple(digested),
            trace=self.trace,
            explain=bool(scenario.record.explain),
            interventions=True,
            traced=_traced_columns(systems, digested, self._built.world.agents) if self.trace else (),
        )
        self.writer = RecordingWriter(
            out, header, layout, force=force, goes_on=goes_on, agents=self._expected()
        )

    def _expected(self) -> int:
        """Return how many agents are recorded at first."""
        agents = self._built.all_agents
        entities = np.arange(1, len(agents) + 1)
        if self._chosen is None:
            return len(agents)
        return int(np.count_nonzero(self._chosen.among(agents.group, entities)))

    def begin(self, tick: int, agents: AgentColumns, built: Built, events: NDArray[Any]) -> None:
        """Record the unchanging facts of all agents, their spawning, and where they stand before the first
        tick that is recorded.
        """
        self._list(agents.entity, {name: getattr(agents, name) for name in _FACTS})
        self.writer.events(events)
        self._keep_frame(tick, agents)
        self.writer.commit()

    def go_on(self, recording: Recording, last_tick: int, interventions: int) -> None:
        """Begin with what another recording of this run holds until a tick, and so many interventions."""
        self.writer.begin_with(recording, last_tick, interventions)
        listed = recording.table("roster")
        is_known = (listed["spawn_tick"] <= last_tick) & (listed["entity"] <= self._world.listed)
        self._known[listed["entity"][is_known]] = True
        self._frames = self.writer.committed.frames

    def frame(self, tick: int, agents: AgentColumns) -> None:
        """Record a frame if this tick has one."""
        if tick % self.every == 0 and not self._is_past(tick):
            self._keep_frame(tick, agents)

    def _keep_frame(self, tick: int, agents: AgentColumns) -> None:
        keep = self._kept_rows(agents)
        columns = {column.name: getattr(agents, column.name)[keep] for column in self._columns}
        position = agents.position[keep]
        self.writer.frame(
            self._frames,
            tick,
            agents.entity[keep],
            position[:, 0],
            position[:, 1],
            self._world.heights()[keep],
            columns,
        )
        self._frames += 1

    def _kept_rows(self, agents: AgentColumns) -> Any:
        count = self._world.agent_count
        if self._chosen is None and self._region is None:
            return slice(count)
        keep = np.zeros(len(agents), dtype=bool)
        keep[:count] = True if self._chosen is None else self._chosen.rows(agents)[:count]
        if self._region is not None:
            keep = keep & shapely.intersects_xy(self._region, agents.position[:, 0], agents.position[:, 1])
        return keep

    def trace_system(self, tick: int, system: int, writes: Sequence[str], agents: AgentColumns) -> None:
        """Record digests of what a system wrote, in a traced run."""
        if not self._is_past(tick):
            self.writer.trace(
                tick, system, {name: getattr(agents, name) for name in writes if name in agents.columns}
            )

    def tick(self, tick: Tick, readings: NDArray[np.int64], events: NDArray[Any]) -> None:
        """Record the numbers and events of a tick that is over."""
        if self._is_past(tick.number):
            return
        if len(events):
            self._list_new(tick.number, events)
            self.writer.events(events)
        if tick.reasons is not None:
            self.writer.explanations(tick.number, tick.reasons)
        assert tick.digests is not None
        self.writer.tick(tick.number, tick.counts, readings, tick.digests)

    def _list_new(self, tick: int, events: NDArray[Any]) -> None:
        """Record the unchanging facts of agents that came in this tick for the first time."""
        spawned = events["entity"][events["kind"] == EventKind.SPAWN]
        spawned = np.unique(spawned[spawned <= self._world.listed])
        listed = spawned[~self._known[spawned]]
        if len(listed):
            columns = self._built.columns()
            self._list(listed, {name: columns[name][listed - 1] for name in _FACTS}, tick)
        came = self._world.came
        if came.tick == tick and len(came.entity):
            assert self._world.newcomers is not None
            columns = self._world.newcomers.columns(came.group, came.index)
            columns["start_tick"] += tick - 1
            self._list(came.entity, columns, tick)

    def _list(self, entity: NDArray[np.int64], columns: Mapping[str, NDArray[Any]], tick: int = 0) -> None:
        """Record the unchanging facts of agents, with what they have in columns at that time."""
        rows, known = np.zeros(len(entity), dtype=ROSTER_DTYPE), self._built.all_agents
        rows["entity"], rows["spawn_tick"], rows["scenario_id"] = entity, tick, NO_ID
        is_listed = entity <= len(known)
        rows["scenario_id"][is_listed] = known.id[entity[is_listed] - 1]
        for name in _FACTS:
            rows[name] = columns[name]
        self.writer.roster(rows)
        self._known[entity[is_listed]] = True

    def intervention(self, tick: int, line: bytes) -> None:
        """Record what a program did after a tick."""
        if not self._is_past(tick):
            self.writer.intervention(line)

    def close(self, verdict: Mapping[str, Any], reason: str = "") -> Kept:
        """Finish the file; with a reason, mark it as interrupted."""
        return self.writer.abandon(reason, verdict) if reason else self.writer.close(verdict)

    def _is_past(self, tick: int) -> bool:
        return self.until is not None and tick > self.until


def _columns(scenario: Scenario) -> tuple[RecordedColumn, ...]:
    """Return what is recorded of every agent; of a traced run that records all,
    also what only its digests know.
    """
    columns = columns_kept(
        has_machines=bool(scenario.behaviours.machines),
        has_parties=scenario.has_parties,
        has_connections=bool(scenario.carriers),
    )
    chosen = tuple(column for column in columns if column.name in scenario.record.columns)
    return (*chosen, *TRACED_COLUMNS) if scenario.record.trace and len(chosen) == len(columns) else chosen


def _traced_columns(
    systems: Sequence[type[System]], digested: Sequence[str], agents: AgentColumns
) -> tuple[str, ...]:
    """Return the columns that systems write and no digest of a tick covers, in the order of the tick; some
    are there only where agents have machines of states.
    """
    written = dict.fromkeys(name for kind in systems for name in kind.writes)
    return tuple(name for name in written if name in agents.columns and name not in digested)


def _plugins_of(scenario: Scenario) -> dict[str, dict[str, str]]:
    """Return where the models and planners of a scenario come from that are not crowdsim's own."""
    found: list[tuple[str, dict[str, str]]] = [(chosen.name, {}) for chosen in scenario.models]
    found += [(chosen.name, {"kind": "planner"}) for chosen in scenario.navigations]
    return {
        name: {**asdict(origin), **kind} for name, kind in found if (origin := origin_of(name)) is not None
    }


def _parameters(scenario: Scenario) -> dict[str, Any]:
    """Return every tunable number by its full name;
    those of a group's own model or navigation below the group.
    """
    found: dict[str, Any] = {}
    selectors = {section.name: section.selector for section in SECTIONS}
    sections = [*scenario.sections.items()]
    for group in scenario.groups:
        sections += [
            (f"groups.{group.name}.{name}", own)
            for name, own in (("avoidance", group.avoidance), ("navigation", group.navigation))
            if own
        ]
    for name, chosen in sections:
        selector = selectors[name.rpartition(".")[2]]
        found |= {f"{name}.{selector}": chosen.name} if selector else {}
        found |= {f"{name}.{key}": value for key, value in chosen.values.items()}
    return found
