"""Spread: a crowd in front of a region takes the width of its rim."""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

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


class ListEnds(NamedTuple):
    """How lists of goals end; the last entries are of agents without a list.

    Attributes
    ----------
    last : (lists + 1,) int64
        The last goal of lists at whose end agents stay, -1 of others.
    length : (lists + 1,) int64
        How many goals those have.
    fixed : int
        Goals from this one on are none of the scenario's: programs send agents there.
    """

    last: NDArray[np.int64]
    length: NDArray[np.int64]
    fixed: int


@lean_kernel
def find_straight(
    start, stop, corner_vertex, activity, is_driven, path_status, group, goal, itinerary, stage, goal_piece,
    heeds, ends, piece_source, source, out,
):  # fmt: skip
    """Write which agents of a range walk straight to their goal, heed others, and do not stay there.

    Parameters
    ----------
    start, stop : int
    corner_vertex, activity, is_driven, path_status, group, goal, itinerary, stage, goal_piece : (n,)
        Columns of agents.
    heeds : (groups,) bool
    ends : ListEnds
        Of no list at all, agents that stay at their goal are as others.
    piece_source : (pieces,) int32
        Goals of pieces.
    source : (n,) int32
        Receives the goal on the ground; 0 of others.
    out : (n,) uint8

    Returns
    -------
    count, farthest : int
        How many; and the greatest of their goals.

    Notes
    -----
    Twin: `tests/reference/rows.py`.
    """
    count, farthest = 0, np.int64(0)
    for row in range(np.uint64(start), np.uint64(stop)):
        out[row], source[row] = 0, 0
        if (
            corner_vertex[row] != STRAIGHT_TO_GOAL
            or activity[row] != WALKING
            or is_driven[row] != 0
            or (path_status[row] != FOUND and path_status[row] != FOUND_THROUGH_AGENTS)
            or group[row] < 0
            or not heeds[group[row]]
        ):
            continue
        if ends.last.size > 0:
            own = itinerary[row] if itinerary[row] >= 0 else ends.last.size - 1
            if ends.last[own] == goal[row] or (
                goal[row] >= ends.fixed and stage[row] + 1 >= ends.length[own]
            ):
                continue
        out[row], source[row] = 1, piece_source[goal_piece[row]]
        count, farthest = count + 1, max(farthest, np.int64(source[row]))
    return count, farthest


_NO_LISTS = ListEnds(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), 0)


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
        self._list_ends = _NO_LISTS

    @property
    def is_idle(self) -> bool:
        """Whether the scenario goes without it."""
        return self.parameters.spread_reach == 0.0

    def process(self, tick: Tick) -> None:
        """Find the crowds, and lead their members."""
        world, agents, own = self.world, self.world.agents, self.parameters
        if self.is_idle:
            return
        rows = len(agents)
        wants, source = np.empty(rows, dtype=np.uint8), np.empty(rows, dtype=np.int32)
        found = tick.team.run(
            find_straight, rows, agents.corner_vertex, agents.activity, agents.is_driven, agents.path_status,
            agents.group, agents.goal, agents.itinerary, agents.stage, agents.goal_piece, self.heeds,
            self._ends() if self.moves_in else _NO_LISTS, world.goals.piece_source, source, wants,
        )  # fmt: skip
        if sum(count for count, _ in found) < 2:
            return
        fronts, corner = self._fronts_now(), agents.next_corner
        if not len(fronts.end):
            return
        if max(farthest for _, farthest in found) >= len(fronts.goal_start) - 1:
            wants[source >= len(fronts.goal_start) - 1] = 0  # what came later are points, which have none
            source[wants == 0] = 0
        # over cells a path ends at some point inside, and its next corner is one of cells
        if world.corridor_groups is not None:
            on_cells = (wants != 0) & ~world.on_corridors()
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

    def _ends(self) -> ListEnds:
        """Return how the lists of goals end."""
        lists, fixed = self.world.itineraries, self.world.destinations.fixed
        if len(self._list_ends.last) != len(lists) + 1 or self._list_ends.fixed != fixed:
            last = [each.goals[-1] if each.goals and not each.leaves else -1 for each in lists]
            end = [_NO_END if each.leaves else len(each.goals) for each in lists]
            self._list_ends = ListEnds(
                np.array([*last, -1], dtype=np.int64), np.array([*end, _NO_END], dtype=np.int64), int(fixed)
            )
        return self._list_ends

    def _fronts_now(self) -> Fronts:
        """Return the fronts of the regions on the ground as it is now."""
        world = self.world
        regions = len(world.destinations.regions)
        if self._on[0] is not world.fixed_goals or self._on[1] != regions:
            self._on, self._fronts = (world.fixed_goals, regions), find_fronts(world.mesh, world.goals)
        return self._fronts
