"""The simulation: a world, the systems of the tick in their order, probes round each,
and a recorder beside them.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import CrowdsimError
from crowdsim.kernels.threads import Team
from crowdsim.printable import counted, summary_of
from crowdsim.recording.checkpoint import write_checkpoint
from crowdsim.recording.files import Kept
from crowdsim.recording.reader import Recording
from crowdsim.recording.schema import EVENT_DTYPE, digest_text
from crowdsim.saved import Arrays, Saved
from crowdsim.scenario.load import as_scenario
from crowdsim.scenario.model import Scenario
from crowdsim.setup.build import build_world
from crowdsim.setup.things import Goals
from crowdsim.simulation.agents_view import AgentsView
from crowdsim.simulation.budget import budget_of
from crowdsim.simulation.checkpoints import Rotation, Start, checkpoint_of, take_up
from crowdsim.simulation.interventions import Interventions
from crowdsim.simulation.ledger import Ledger
from crowdsim.simulation.listeners import Listeners
from crowdsim.simulation.probes import Probe, Probes
from crowdsim.simulation.recorder import Recorder
from crowdsim.simulation.replay import Replay
from crowdsim.simulation.verdict import Verdict
from crowdsim.simulation.warm import warm_ground, warm_kernels
from crowdsim.systems import TICK_ORDER, System, Tick
from crowdsim.systems.base.own import OwnSystem, in_order, systems_of, with_systems
from crowdsim.systems.base.system import Setup
from crowdsim.systems.change_ground import ChangeGround
from crowdsim.systems.detect_stuck import DetectStuck
from crowdsim.systems.enter import Enter
from crowdsim.systems.ground.things import will_any_open
from crowdsim.systems.paths.of_groups import paths_of_groups
from crowdsim.systems.plan import Plan
from crowdsim.systems.record import Record
from crowdsim.world.checks import check_agents
from crowdsim.world.columns import AgentState, Stepping, Wait
from crowdsim.world.events import EventKind

# Between calls of a progress function: what the eye takes as continuous is faster, but a terminal scrolls.
PROGRESS_SECONDS = 0.2
# of a tick in which nothing happens; a view of its own would take longer than some systems do
_NO_EVENTS = np.zeros(0, dtype=EVENT_DTYPE).view(np.recarray)


class Simulation(Interventions):
    """One run of a scenario, step by step or to its end.

    Use it in a ``with`` statement, or call `finish` or `close`: that gives the recording its name. One that
    is dropped without it leaves everything until its last tick in a hidden file beside that name, and
    ``crowdsim recover`` makes a whole recording of it.

    Parameters
    ----------
    scenario : Scenario, str, Path or mapping
        As `crowdsim.load_scenario` returns it; or a file, YAML text (with line breaks), or the same as plain
        values.
    threads : int, >= 0
        Threads of the kernels; they change nothing but the time. 0 is one for each core that the process may
        use.
    out : str or Path, optional
        Where to record; without it nothing is recorded.
    force : bool
        Whether a finished recording of that name is replaced.
    goes_on : bool
        Whether a recording of that name is replaced if it is an earlier part of the same run.
    warm : bool
        Have all kernels compiled or loaded before the first tick.
    granted : mapping of int to int, optional
        For a scenario with a budget in milliseconds: how much work each tick grants, as
        `crowdsim.simulation.budget.recorded_grants` reads it from a recording. The run then does what that
        one did, and no clock decides.
    replays : Replay, optional
        What a program did to the run before, as a recording has it: it is done again after the same ticks.
    start : Start, optional
        Where the run begins, if not with all agents at the places of the scenario.
    systems : sequence of classes of systems
        Of your own, beside those that the scenario names; see docs/develop/extending.md.

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
        self,
        scenario: Scenario | Mapping[str, Any] | str | Path,
        *,
        threads: int = 1,
        out: str | Path | None = None,
        force: bool = False,
        warm: bool = True,
        goes_on: bool = False,
        granted: Mapping[int, int] | None = None,
        replays: Replay | None = None,
        start: Start | None = None,
        systems: Sequence[type[System]] = (),
    ) -> None:
        self.team = Team(threads)
        self.scenario = scenario = with_systems(as_scenario(scenario), systems)
        self._own_kinds = systems_of(scenario)
        order = in_order(TICK_ORDER, self._own_kinds)
        if warm:
            warm_kernels(scenario, Simulation, explaining=out is not None and bool(scenario.record.explain))
        self.built = build_world(scenario)
        self.world = self.built.world
        if warm:
            warm_ground(self.world.mesh)
        for column in (column for kind in self._own_kinds for column in kind.columns):
            self.world.agents.add(column)
        names = [kind.__name__ for kind in order]
        self.recorder: Recorder | None = None
        self.systems: list[System] = []
        self.probes = Probes(names)
        self._readings = [0] * len(names)  # ns, of the tick that is being done
        self.budget = budget_of(
            scenario,
            planning=names.index(Plan.__name__),
            ground=names.index(ChangeGround.__name__),
            granted=granted,
        )
        self.ledger = Ledger(self.built)
        self._listeners = Listeners()
        self._wall_s = 0.0
        self._first_tick = start.first_tick if start is not None else 0
        self.counts: dict[str, float] = {}  # what was counted in the last tick, by name
        self._is_stepping = self.is_in_tick = False
        self._replay = replays
        self._verdict: Verdict | None = None  # the last word, once the run is finished
        self._stopped = ""  # why it did not come to its end
        try:
            if out is not None:
                self.recorder = Recorder(
                    self.built,
                    Path(out),
                    order,
                    threads=self.team.threads,
                    force=force,
                    goes_on=goes_on,
                    first_tick=self._first_tick,
                    run_id=start.run_id if start is not None else "",
                )
                weakref.finalize(self, _let_go, self.recorder, os.getpid())
            self._begin(order, start)
        except BaseException:  # Ctrl-C too: a recording without a first frame is nothing to keep
            if self.recorder is not None:
                self.recorder.writer.discard()
            self.team.close()
            self.world.close()
            raise

    def _begin(self, order: Sequence[type[System]], start: Start | None) -> None:
        """Make the systems and spawn all agents, or put them where a checkpoint stands."""
        setup = Setup(
            self.built, self.budget, self.team, self.recorder, paths_of_groups(self.built, self.budget)
        )
        own = {
            kind: OwnSystem(kind, setup, chosen.parameters(kind.Parameters))
            for kind, chosen in zip(self._own_kinds, self.scenario.systems, strict=True)
        }
        setup = replace(setup, own=tuple(own.values()))
        self.systems += [own[kind] if kind in own else kind.from_setup(setup) for kind in order]
        self._detect_stuck, self._enter = self.system(DetectStuck), self.system(Enter)
        traced = self.recorder if self.recorder is not None and self.recorder.trace else None
        self.world.entities.run_in_turn(
            [Probe(system, place, self._readings, traced) for place, system in enumerate(self.systems)]
        )
        columns, count = self.built.columns(), len(self.built.agents)
        self.world.spawn({name: array[:count] for name, array in columns.items()}, self.built.polygon)
        if count < len(self.built.all_agents):
            self.world.keep_outside({name: array[count:] for name, array in columns.items()})
        events = self.world.events.take()
        if start is not None:
            take_up(self, start)
            events = events[:0]  # those that wait come in the next tick
            if start.recording is not None:
                self._replay = Replay(start.recording.interventions(), str(start.recording.path))
                self._replay.skip(self.ledger.interventions)
        self._listeners.take(events)
        if self.recorder is not None and start is not None and start.recording is not None:
            self.recorder.go_on(start.recording, self.world.tick, self.ledger.interventions)
            self._take_times(start.recording)
        elif self.recorder is not None:
            self.recorder.begin(self.world.tick, self.world.agents, self.built, events)
        self._play()
        if self.world.held is not None:
            self.world.held.trim()

    def _play(self) -> None:
        """Do again what a program did after this tick."""
        if self._replay is not None:
            self._replay.play(self)

    def _take_times(self, recording: Recording) -> None:
        """Count what the ticks before the checkpoint took, so that the verdict is one on the whole run."""
        done = int(np.searchsorted(recording.table("ticks")["tick"], self.world.tick, side="right"))
        readings = recording.table("timings", 0, done)
        self.probes.take(readings)
        self._wall_s = float(readings.sum()) / 1e9

    @property
    def digest(self) -> str:
        """Digest of the columns in `crowdsim.systems.record.DIGEST_COLUMNS` of every tick so far,
        16 hexadecimal digits.
        """
        return digest_text(self.system(Record).fold)

    @property
    def agents(self) -> AgentsView:
        """The agents in the world now, as arrays and as a DataFrame."""
        return AgentsView(self.world.agents, self.world.agent_count, self.built.names, Goals(self.world))

    def step(self) -> NDArray[Any]:
        """Do one tick, call the listeners of its events, and return them.

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
            raise CrowdsimError(
                "a callback cannot step the simulation that calls it. Note what is to be done, and do it "
                "after the step."
            )
        self._is_stepping = True
        try:
            events = self._step()
            self._listeners.take(events)
            self._listeners.call()
        finally:
            self._is_stepping = False
        return events.view(np.recarray) if len(events) else _NO_EVENTS

    def _step(self) -> NDArray[Any]:
        began = time.perf_counter()
        tick = Tick(self.world.tick + 1, self.scenario.tick, self.team)
        tick.counts["agents"] = self.world.agent_count
        self.is_in_tick = True
        try:
            self.world.entities.process(tick)
        finally:
            self.is_in_tick = False
        if self.world.held is not None:
            self.world.held.trim()
        readings = np.array(self._readings, dtype=np.int64)
        self.world.tick = tick.number
        events = self.world.events.take()
        self.counts = tick.counts
        self.budget.note(readings)
        self.probes.note(readings)
        self.ledger.note(tick.number, tick.counts, events)
        if self.recorder is not None:
            self.recorder.tick(tick, readings, events)
        self._play()
        self._wall_s += time.perf_counter() - began
        return events

    def run(
        self,
        *,
        progress: Callable[[Simulation], None] | None = None,
        time_limit: float | None = None,
        checkpoint_every: float | None = None,
    ) -> Verdict:
        """Step until the scenario's stop conditions, and finish the recording.

        Parameters
        ----------
        progress : callable, optional
            Called with the simulation about five times a second. A `KeyboardInterrupt` out of it stops the
            run like the time limit does; one in the midst of a tick leaves no checkpoint.
        time_limit : float, s, optional
            Wall-clock time after which the run is stopped; what was recorded stays whole, and a checkpoint
            lies beside it.
        checkpoint_every : float, s, optional
            Simulated time between checkpoints, of which the last two are kept beside the recording; see
            `crowdsim.simulation.checkpoints`.

        Returns
        -------
        Verdict

        Raises
        ------
        CrowdsimError
            If the simulation was finished before its end, the times are none, or there are to be checkpoints
            without a recording.
        """
        if time_limit is not None and not time_limit >= 0.0:
            raise CrowdsimError(f"the time limit is {time_limit} s, but must be at least 0 s.")
        checkpoints = self._checkpoints(checkpoint_every)
        began = shown = time.monotonic()
        ended, is_between_ticks = "", True
        try:
            while not ended:
                ended = self.why_over()
                now = time.monotonic()
                if not ended and time_limit is not None and now - began >= time_limit:
                    ended = "time limit"
                    if checkpoints is not None:
                        checkpoints.take(self)
                if not ended:
                    is_between_ticks = False
                    self.step()
                    is_between_ticks = True
                    if checkpoints is not None and checkpoints.is_due(self.tick):
                        checkpoints.take(self)
                    if progress is not None and now - shown >= PROGRESS_SECONDS:
                        shown = now
                        progress(self)
        except KeyboardInterrupt:
            ended = "interrupted"
            if checkpoints is not None and is_between_ticks:  # half a tick is no state to go on from
                checkpoints.take(self)
        return self.finish(ended)

    def _checkpoints(self, every: float | None) -> Rotation | None:
        """Return what keeps the checkpoints of this run; None where nothing is recorded."""
        if every is not None and not every > 0.0:
            raise CrowdsimError(
                f"checkpoints are to be taken every {every} s, but the time between them must be above 0 s."
            )
        if every is not None and self.recorder is None:
            raise CrowdsimError(
                "checkpoints lie beside a recording, and this run has none. Record it, or take them with "
                "`checkpoint`."
            )
        if self.recorder is None:
            return None
        return Rotation(
            self.recorder.writer.out,
            self.recorder.writer.header.run_id,
            max(1, round(every / self.scenario.tick)) if every is not None else 0,
        )

    def checkpoint(self, path: str | Path | None = None) -> None:
        """Write everything that lives to a file from which ``crowdsim resume`` and ``crowdsim fork`` go on.

        Parameters
        ----------
        path : str or Path, optional
            A checkpoint in its place is replaced when the new one is whole. Without it, it lies beside the
            recording, where ``crowdsim resume`` finds it; the last two are kept.

        Raises
        ------
        RecordingError
            If it cannot be written.
        CrowdsimError
            If it has no path, and the run no recording.
        """
        if path is None:
            checkpoints = self._checkpoints(None)
            if checkpoints is None:
                raise CrowdsimError("a run without a recording has no place for checkpoints; give a path.")
            checkpoints.take(self)
            return
        if self.recorder is not None and not self.recorder.writer.is_over:
            self.recorder.writer.commit()  # a recording of the run reaches as far as its checkpoint
        write_checkpoint(Path(path), checkpoint_of(self))

    def why_over(self) -> str:
        """Return why the run is over now; an empty string if it goes on,
        or if there is something left that a program did to it before.
        """
        if self._replay is not None and not self._replay.is_over:
            return ""
        stop, agents = self.scenario.stop, self.world.agents
        if (
            stop.when_all_arrived
            and not self._enter.expects
            and not np.any(
                (
                    (agents.activity == AgentState.WALKING)
                    | (agents.activity == AgentState.WAITING)
                    | (agents.waits != Wait.NOTHING)
                    | (self.world.drives() & (agents.activity == AgentState.RIDING))
                )
                & ~self.world.stays()
            )
        ):
            moves_in = np.any(agents.is_yielding == Stepping.IN)
            if not moves_in and not (
                np.any((agents.goal >= 0) & ~self.world.stays())
                and (self.system(ChangeGround).expects or will_any_open(self.world))
            ):
                return (
                    "all arrived"
                    if not np.any(
                        (agents.goal >= 0) & (agents.activity != AgentState.ARRIVED) & ~self.world.stays()
                    )
                    else "no agent can go on"
                )
        if self.world.tick >= stop.ticks:
            return "time is up"
        return "all that are left are stuck" if self._detect_stuck.is_all_stuck(self.world.tick) else ""

    def verdict(self, ended: str = "") -> Verdict:
        """Return what the run has resulted in so far."""
        return self.ledger.verdict(
            ended or self.why_over() or "not over",
            self.probes,
            self._enter,
            wall_s=self._wall_s,
            digest=self.digest,
            first_tick=self._first_tick,
        )

    def finish(self, ended: str = "") -> Verdict:
        """End the run: finish the recording, if there is one, and return the verdict;
        `kept` then says where the file is. Later calls return the same.
        """
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

    def __repr__(self) -> str:
        agents = counted(len(self.agents), "agent")
        return f"<Simulation of {self.scenario.name}: tick {self.tick:,} ({self.time:g} s), {agents}>"

    def close(self) -> None:
        """Free what the simulation holds; a recording that was not finished is finished as interrupted."""
        try:
            self.team.close()
            # the caller that stepped knows why
            if self.recorder is not None and self.recorder.writer.is_over:
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
            error.add_note(str(second))  # the first error is reported first

    def on(self, kind: EventKind | str | None, callback: Callable[[Any], Any]) -> Callable[[], None]:
        """Call `callback(event)` after each tick for each event of a kind, in the order of the events.

        An event has the attributes tick, entity, kind, value, x and y. Calls for tick 0, in which all agents
        spawn, come after the first tick. A callback may set goals and velocities; an exception that it raises
        ends the step after the tick is whole, and the calls that are left come after the next one.

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
        parts: list[tuple[str, Mapping[str, NDArray[Any]]]] = [
            ("world", self.world.state()),
            ("ledger", self.ledger.state()),
        ]
        parts += [(f"systems/{system.name}", system.state()) for system in self.systems]
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
        self.budget.tasks.expect(saved.below("tasks/"))
        self.world.restore(saved.below("world/"))
        self.ledger.restore(saved.below("ledger/"))
        for system in self.systems:
            system.restore(saved.below(f"systems/{system.name}/"))
            if isinstance(system, ChangeGround):  # the ground is there
                check_agents(
                    self.world, saved.below("world/agents/"), self.built.mesh_build.parameters.widest_body
                )
        self.budget.tasks.restore(saved.below("tasks/"))
        saved.finish()


def _let_go(recorder: Recorder, owner: int) -> None:
    """Make safe what a simulation has recorded that was dropped;
    in a forked child the file is the parent's.
    """
    if os.getpid() == owner:
        recorder.writer.let_go()


def tick_table(kinds: Sequence[type[System]] = TICK_ORDER) -> list[dict[str, str]]:
    """Return the tick as a table: what runs after what, and what it reads and writes."""
    return [
        {
            "system": kind.__name__,
            "does": summary_of(kind),
            "reads": ", ".join(kind.reads),
            "writes": ", ".join(kind.writes),
        }
        for kind in kinds
    ]
