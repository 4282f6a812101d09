"""Integrate: velocities become tentative positions."""

from __future__ import annotations

from crowdsim.bodies.integrate import integrate
from crowdsim.systems.base import System, Tick


class Integrate(System):
    """Write where everybody would be at the end of the tick."""

    reads = ("position", "chosen_velocity", "maximum_speed")
    writes = ("chosen_velocity", "tentative_position")

    def process(self, tick: Tick) -> None:
        """One explicit Euler step."""
        agents = self.world.agents
        chosen = agents.chosen_velocity.copy()
        tick.team.run(
            integrate, len(agents), agents.position, chosen, agents.maximum_speed, tick.length, agents.chosen_velocity, agents.tentative_position
        )
