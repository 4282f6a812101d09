"""Spread: a crowd in front of a region takes the width of its rim."""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.bodies.places import PlaceParameters
from crowdsim.bodies.spread import HEADS_THERE, SpreadParameters, crowds_of, find_crowds, lead_aside
from crowdsim.kernels.decorator import lean_kernel
from crowdsim.navigation.corridor.corner_cache import STRAIGHT_TO_GOAL
from crowdsim.navigation.goals.fronts import Fronts, find_fronts
from crowdsim.systems.base.system import Setup, Tick, TickSystem, shares_in_plan
from crowdsim.world.states import FOUND, FOUND_THROUGH_AGENTS, WALKING

_NO_END = 1 << 30  # In place of the length of a list at whose end agents leave.
HEEDS_NONE = "none"  # The avoidance model with agents that walk through each other.


@lean_kernel
def find_straight(corner_vertex, activity, is_driven, path_status, group, heeds, out):
    """Write which agents walk straight to their goal and heed others, (n,) bool; return how many.

    All but `heeds`, (groups,) bool, are columns of agents. Twin: `tests/reference/rows.py`.
    """
    count = 0
    for row in range(out.size):
        out[row] = (
            corner_vertex[row] == STRAIGHT_TO_GOAL
            and activity[row] == WALKING
            and is_driven[row] == 0
            and (path_status[row] == FOUND or path_status[row] == FOUND_THROUGH_AGENTS)
            and group[row] >= 0
            and heeds[group[row]]
        )
        count += out[row]
    return count


class Spread(TickSystem):
    """Lead agents that come to the rim of a region at the same time to places side by side.

    Only where they steer changes, not their paths. It stands after Gauge: progress is measured along the
    path.
    """

    reads = (
        "group", "activity", "path_status", "goal_piece", "position", "surface", "radius", "is_driven",
        "preferred_velocity", "next_corner", "corner_vertex", "goal", "itinerary", "stage",
    )  # fmt: skip
    writes = ("preferred_velocity", "next_corner")

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.parameters = setup.of_bodies(SpreadParameters)
        # groups with agents that heed others: those that walk through others need no place beside them
        models = [setup.scenario.model_of(group) for group in setup.scenario.groups]
        self.heeds = np.array([each.name != HEEDS_NONE for each in models], dtype=np.bool_)
        # agents that stay at a region go on to places of their own in it (`Places`): those take its ground,
        # not the width of its rim
        self.moves_in = setup.of_bodies(PlaceParameters).moving_in
        # the goals of the scenario on the ground that the fronts are of, and how many regions there were more
        self._on: tuple[object, int] = (None, 0)
        self._fronts: Fronts
        self._list_ends: tuple[NDArray[np.int64], NDArray[np.int64]] = (np.zeros(0, np.int64),) * 2

    @property
    def is_idle(self) -> bool:
        """Whether the scenario goes without it."""
        return self.parameters.spread_reach == 0.0

    def process(self, tick: Tick) -> None:
        """Find the crowds, and lead their members."""
        world, agents, own = self.world, self.world.agents, self.parameters
        if self.is_idle:
            return
        straight = np.empty(len(agents), dtype=np.bool_)
        count = find_straight(
            agents.corner_vertex, agents.activity, agents.is_driven, agents.path_status, agents.group,
            self.heeds, straight,
        )  # fmt: skip
        if self.moves_in and count >= 2:
            straight[straight] = ~self._stays(np.flatnonzero(straight))
            count = np.count_nonzero(straight)
        if count < 2:
            return
        fronts, rows = self._fronts_now(), len(agents)
        if not len(fronts.end):
            return
        source = np.where(straight, world.goals.piece_source[agents.goal_piece], np.int32(0))
        straight &= source < len(fronts.goal_start) - 1  # what came later are points, which have none
        source[~straight] = 0
        wants, corner = straight.view(np.uint8), agents.next_corner
        # over cells a path ends at some point inside, and its next corner is one of cells
        if world.corridor_groups is not None:
            on_cells = straight & ~world.on_corridors()
            wants, corner = (
                np.where(on_cells, np.uint8(HEADS_THERE), wants),
                np.where(on_cells[:, None], agents.position, corner),
            )
        crowd, place = np.empty(rows, dtype=np.int32), np.empty((rows, 5))
        tick.team.run(
            find_crowds,
            rows,
            fronts,
            source,
            wants,
            agents.position,
            corner,
            agents.radius,
            float(own.spread_reach),
            float(own.spread_width),
            crowd,
            place,
        )
        crowds = crowds_of(crowd, place)
        member = crowds.member
        if len(member) < 2:
            return
        pace = None if world.is_even else shares_in_plan(self.world, tick, agents.preferred_velocity)
        tick.team.run(
            lead_aside, len(member), crowds, world.mesh, fronts, world.polygons(), agents.position,
            agents.radius, float(own.spread_crowd), agents.preferred_velocity, agents.next_corner,
            at_least=64,
        )  # fmt: skip
        if pace is not None:  # in another direction the slope is another
            agents.preferred_velocity[member] *= (
                shares_in_plan(self.world, tick, agents.preferred_velocity)[member] / pace[member]
            )[:, None]

    def _stays(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which agents of `rows` are on their way to where they stay, (k,) bool."""
        agents = self.world.agents
        last, end = self._ends()
        itinerary, goal = agents.itinerary[rows], agents.goal[rows]  # -1, without one, is the last entry
        stays: NDArray[np.bool_] = last[itinerary] == goal
        sent = goal >= self.world.destinations.fixed  # beyond their lists, or to the end of them
        if np.count_nonzero(sent):
            stays |= sent & (agents.stage[rows] + 1 >= end[itinerary])
        return stays

    def _ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the last goal of each list of goals at whose end agents stay, -1 of others, and how many
        goals those have; the last entries are of agents without a list.
        """
        lists = self.world.itineraries
        if len(self._list_ends[0]) != len(lists) + 1:
            last = [each.goals[-1] if each.goals and not each.leaves else -1 for each in lists]
            end = [_NO_END if each.leaves else len(each.goals) for each in lists]
            self._list_ends = np.array([*last, -1], dtype=np.int64), np.array([*end, _NO_END], dtype=np.int64)
        return self._list_ends

    def _fronts_now(self) -> Fronts:
        """Return the fronts of the regions on the ground as it is now."""
        world = self.world
        regions = len(world.destinations.regions)
        if self._on[0] is not world.fixed_goals or self._on[1] != regions:
            self._on, self._fronts = (world.fixed_goals, regions), find_fronts(world.mesh, world.goals)
        return self._fronts
