"""Integrate: velocities become tentative positions."""

from __future__ import annotations

from crowdsim.bodies.integrate import integrate
from crowdsim.systems.base.system import Tick, TickSystem, shares_in_plan


class Integrate(TickSystem):
    """Write where each agent would be at the end of the tick."""

    reads = ("position", "chosen_velocity", "maximum_speed", "surface")
    writes = ("chosen_velocity", "tentative_position")

    def process(self, tick: Tick) -> None:
        """One explicit Euler step."""
        world, agents = self.world, self.world.agents
        chosen = agents.chosen_velocity
        fastest = (
            agents.maximum_speed
            if world.is_even
            else agents.maximum_speed * shares_in_plan(self.world, tick, chosen)
        )
        tick.team.run(
            integrate,
            len(agents),
            agents.position,
            chosen,
            fastest,
            tick.length,
            chosen,
            agents.tentative_position,
        )
