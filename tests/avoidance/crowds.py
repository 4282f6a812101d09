"""Crowds and small simulations that the tests of avoidance share."""

from dataclasses import dataclass, field

import numpy as np

from crowdsim.avoidance.model import Choice, CrowdView, empty_choice
from crowdsim.avoidance.orca.orca import Orca
from crowdsim.avoidance.symmetry import SymmetryBreaker, Touched
from crowdsim.bodies.integrate import integrate
from crowdsim.bodies.separate import Separator
from crowdsim.geometry.cells import CellIndex
from crowdsim.geometry.walls import no_walls
from crowdsim.kernels.threads import Team

ONE = Team(1)


def view_of(
    position,
    velocity,
    preferred,
    *,
    radius=0.2,
    speed=1.34,
    active=None,
    layer=None,
    entity=None,
    walls=None,
    reach=None,
):
    """A CrowdView of arrays or single numbers, with an index of its own."""
    n = len(position)
    position = np.array(position, dtype=np.float64).reshape(n, 2)
    layer = np.zeros(n, np.int32) if layer is None else np.array(layer, dtype=np.int32)
    return CrowdView(
        np.arange(1, n + 1) if entity is None else np.array(entity, dtype=np.int64),
        position,
        np.array(velocity, dtype=np.float64).reshape(n, 2),
        np.array(preferred, dtype=np.float64).reshape(n, 2),
        np.broadcast_to(np.asarray(radius, dtype=np.float64), n).copy(),
        np.broadcast_to(np.asarray(speed, dtype=np.float64), n).copy(),
        np.ones(n, np.uint8) if active is None else np.array(active, dtype=np.uint8),
        np.zeros(n, np.int64),
        layer,
        CellIndex().build(position, layer),
        no_walls() if walls is None else walls,
        np.full(n, np.inf, np.float32) if reach is None else np.array(reach, dtype=np.float32),
    )


def choose(view, tick=0.05, team=ONE, **parameters) -> Choice:
    """What ORCA with these parameters chooses."""
    out = empty_choice(len(view.entity))
    Orca(Orca.Parameters(**parameters)).choose(view, tick, team, out)
    return out


def random_view(seed, n=200, density=1.0, **others):
    """A crowd with radii, speeds and velocities of its own, some of it overlapping."""
    rng = np.random.default_rng(seed)
    heading, wish = rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
    return view_of(
        rng.uniform(0.0, np.sqrt(n / density), (n, 2)),
        heading * 0.7,
        wish,
        radius=rng.uniform(0.15, 0.3, n),
        speed=rng.uniform(0.8, 2.0, n),
        **others,
    )


@dataclass
class Outcome:
    """What a run of `walk` came to."""

    arrival: np.ndarray
    deepest: float
    touched: Touched
    paths: list = field(default_factory=list)

    @property
    def last(self):
        """Time of the last arrival; infinite where an agent did not arrive."""
        return self.arrival.max(initial=0.0)


def walk(
    start,
    goal,
    *,
    limit=60.0,
    tick=0.05,
    radius=0.2,
    speed=1.34,
    breaker=None,
    walls=None,
    seed=1,
    wall_distance=0.0,
    keep_paths=False,
    **parameters,
):
    """Let agents walk straight to their goals until they are within 0.2 m, with ORCA,
    the breaker (parameters, or None) and separation.
    """
    n, goal = len(start), np.array(goal, dtype=np.float64)
    position, velocity, reach = (
        np.array(start, dtype=np.float64),
        np.zeros((n, 2)),
        np.full(n, np.inf, np.float32),
    )
    blocker, alive, arrival, deepest = np.zeros(n, np.int64), np.arange(n), np.full(n, np.inf), 0.0
    model, separator, draws = (
        Orca(Orca.Parameters(**parameters)),
        Separator(),
        np.random.default_rng(seed).uniform(size=n),
    )
    memory, touched, paths = (
        None if breaker is None else SymmetryBreaker(SymmetryBreaker.Parameters(**breaker)),
        Touched(0, 0),
        [],
    )
    for number in range(int(limit / tick)):
        here, count = position[alive], len(alive)
        if not count:
            break
        away = goal[alive] - here
        distance = np.hypot(away[:, 0], away[:, 1])
        wish = away / np.maximum(distance, 1e-12)[:, None] * np.minimum(speed, distance / tick)[:, None]
        view = view_of(
            here,
            velocity[alive],
            wish,
            radius=radius,
            speed=speed,
            entity=alive + 1,
            walls=walls,
            reach=reach[alive],
        )
        if memory is not None:
            turned, marks = np.empty_like(wish), np.empty(count, np.uint8)
            now = memory.adjust(
                view.entity,
                view.position,
                view.velocity,
                wish,
                view.active,
                blocker[alive],
                draws[alive],
                tick,
                ONE,
                turned,
                marks,
            )
            touched = Touched(touched.exact + now.exact, touched.mutual + now.mutual)
            view = view._replace(preferred_velocity=turned)
        out = empty_choice(count)
        model.choose(view, tick, ONE, out)
        reach[alive], blocker[alive] = view.reach, out.blocker
        walked, tentative, parted = np.empty((count, 2)), np.empty((count, 2)), np.empty((count, 2))
        integrate(0, count, view.position, out.velocity, view.maximum_speed, tick, walked, tentative)
        result = separator.separate(
            view.position,
            tentative,
            view.radius,
            view.active,
            view.layer,
            view.zone,
            np.full(count, wall_distance, np.float32),
            view.walls,
            tick,
            ONE,
            parted,
        )
        deepest = max(deepest, result.before.deepest)
        position[alive], velocity[alive] = parted, walked
        if keep_paths:
            paths.append(position.copy())
        there = np.hypot(*(position[alive] - goal[alive]).T) < 0.2
        arrival[alive[there]] = (number + 1) * tick
        alive = alive[~there]
    return Outcome(arrival, deepest, touched, paths)


def antipodal(n, radius=5.0, noise=0.0, seed=0):
    """Agents on a circle whose goals are opposite: (start, goal)."""
    angle = 2.0 * np.pi * np.arange(n) / n
    start = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    jitter = np.random.default_rng(seed).normal(0.0, noise, start.shape) if noise else 0.0
    return start + jitter, -start


def facing_blocks(columns, rows, apart=10.0, spacing=0.6):
    """Two blocks of agents that want to change places: (start, goal)."""
    grid = (
        np.stack(
            np.meshgrid(np.arange(columns) - (columns - 1) / 2, np.arange(rows) - (rows - 1) / 2), axis=-1
        ).reshape(-1, 2)
        * spacing
    )
    half = np.array([apart / 2, 0.0])
    left, right = grid - half, grid + half
    return np.concatenate([left, right]), np.concatenate([right, left])
