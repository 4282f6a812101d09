"""A model of one's own: agents slow down for others near and ahead."""

from dataclasses import dataclass

import numpy as np

from crowdsim.avoidance.model import FEASIBLE, NOT_ASKED, RELAXED, StatelessModel
from crowdsim.avoidance.registry import register
from crowdsim.geometry.lengths import dots, lengths_of
from crowdsim.geometry.speed import limit_speed
from crowdsim.tunable import param


@register
class Polite(StatelessModel):
    """Keep the preferred direction, and be the slower the less room there is ahead."""

    name = "polite"

    @dataclass(frozen=True)
    class Parameters:
        """What can be tuned; `crowdsim parameters avoidance.polite --plugin polite.py` shows it."""

        room: float = param(1.0, "m", above=0.0, high=10.0, why="gap at full speed; larger: looser queues")

    def choose(self, view, tick_length, team, out):
        """Write a velocity for each agent, and the agent that slows it down: rows as in the view."""
        wish = np.empty_like(view.velocity)
        team.run(limit_speed, len(wish), view.preferred_velocity, view.maximum_speed, view.active, wish)
        near = view.neighbours(8, self.parameters.room + 1.0, team)  # rows, nearest first; -1 is none
        to_other = view.position[near] - view.position[:, None]
        distance, along = lengths_of(to_other), dots(to_other, wish[:, None])
        is_ahead = (near >= 0) & (along > 0.7 * distance * lengths_of(wish)[:, None])
        gap = np.where(is_ahead, distance - view.radius[near] - view.radius[:, None], np.inf)
        first = np.argmin(gap, axis=1)[:, None]
        share = np.clip(np.take_along_axis(gap, first, axis=1) / self.parameters.room, 0.0, 1.0)
        out.velocity[:] = wish * share
        out.diagnosis[:] = np.where(view.active, np.where(share[:, 0] > 0.0, FEASIBLE, RELAXED), NOT_ASKED)
        blocker = view.entity[np.take_along_axis(near, first, axis=1)[:, 0]]
        out.blocker[:] = np.where((share[:, 0] < 1.0) & (view.active == 1), blocker, 0)
