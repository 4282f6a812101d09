"""Follow: the velocity that each agent would like, towards the next corner of its corridor or on a guess while it has none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.corridor.corner_cache import NOTHING_HELD, Held
from crowdsim.navigation.corridor.steer import guess_many, steer_many
from crowdsim.systems.base.setup import Setup
from crowdsim.systems.base.system import System, Tick
from crowdsim.systems.paths.corner_guesses import CornerGuesses
from crowdsim.systems.paths.straighten import led_round_free_vertices, straighten
from crowdsim.world.columns import AgentState, PathStatus, has_way
from crowdsim.world.world import World


class Follow(System):
    """Set preferred velocities.

    Parameters
    ----------
    world : World
    groups : (groups,) bool, optional
        Whose agents it leads; all by default.
    while_waiting : str
        What agents do whose path is not there yet, see `crowdsim.navigation.corridor.guess.WaitParameters`.
    corner_guesses : CornerGuesses, optional
        Of those who guess over points of visibility instead of portals.
    """

    reads = (
        "group", "activity", "path_status", "goal", "goal_piece", "position", "surface", "radius", "desired_speed", "is_driven", "guessed",
        "corridor_start", "corridor_capacity", "corridor_length", "preferred_velocity", "corner_post", "corner_line", "corner_offset",
    )
    writes = (
        "preferred_velocity", "next_corner", "guessed", "corridor_start", "corridor_capacity", "corridor_length", "corner_post", "corner_line",
        "corner_offset",
    )
    counts = ("guessing",)

    def __init__(
        self, world: World, groups: NDArray[np.bool_] | None = None, while_waiting: str = "guess",
        corner_guesses: CornerGuesses | None = None,
    ) -> None:  # fmt: skip
        super().__init__(world)
        self.groups, self.while_waiting, self.corner_guesses = groups, while_waiting, corner_guesses

    @classmethod
    def from_setup(cls, setup: Setup) -> System:
        """Return what leads the groups of the scenario."""
        following: System = setup.following
        return following

    def process(self, tick: Tick) -> None:
        """Steer those with a path, guess for those without, let the others stand."""
        world, agents = self.world, self.world.agents
        rows = len(agents)
        polygon = world.polygons()
        free = (agents.is_driven == 0) & self.of_groups(self.groups)
        walking = (agents.activity == AgentState.WALKING) & free
        follows = walking & has_way(agents.path_status)
        guesses = walking & (agents.path_status == PathStatus.PENDING)
        if self.while_waiting == "previous":
            keeps = guesses & (agents.goal_piece >= 0)
            follows, guesses = follows | keeps, guesses & ~keeps
        elif self.while_waiting == "stay":
            guesses[:] = False
        stands = free & ~follows & ~guesses
        agents.preferred_velocity[stands] = 0.0
        agents.next_corner[stands] = agents.position[stands]
        before = agents.corner_post.copy()
        self._steer(tick, follows, polygon)
        aside = led_round_free_vertices(world, follows, before)
        if len(aside):
            straighten(world, aside)
            agents.corner_post[aside] = NOTHING_HELD
            again = np.zeros(rows, dtype=np.bool_)
            again[aside] = True
            self._steer(tick, again, polygon)
        tick.counts["guessing"] = self.count_of(guesses)
        if tick.counts["guessing"] and self.corner_guesses is not None:
            self.corner_guesses.lead(tick, guesses)
        elif tick.counts["guessing"]:
            self._guess(tick, guesses, polygon)
        if not world.is_even:
            walks = follows | guesses
            agents.preferred_velocity[walks] *= self.shares_in_plan(tick, agents.preferred_velocity)[walks, None]

    def _steer(self, tick: Tick, follows: NDArray[np.bool_], polygon: NDArray[np.int64]) -> None:
        """Set the preferred velocities of those who follow a corridor."""
        world, agents = self.world, self.world.agents
        tick.team.run(
            steer_many, len(agents), world.mesh, world.goals, world.corridors.cells, agents.corridor_start, agents.corridor_length, polygon,
            agents.goal_piece, follows.view(np.uint8), agents.position, agents.radius, agents.desired_speed, tick.length,
            Held(agents.corner_post, agents.corner_line, agents.corner_offset), agents.preferred_velocity, agents.next_corner,
        )

    def _guess(self, tick: Tick, guesses: NDArray[np.bool_], polygon: NDArray[np.int64]) -> None:
        """Set the preferred velocities of those whose path is not there yet."""
        world, agents = self.world, self.world.agents
        tick.team.run(
            guess_many, len(agents), world.mesh, world.goals, world.corridors.cells, agents.corridor_start, agents.corridor_length, agents.goal, polygon,
            agents.guessed, guesses.view(np.uint8), agents.position, agents.radius, agents.desired_speed, agents.preferred_velocity, agents.next_corner,
        )
