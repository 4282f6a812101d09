"""Replan: agents that have a path ask for a new one, when there is a cause and not too often."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.model import WALL
from crowdsim.bodies.nudge import BlockedParameters, find_blocked_lines
from crowdsim.bodies.replan import ReplanParameters, find_near_lines
from crowdsim.geometry.cells import CellIndex, Cells, Heights
from crowdsim.geometry.lengths import hypots
from crowdsim.navigation.grid.parameters import PathParameters
from crowdsim.scenario.parameters import Chosen
from crowdsim.systems.base.system import Setup, Tick, TickSystem, ticks_of
from crowdsim.systems.paths.lost_paths import ask_anew, forget_path, wish_to_replan
from crowdsim.world.columns import AgentState, PathStatus, ReplanCause
from crowdsim.world.events import EventKind
from crowdsim.world.states import standing

_COUNTED = {
    ReplanCause.AGENTS_AHEAD: "replans_agents_ahead",
    ReplanCause.BLOCKED: "replans_blocked",
    ReplanCause.PATH_CLOSED: "replans_path_closed",
    ReplanCause.GOAL_MOVED: "replans_goal_moved",
    ReplanCause.PUSHED_OFF: "replans_pushed_off",
    ReplanCause.NO_LOCAL_PATH: "replans_no_local_path",
    ReplanCause.WATCHED: "replans_watched",
}
# Of its radius: an agent on waypoints slides along a wall that is nearer to its line than its radius, past
# its end. Larger asks in vain.
SLIDES_SHARE = 0.5
# Of its desired speed: slower, an agent on waypoints counts as stopped by the wall beside it. Larger asks
# again while it still gets on.
STOPPED_SHARE = 0.1
_CELL_M = 2.0  # Of the index of stationary agents; results do not depend on it.
_LEVEL = Heights(np.zeros(0), np.zeros((0, 2)), np.inf)  # of ground that is level


def _leads_round_stationary(chosen: Chosen) -> bool:
    """Return whether paths lead round stationary agents:
    on grids always, on meshes where the scenario says so.
    """
    return bool(chosen.values.get("round_stationary", True))


class Replan(TickSystem):
    """Let agents ask for new paths: because of agents ahead, when blocked,
    when a path was shut or a goal moved.

    Every agent looks ahead once in a cooldown, all at different ticks. If an agent near the line to its next
    corner has moved since it last looked, and a stationary agent cuts that line, it wants a new path. So does
    an agent that is bound by a wall in that line: it was pushed off its path. Agents on waypoints look for
    walls always, and want a new path if one all but stops them, too: nothing else leads them back, as a
    corridor does.
    """

    reads = (
        "entity",
        "group",
        "activity",
        "goal",
        "path_status",
        "path_tick",
        "is_driven",
        "is_yielding",
        "blocked_ticks",
        "position",
        "next_corner",
        "radius",
        "surface",
        "layer",
        "blocker",
        "velocity",
        "desired_speed",
        "counted_position",
        "moved_tick",
        "replan_wish",
        "replans",
    )
    writes = (
        "path_status",
        "counted_position",
        "moved_tick",
        "replan_wish",
        "asks_again",
        "replans",
        "remaining",
    )
    counts = ("replan_triggers", "replan_cuts", *_COUNTED.values())

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.parameters, scenario = setup.of_bodies(ReplanParameters), setup.scenario
        chosen = [scenario.navigation_of(group) for group in scenario.groups]
        # groups with searches that go round stationary agents; others would find the same path again because
        # of agents ahead, and do not ask
        self.goes_round = np.array([_leads_round_stationary(each) for each in chosen], dtype=np.bool_)
        shares = [
            float(each.values["obstacle_radius_share"])
            for each in scenario.navigations
            if _leads_round_stationary(each)
        ]
        # of its radius, in which a stationary agent cuts a line: that which searches go round
        self.obstacle_share = max(shares, default=PathParameters().obstacle_radius_share)
        self.blocked_ticks = max(1, ticks_of(setup.of_bodies(BlockedParameters).blocked_time, scenario.tick))
        self.cooldown = max(1, ticks_of(self.parameters.replan_cooldown, scenario.tick))
        self._standing = CellIndex(_CELL_M)

    def process(self, tick: Tick) -> None:
        """Look for causes, grant wishes."""
        agents = self.world.agents
        tick.counts.update(dict.fromkeys(self.counts, 0.0))
        agents.asks_again[:] = 0
        on_waypoints = ~self.world.on_corridors()
        are_on_waypoints = np.count_nonzero(on_waypoints) > 0
        if not (self.parameters.replanning or are_on_waypoints or np.count_nonzero(agents.replan_wish)):
            return
        walks = (agents.activity == AgentState.WALKING) & (agents.goal >= 0) & (agents.is_driven == 0)
        walks &= (agents.path_status >= PathStatus.FOUND) & (
            agents.path_status <= PathStatus.NEAREST_REACHABLE
        )
        if are_on_waypoints:
            self._look_for_walls(tick, np.flatnonzero(walks & on_waypoints & self._is_due(tick)))
        if self.parameters.replanning:
            self._look(tick, walks)
        self._grant(tick, walks)

    def _is_due(self, tick: Tick) -> NDArray[np.bool_]:
        """Return (n,) bool: the agents that look ahead in this tick; each does once in a cooldown."""
        return (tick.number + self.world.agents.entity) % self.cooldown == 0

    def _look_for_walls(self, tick: Tick, rows: NDArray[np.int64]) -> None:
        """Let agents on waypoints ask again that have a wall in their line, or are stopped by one."""
        agents = self.world.agents
        wish_to_replan(agents, self._blocked(tick, rows, SLIDES_SHARE), ReplanCause.PUSHED_OFF)
        for paths in self.world.planning.paths:
            wish_to_replan(agents, paths.astray(rows), ReplanCause.PUSHED_OFF)
        speed = hypots(agents.velocity[rows, 0], agents.velocity[rows, 1])
        is_stopped = (agents.blocker[rows] == WALL) & (speed < STOPPED_SHARE * agents.desired_speed[rows])
        wish_to_replan(agents, rows[is_stopped], ReplanCause.PUSHED_OFF)

    def _look(self, tick: Tick, walks: NDArray[np.bool_]) -> None:
        """Find the agents that have others, or a wall, in their way."""
        agents = self.world.agents
        got = agents.position - agents.counted_position
        has_moved = (
            got[:, 0] * got[:, 0] + got[:, 1] * got[:, 1]
            >= self.parameters.replan_moved * self.parameters.replan_moved
        )
        np.copyto(agents.counted_position, agents.position, where=has_moved[:, None])
        np.copyto(agents.moved_tick, tick.number, where=has_moved)
        due = np.flatnonzero(walks & self._is_due(tick))
        if len(due):
            wish_to_replan(
                agents, self._blocked(tick, due[agents.blocker[due] == WALL]), ReplanCause.PUSHED_OFF
            )
            due = due[self._some_agent_moved(tick, due)]
            tick.counts["replan_triggers"] = float(len(due))
            due = due[self._some_agent_stands(tick, due)]
            tick.counts["replan_cuts"] = float(len(due))
            wish_to_replan(agents, due[self.goes_round[agents.group[due]]], ReplanCause.AGENTS_AHEAD)
        wish_to_replan(
            agents,
            walks & (agents.blocked_ticks >= self.blocked_ticks) & (agents.replan_wish == ReplanCause.NONE),
            ReplanCause.BLOCKED,
        )

    def _blocked(self, tick: Tick, rows: NDArray[np.int64], share: float = 1.0) -> NDArray[np.int64]:
        """Return those of some agents that have a wall in the line to their next corner,
        for a share of their radius.
        """
        agents = self.world.agents
        is_blocked = np.empty(len(rows), dtype=np.uint8)
        tick.team.run(
            find_blocked_lines,
            len(rows),
            rows,
            self.world.mesh,
            self.world.polygons(),
            agents.position,
            agents.next_corner,
            share * agents.radius,
            is_blocked,
        )
        return rows[is_blocked == 1]

    def _some_agent_moved(self, tick: Tick, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return (k,) bool: agents near whose line another has moved since they last looked;
        looks are a cooldown apart.
        """
        agents = self.world.agents
        assert tick.cells is not None, "Index runs before Replan"
        reach = np.where(
            tick.number - agents.moved_tick < self.cooldown, self.parameters.replan_trigger, -1.0
        )
        planes = tick.cells.plane[tick.cells.slot[rows]]
        return self._near(tick, rows, planes, tick.cells, np.arange(len(agents)), reach)

    def _some_agent_stands(self, tick: Tick, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return (k,) bool: agents with a stationary agent in their line."""
        agents = self.world.agents
        stands = np.flatnonzero(standing(agents))
        if not len(rows) or not len(stands):
            return np.zeros(len(rows), dtype=np.bool_)
        cells = self._standing.build(agents.position[stands], np.zeros(len(stands), dtype=np.int32))
        return self._near(
            tick,
            rows,
            np.zeros(len(rows), dtype=np.int32),
            cells,
            stands,
            self.obstacle_share * agents.radius[stands],
        )

    def _near(
        self,
        tick: Tick,
        rows: NDArray[np.int64],
        planes: NDArray[np.int32],
        cells: Cells,
        owner: NDArray[np.int64],
        reach: NDArray[np.float64],
    ) -> NDArray[np.bool_]:
        """Return (k,) bool: agents near whose line to their next corner one of some others is;
        see `find_near_lines`.
        """
        agents = self.world.agents
        part, heights = self.world.ground_of(agents.position)
        is_near = np.empty(len(rows), dtype=np.uint8)
        tick.team.run(
            find_near_lines, len(rows), rows, planes, agents.position, agents.next_corner, part,
            heights or _LEVEL, cells, owner, reach, is_near, at_least=256,
        )  # fmt: skip
        return is_near.view(np.bool_)

    def _grant(self, tick: Tick, walks: NDArray[np.bool_]) -> None:
        """Let agents ask again that want to, once their last path is a cooldown old;
        one that was sent elsewhere, or lost its path, asks already.
        """
        agents = self.world.agents
        if not np.any(agents.replan_wish):
            return
        asks_already = (agents.replan_wish == ReplanCause.PATH_CLOSED) & (
            agents.path_status == PathStatus.NONE
        )
        sent = (agents.replan_wish == ReplanCause.GOAL_MOVED) | asks_already
        agents.replan_wish[~walks & ~sent] = ReplanCause.NONE
        granted = (
            (agents.replan_wish != ReplanCause.NONE)
            & walks
            & ~sent
            & (tick.number - agents.path_tick >= self.cooldown)
        )
        agents.asks_again[granted] = 1
        ask_anew(agents, granted)
        counted = np.flatnonzero(granted | sent)
        if not len(counted):
            return
        forget_path(agents, sent)
        causes = agents.replan_wish[counted]
        for cause, name in _COUNTED.items():
            tick.counts[name] = self.count_of(causes == cause)
        agents.replans[counted] += 1
        self.world.events.note(
            tick.number, EventKind.REPLANNED, agents.entity[counted], agents.position[counted], causes
        )
        agents.replan_wish[counted] = ReplanCause.NONE
