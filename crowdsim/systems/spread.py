"""Spread: in front of doors and exits those who come together walk side by side over the width."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.hold import GOAL_HELD
from crowdsim.navigation.openings import Openings, find_openings
from crowdsim.navigation.spread import BINS, LEAST_APART_M, SpreadNumbers, SpreadParameters, find_groups, share_openings, spread_many
from crowdsim.systems.base import System, Tick
from crowdsim.world.columns import AgentState, has_way
from crowdsim.world.world import World


class Spread(System):
    """Turn preferred velocities so that a crowd takes the width of what it goes through.

    Parameters
    ----------
    world : World
    parameters : SpreadParameters
    heeds : (groups,) bool
        Whose agents heed others: who walks through them needs no place beside them.
    """

    reads = (
        "group", "activity", "path_status", "goal_piece", "position", "velocity", "surface", "radius", "is_driven", "preferred_velocity", "next_corner", "corner_post",
        "corridor_start", "corridor_length",
    )  # fmt: skip
    writes = ("preferred_velocity", "next_corner")
    counts = ("spread",)

    def __init__(self, world: World, parameters: SpreadParameters, heeds: NDArray[np.bool_]) -> None:
        super().__init__(world)
        self.parameters, self.heeds = parameters, None if heeds.all() else heeds
        self._on: tuple[object, object] = (None, None)  # the mesh and the goals that the openings are of
        self._openings: Openings

    @property
    def is_idle(self) -> bool:
        """Whether the scenario does not ask for it."""
        return not self.parameters.spread

    def process(self, tick: Tick) -> None:
        """Find who comes to which opening, share the openings out, lead everybody to its place."""
        tick.counts["spread"] = 0.0
        world, agents = self.world, self.world.agents
        if self.is_idle or not len(agents):
            return
        openings = self._openings_now()
        if not openings.count:
            return
        numbers = self._numbers(openings)
        rows, polygon = len(agents), world.polygons()
        wants = (agents.activity == AgentState.WALKING) & (agents.is_driven == 0) & has_way(agents.path_status) & world.on_corridors()
        wants &= self.of_groups(self.heeds)
        group, place = np.empty(rows, dtype=np.int32), np.empty((rows, 4))
        tick.team.run(
            find_groups, rows, world.mesh, world.goals, openings, numbers, world.corridors.cells, agents.corridor_start, agents.corridor_length, polygon,
            agents.goal_piece, wants.view(np.uint8), (agents.corner_post == GOAL_HELD).view(np.uint8), agents.position, agents.radius, agents.next_corner,
            group, place,
        )  # fmt: skip
        members = np.bincount(group[group >= 0], minlength=2 * openings.count).astype(np.int32)
        slots = int(np.count_nonzero(members > 1))
        if not slots:
            return
        lines = int(numbers.depth / LEAST_APART_M) + 2
        slot_of, shift = np.empty(len(members), dtype=np.int32), np.zeros((slots, lines, BINS))
        crowd = np.empty((slots, lines, BINS + 1, 2), dtype=np.int64)
        apart = np.empty(slots)
        share_openings(openings, numbers, group, place, agents.radius, agents.velocity, members, slot_of, apart, crowd, shift, np.empty((BINS, 3)))
        is_led, wished = np.empty(rows, dtype=np.uint8), None if world.is_even else agents.preferred_velocity.copy()
        tick.team.run(
            spread_many, rows, world.mesh, openings, numbers, polygon, agents.position, agents.radius, group, place, slot_of, apart, shift, agents.preferred_velocity,
            agents.next_corner, is_led,
        )  # fmt: skip
        if wished is not None:  # in another direction the slope is another
            before, now = self.shares_in_plan(tick, wished), self.shares_in_plan(tick, agents.preferred_velocity)
            led = is_led == 1
            agents.preferred_velocity[led] *= (now[led] / before[led])[:, None]
        tick.counts["spread"] = float(is_led.sum())

    def _openings_now(self) -> Openings:
        """Return the openings of the ground and the goals as they are now."""
        world = self.world
        if self._on[0] is not world.mesh or self._on[1] is not world.goals:
            self._on, self._openings = (world.mesh, world.goals), find_openings(world.mesh, world.goals)
        return self._openings

    def _numbers(self, openings: Openings) -> SpreadNumbers:
        chosen = self.parameters
        return SpreadNumbers(
            float(chosen.spread_depth), float(chosen.spread_apart), float(chosen.spread_round), float(chosen.spread_door), float(chosen.spread_exit),
            int(openings.goal_start[0]),
        )  # fmt: skip
