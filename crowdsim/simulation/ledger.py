"""The ledger: counts what the verdict needs while a run goes on; at the end no agent is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.measures.deadlock_causes import NOBODY, WALL, diagnose, present_moment
from crowdsim.measures.destinations import SET_PLACES
from crowdsim.measures.exit_flow import LEAST_COUNTED, busiest_flow, exit_width
from crowdsim.navigation.planners import OWN
from crowdsim.saved import MOST, Arrays, Saved
from crowdsim.setup.build import Built
from crowdsim.setup.things import Goals
from crowdsim.simulation.guests import Guests
from crowdsim.simulation.ledger_rows import Noted, as_numbers, note_events
from crowdsim.simulation.probes import Probes
from crowdsim.simulation.verdict import MOST_NAMED, NOT_YET, Flow, Left, Verdict, reason_of
from crowdsim.systems.enter import Enter
from crowdsim.systems.ground.things import discs_going_on
from crowdsim.world.columns import AgentColumns, AgentState, PathStatus, Wait
from crowdsim.world.events import Cause
from crowdsim.world.riding import RideStep

REPLANS = {  # counts of a tick, and how the verdict names the cause
    "replans_agents_ahead": "agents ahead",
    "replans_blocked": "blocked",
    "replans_path_closed": "path closed",
    "replans_goal_moved": "goal moved",
    "replans_pushed_off": "pushed off",
    "replans_no_local_path": "no local path",
}


class Ledger:
    """Counts what the verdict needs while the run goes on.

    Parameters
    ----------
    built : Built
    """

    def __init__(self, built: Built) -> None:
        self._built, self._states = built, built.scenario.behaviours.states
        # by goal, and behind them at places that the run has set
        self._arrivals = np.zeros(len(built.scenario.goals) + 1, dtype=np.int64)
        self._guests = Guests(built.world)  # those that come in while the run lasts
        self._has_come = np.arange(len(built.all_agents) + 1) <= len(built.agents)  # by entity
        self._has_come[0] = False
        self._has_arrived = np.zeros(len(built.all_agents) + 1, dtype=bool)  # by entity
        # by entity: where it arrived last, and in which tick
        self._last_goal = np.full(len(built.all_agents) + 1, -1, dtype=np.int32)
        self._last_tick = np.zeros(len(built.all_agents) + 1, dtype=np.int64)
        self._deadlocked = np.zeros(
            (len(built.all_agents) + 1, len(Cause)), dtype=bool
        )  # by entity and cause
        names = (
            "steered",
            "interventions",
            "last_arrival_tick",
            "deepest_overlap_m",
            "overlap_pairs_ticks",
            "symmetries_broken",
            "strays",
            "expansions",
            "longest_wait_ticks",
        )
        self._numbers = dict.fromkeys(
            (*names, "nudges", *REPLANS, "most_requests_open", "choice_changes"), 0.0
        )

    def note(self, tick: int, counts: Mapping[str, float], events: NDArray[Any]) -> None:
        """Take in one tick."""
        numbers = self._numbers
        if len(events):
            self._note_events(tick, events)
        numbers["nudges"] += counts.get("nudges_on_contact", 0.0) + counts.get("nudges_blocked", 0.0)
        for name in REPLANS:
            numbers[name] += counts.get(name, 0.0)
        numbers["choice_changes"] += counts.get("choice_changes", 0.0)
        numbers["strays"] += counts.get("strayed", 0.0)
        numbers["expansions"] += counts.get("expansions", 0.0)
        numbers["overlap_pairs_ticks"] += counts.get("overlaps", 0.0)
        numbers["deepest_overlap_m"] = max(numbers["deepest_overlap_m"], counts.get("deepest_overlap_m", 0.0))
        numbers["most_requests_open"] = max(numbers["most_requests_open"], counts.get("requests_open", 0.0))
        numbers["longest_wait_ticks"] = max(
            numbers["longest_wait_ticks"], counts.get("oldest_request_ticks", 0.0)
        )

    def _note_events(self, tick: int, events: NDArray[Any]) -> None:
        noted = Noted(
            self._arrivals,
            self._has_come,
            self._has_arrived,
            self._last_goal,
            self._last_tick,
            self._deadlocked,
        )
        symmetries, arrived, others = note_events(as_numbers(events), tick, noted)
        self._numbers["symmetries_broken"] += symmetries
        if arrived:
            self._numbers["last_arrival_tick"] = tick
        if others:
            self._guests.note(tick, events[events["entity"] > self._built.world.listed])

    @property
    def interventions(self) -> int:
        """How many calls of a program have changed the run."""
        return int(self._numbers["interventions"])

    def note_intervention(self) -> None:
        """Take in such a call."""
        self._numbers["interventions"] += 1

    def note_steering(self, entity: NDArray[np.int64], *, are_sent: bool) -> None:
        """Take in that a program steered agents; those that it sent to a goal have not arrived yet."""
        self._numbers["steered"] += len(entity)
        if are_sent:
            self._has_arrived[entity[entity <= self._built.world.listed]] = False
            self._guests.send_on(entity)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the counts as named arrays."""
        numbers = np.array(list(self._numbers.values()))
        arrays = {
            "arrivals": self._arrivals,
            "has_come": self._has_come,
            "has_arrived": self._has_arrived,
            "last_goal": self._last_goal,
            "last_tick": self._last_tick,
        }
        return {
            "numbers": numbers,
            "deadlocked": self._deadlocked.copy(),
            **{f"guests/{name}": array for name, array in self._guests.state().items()},
            **{name: array.copy() for name, array in arrays.items()},
        }

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave."""
        saved, agents = Saved.of(state), len(self._built.all_agents)
        goals = len(self._built.scenario.goals)
        self._arrivals = saved.take("arrivals", "i8", (goals + 1,), low=0, high=MOST)
        self._has_come = saved.take("has_come", "?", (agents + 1,))
        self._has_arrived = saved.take("has_arrived", "?", (agents + 1,))
        self._deadlocked = saved.take("deadlocked", "?", (agents + 1, len(Cause)))
        self._last_goal = saved.take("last_goal", "i4", (agents + 1,), low=-1, high=goals)
        self._last_tick = saved.take("last_tick", "i8", (agents + 1,), low=0, high=MOST)
        numbers = saved.take("numbers", "f8", (len(self._numbers),), low=0.0, high=float(MOST))
        self._numbers = dict(zip(self._numbers, numbers.tolist(), strict=True))
        self._guests.restore(saved.below("guests/"), goals)

    def verdict(
        self, ended: str, probes: Probes, enter: Enter, *, wall_s: float, digest: str, first_tick: int
    ) -> Verdict:
        """Return what the run resulted in so far."""
        world, agents, tick = self._built.world, self._built.world.agents, self._built.world.tick
        scenario, numbers = self._built.scenario, self._numbers
        stays = world.stays()
        is_to_come = ((agents.goal >= 0) | (agents.waits != Wait.NOTHING)) & ~stays
        walkers = np.flatnonzero((agents.activity != AgentState.ARRIVED) & is_to_come)
        found = diagnose(
            present_moment(
                world,
                tick,
                scenario.tick,
                Goals(world),
                world.last_agent,
                agents.is_stuck == 1,
                discs_going_on(world),
            )
        )
        reasons = self._reasons(walkers, found.cause, tick)
        deadlocked = self._deadlocked
        order = np.lexsort((walkers, agents.is_stuck[walkers] == 0))[:MOST_NAMED].tolist()
        return Verdict(
            scenario=scenario.name,
            ended=ended,
            agents=int(self._has_come.sum()) + self._guests.came,
            arrived=int(self._has_arrived.sum()) + self._guests.arrived,
            standing=int(np.count_nonzero(~is_to_come & ~stays & (agents.activity == AgentState.STANDING))),
            staying=int(np.count_nonzero(stays)),
            arrivals=self._by_goal(),
            not_arrived=len(walkers),
            reasons=dict(sorted(Counter(reasons).items(), key=lambda item: (-item[1], item[0]))),
            left=[
                self._left(agents, int(walkers[i]), reasons[i], tick, int(found.waits_for[walkers[i]]))
                for i in order
            ],
            last_arrival_s=self._seconds(numbers["last_arrival_tick"]) if self._arrivals.any() else None,
            simulated_s=self._seconds(tick),
            wall_s=wall_s,
            begun_s=self._seconds(first_tick),
            ticks=tick,
            deepest_overlap_m=numbers["deepest_overlap_m"],
            overlap_pairs_ticks=int(numbers["overlap_pairs_ticks"]),
            symmetries_broken=int(numbers["symmetries_broken"]),
            strays=int(numbers["strays"]),
            expansions=int(numbers["expansions"]),
            longest_wait_s=self._seconds(numbers["longest_wait_ticks"]),
            ms_per_tick=dict(probes.slowest(len(probes.names))),
            worst_tick_ms=probes.worst_tick_ns / 1e6,
            digest=digest,
            steered=int(numbers["steered"]),
            nudges=int(numbers["nudges"]),
            replans={cause: int(numbers[name]) for name, cause in REPLANS.items() if numbers[name]},
            most_requests_open=int(numbers["most_requests_open"]),
            deadlocked={
                cause.words: count
                for cause in Cause
                if cause != Cause.QUEUE
                and (count := int(deadlocked[:, cause].sum()) + int(self._guests.deadlocked[cause]))
            },
            flows=self._flows(),
            speed_law=scenario.speed_density.name,
            came=self._guests.came,
            waiting_outside=enter.outside,
            longest_outside_s=self._seconds(enter.longest_wait(tick)),
            more_to_come=enter.expects,
            choice_changes=int(numbers["choice_changes"]),
        )

    def _reasons(self, rows: NDArray[np.int64], cause: NDArray[np.uint8], tick: int) -> list[str]:
        """Return in words why agents, (k,) rows, have not arrived; `cause` is why each row is stuck."""
        world, agents, scenario = self._built.world, self._built.world.agents, self._built.scenario
        chosen = [scenario.navigation_of(group) for group in scenario.groups]

        def reason(row: int) -> str:
            own = chosen[agents.group[row]]
            return reason_of(
                agents,
                row,
                int(cause[row]),
                finds_all=own.name in OWN,
                is_kept_off=bool(own.values["forbid"] or own.values["allow"]),
            )

        # of a million agents few differ in what the reason is made of
        code = agents.group[rows].astype(np.int64)
        for column in (agents.activity, agents.waits, agents.path_status, cause):
            code = code * 256 + column[rows]
        _, first, alike = np.unique(code, return_index=True, return_inverse=True)
        words = [reason(row) for row in rows[first].tolist()]
        found = [words[each] for each in alike.tolist()]
        drives = world.drives()
        has_more = world.riding is not None or world.machines is not None
        for place in np.flatnonzero(drives[rows] | has_more).tolist():
            row = int(rows[place])
            vehicle = self._as_vehicle(row, tick) if drives[row] else ""
            found[place] = (vehicle or self._at_connection(row) or found[place]) + self._in_state(row)
        return found

    def _by_goal(self) -> dict[str, int]:
        """Return how many arrived at each goal, by name; those of exits that no agent took, too."""
        goals, counts = self._built.scenario.goals, self._arrivals.tolist()
        found = {
            goal.name: count
            for goal, count in zip(goals, counts, strict=False)
            if count or goal.kind == "exit"
        }
        return found | ({SET_PLACES: counts[-1]} if counts[-1] else {})

    def _flows(self) -> list[Flow]:
        """Return the flow through each exit that enough agents took."""
        scenario, found = self._built.scenario, []
        for number, goal in enumerate(scenario.goals):
            ticks = np.concatenate(
                [self._last_tick[self._last_goal == number], self._guests.arrival_ticks(number)]
            )
            if goal.kind != "exit" or len(ticks) < LEAST_COUNTED:
                continue
            width, flow = (
                exit_width(scenario.geometry.grounds[max(goal.layer, 0)], goal.area),
                busiest_flow(ticks * scenario.tick),
            )
            if width > 0.0 and flow == flow:
                found.append(Flow(goal.name, len(ticks), round(width, 3), round(flow / width, 3)))
        return found

    def _as_vehicle(self, row: int, tick: int) -> str:
        """Return in words what a vehicle does."""
        world, agents = self._built.world, self._built.world.agents
        if tick <= agents.start_tick[row]:
            return NOT_YET
        if agents.drive_speed[row] > 0.0 or agents.held_by[row] == NOBODY:
            return "drives"
        blocker = int(agents.held_by[row])
        before = (
            "a closed area"
            if blocker == WALL
            else self._built.names.of(blocker)
            if blocker <= world.last_agent
            else "an obstacle"
        )
        return f"stands before {before} since {self._seconds(tick - int(agents.stands_since[row])):g} s"

    def _at_connection(self, row: int) -> str:
        """Return in words what an agent does at a connection, or which key it lacks; empty where neither."""
        world, agents = self._built.world, self._built.world.agents
        if world.riding is None:
            return ""
        connections = world.riding.connections
        step = RideStep(int(agents.ride_step[row]))
        if step == RideStep.NONE:
            lacks = int(agents.lacks_key[row])
            hopeless = agents.path_status[row] == PathStatus.UNREACHABLE
            if not hopeless or lacks < 0:
                return ""
            group = self._built.scenario.groups[int(agents.group[row])]
            each = connections[lacks]
            if each.is_open_to(group.keys, ()):
                return f"uses no {each.kind}" if each.kind in group.excludes else f"does not use {each.name}"
            return f"needs key {each.key}"
        words = {
            RideStep.COMING: "on its way to {}",
            RideStep.IN_LINE: "waits for {}",
            RideStep.RIDING: "rides {}",
            RideStep.LEAVING: "waits for room to leave {}",
        }
        return words[step].format(connections[world.riding.gates[int(agents.gate[row])].connection].name)

    def _in_state(self, row: int) -> str:
        """Return the state of an agent's machine in words: `` in "buy"``; empty where it has none."""
        world = self._built.world
        if world.machines is None or world.agents.machine_state[row] < 0:
            return ""
        return f' in "{self._states[int(world.agents.machine_state[row])].name}"'

    def _since(self, row: int, tick: int) -> str:
        """Return for how long an agent has waited for what it waits: `` since 14 s``."""
        world = self._built.world
        if world.riding is not None and world.agents.ride_step[row] > RideStep.COMING:
            return f" since {self._seconds(tick - int(world.agents.ride_since[row])):g} s"
        if world.machines is None or world.agents.machine_state[row] < 0 or world.agents.waits[row] == 0:
            return ""
        level = len(self._states[int(world.agents.machine_state[row])].lasts) - 1
        return f" since {self._seconds(tick - int(world.agents.state_since[row, level])):g} s"

    def _seconds(self, ticks: float) -> float:
        """Return a time without the rounding of its product (142 ticks of 0.05 s are 7.1 s)."""
        return round(ticks * self._built.scenario.tick, 9)

    def _left(self, agents: AgentColumns, row: int, reason: str, tick: int, waits_for: int) -> Left:
        names = self._built.names
        stuck = self._seconds(tick - int(agents.stuck_tick[row])) if agents.is_stuck[row] else 0.0
        blocker = (
            "a wall"
            if waits_for == WALL
            else ""
            if waits_for == NOBODY
            else names.of(waits_for)
            if waits_for <= self._built.world.last_agent
            else "an obstacle"
        )
        x, y = agents.position[row].tolist()
        reason += self._since(row, tick)
        return Left(names.of(int(agents.entity[row])), x, y, reason, stuck, blocker)
