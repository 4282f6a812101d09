"""How agents jump, and what a jump leaves for others: a portal by which they follow for a while
([Smith 2002], "Follow the Leader").
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from crowdsim.scenario.connections import GRAVITY_M_S2, Connection, fall_s
from crowdsim.scenario.schema_connections import JumpsShape
from crowdsim.scenario.tree import Problems

KIND = "jump"
SPARE = 2  # Portals beside those that lie at once: those that have just gone, over which some still fly.


@dataclass(frozen=True)
class Jumps:
    """What agents can jump, and how long portals lie there; see `JumpsShape`.

    Attributes
    ----------
    at_most : int
        Portals at once.
    lasts : float, s
    capacity : int
        Of one portal: in the air at once.
    headway : float, s
    speed : float, m/s
    spring : float, m
    longest, deepest : float, m
    """

    at_most: int
    lasts: float
    capacity: int
    headway: float
    speed: float
    spring: float
    longest: float
    deepest: float

    @property
    def slots(self) -> int:
        """How many connections are kept for portals."""
        return self.at_most + SPARE

    def connections(self) -> tuple[Connection, ...]:
        """Return the connections that portals are while they lie there."""
        digits = len(str(self.slots))
        return tuple(
            Connection(
                name=f"jump {number:0{digits}d}",
                kind=KIND,
                ends=(),
                seconds=(0.0,),  # as the portal says
                capacity=self.capacity,
                headway=self.headway,
                one_way=True,
            )
            for number in range(1, self.slots + 1)
        )

    def data(self) -> dict[str, Any]:
        """Return them as a scenario says them."""
        return asdict(self)

    def seconds(self, distance: float, fall: float) -> float:
        """Return how long a jump over a distance in plan (m) and a height (m, downwards) takes, s.

        It is made at the greatest speed, or, where that is over before the ground is reached, at the one with
        which a free fall takes as long.
        """
        return max(distance / self.speed, fall_s(max(0.0, fall)))

    def why_not(self, distance: float, fall: float) -> str:
        """Return in words why nobody jumps so far and deep; empty where one can.

        Notes
        -----
        In the air there is gravity alone: an agent that is there for t seconds and comes down h metres below
        has to leave the ground upwards at ``g t / 2 - h / t``. One that can spring s metres high on the spot
        can leave it at ``sqrt(2 g s)``.
        """
        if distance > self.longest:
            return f"it is {distance:.2f} m away, and nobody jumps farther than {self.longest:g} m"
        if fall > self.deepest:
            return f"it is {fall:.2f} m down, and nobody jumps deeper than {self.deepest:g} m"
        time = self.seconds(distance, fall)
        if time <= 0.0:
            return "it is where it stands"
        rise = 0.5 * GRAVITY_M_S2 * time - fall / time
        most = math.sqrt(2.0 * GRAVITY_M_S2 * self.spring)
        if rise > most + 1e-9:
            return (
                f"it takes {time:.2f} s at {self.speed:g} m/s, so one has to leave the ground upwards at "
                f"{rise:.2f} m/s, but one that can spring {self.spring:g} m high leaves it at {most:.2f} m/s"
            )
        return ""


def resolve_jumps(shape: JumpsShape | None, names: set[str], problems: Problems) -> Jumps | None:
    """Return how agents jump; None where none does. `names` are those of connections."""
    if shape is None:
        return None
    found = Jumps(
        at_most=int(shape.at_most),
        lasts=float(shape.lasts),
        capacity=int(shape.capacity),
        headway=float(shape.headway),
        speed=float(shape.speed),
        spring=float(shape.spring),
        longest=float(shape.longest),
        deepest=float(shape.deepest),
    )
    for name in sorted({each.name for each in found.connections()} & names):
        problems.add(
            ("connections", name), f'"{name}" is what a portal of jumps is called', "Choose another name."
        )
    return found
