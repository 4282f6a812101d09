"""The simulation: a world, the systems of the tick in their order, probes round each, and a recorder beside them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crowdsim.avoidance.symmetry import SymmetryBreaker
from crowdsim.bodies.separate import SeparationParameters
from crowdsim.errors import CrowdsimError
from crowdsim.navigation.planner import MeshPlanner
from crowdsim.recording.files import Kept
from crowdsim.recording.schema import digest_text
from crowdsim.scenario.agents import chosen_rows
from crowdsim.scenario.build import avoidance_models, build_world, model_of_group, planner_parameters, speed_law
from crowdsim.scenario.model import Scenario
from crowdsim.schedule.agents_view import AgentsView
from crowdsim.schedule.probes import Probes
from crowdsim.schedule.recorder import Recorder
from crowdsim.schedule.verdict import Ledger, Verdict
from crowdsim.schedule.warm import warm_kernels
from crowdsim.systems import TICK_ORDER, System, Tick
from crowdsim.systems.avoid import Avoid
from crowdsim.systems.plan import Plan, default_budget
from crowdsim.systems.record import Record
from crowdsim.systems.separate import Separate
from crowdsim.systems.slow_down import SlowDown
from crowdsim.systems.symmetry import BreakSymmetry, SymmetrySwitch
from crowdsim.systems.watch import Watch
from crowdsim.threads import Team
from crowdsim.world.columns import AgentState, PathStatus
from crowdsim.world.events import EventKind

PROGRESS_SECONDS = 0.2  # Between calls of a progress function: what the eye takes as continuous is faster, but a terminal scrolls.


class Simulation:
    """One run of a scenario, step by step or to its end.

    Parameters
    ----------
    scenario : Scenario
        As `crowdsim.load_scenario` returns it.
    threads : int, >= 1
        Threads of the kernels; they change nothing but the time.
    out : str or Path, optional
        Where to record; without it nothing is recorded.
    force : bool
        Whether a finished recording of that name is replaced.
    warm : bool
        Have all kernels compiled or loaded before the first tick.

    Raises
    ------
    ScenarioError
        If the scenario cannot be built: agents that do not fit, ground that cannot be meshed.
    RecordingError
        If the recording cannot be begun.
    """

    def __init__(self, scenario: Scenario, *, threads: int = 1, out: str | Path | None = None, force: bool = False, warm: bool = True) -> None:
        self.scenario = scenario
        if warm:
            warm_kernels(scenario)
        self.built = build_world(scenario)
        self.world = self.built.world
        self.team = Team(threads)
        names = [kind.__name__ for kind in TICK_ORDER]
        counts = ["agents", *(name for kind in TICK_ORDER for name in kind.counts)]
        self.recorder = Recorder(self.built, Path(out), names, counts, threads=threads, force=force) if out is not None else None
        self.systems: list[System] = [self._make(kind) for kind in TICK_ORDER]
        for place, system in enumerate(self.systems):
            self.world.add_system(system, len(self.systems) - place)
        self.probes = Probes(names)
        self.ledger = Ledger(self.built)
        self._listeners: list[tuple[EventKind | None, Callable[[Any], None]]] = []
        self._wall_s = 0.0
        self.counts: dict[str, float] = {}  # what was counted in the last tick, by name
        self.world.spawn(self.built.population, self.built.polygon)
        events = self.world.events.take()
        if self.recorder is not None:
            self.recorder.begin(self.world.agents, self.built, events)

    def _make(self, kind: type[System]) -> System:
        """Make a system; those that need more than the world get it here."""
        world, scenario = self.world, self.scenario
        if kind is Plan:
            work = int(scenario.budget.values["work"])
            return Plan(world, MeshPlanner(world.mesh, world.goals, planner_parameters(scenario)), work or default_budget(scenario.agent_count))
        if kind is Avoid:
            return Avoid(world, avoidance_models(scenario), model_of_group(scenario), self.built.population.label, self._explained())
        if kind is SlowDown:
            return SlowDown(world, speed_law(scenario))
        if kind is BreakSymmetry:
            return BreakSymmetry(world, scenario.symmetry.parameters(SymmetrySwitch), scenario.symmetry.parameters(SymmetryBreaker.Parameters))
        if kind is Separate:
            return Separate(world, scenario.bodies.parameters(SeparationParameters))
        if kind is Watch:
            return Watch(world, scenario.tick)
        if kind is Record:
            return Record(world, self.recorder)
        return kind(world)

    def _explained(self) -> NDArray[np.bool_] | None:
        """Return whose choices are explained, by entity - 1; None where nobody asked or nothing is recorded."""
        wanted = self.scenario.record.explain
        return chosen_rows(self.scenario, self.built.agents, wanted) if wanted and self.recorder is not None else None

    @property
    def tick(self) -> int:
        """Ticks done so far."""
        return self.world.tick

    @property
    def time(self) -> float:
        """Simulated time so far, s."""
        return self.world.tick * self.scenario.tick

    @property
    def digest(self) -> str:
        """Digest of every column of every tick so far, 16 hexadecimal digits."""
        return digest_text(next(system.fold for system in self.systems if isinstance(system, Record)))

    @property
    def agents(self) -> AgentsView:
        """The agents in the world now, as arrays and as a DataFrame."""
        return AgentsView(self.world.agents, self.built.population.label)

    def step(self) -> NDArray[Any]:
        """Do one tick; return its events.

        Returns
        -------
        (k,) record array
            Fields tick, entity, kind (`EventKind`), value, x, y.
        """
        began = time.perf_counter()
        tick = Tick(self.world.tick + 1, self.scenario.tick, self.team)
        readings = np.empty(len(self.systems), dtype=np.int64)
        tick.counts["agents"] = len(self.world.agents)
        tracing = self.recorder is not None and self.recorder.trace
        for place, system in enumerate(self.systems):
            start = time.perf_counter_ns()
            system.process(tick)
            readings[place] = time.perf_counter_ns() - start
            if tracing and self.recorder is not None:
                self.recorder.trace_system(tick.number, place, system.writes, self.world.agents)
        self.world.tick = tick.number
        events = self.world.events.take()
        self.counts = tick.counts
        self.probes.note(readings)
        self.ledger.note(tick.number, tick.counts, events)
        if self.recorder is not None:
            self.recorder.tick(tick, readings, events)
        self._wall_s += time.perf_counter() - began
        self._tell(events)
        return events

    def run(self, *, progress: Callable[[Simulation], None] | None = None, time_limit: float | None = None) -> Verdict:
        """Step until the scenario's stop conditions, and finish the recording.

        Parameters
        ----------
        progress : callable, optional
            Called with the simulation about five times a second.
        time_limit : float, s, optional
            Wall-clock time after which the run is stopped; what was recorded stays whole.

        Returns
        -------
        Verdict
        """
        began = shown = time.monotonic()
        ended = ""
        try:
            while not ended:
                ended = self.why_over()
                now = time.monotonic()
                if not ended and time_limit is not None and now - began >= time_limit:
                    ended = "time limit"
                if not ended:
                    self.step()
                    if progress is not None and now - shown >= PROGRESS_SECONDS:
                        shown = now
                        progress(self)
        except KeyboardInterrupt:
            ended = "interrupted"
        return self.finish(ended)

    def why_over(self) -> str:
        """Return why the run is over now; an empty string if it goes on."""
        stop, agents = self.scenario.stop, self.world.agents
        busy = (agents.activity == AgentState.WALKING) | (agents.activity == AgentState.WAITING)
        if stop.when_all_arrived and not np.any(busy):
            return "all arrived" if not np.any((agents.goal >= 0) & (agents.activity != AgentState.ARRIVED)) else "nobody can go on"
        if self.world.tick >= stop.ticks:
            return "time is up"
        if stop.stuck_for is not None and np.any(busy):
            since = self.world.tick - agents.stuck_tick[busy]
            if np.all((agents.is_stuck[busy] == 1) & (since * self.scenario.tick >= stop.stuck_for)):
                return "everybody left is stuck"
        return ""

    def verdict(self, ended: str = "") -> Verdict:
        """Return what the run has come to so far."""
        probes = self.probes
        ms = dict(probes.slowest(len(probes.names)))
        return self.ledger.verdict(
            ended or self.why_over() or "not over", self.world.tick, self.world.agents,
            wall_s=self._wall_s, ms_per_tick=ms, worst_tick_ms=probes.worst_tick_ns / 1e6, digest=self.digest,
        )  # fmt: skip

    def finish(self, ended: str = "") -> Verdict:
        """Finish the recording, if there is one, and return the verdict; `kept` then says where the file is."""
        verdict = self.verdict(ended)
        if self.recorder is not None and self.kept is None:
            stopped = verdict.ended if verdict.ended in ("time limit", "interrupted", "not over") else ""
            self.recorder.close(verdict.as_dict(), stopped)
        self.team.close()
        return verdict

    @property
    def kept(self) -> Kept | None:
        """Where the finished recording is; None while there is none."""
        return self.recorder.kept if self.recorder is not None else None

    def close(self) -> None:
        """Free what the simulation holds; a recording that was not finished is finished as interrupted."""
        if self.recorder is not None and self.kept is None:
            self.recorder.close(self.verdict("not over").as_dict(), "closed before its end")
        self.team.close()
        self.world.close()

    def __enter__(self) -> Simulation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def on(self, kind: EventKind | None, callback: Callable[[Any], None]) -> None:
        """Call `callback(event)` after each tick for each event of a kind; None is every kind."""
        self._listeners.append((kind, callback))

    def _tell(self, events: NDArray[Any]) -> None:
        for kind, callback in self._listeners:
            for event in events if kind is None else events[events["kind"] == kind]:
                callback(event)

    def set_goal(self, entity: ArrayLike, goal: str | None) -> None:
        """Send agents to another goal of the scenario, or to none; they ask for a path in the next tick.

        Parameters
        ----------
        entity : int or sequence of int
        goal : str or None
            Name; None lets them stand.

        Raises
        ------
        CrowdsimError
            If there is no such goal or agent.
        """
        rows, agents = self._rows(entity), self.world.agents
        if goal is not None and goal not in self.world.goal_names:
            raise CrowdsimError(f'there is no goal "{goal}"; there are {", ".join(self.world.goal_names)}')
        agents.goal[rows] = self.world.goal_names.index(goal) if goal is not None else -1
        agents.activity[rows] = AgentState.WALKING if goal is not None else AgentState.STANDING
        agents.path_status[rows] = PathStatus.NONE
        agents.corridor_length[rows] = 0
        agents.goal_piece[rows] = -1
        next(system for system in self.systems if isinstance(system, Plan)).planner.drop(agents.entity[rows])

    def set_preferred_velocity(self, entity: ArrayLike, velocity: ArrayLike | None) -> None:
        """Steer agents from outside, until this is called with None: avoidance still applies.

        Parameters
        ----------
        entity : int or sequence of int
        velocity : (2,) or (k, 2) float, m/s, or None
            None gives them back to their paths.

        Raises
        ------
        CrowdsimError
            If there is no such agent, or a velocity is no number.
        """
        rows, agents = self._rows(entity), self.world.agents
        if velocity is None:
            agents.is_driven[rows] = 0
            return
        wanted = np.broadcast_to(np.asarray(velocity, dtype=np.float64), (len(rows), 2))
        if not np.all(np.isfinite(wanted)):
            raise CrowdsimError("a preferred velocity must be two finite numbers in m/s")
        agents.preferred_velocity[rows] = wanted
        agents.next_corner[rows] = agents.position[rows]
        agents.is_driven[rows] = 1

    def _rows(self, entity: ArrayLike) -> NDArray[np.int64]:
        wanted = np.atleast_1d(np.asarray(entity, dtype=np.int64))
        known = self.world.agents.entity
        rows = np.searchsorted(known, wanted)
        missing = (rows >= len(known)) | (known[np.minimum(rows, max(0, len(known) - 1))] != wanted) if len(known) else np.ones(len(wanted), dtype=bool)
        if np.any(missing):
            raise CrowdsimError(f"there is no agent {wanted[missing][0]} in the world (any more)")
        return rows

    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything that lives as named arrays: enough to go on bit for bit in another process."""
        parts: list[tuple[str, Mapping[str, NDArray[Any]]]] = [("world", self.world.state()), ("ledger", self.ledger.state())]
        parts += [(f"systems/{type(system).__name__}", system.state()) for system in self.systems]
        return {f"{part}/{name}": array for part, arrays in parts for name, array in arrays.items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take back what `state()` of a simulation of the same scenario gave."""

        def part(prefix: str) -> dict[str, NDArray[Any]]:
            return {name[len(prefix) + 1 :]: array for name, array in state.items() if name.startswith(prefix + "/")}

        self.world.restore(part("world"))
        self.ledger.restore(part("ledger"))
        for system in self.systems:
            system.restore(part(f"systems/{type(system).__name__}"))


def tick_table(kinds: Sequence[type[System]] = TICK_ORDER) -> list[dict[str, str]]:
    """Return the tick as a table: what runs after what, and what it reads and writes."""
    return [
        {"system": kind.__name__, "does": (kind.__doc__ or "").strip().split("\n")[0], "reads": ", ".join(kind.reads), "writes": ", ".join(kind.writes)}
        for kind in kinds
    ]
