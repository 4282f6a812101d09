"""What the tests of ClearPath and HRVO share:
choices of any model, crowds as the twins take them, and the moves that must commute with choosing.
"""

import numpy as np

from crowdsim.avoidance.model import Choice, empty_choice
from crowdsim.avoidance.registry import model_named
from tests.avoidance.crowds import ONE, view_of

# Moves of the plane that float32 arithmetic repeats exactly, and whether they turn right into left.
MOVES = {
    "mirror x": (lambda a: a * (-1.0, 1.0), True),
    "mirror y": (lambda a: a * (1.0, -1.0), True),
    "quarter turn": (lambda a: np.stack([-a[:, 1], a[:, 0]], axis=1), False),
    "half turn": (lambda a: -a, False),
    "diagonal": (lambda a: a[:, ::-1], True),
}  # fmt: skip


def choose(name, view, tick=0.05, team=ONE, **parameters) -> Choice:
    """What a model with these parameters chooses."""
    model, out = model_named(name), empty_choice(len(view.entity))
    model(model.Parameters(**parameters)).choose(view, tick, team, out)
    return out


def as_dicts(view):
    """A crowd as the twins in tests/reference take it."""
    agents = [
        {
            "entity": int(view.entity[i]),
            "position": tuple(view.position[i]),
            "velocity": tuple(view.velocity[i]),
            "preferred": tuple(view.preferred_velocity[i]),
            "radius": float(view.radius[i]),
            "speed": float(view.maximum_speed[i]),
            "layer": int(view.layer[i]),
            "active": int(view.active[i]),
        }
        for i in range(len(view.entity))
    ]
    return {"agents": agents, "walls": view.walls, "zone_walls": range(len(view.walls.start))}


def moved(view, move, walls=None):
    """The crowd after a move of the plane."""
    return view_of(
        move(view.position),
        move(view.velocity),
        move(view.preferred_velocity),
        radius=view.radius,
        speed=view.maximum_speed,
        active=view.active,
        walls=walls,
    )


def flipped(walls):
    """Walls mirrored at the y axis: a mirrored wall runs the other way;
    its corners keep their places in the lists.
    """
    sign = np.array([-1.0, 1.0])
    return walls._replace(
        start=walls.end * sign,
        end=walls.start * sign,
        previous=walls.next,
        next=walls.previous,
        is_corner=walls.is_corner[walls.next],
    )
