"""The simulation: a world, the systems of the tick in their order, probes round each, and a recorder beside them."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.symmetry import SymmetryBreaker
from crowdsim.avoidance.symmetry_switch import SymmetrySwitch
from crowdsim.bodies.nudge import HeldParameters, NudgeParameters
from crowdsim.bodies.places import PlaceParameters
from crowdsim.bodies.priority import PriorityParameters
from crowdsim.bodies.replan import ReplanParameters
from crowdsim.bodies.separate import SeparationParameters
from crowdsim.bodies.spread import SpreadParameters
from crowdsim.bodies.turn import TurnParameters
from crowdsim.errors import CrowdsimError
from crowdsim.kernels.threads import Team
from crowdsim.navigation.grid.parameters import WayParameters
from crowdsim.navigation.local_grid.detours import LocalGridParameters
from crowdsim.recording.checkpoint import write_checkpoint
from crowdsim.recording.files import Kept
from crowdsim.recording.reader import Recording
from crowdsim.recording.schema import digest_text
from crowdsim.saved import Arrays, Saved
from crowdsim.scenario.areas import closed_at_the_begin
from crowdsim.scenario.inputs import as_scenario
from crowdsim.scenario.model import Scenario
from crowdsim.setup.agents import chosen_rows
from crowdsim.setup.build import avoidance_models, build_world, model_of_group, speed_law
from crowdsim.setup.grounds import FloorGrounds, Grounds, TiledGrounds, grounds_by_the_clock
from crowdsim.simulation.agents_view import AgentsView
from crowdsim.simulation.budget import budget_of
from crowdsim.simulation.checkpoints import Rotation, Start, checkpoint_of, take_up
from crowdsim.simulation.interventions import Interventions
from crowdsim.simulation.listeners import Listeners
from crowdsim.simulation.probes import Probes
from crowdsim.simulation.recorder import Recorder
from crowdsim.simulation.verdict import Ledger, Verdict
from crowdsim.simulation.warm import warm_ground, warm_kernels
from crowdsim.simulation.wayfinding import goes_round_standers, guessing_groups, plan_and_follow, shares_round_standers
from crowdsim.systems import TICK_ORDER, System, Tick
from crowdsim.systems.arrive import Arrive
from crowdsim.systems.avoid import Avoid
from crowdsim.systems.drive import Drive
from crowdsim.systems.follow import Follow
from crowdsim.systems.gates import Gates
from crowdsim.systems.gauge import Gauge
from crowdsim.systems.give_way import GiveWay
from crowdsim.systems.go_round import GoRound
from crowdsim.systems.goals.places import Places
from crowdsim.systems.ground.triggers import Triggers
from crowdsim.systems.notice import Notice
from crowdsim.systems.nudge import Nudge
from crowdsim.systems.plan import Plan
from crowdsim.systems.record import Record
from crowdsim.systems.replan import Replan
from crowdsim.systems.separate import Separate
from crowdsim.systems.slow_down import SlowDown
from crowdsim.systems.spread import Spread
from crowdsim.systems.symmetry import BreakSymmetry
from crowdsim.systems.turn import Turn
from crowdsim.systems.watch import Watch
from crowdsim.world.checks import check_agents
from crowdsim.world.columns import AgentState, Stepping
from crowdsim.world.events import EventKind

HEEDS_NOBODY = "none"  # The avoidance model whose agents walk through each other.
PROGRESS_SECONDS = 0.2  # Between calls of a progress function: what the eye takes as continuous is faster, but a terminal scrolls.


class Simulation(Interventions):
    """One run of a scenario, step by step or to its end.

    Use it in a ``with`` statement, or call `finish` or `close`: that gives the recording its name. One that is dropped without it leaves everything
    until its last tick in a hidden file beside that name, and ``crowdsim recover`` makes a whole recording of it.

    Parameters
    ----------
    scenario : Scenario, str, Path or mapping
        As `crowdsim.load_scenario` returns it; or a file, YAML text (with line breaks), or the same as plain values.
    threads : int, >= 0
        Threads of the kernels; they change nothing but the time. 0 is one for each core that the process may use.
    out : str or Path, optional
        Where to record; without it nothing is recorded.
    force : bool
        Whether a finished recording of that name is replaced.
    goes_on : bool
        Whether a recording of that name is replaced if it is an earlier part of the same run.
    warm : bool
        Have all kernels compiled or loaded before the first tick.
    granted : mapping of int to int, optional
        For a scenario with a budget in milliseconds: how much work each tick grants, as `crowdsim.simulation.budget.recorded_grants` reads it from a
        recording. The run then does what that one did, and no clock decides.
    start : Start, optional
        Where the run begins, if not with everybody at the places of the scenario.

    Raises
    ------
    ScenarioError
        If the scenario has mistakes or cannot be built: agents that do not fit, ground that cannot be meshed.
    RecordingError
        If the recording cannot be begun.
    CrowdsimError
        If the number of threads makes no sense.
    """

    def __init__(
        self, scenario: Scenario | Mapping[str, Any] | str | Path, *, threads: int = 1, out: str | Path | None = None, force: bool = False, warm: bool = True,
        goes_on: bool = False, granted: Mapping[int, int] | None = None, start: Start | None = None,
    ) -> None:  # fmt: skip
        self.team = Team(threads)
        self.scenario = scenario = as_scenario(scenario)
        if warm:
            warm_kernels(scenario, Simulation, explaining=out is not None and bool(scenario.record.explain))
        self.built = build_world(scenario)
        self.world = self.built.world
        if warm:
            warm_ground(self.world.mesh)
        names = [kind.__name__ for kind in TICK_ORDER]
        counts = ["agents", *(name for kind in TICK_ORDER for name in kind.counts)]
        self.recorder: Recorder | None = None
        self.systems: list[System] = []
        self.probes = Probes(names)
        self.budget = budget_of(scenario, planning=names.index(Plan.__name__), ground=names.index(Gates.__name__), granted=granted)
        self.ledger = Ledger(self.built)
        self._listeners = Listeners()
        self._wall_s = 0.0
        self._first_tick = start.first_tick if start is not None else 0
        self.counts: dict[str, float] = {}  # what was counted in the last tick, by name
        self._is_stepping = False
        self._verdict: Verdict | None = None  # the last word, once the run is finished
        self._stopped = ""  # why it did not come to its end
        try:
            if out is not None:
                self.recorder = Recorder(
                    self.built, Path(out), names, counts, threads=self.team.threads, force=force, goes_on=goes_on, first_tick=self._first_tick,
                    run_id=start.run_id if start is not None else "",
                )  # fmt: skip
                weakref.finalize(self, _let_go, self.recorder, os.getpid())
            self._begin(start)
        except BaseException:  # Ctrl-C too: a recording without a first frame is nothing to keep
            if self.recorder is not None:
                self.recorder.writer.discard()
            self.team.close()
            self.world.close()
            raise

    def _begin(self, start: Start | None) -> None:
        """Make the systems and let everybody in, or put all where a checkpoint stands."""
        for kind in TICK_ORDER:
            self.systems.append(self._make(kind))
        for place, system in enumerate(self.systems):
            self.world.add_system(system, len(self.systems) - place)
        self.world.spawn(self.built.population, self.built.polygon)
        events = self.world.events.take()
        if start is not None:
            take_up(self, start)
            events = self.world.events.take()
        self._listeners.take(events)
        if self.recorder is not None and start is not None and start.recording is not None:
            self.recorder.go_on(start.recording, self.world.tick)
            self._take_times(start.recording)
        elif self.recorder is not None:
            self.recorder.begin(self.world.tick, self.world.agents, self.built, events)

    def _take_times(self, recording: Recording) -> None:
        """Count what the ticks before the checkpoint took, so that the verdict is one on the whole run."""
        done = int(np.searchsorted(recording.table("ticks")["tick"], self.world.tick, side="right"))
        readings = recording.table("timings", 0, done)
        self.probes.take(readings)
        self._wall_s = float(readings.sum()) / 1e9

    def _make(self, kind: type[System]) -> System:
        """Make a system; those that need more than the world get it here."""
        world, scenario = self.world, self.scenario
        if kind is Drive:
            self._drive = Drive(world, scenario.obstacles, scenario.geometry.grounds)
            return self._drive
        if kind is Gates:
            return self._make_gates()
        if kind is Plan:
            self._plan, self._follow = plan_and_follow(self.built, self.budget)
            self._gates.tell(self._plan.stand_on, self.team)  # not by way of the simulation: one that is dropped is to go at once
            return self._plan
        if kind is Follow:
            return self._follow
        if kind is Gauge:
            return Gauge(world, scenario.tick, guessing_groups(scenario))
        if kind is Avoid:
            return Avoid(world, avoidance_models(scenario), model_of_group(scenario), self.built.population.label, self._explained())
        if kind is Spread:
            heeds = np.array([scenario.model_of(group).name != HEEDS_NOBODY for group in scenario.groups], dtype=np.bool_)
            return Spread(world, scenario.bodies.parameters(SpreadParameters), heeds, scenario.bodies.parameters(PlaceParameters).moving_in)
        if kind is SlowDown:
            return SlowDown(world, speed_law(scenario))
        if kind is BreakSymmetry:
            return BreakSymmetry(world, scenario.symmetry.parameters(SymmetrySwitch), scenario.symmetry.parameters(SymmetryBreaker.Parameters))
        if kind is Separate:
            return Separate(world, scenario.bodies.parameters(SeparationParameters))
        if kind in (Notice, Replan, Nudge, GiveWay, GoRound):
            return self._make_of_bodies(kind)
        if kind is Turn:
            return Turn(world, scenario.bodies.parameters(TurnParameters))
        if kind is Watch:
            people = len(self.built.population)
            self._watch = Watch(world, scenario.tick, scenario.goals, scenario.events, people, self._drive.going_on, scenario.stop)
            return self._watch
        if kind is Record:
            return Record(world, self.recorder)
        if kind is Arrive:
            return Arrive(world, self._plan.forget, Places(world, scenario.bodies.parameters(PlaceParameters), scenario.seed))
        return kind(world)

    def _make_gates(self) -> Gates:
        """Make what opens and closes areas; grounds that the clock asks for are built before the first tick."""
        scenario, areas = self.scenario, self.scenario.geometry.areas
        grounds: Grounds | FloorGrounds | TiledGrounds
        if scenario.geometry.floors:
            grounds = FloorGrounds(self.built)
        else:
            grounds = TiledGrounds(self.built) if self.world.tiles is not None else Grounds(self.built, [each.polygon for each in closed_at_the_begin(areas)])
            for closed in grounds_by_the_clock(areas, scenario.events, scenario.obstacles, scenario.stop.ticks):
                grounds.foresee(closed)

        def chosen(who: int | str) -> NDArray[np.bool_]:
            return chosen_rows(scenario, self.built.agents, (who,))

        meetings = [None if event.met is None else (chosen(event.met[0]), chosen(event.met[1])) for event in scenario.events]
        triggers = Triggers(self.world, scenario.events, meetings)
        self._gates = Gates(self.world, areas, scenario.events, grounds, self.budget, self._drive.closed, triggers)
        self._drive.also_closed = self._gates.closed_areas
        return self._gates

    def _make_of_bodies(self, kind: type[System]) -> System:
        """Make what has to do with people in each other's way."""
        world, scenario = self.world, self.scenario
        held, nudges = scenario.bodies.parameters(HeldParameters), scenario.bodies.parameters(NudgeParameters)
        replans = scenario.bodies.parameters(ReplanParameters)
        if kind is GoRound:
            return GoRound(world, scenario.bodies.parameters(LocalGridParameters), replans.replanning, shares_round_standers(scenario))
        if kind is GiveWay:
            return GiveWay(world, scenario.bodies.parameters(PriorityParameters), held.held_share)
        if kind is Notice:
            return Notice(world, held, nudges.nudging or replans.replanning)
        if kind is Nudge:
            return Nudge(world, nudges, held.held_time, scenario.tick)
        heeds = np.array([goes_round_standers(scenario.navigation_of(group)) for group in scenario.groups], dtype=np.bool_)
        shares = [float(chosen.values["obstacle_radius_share"]) for chosen in scenario.navigations if goes_round_standers(chosen)]
        return Replan(world, replans, held.held_time, max(shares, default=WayParameters().obstacle_radius_share), heeds, scenario.tick)

    def _explained(self) -> NDArray[np.bool_] | None:
        """Return whose choices are explained, by entity - 1; None where nobody asked or nothing is recorded."""
        wanted = self.scenario.record.explain
        return chosen_rows(self.scenario, self.built.agents, wanted) if wanted and self.recorder is not None else None

    @property
    def tick(self) -> int:
        """Ticks done so far."""
        return self.world.tick

    @property
    def digest(self) -> str:
        """Digest of every column of every tick so far, 16 hexadecimal digits."""
        return digest_text(next(system.fold for system in self.systems if isinstance(system, Record)))

    @property
    def agents(self) -> AgentsView:
        """The agents in the world now, as arrays and as a DataFrame."""
        return AgentsView(self.world.agents, self.world.people_count, self.built.population.label, self.world.goal_names)

    def step(self) -> NDArray[Any]:
        """Do one tick, tell its events to those who listen, and return them.

        Steps go on whatever `why_over` says, until the run is finished.

        Returns
        -------
        (k,) record array
            Fields tick, entity, kind (`EventKind`), value, x, y.

        Raises
        ------
        CrowdsimError
            If the simulation is finished, or a callback tries to step it.
        """
        self._refuse_if_finished("step on")
        if self._is_stepping:
            raise CrowdsimError("a callback cannot step the simulation that is telling it an event. Note what is to be done, and do it after the step.")
        self._is_stepping = True
        try:
            events = self._step()
            self._listeners.take(events)
            self._listeners.tell()
        finally:
            self._is_stepping = False
        return events.view(np.recarray)

    def _step(self) -> NDArray[Any]:
        began = time.perf_counter()
        tick = Tick(self.world.tick + 1, self.scenario.tick, self.team)
        readings = np.empty(len(self.systems), dtype=np.int64)
        tick.counts["agents"] = self.world.people_count
        tracing = self.recorder is not None and self.recorder.trace
        for place, system in enumerate(self.systems):
            start = time.perf_counter_ns()
            system.process(tick)
            readings[place] = time.perf_counter_ns() - start
            if tracing and self.recorder is not None and not system.is_idle:
                self.recorder.trace_system(tick.number, place, system.writes, self.world.agents)
        self.world.tick = tick.number
        events = self.world.events.take()
        self.counts = tick.counts
        self.budget.note(readings)
        self.probes.note(readings)
        self.ledger.note(tick.number, tick.counts, events)
        if self.recorder is not None:
            self.recorder.tick(tick, readings, events)
        self._wall_s += time.perf_counter() - began
        return events

    def run(
        self, *, progress: Callable[[Simulation], None] | None = None, time_limit: float | None = None, checkpoint_every: float | None = None
    ) -> Verdict:
        """Step until the scenario's stop conditions, and finish the recording.

        Parameters
        ----------
        progress : callable, optional
            Called with the simulation about five times a second.
        time_limit : float, s, optional
            Wall-clock time after which the run is stopped; what was recorded stays whole, and a checkpoint lies beside it.
        checkpoint_every : float, s, optional
            Simulated time between checkpoints, of which the last two are kept beside the recording; see `crowdsim.simulation.checkpoints`.

        Returns
        -------
        Verdict

        Raises
        ------
        CrowdsimError
            If the simulation was finished before its end, the times are none, or checkpoints are asked for without a recording.
        """
        if time_limit is not None and not time_limit >= 0.0:
            raise CrowdsimError(f"the time limit is {time_limit} s, but must be at least 0 s.")
        checkpoints = self._checkpoints(checkpoint_every)
        began = shown = time.monotonic()
        ended = ""
        try:
            while not ended:
                ended = self.why_over()
                now = time.monotonic()
                if not ended and time_limit is not None and now - began >= time_limit:
                    ended = "time limit"
                    if checkpoints is not None:
                        checkpoints.take(self)
                if not ended:
                    self.step()
                    if checkpoints is not None and checkpoints.is_due(self.tick):
                        checkpoints.take(self)
                    if progress is not None and now - shown >= PROGRESS_SECONDS:
                        shown = now
                        progress(self)
        except KeyboardInterrupt:
            ended = "interrupted"
        return self.finish(ended)

    def _checkpoints(self, every: float | None) -> Rotation | None:
        """Return what keeps the checkpoints of this run; None where nothing is recorded."""
        if every is not None and not every > 0.0:
            raise CrowdsimError(f"checkpoints are to be taken every {every} s, but the time between them must be above 0 s.")
        if every is not None and self.recorder is None:
            raise CrowdsimError("checkpoints lie beside a recording, and this run has none. Record it, or take them with `checkpoint`.")
        if self.recorder is None:
            return None
        return Rotation(self.recorder.writer.out, self.recorder.writer.header.run_id, max(1, round(every / self.scenario.tick)) if every is not None else 0)

    def checkpoint(self, path: str | Path) -> None:
        """Write everything that lives to a file from which ``crowdsim resume`` and ``crowdsim fork`` go on.

        Parameters
        ----------
        path : str or Path
            A checkpoint in its place is replaced when the new one is whole.

        Raises
        ------
        RecordingError
            If it cannot be written.
        """
        write_checkpoint(Path(path), checkpoint_of(self))

    def why_over(self) -> str:
        """Return why the run is over now; an empty string if it goes on."""
        stop, agents = self.scenario.stop, self.world.agents
        if stop.when_all_arrived and not np.any((agents.activity == AgentState.WALKING) | (agents.activity == AgentState.WAITING)):
            moves_in = np.any(agents.is_yielding == Stepping.IN)
            if not moves_in and not (np.any(agents.goal >= 0) and (self._gates.expects or self._drive.expects)):
                return "all arrived" if not np.any((agents.goal >= 0) & (agents.activity != AgentState.ARRIVED)) else "nobody can go on"
        if self.world.tick >= stop.ticks:
            return "time is up"
        return "everybody left is stuck" if self._watch.is_all_stuck(self.world.tick) else ""

    def verdict(self, ended: str = "") -> Verdict:
        """Return what the run has come to so far."""
        probes = self.probes
        ms = dict(probes.slowest(len(probes.names)))
        return self.ledger.verdict(
            ended or self.why_over() or "not over", self.world.tick, self.world.agents,
            wall_s=self._wall_s, ms_per_tick=ms, worst_tick_ms=probes.worst_tick_ns / 1e6, digest=self.digest, first_tick=self._first_tick,
            going_on=self._drive.going_on(),
        )  # fmt: skip

    def finish(self, ended: str = "") -> Verdict:
        """End the run: finish the recording, if there is one, and return the verdict; `kept` then says where the file is. Later calls return the same."""
        if self._verdict is None:
            verdict = self.verdict(ended)
            stopped = verdict.ended if verdict.ended in ("time limit", "interrupted", "not over") else ""
            self._end(verdict, stopped)
        assert self._verdict is not None
        return self._verdict

    def _end(self, verdict: Verdict, stopped: str) -> None:
        self._verdict, self._stopped = verdict, stopped
        self.team.close()
        if self.recorder is not None:
            self.recorder.close(verdict.as_dict(), stopped)

    @property
    def kept(self) -> Kept | None:
        """Where the finished recording is; None while there is none."""
        return self.recorder.writer.kept if self.recorder is not None else None

    def close(self) -> None:
        """Free what the simulation holds; a recording that was not finished is finished as interrupted."""
        try:
            self.team.close()
            if self.recorder is not None and self.recorder.writer.is_over:  # whoever stepped was told why
                self._verdict = self._verdict or self.verdict("not over")
            elif self._verdict is None:
                self._end(self.verdict("not over"), "closed before its end")
            elif self.recorder is not None:  # Ctrl-C while it was finished
                self.recorder.close(self._verdict.as_dict(), self._stopped)
        finally:
            self.world.close()

    def __enter__(self) -> Simulation:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            self.close()
        except CrowdsimError as second:
            if error is None:
                raise
            error.add_note(str(second))  # what happened first is what is told first

    def on(self, kind: EventKind | str | None, callback: Callable[[Any], Any]) -> Callable[[], None]:
        """Call `callback(event)` after each tick for each event of a kind, in the order of the events.

        An event has the attributes tick, entity, kind, value, x and y. Those of tick 0, where everybody spawns, are told after the first tick. A callback may
        set goals and velocities; an exception that it raises ends the step after the tick is whole, and what was not told yet is told after the next one.

        Parameters
        ----------
        kind : EventKind, str or None
            As in ``on("ARRIVAL", ...)``; None is every kind.
        callback : callable

        Returns
        -------
        callable
            Takes the callback off again.

        Raises
        ------
        CrowdsimError
            If there is no such kind, or the callback cannot be called.
        """
        return self._listeners.add(kind, callback)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything that lives as named arrays: enough to go on bit for bit in another process."""
        parts: list[tuple[str, Mapping[str, NDArray[Any]]]] = [("world", self.world.state()), ("ledger", self.ledger.state())]
        parts += [(f"systems/{type(system).__name__}", system.state()) for system in self.systems]
        parts.append(("tasks", self.budget.tasks.state()))
        return {f"{part}/{name}": array for part, arrays in parts for name, array in arrays.items()}

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` of a simulation of the same scenario gave.

        Raises
        ------
        SavedError
            If something in it cannot be: every array is looked at, since kernels do not.
        """
        saved = Saved.of(state)
        self.world.restore(saved.below("world/"))
        if self.world.tiles is not None:
            self._take_mesh()
        self.ledger.restore(saved.below("ledger/"))
        for system in self.systems:
            system.restore(saved.below(f"systems/{type(system).__name__}/"))
            if system is self._gates:  # the ground is there
                check_agents(self.world, saved.below("world/agents/"), self.built.mesh_build.parameters.widest_body)
        self.budget.tasks.restore(saved.below("tasks/"))
        saved.finish()


def _let_go(recorder: Recorder, owner: int) -> None:
    """Make safe what a simulation that nobody holds any more has recorded; in a forked child the file is the parent's."""
    if os.getpid() == owner:
        recorder.let_go()


def tick_table(kinds: Sequence[type[System]] = TICK_ORDER) -> list[dict[str, str]]:
    """Return the tick as a table: what runs after what, and what it reads and writes."""
    return [
        {"system": kind.__name__, "does": (kind.__doc__ or "").strip().split("\n")[0], "reads": ", ".join(kind.reads), "writes": ", ".join(kind.writes)}
        for kind in kinds
    ]
